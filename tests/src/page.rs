//! Reads the data of a page that `smark` writes for a browser, with code that the writer does not use.

use std::io::Read as _;

use base64::Engine as _;
use serde_json::Value as Json;

/// The data of a page.
#[derive(Debug)]
pub struct PageData {
    /// The object of the page.
    pub data: Json,
    html: String,
}

impl PageData {
    /// # Panics
    ///
    /// It is no such page.
    #[must_use]
    pub fn read(html: &str) -> Self {
        let data = serde_json::from_str(block(html, "data")).expect("JSON");
        Self { data, html: html.to_owned() }
    }

    /// The bytes of a stream.
    fn bytes(&self, name: &str) -> Vec<u8> {
        let text = block(&self.html, &format!("stream-{name}"));
        let deflated = decoded(text);
        let mut bytes = Vec::new();
        flate2::read::ZlibDecoder::new(&deflated[..]).read_to_end(&mut bytes).expect("a zlib stream");
        bytes
    }

    /// The numbers of a stream: LEB128.
    ///
    /// # Panics
    ///
    /// There is no such stream.
    #[must_use]
    pub fn numbers(&self, name: &str) -> Vec<u64> {
        let bytes = self.bytes(name);
        let ends = bytes.split_inclusive(|byte| byte & 0x80 == 0);
        ends.map(|number| number.iter().rev().fold(0, |sum, byte| sum << 7 | u64::from(byte & 0x7f))).collect()
    }

    /// The objects of a stream.
    ///
    /// # Panics
    ///
    /// There is no such stream.
    #[must_use]
    pub fn lines(&self, name: &str) -> Vec<Json> {
        let text = String::from_utf8(self.bytes(name)).expect("UTF-8");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

/// The bytes of base64.
///
/// # Panics
///
/// It is none.
#[must_use]
pub fn decoded(text: &str) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD.decode(text).expect("base64")
}

/// The text of the script element with an id.
fn block<'h>(html: &'h str, id: &str) -> &'h str {
    let (_, rest) = html.split_once(&format!("id=\"{id}\">")).unwrap_or_else(|| panic!("no block {id}"));
    rest.split_once("</script>").expect("an end").0
}
