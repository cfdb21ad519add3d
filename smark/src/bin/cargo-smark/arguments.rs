//! The command line of `cargo smark`: splits it into arguments for `cargo build` and for `smark`.
//!
//! Options of both may be mixed, as with other cargo commands. The definition below lists the
//! options of `cargo build`; every other argument goes to `smark`. Arguments after `--` go to
//! cargo.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{ArgAction, Command, CommandFactory as _, FromArgMatches as _, Parser};

/// Build with cargo, then list, show, check, fix or export the markers of the result
///
/// COMMAND is `list`, `show`, `check`, `fix` or `export`. It runs on the programs, examples and C libraries that `cargo build` makes with these
/// options, or on the Rust libraries if there are no others. All other options and patterns go to `smark` (see `smark COMMAND --help`).
/// Arguments after `--` go to `cargo build`.
///
/// `check` and `fix` use `markers.lock` beside the workspace's Cargo.toml, if it exists, with the name of the profile.
///
/// `fix` changes the sources of the workspace until `check` holds: it builds, checks, keeps arguments and anchors markers, and builds
/// again. It takes the options of `smark check --fix`, such as --dry-run and --allow-dirty.
#[derive(Debug, Parser)]
#[command(
    name = "cargo-smark",
    bin_name = "cargo smark",
    version,
    override_usage = "cargo smark COMMAND [BUILD OPTIONS] [OPTIONS AND PATTERNS OF smark] [-- MORE OPTIONS OF cargo build]",
    after_help = EXAMPLES
)]
struct Build {
    /// Build with the profile `release`
    #[arg(short, long)]
    release: bool,
    /// Build with this profile
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Build this package
    #[arg(short, long, value_name = "SPEC")]
    package: Vec<String>,
    /// Build all packages of the workspace
    #[arg(long)]
    workspace: bool,
    /// Exclude this package
    #[arg(long, value_name = "SPEC")]
    exclude: Vec<String>,
    /// Build the library
    #[arg(long)]
    lib: bool,
    /// Build this program
    #[arg(long, value_name = "NAME")]
    bin: Vec<String>,
    /// Build all programs
    #[arg(long)]
    bins: bool,
    /// Build this example
    #[arg(long, value_name = "NAME")]
    example: Vec<String>,
    /// Build all examples
    #[arg(long)]
    examples: bool,
    /// Build this test
    #[arg(long, value_name = "NAME")]
    test: Vec<String>,
    /// Build all tests
    #[arg(long)]
    tests: bool,
    /// Build this benchmark
    #[arg(long, value_name = "NAME")]
    bench: Vec<String>,
    /// Build all benchmarks
    #[arg(long)]
    benches: bool,
    /// Build all targets
    #[arg(long)]
    all_targets: bool,
    /// Features to build with
    #[arg(short = 'F', long, value_name = "FEATURES")]
    features: Vec<String>,
    /// Build with all features
    #[arg(long)]
    all_features: bool,
    /// Build without the default features
    #[arg(long)]
    no_default_features: bool,
    /// Build for this target
    #[arg(long, value_name = "TRIPLE")]
    target: Vec<String>,
    /// Where to build
    #[arg(long, value_name = "FOLDER")]
    target_dir: Option<PathBuf>,
    /// The Cargo.toml
    #[arg(long, value_name = "PATH")]
    manifest_path: Option<PathBuf>,
    /// Number of parallel jobs
    #[arg(short, long, value_name = "N")]
    jobs: Option<String>,
    /// Set a value of cargo's configuration
    #[arg(long, value_name = "KEY=VALUE|PATH")]
    config: Vec<String>,
    /// Require that Cargo.lock is up to date
    #[arg(long)]
    locked: bool,
    /// Do not use the network
    #[arg(long)]
    offline: bool,
    /// Same as --locked and --offline
    #[arg(long)]
    frozen: bool,
}

const EXAMPLES: &str = "\
EXAMPLES
  The markers of the programs of this package, as they ship:
      cargo smark list --release
  One of them in full:
      cargo smark show --release --bin server queue:complete
  Fail where a marker did not survive the optimiser:
      cargo smark check --release
  Keep the arguments that are lost, and anchor the markers that are not exact:
      cargo smark fix --release --deny exactness
  Probes for bpftrace:
      cargo smark export --release --to bpftrace 'queue:*'

EXIT STATUS
  That of smark; 2 where the build fails";

/// The commands of `smark` that take files.
const COMMANDS: [&str; 5] = ["list", "show", "check", "fix", "export"];

/// What to build, and what to do with it.
#[derive(Debug)]
pub(crate) struct Arguments {
    /// The command of `smark`.
    pub(crate) command: String,
    /// Arguments for `cargo build`.
    pub(crate) build: Vec<OsString>,
    /// Arguments for `smark`.
    pub(crate) passed: Vec<OsString>,
    /// The name of the profile in Cargo.toml.
    pub(crate) profile: String,
    /// Whether only errors are printed.
    pub(crate) quiet: bool,
}

/// Splits the command line, given without the program's name.
///
/// # Errors
///
/// A wrong option of `cargo build`, or no known command; also a request for help or the version.
pub(crate) fn read(given: &[OsString]) -> Result<Arguments, clap::Error> {
    let definition = Build::command();
    let mut command = None;
    let mut build = Vec::new();
    let mut passed = Vec::new();
    let mut rest = given.iter();
    if given.is_empty() {
        build.push(OsString::from("--help"));
    }
    while let Some(argument) = rest.next() {
        if argument == "--" {
            break;
        }
        if command.is_none() && !is_option(argument) {
            command = Some(argument.to_string_lossy().into_owned());
            continue;
        }
        // Before the command, `--help` is the help of `cargo smark`.
        let ours = command.is_none() && ["-h", "--help", "-V", "--version"].iter().any(|option| argument == option);
        match of_build(&definition, argument) {
            Some(takes_next) => {
                build.push(argument.clone());
                if takes_next {
                    build.extend(rest.next().cloned());
                }
            }
            None if ours => build.push(argument.clone()),
            None => passed.push(argument.clone()),
        }
    }
    let program = OsString::from("cargo-smark");
    let parsed = definition.try_get_matches_from(std::iter::once(&program).chain(&build))?;
    let parsed = Build::from_arg_matches(&parsed)?;
    build.extend(rest.cloned());

    let command = command.filter(|command| COMMANDS.contains(&command.as_str())).ok_or_else(|| {
        let what = format!("the first argument must be one of the commands {}", COMMANDS.join(", "));
        Build::command().error(clap::error::ErrorKind::InvalidSubcommand, what)
    })?;
    let quiet = passed.iter().any(|argument| argument == "-q" || argument == "--quiet");
    let profile = match parsed.profile {
        Some(profile) => profile,
        None if parsed.release => "release".to_owned(),
        None => "dev".to_owned(),
    };
    Ok(Arguments { command, build, passed, profile, quiet })
}

impl Arguments {
    /// Whether the user asked for the help of the `smark` command.
    pub(crate) fn asks_for_help(&self) -> bool {
        self.passed.iter().any(|argument| argument == "--help" || argument == "-h")
    }

    /// Whether an option without a value is among the arguments for `smark`.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.passed.iter().any(|argument| argument == option)
    }

    /// The arguments for `smark`, without those that `fix` gives it in any case.
    pub(crate) fn passed_to_smark(&self) -> impl Iterator<Item = &OsString> {
        let is_given = |argument: &&OsString| {
            self.command == "fix" && ["--fix", "--allow-dirty", "--allow-no-vcs"].iter().any(|given| argument == given)
        };
        self.passed.iter().filter(move |argument| !is_given(argument))
    }

    /// The lock file of a workspace and the profile for `smark check`, unless the user named them.
    pub(crate) fn lock_arguments(&self, workspace: &Path) -> Vec<OsString> {
        let names = |option: &str| {
            let with_value = format!("{option}=");
            self.passed.iter().any(|given| given == option || given.to_string_lossy().starts_with(&with_value))
        };
        let mut more = Vec::new();
        if !["check", "fix"].contains(&self.command.as_str()) {
            return more;
        }
        let lock = workspace.join("markers.lock");
        let is_named = names("--lock");
        if !is_named && lock.is_file() {
            more.extend([OsString::from("--lock"), lock.into_os_string()]);
        }
        if is_named || !more.is_empty() {
            more.extend([OsString::from("--profile"), OsString::from(&self.profile)]);
        }
        more
    }
}

/// A path in a form that `smark` takes for a file and not for a pattern.
pub(crate) fn as_file(path: &Path) -> PathBuf {
    if path.is_absolute() { path.to_owned() } else { Path::new(".").join(path) }
}

fn is_option(argument: &OsStr) -> bool {
    argument.to_string_lossy().starts_with('-')
}

/// Whether the value of a `cargo build` option is the next argument. `None` if the argument is not
/// an option of `cargo build`.
fn of_build(definition: &Command, argument: &OsStr) -> Option<bool> {
    let argument = argument.to_string_lossy();
    let (option, has_value) = if let Some(long) = argument.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        (definition.get_arguments().find(|option| option.get_long() == Some(name)), value.is_some())
    } else {
        let mut short = argument.strip_prefix('-')?.chars();
        let name = short.next()?;
        (definition.get_arguments().find(|option| option.get_short() == Some(name)), short.next().is_some())
    };
    let takes_value = matches!(option?.get_action(), ArgAction::Set | ArgAction::Append);
    Some(takes_value && !has_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken_apart(line: &str) -> Arguments {
        let given: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        read(&given).unwrap()
    }

    #[test]
    fn options_of_cargo_and_of_smark_may_be_mixed() {
        let arguments =
            taken_apart("show -r queue:* --bin server -v -F=a,b --features c -j4 -n x* --target t -- -Zunstable");
        assert_eq!(arguments.command, "show");
        assert_eq!(
            arguments.build,
            ["-r", "--bin", "server", "-F=a,b", "--features", "c", "-j4", "--target", "t", "-Zunstable"]
        );
        assert_eq!(arguments.passed, ["queue:*", "-v", "-n", "x*"]);
        assert_eq!(arguments.profile, "release");
        assert!(!arguments.quiet);
    }

    #[test]
    fn the_profile_has_the_name_of_the_manifest() {
        assert_eq!(taken_apart("list").profile, "dev");
        assert_eq!(taken_apart("list --profile bench -q").profile, "bench");
        assert_eq!(taken_apart("list --profile=x").profile, "x");
        assert!(taken_apart("list -q").quiet);
    }

    #[test]
    fn wrong_lines_are_refused() {
        let error = |line: &str| {
            let given: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            read(&given).unwrap_err().kind()
        };
        use clap::error::ErrorKind;
        assert_eq!(error(""), ErrorKind::DisplayHelp);
        assert_eq!(error("--release"), ErrorKind::InvalidSubcommand);
        assert_eq!(error("explain SM001"), ErrorKind::InvalidSubcommand);
        assert_eq!(error("--help"), ErrorKind::DisplayHelp);
        assert_eq!(error("--version"), ErrorKind::DisplayVersion);
        assert_eq!(error("list --bin"), ErrorKind::InvalidValue);
    }

    #[test]
    fn help_of_a_command_is_smarks() {
        assert!(taken_apart("list --help").asks_for_help());
        assert!(!taken_apart("list").asks_for_help());
    }
}
