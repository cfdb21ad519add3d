//! The options of `cargo build` that `cargo smark` knows. `smark completions` and `smark man` describe them too.

use std::path::PathBuf;

use clap::Parser;

/// The commands that take what was built.
pub(crate) const COMMANDS: [&str; 5] = ["list", "show", "check", "fix", "export"];

/// Build with cargo, then list, show, check, fix or export the markers of the result
///
/// COMMAND is `list`, `show`, `check`, `fix` or `export`; `config`, `completions` and `man` are those of `smark`, about this command.
/// COMMAND runs on the programs, examples and C libraries that `cargo build` makes with these
/// options, or on the Rust libraries if there are no others. All other options and patterns go to `smark` (see `smark COMMAND --help`).
/// Arguments after `--` go to `cargo build`.
///
/// `check` and `fix` use `markers.lock` beside the workspace's Cargo.toml, if it exists, with the name of the profile. The settings of
/// the project can name others (`smark config --help`).
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
pub(crate) struct BuildOptions {
    /// Build with the profile `release`
    #[arg(short, long)]
    pub(crate) release: bool,
    /// Build with this profile
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
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
    pub(crate) manifest_path: Option<PathBuf>,
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
