//! `smark explain`: what a code means, with an example and the fix.

use std::io::{self, BufWriter, Write as _};

use clap::Args;
use simple_markers_resolver::verdicts::{self, Code, Explanation};

use crate::console::{Console, Status};
use crate::pager::Pager;

/// Explain a code: what it means, an example, and how to fix it
///
/// Codes appear in the JSON of `smark list` and in the findings of `smark check`. Without CODE, lists all codes.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Explain {
    /// A code such as SM033, or the word for it, such as `lost`, or the reason of a doubtful argument, such as `begins_here`
    code: Vec<String>,
}

const EXAMPLES: &str = "\
EXAMPLES
  Why an argument is lost, and what helps:
      smark explain SM034
  A doubtful argument, and how often the values of such arguments were wrong:
      smark explain SM038 begins_here
  All codes, a line each:
      smark explain";

impl Explain {
    pub(crate) fn run(&self, console: &Console) -> anyhow::Result<Status> {
        let _pager = Pager::start(console);
        let mut out = BufWriter::new(io::stdout().lock());
        if self.code.is_empty() {
            for Explanation { code, .. } in verdicts::EXPLANATIONS {
                let (name, group) = (code.name(), code.group());
                writeln!(out, "{code}  {name:<18}{group}")?;
            }
        }
        let mut status = Status::Done;
        for (index, code) in self.code.iter().enumerate() {
            let text = match verdicts::find(code) {
                Some(explanation) if explanation.code == Code::Doubtful => {
                    Some(format!("{}\n{}", explanation.text(), verdicts::doubtful_rates()))
                }
                Some(explanation) => Some(explanation.text()),
                None => verdicts::explain_reason(code),
            };
            match text {
                Some(text) if index == 0 => write!(out, "{text}")?,
                Some(text) => write!(out, "\n{text}")?,
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
