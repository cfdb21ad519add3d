//! `cargo demo`: builds the examples with optimisation and debug information, runs them, and lists
//! their markers.
//!
//! It prints every command before it runs, so that you can repeat it by hand.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context as _, Result, bail};

fn main() -> ExitCode {
    match demo() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("demo: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn demo() -> Result<()> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("the workspace has no folder")?;
    let demo = Demo { workspace, target: target()? };
    demo.build()?;
    for (heading, command) in demo.commands() {
        if !heading.is_empty() {
            println!("\n# {heading}\n");
        }
        demo.run(&command)?;
    }
    println!("\n# The same program, watched while it runs\n");
    if !demo.watch()? {
        println!("Nothing is watched here, because that needs Linux 5.10 and the rights that the message names.");
    }
    Ok(())
}

/// The target folder. This program is in its `debug/`.
fn target() -> Result<PathBuf> {
    let program = std::env::current_exe().context("where is this program?")?;
    Ok(program.ancestors().nth(2).context("this program is in no target folder")?.to_owned())
}

struct Demo<'a> {
    workspace: &'a Path,
    target: PathBuf,
}

impl Demo<'_> {
    /// Builds the programs and `smark`.
    fn build(&self) -> Result<()> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let build = |arguments: &[&str]| {
            let mut command = Command::new(&cargo);
            command.args(["build", "--quiet", "--target-dir"]).arg(&self.target).args(arguments);
            self.succeed(&mut command)
        };
        // `cargo test` enables features that only tests need. `--test` does the same here, so that
        // `cargo test` does not build everything again.
        build(&["--workspace", "--bin", "smark", "--test", "command"])?;
        build(&["--profile", "demo", "--package", "io-queue", "--package", "ringlog"])?;
        self.compile("c-queue", &["examples/c-queue"], &["markers/include"], &["-pthread"])?;
        let library = self.built("libringlog.so").display().to_string();
        let link = [&library, "-Wl,-rpath,$ORIGIN"];
        self.compile("ringlog-user", &["examples/ringlog"], &["examples/ringlog/include"], &link)
    }

    /// The commands of the demo, each with its heading or an empty string.
    fn commands(&self) -> Vec<(&'static str, Vec<PathBuf>)> {
        let smark = |arguments: &[&str], file: &str| {
            let mut command = vec![self.target.join("debug/smark")];
            command.extend(arguments.iter().map(PathBuf::from));
            command.push(self.built(file));
            command
        };
        vec![
            ("The programs run as if the markers were not there", vec![self.built("io-queue")]),
            ("", vec![self.built("c-queue")]),
            ("", vec![self.built("ringlog-user")]),
            ("The markers of a Rust program", smark(&["list"], "io-queue")),
            ("The markers of a C program", smark(&["list"], "c-queue")),
            ("The markers of a shared library", smark(&["list"], "libringlog.so")),
            (
                "Two of them with their variables and their places in the code",
                smark(&["list", "-vv", "queue:complete", "queue:drained"], "io-queue"),
            ),
        ]
    }

    /// Watches some hits of a program. Returns whether that is possible here.
    fn watch(&self) -> Result<bool> {
        let smark = self.target.join("debug/smark");
        let words = ["trace", "--limit", "6", "queue:dispatch", "queue:dispatch_return", "--"];
        let mut command = vec![smark];
        command.extend(words.map(PathBuf::from));
        command.push(self.built("io-queue"));
        match self.status(&command)?.code() {
            Some(0) => Ok(true),
            Some(2) => Ok(false),
            _ => bail!("smark trace failed"),
        }
    }

    /// A file that the demo builds.
    fn built(&self, name: &str) -> PathBuf {
        self.target.join("demo").join(name)
    }

    /// Compiles the C files of `folders` to the program `name`.
    fn compile(&self, name: &str, folders: &[&str], includes: &[&str], link: &[&str]) -> Result<()> {
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let mut command = Command::new(&compiler);
        command.args(["-O2", "-g", "-ffunction-sections", "-Wl,--gc-sections"]);
        for include in includes {
            command.arg("-I").arg(include);
        }
        for folder in folders {
            let mut sources = Vec::new();
            for entry in self.workspace.join(folder).read_dir().with_context(|| format!("cannot read {folder}"))? {
                sources.push(Path::new(folder).join(entry?.file_name()));
            }
            sources.sort();
            command.args(sources.iter().filter(|source| source.extension() == Some(OsStr::new("c"))));
        }
        command.args(link).arg("-o").arg(self.built(name));
        self.succeed(&mut command).with_context(|| {
            format!("the C examples need a C compiler; `{}` did not compile {name}", Path::new(&compiler).display())
        })
    }

    /// Prints a command as it would be typed, and runs it.
    fn run(&self, command: &[PathBuf]) -> Result<()> {
        let status = self.status(command)?;
        if !status.success() {
            bail!("{command:?}: {status}");
        }
        Ok(())
    }

    /// Prints a command as it would be typed, runs it, and returns how it ended.
    fn status(&self, command: &[PathBuf]) -> Result<ExitStatus> {
        let words = command.iter().map(|word| word.strip_prefix(self.workspace).unwrap_or(word).display().to_string());
        println!("$ {}", words.collect::<Vec<_>>().join(" "));
        let [program, arguments @ ..] = command else { bail!("an empty command") };
        // The command gets the paths as they are printed, so its output names the same paths.
        let arguments = arguments.iter().map(|word| word.strip_prefix(self.workspace).unwrap_or(word));
        let mut command = Command::new(program);
        let status = command.args(arguments).current_dir(self.workspace).status();
        status.with_context(|| format!("cannot start {}", program.display()))
    }

    fn succeed(&self, command: &mut Command) -> Result<()> {
        let status =
            command.current_dir(self.workspace).status().with_context(|| format!("cannot start {command:?}"))?;
        if !status.success() {
            bail!("{command:?}: {status}");
        }
        Ok(())
    }
}
