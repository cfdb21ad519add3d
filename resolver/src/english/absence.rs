//! Why markers are not in an image, in English.

use crate::resolve::LineProblem;

/// Why a line has no site.
pub(crate) fn line_problem(problem: &LineProblem) -> String {
    match problem {
        LineProblem::NoSuchFile => "no line table names its file".to_owned(),
        LineProblem::SeveralFiles(files) => {
            let files: Vec<&str> = files.iter().map(|file| &**file).collect();
            format!("several files agree equally well with its file: {}", files.join(", "))
        }
        LineProblem::NoFunction => {
            "its line has no code, and no function that has any is declared before it".to_owned()
        }
        LineProblem::SeveralFunctions => {
            "its line has no code, and can be in a function or in one nested in it".to_owned()
        }
        LineProblem::NothingBelow => "its line has no code, and no line below it in its function has any".to_owned(),
        LineProblem::BlockEnds => {
            "its line has no code, and may be the last of its block: what follows is on other paths too".to_owned()
        }
    }
}
