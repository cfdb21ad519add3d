//! `smark completions` and `smark man`, generated from the definition of the command line.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::console::Status;

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  bash:
      smark completions bash > ~/.local/share/bash-completion/completions/smark
  zsh, into a folder of $fpath:
      smark completions zsh > ~/.zfunc/_smark
  fish:
      smark completions fish > ~/.config/fish/completions/smark.fish")]
pub(crate) struct Completions {
    shell: Shell,
}

impl Completions {
    /// Of the command line that `smark` describes.
    pub(crate) fn run(&self, mut smark: Command) -> anyhow::Result<Status> {
        // Written to memory first: clap_complete panics on a closed pipe.
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut smark, "smark", &mut text);
        io::stdout().lock().write_all(&text)?;
        Ok(Status::Done)
    }
}

/// Print the manual page, or write the pages of all commands to a folder
#[derive(Debug, Args)]
#[command(after_help = "\
EXAMPLES
  Read it:
      smark man | man -l -
  Install all of them:
      smark man --folder /usr/local/share/man/man1")]
pub(crate) struct Man {
    /// Write smark.1, smark-list.1, .. to this folder, overwriting existing pages
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

impl Man {
    /// Of the command line that `smark` describes.
    pub(crate) fn run(&self, smark: Command) -> anyhow::Result<Status> {
        match &self.folder {
            Some(folder) => clap_mangen::generate_to(smark, folder)?,
            None => {
                let mut text = Vec::new();
                clap_mangen::Man::new(smark).render(&mut text)?;
                io::stdout().lock().write_all(&text)?;
            }
        }
        Ok(Status::Done)
    }
}
