//! A page of metrics that `smark` serves.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// The page at an address, as OpenMetrics if that is accepted.
///
/// # Panics
///
/// Nobody answers.
#[must_use]
pub fn page(address: &str, accepts: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    write!(stream, "GET /metrics HTTP/1.1\r\nAccept: {accepts}\r\n\r\n").expect("it is written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("UTF-8");
    answer.split_once("\r\n\r\n").expect("a page").1.to_owned()
}

/// The samples of the page, by their names with the labels.
///
/// # Panics
///
/// Nobody answers, or a line is no sample.
#[must_use]
pub fn samples(address: &str) -> BTreeMap<String, f64> {
    let page = page(address, "*/*");
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.rsplit_once(' ').expect("a sample"))
        .map(|(name, value)| (name.to_owned(), value.parse().expect("a number")))
        .collect()
}

/// The address of the page in a line that says where it is.
#[must_use]
pub fn address(line: &str) -> Option<String> {
    let address = line.split_once("http://")?.1.split_once("/metrics")?.0;
    Some(address.to_owned())
}
