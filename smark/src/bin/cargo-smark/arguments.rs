//! The command line of `cargo smark`: splits it into arguments for `cargo build` and for `smark`.
//!
//! Options of both may be mixed, as with other cargo commands. The definition below lists the
//! options of `cargo build`; every other argument goes to `smark`. Arguments after `--` go to
//! cargo.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{ArgAction, Command, CommandFactory as _, FromArgMatches as _};

use crate::options::{BuildOptions, COMMANDS};
use crate::project::{NONE, ProjectSettings};

/// The commands that build nothing.
const OTHERS: [&str; 3] = ["config", "completions", "man"];

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
    /// The settings of the project.
    pub(crate) project: ProjectSettings,
    /// Whether an option names the profile.
    names_profile: bool,
    /// The Cargo.toml that is named.
    manifest: Option<PathBuf>,
    /// Whether only errors are printed.
    pub(crate) quiet: bool,
}

/// Splits the command line, given without the program's name.
///
/// # Errors
///
/// A wrong option of `cargo build`, or no known command; also a request for help or the version.
pub(crate) fn read(given: &[OsString]) -> Result<Arguments, clap::Error> {
    let definition = BuildOptions::command();
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
    let parsed = BuildOptions::from_arg_matches(&parsed)?;
    build.extend(rest.cloned());

    let command =
        command.filter(|command| COMMANDS.iter().chain(&OTHERS).any(|known| known == command)).ok_or_else(|| {
            let what = format!("the first argument must be one of the commands {}", COMMANDS.join(", "));
            BuildOptions::command().error(clap::error::ErrorKind::InvalidSubcommand, what)
        })?;
    let quiet = passed.iter().any(|argument| argument == "-q" || argument == "--quiet");
    let names_profile = parsed.release || parsed.profile.is_some();
    let profile = match parsed.profile {
        Some(profile) => profile,
        None if parsed.release => "release".to_owned(),
        None => "dev".to_owned(),
    };
    let (project, manifest) = (ProjectSettings::NONE, parsed.manifest_path);
    Ok(Arguments { command, build, passed, profile, project, names_profile, manifest, quiet })
}

impl Arguments {
    /// Whether the user asked for the help of the `smark` command.
    pub(crate) fn asks_for_help(&self) -> bool {
        self.passed.iter().any(|argument| argument == "--help" || argument == "-h")
    }

    /// Finds the settings of the project, from the folder of the manifest on, and takes the profile from them
    /// if no option names one.
    ///
    /// # Errors
    ///
    /// They cannot be read.
    pub(crate) fn settle(&mut self) -> anyhow::Result<()> {
        let folder = self.manifest.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        self.project = ProjectSettings::find(self.value("--settings").as_deref(), folder)?;
        if let (Some(profile), false) = (self.project.profile(), self.names_profile) {
            profile.clone_into(&mut self.profile);
            self.build.splice(0..0, ["--profile", profile].map(OsString::from));
        }
        Ok(())
    }

    /// The value of an option of `smark`.
    fn value(&self, option: &str) -> Option<PathBuf> {
        let joined = |given: &OsString| Some(given.to_str()?.strip_prefix(option)?.strip_prefix('=')?.to_owned());
        let next = || self.passed.iter().position(|given| given == option).and_then(|at| self.passed.get(at + 1));
        self.passed.iter().find_map(joined).map(PathBuf::from).or_else(|| next().map(PathBuf::from))
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

    /// The settings, and the lock file of a workspace and the profile for `smark check`, unless the user named them.
    pub(crate) fn settled_arguments(&self, workspace: &Path) -> Vec<OsString> {
        let mut more = Vec::new();
        if self.value("--settings").is_none() {
            more.extend([OsString::from("--settings"), self.project.path.as_deref().unwrap_or(Path::new(NONE)).into()]);
        }
        if !["check", "fix"].contains(&self.command.as_str()) {
            return more;
        }
        let lock = if self.value("--lock").is_some() { None } else { self.lock(workspace) };
        if lock.is_some() || self.value("--lock").is_some() {
            more.extend([OsString::from("--profile"), OsString::from(&self.profile)]);
        }
        more.extend(lock.into_iter().flat_map(|lock| [OsString::from("--lock"), lock.into_os_string()]));
        more
    }

    /// The lock file of the settings, or the one of the workspace, if there is one.
    pub(crate) fn lock(&self, workspace: &Path) -> Option<PathBuf> {
        let beside = || Some(workspace.join("markers.lock")).filter(|lock| lock.is_file());
        self.project.lock().or_else(beside)
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
