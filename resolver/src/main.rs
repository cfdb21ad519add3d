//! `smark`: finds simple markers in built programs. Everything is in the library; the command's own part is in `cli/`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
