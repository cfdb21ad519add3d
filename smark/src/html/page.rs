//! The file of a page: its head, its style, its data, and the code that shows them.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use super::columns::{NumberColumn, deflated};

/// The style: that of the charts first.
const STYLES: [&str; 2] = [include_str!("assets/uPlot.min.css"), include_str!("assets/page.css")];
/// The library that draws line charts.
const CHARTS: &str = include_str!("assets/uPlot.iife.min.js");
/// The terms of the library.
const CHARTS_LICENSE: &str = include_str!("assets/uPlot.LICENSE");
/// The code of the page. Each file uses those before it.
const CODE: [&str; 17] = [
    include_str!("assets/format.js"),
    include_str!("assets/columns.js"),
    include_str!("assets/elements.js"),
    include_str!("assets/series.js"),
    include_str!("assets/summary.js"),
    include_str!("assets/rates.js"),
    include_str!("assets/intervals.js"),
    include_str!("assets/layout.js"),
    include_str!("assets/timeline-view.js"),
    include_str!("assets/timeline-drawing.js"),
    include_str!("assets/timeline-items.js"),
    include_str!("assets/timeline.js"),
    include_str!("assets/hits.js"),
    include_str!("assets/counts.js"),
    include_str!("assets/review.js"),
    include_str!("assets/sections.js"),
    include_str!("assets/main.js"),
];

/// A page with its data.
pub(crate) struct HtmlPage {
    title: String,
    data: Json,
    /// The zlib streams by their names.
    streams: Vec<(&'static str, Vec<u8>)>,
}

impl HtmlPage {
    pub(crate) fn new(title: String, data: Json) -> Self {
        Self { title, data, streams: Vec::new() }
    }

    /// Adds numbers, which the code finds by this name.
    pub(crate) fn add_column(&mut self, name: &'static str, column: &NumberColumn) -> io::Result<()> {
        self.streams.push((name, column.deflated()?));
        Ok(())
    }

    /// Adds objects, which the code finds by this name.
    pub(crate) fn add_lines<'l>(&mut self, name: &'static str, lines: impl Iterator<Item = &'l str>) -> io::Result<()> {
        let mut text = String::new();
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        self.streams.push((name, deflated(text.as_bytes())?));
        Ok(())
    }

    /// The page as HTML.
    pub(crate) fn html(&self) -> String {
        let code = code();
        let style = STYLES.concat();
        let policy = format!(
            "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src '{}'; script-src '{}' '{}'",
            hash(&style),
            hash(CHARTS),
            hash(&code)
        );
        let mut out = String::with_capacity(1 << 18);
        let title = escaped_text(&self.title);
        out.push_str(&format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
             <title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n\
             <noscript>This page shows its data with JavaScript, which is switched off.</noscript>\n"
        ));
        let mut block = |kind: &str, id: &str, text: &str| {
            out.push_str(&format!("<script type=\"{kind}\" id=\"{id}\">{text}</script>\n"));
        };
        block("application/json", "data", &escaped_json(&self.data));
        block("application/json", "charts-license", &escaped_json(&CHARTS_LICENSE.into()));
        for (name, bytes) in &self.streams {
            block("text/plain", &format!("stream-{name}"), &STANDARD.encode(bytes));
        }
        out.push_str(&format!("<script>{CHARTS}</script>\n<script>{code}</script>\n</body>\n</html>\n"));
        out
    }
}

/// All files of the code, as one script.
fn code() -> String {
    format!("'use strict';\n(() => {{\n{}}})();\n", CODE.concat())
}

/// What a Content-Security-Policy (CSP level 3, 2.3.1) says of a script or a style that may be used.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// JSON that ends no element and is no comment.
fn escaped_json(json: &Json) -> String {
    let mut out = String::new();
    for character in json.to_string().chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
            other => out.push(other),
        }
    }
    out
}

/// The text of an element.
fn escaped_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hostile_texts_end_no_element() {
        let hostile = "</script><!--<script>alert(1)//\u{2028}&amp;";
        let page = HtmlPage::new(hostile.to_owned(), json!({ hostile: [hostile] })).html();
        assert_eq!(page.matches("alert(1)").count(), 3);
        assert!(!page.contains("<script>alert") && !page.contains("</script><!--"));
        let start = page.find("id=\"data\">").expect("data") + "id=\"data\">".len();
        let end = start + page[start..].find("</script>").expect("an end");
        assert!(!page[start..end].contains('\u{2028}'));
        assert_eq!(serde_json::from_str::<Json>(&page[start..end]).expect("JSON"), json!({ hostile: [hostile] }));
    }

    #[test]
    fn the_policy_has_the_hashes_of_what_is_there() {
        // `printf hello | openssl dgst -sha256 -binary | base64`
        assert_eq!(hash("hello"), "sha256-LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=");
        let page = HtmlPage::new("A page".to_owned(), Json::Null).html();
        assert!(page.contains(&hash(&code())) && page.contains(&format!("<script>{}</script>", code())));
        // A script that has this in it would end there.
        assert!(!code().contains("</script") && !CHARTS.contains("</script") && !STYLES.concat().contains("</style"));
    }
}
