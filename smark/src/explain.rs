//! `smark explain`: what a code means, with an example and the fix.

use std::io::{self, BufWriter, Write as _};

use clap::Args;
use simple_markers_resolver::verdicts::{self, Explanation};

use crate::{Console, Status};

/// Explain a code: what it means, an example, and how to fix it
///
/// Codes appear in the JSON of `smark list` and in the findings of `smark check`. Without CODE, lists all codes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Explain {
    /// A code such as SM033, or the word for it, such as `lost`
    code: Vec<String>,
}

const EXAMPLES: &str = "\
EXAMPLES
  Why an argument is lost, and what helps:
      smark explain SM034
  All codes, a line each:
      smark explain";

impl Explain {
    pub(crate) fn run(&self, console: &Console) -> anyhow::Result<Status> {
        let mut out = BufWriter::new(io::stdout().lock());
        if self.code.is_empty() {
            for Explanation { code, .. } in verdicts::EXPLANATIONS {
                let (name, group) = (code.name(), code.group());
                writeln!(out, "{code}  {name:<18}{group}")?;
            }
        }
        let mut status = Status::Done;
        for (index, code) in self.code.iter().enumerate() {
            match verdicts::find(code) {
                Some(explanation) if index == 0 => write!(out, "{}", explanation.text())?,
                Some(explanation) => write!(out, "\n{}", explanation.text())?,
                None => {
                    console.error(&format!("there is no code `{code}`; `smark explain` lists them"));
                    status = Status::NoMatch;
                }
            }
        }
        out.flush()?;
        Ok(status)
    }
}
