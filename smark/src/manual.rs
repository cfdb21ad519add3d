//! `smark completions` and `smark man`, generated from the definition of the command line, also for `cargo smark`.

#[path = "bin/cargo-smark/options.rs"]
mod options;

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::{Arg, Args, Command, CommandFactory as _};
use clap_complete::Shell;

use self::options::{BuildOptions, COMMANDS};
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
      smark completions fish > ~/.config/fish/completions/smark.fish
  zsh, for cargo smark:
      smark completions --cargo zsh > ~/.zfunc/_cargo-smark")]
pub(crate) struct Completions {
    shell: Shell,
    /// For `cargo-smark`; in zsh that is also `cargo smark`
    #[arg(long)]
    cargo: bool,
}

impl Completions {
    /// Of the command line that `smark` describes.
    pub(crate) fn run(&self, smark: Command) -> anyhow::Result<Status> {
        let mut command = if self.cargo { cargo_smark(&smark) } else { smark };
        let name = command.get_name().to_owned();
        // Written to memory first: clap_complete panics on a closed pipe.
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut command, name, &mut text);
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
    /// Write smark.1, smark-list.1, cargo-smark.1, .. to this folder, overwriting existing pages
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Print the page of `cargo smark`; --folder writes those of both in any case
    #[arg(long)]
    cargo: bool,
}

impl Man {
    /// Of the command line that `smark` describes.
    pub(crate) fn run(&self, smark: Command) -> anyhow::Result<Status> {
        match &self.folder {
            Some(folder) => {
                clap_mangen::generate_to(cargo_smark(&smark), folder)?;
                clap_mangen::generate_to(smark, folder)?;
            }
            None => {
                let mut text = Vec::new();
                let command = if self.cargo { cargo_smark(&smark) } else { smark };
                clap_mangen::Man::new(command).render(&mut text)?;
                io::stdout().lock().write_all(&text)?;
            }
        }
        Ok(Status::Done)
    }
}

/// The command line of `cargo smark`: its commands have the options of `cargo build`, and those of `smark`
/// that have another name.
fn cargo_smark(smark: &Command) -> Command {
    let build = BuildOptions::command();
    let is_taken = |option: &Arg| build.get_arguments().any(|taken| taken.get_id() == option.get_id());
    let free_short = |short: &char| build.get_arguments().all(|taken| taken.get_short() != Some(*short));
    let with_build = |name: &'static str| {
        // `fix` is `check` with another default.
        let like = smark.find_subcommand(if name == "fix" { "check" } else { name })?;
        let own = like.get_arguments().filter(|option| !is_taken(option)).map(|option| {
            let short = option.get_short().filter(free_short);
            option.clone().short(short)
        });
        let about = like.get_about().cloned().unwrap_or_default();
        Some(Command::new(name).about(about).args(build.get_arguments().cloned()).args(own))
    };
    Command::new("cargo-smark")
        .version(env!("CARGO_PKG_VERSION"))
        .about(build.get_about().cloned().unwrap_or_default())
        .long_about(build.get_long_about().cloned().unwrap_or_default())
        .subcommands(COMMANDS.into_iter().filter_map(with_build))
}
