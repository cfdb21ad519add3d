//! Markdown: tables, and their places in a page.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// A table with the first column aligned left and the others right.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let rule = (0..head.len()).map(|column| if column == 0 { "---" } else { "---:" });
    let line = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(head.to_vec());
    text.push_str(&line(rule.collect()));
    for row in rows {
        text.push_str(&line(row.iter().map(String::as_str).collect()));
    }
    text
}

/// Replaces the text between `<!-- table: NAME -->` and `<!-- end -->` in `file`.
pub(crate) fn paste(file: &Path, name: &str, table: &str) -> Result<()> {
    let page = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let start = format!("<!-- table: {name} -->\n");
    let (before, rest) = page.split_once(&start).with_context(|| format!("{}: no {start}", file.display()))?;
    let (_, after) =
        rest.split_once("<!-- end -->").with_context(|| format!("{}: {name} has no end", file.display()))?;
    fs::write(file, format!("{before}{start}\n{}\n\n<!-- end -->{after}", table.trim()))
        .context("cannot write the page")
}
