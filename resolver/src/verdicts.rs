//! What each code means, with an example and the fix. `docs/verdicts.md` is written from here, and `smark explain` reads it.

use std::fmt::Write as _;

pub use crate::codes::{Code, Group, UnknownCode};

/// What there is to know of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The code.
    pub code: Code,
    /// What it means.
    pub meaning: &'static str,
    /// A case of it, as code or commands.
    pub example: &'static str,
    /// What to do about it.
    pub fix: &'static str,
}

impl Explanation {
    /// The explanation as plain text of several paragraphs, with a line feed at the end.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { code, meaning, example, fix } = self;
        let (name, group) = (code.name(), code.group());
        let example: String = example.lines().map(|line| format!("    {line}\n")).collect();
        format!("{code} {name} ({group})\n\n{meaning}\n\n{example}\nFix: {fix}\n")
    }
}

/// The explanation of a code.
///
/// `None` where a code has none, which a test keeps from happening.
#[must_use]
pub fn explanation(code: Code) -> Option<&'static Explanation> {
    EXPLANATIONS.iter().find(|explanation| explanation.code == code)
}

/// The explanation of a code or of a verdict's word, written in any case; `None` where there is no such code.
#[must_use]
pub fn find(text: &str) -> Option<&'static Explanation> {
    explanation(text.parse().ok()?)
}

/// All explanations as a page of Markdown: `docs/verdicts.md`.
#[must_use]
pub fn markdown() -> String {
    let mut page = String::from(INTRODUCTION);
    page.push_str("| code | verdict | of |\n| --- | --- | --- |\n");
    // Writing to a String cannot fail.
    for Explanation { code, .. } in EXPLANATIONS {
        let (name, group) = (code.name(), code.group());
        let _ = writeln!(page, "| [{code}](#{anchor}) | {name} | {group} |", anchor = anchor(*code));
    }
    for Explanation { code, meaning, example, fix } in EXPLANATIONS {
        let _ = write!(page, "\n## {code} {name}\n\n{meaning}\n\n", name = code.name());
        for line in example.lines() {
            let _ = writeln!(page, "{}", format_args!("    {line}").to_string().trim_end());
        }
        let _ = write!(page, "\n**Fix.** {fix}\n");
    }
    page
}

/// The anchor that Markdown makes of a heading.
fn anchor(code: Code) -> String {
    format!("{}-{}", code.as_str().to_ascii_lowercase(), code.name().replace(' ', "-"))
}

const INTRODUCTION: &str = "\
# Verdicts

Whatever `smark` says of a marker has a code that does not change, so that it can be looked up and written into a file that a CI job reads.
This page is written from `resolver/src/verdicts.rs`.

The examples of SM030 to SM034 are what gcc 12 and clang 14 make of them with `-O2 -g`; `work` and `finish` are functions of another file.

";

/// All explanations, by code.
pub const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: Code::Eliminated,
        meaning: "\
The marker was compiled, and no copy of it is in the image: it stood in code that the compiler removed because it is never executed, or
in a generic function that nothing instantiates.

Of Rust: there the declaration stays. gcc and clang remove the declaration together with the code, so that nothing of such a marker of C
is in the image, and only a lock file has it: SM060.",
        example: "\
fn submit(request: u32) -> u32 {
    if DEBUG_QUEUE {                  // false in this build
        simple_mark!(queue:debug, \"request %u\", request);
    }
    work(request)
}",
        fix: "\
None is needed where the code is meant to be dead. Otherwise find out why the compiler takes it for dead: a constant condition, a
configuration, a generic function or `inline` that is never used.",
    },
    Explanation {
        code: Code::Discarded,
        meaning: "\
The compiler kept the marker, and the linker dropped every function that holds it: nothing refers to them (`--gc-sections`), or another
function with the same code stands for them (`--icf`): then their code runs all the same, at the address of that one. If it has a marker, that
one is SM022 or SM024, and tells the names of the functions.",
        example: "\
void dump(struct queue *queue)        /* built with -ffunction-sections, linked with --gc-sections, called by nobody */
{
    simple_mark(queue:dump, \"depth %zu\", queue->depth);
}",
        fix: "\
None is needed where nobody is meant to call the function. Otherwise call it, export it, or mark it as used
(`__attribute__((used, retain))`, `#[used]`).",
    },
    Explanation {
        code: Code::UnknownSurvival,
        meaning: "\
The image has the declaration of the marker, and does not say whether the marker is in the program: its sites were stripped, stand in
another object of the program, or are damaged. A note says which.",
        example: "\
$ strip --strip-debug server
$ smark list server
   ID MODULE  FUNCTION   NAME        DESCRIPTION
    1 server  <unknown>  queue:drain $depth left",
        fix: "\
Look at the file before `strip`, at its debug companion, or at the linked program in place of one of its objects. In a Cargo profile
`strip = \"none\"` keeps the sites.",
    },
    Explanation {
        code: Code::Nearest,
        meaning: "\
The marker has no site record (C compiled with a macro that writes none), and no instruction belongs to its line. The site is the next line
of the same function that has one. A probe there may fire where the marker is not passed, if the two lines are on different paths.",
        example: "\
11    if (status)
12        simple_mark(queue:failed, \"status %d\", status);    /* no instruction of its own */
13    return status;                                        /* the site is here, reached with status 0 too */",
        fix: "Compile with the `simple_marker.h` of this project, which records the address of each copy.",
    },
    Explanation {
        code: Code::Unresolved,
        meaning: "\
The marker has no site record, and the line table has neither its line nor a later one of the same function: there is no debug information
for its file, or its function is not in the image.",
        example: "\
$ cc -O2 -c queue.c                   # without -g: there is no line table
$ smark list queue.o",
        fix: "Compile with `-g`, or with the `simple_marker.h` of this project, which needs no debug information to find a site.",
    },
    Explanation {
        code: Code::Ambiguous,
        meaning: "\
The marker has no site record, and several files of the line table match its path equally well. None is chosen.",
        example: "\
$ cd block && cc -g -c queue.c          # the markers of both say queue.c, so do both line tables
$ cd net && cc -g -c queue.c",
        fix: "Compile the two files by paths that tell them apart: `cc -c block/queue.c` in place of `cd block && cc -c queue.c`.",
    },
    Explanation {
        code: Code::Exact,
        meaning: "\
A probe at the site fires when, and only when, the marker is passed: the marker has an instruction of its own, or there is one way to the
address.",
        example: "\
int status = work(tag);
simple_mark(queue:status, \"%d\", status);                   /* at the instruction behind the call, where nothing jumps to */
queue->status = status;",
        fix: "None is needed.",
    },
    Explanation {
        code: Code::Shared,
        meaning: "\
There are several ways to the address of the site: a probe there may also fire where the marker is not passed. The instructions that lead
there are told, with their lines. Or several copies of the marker are at one address, as of a loop that was unrolled and has no
other code: a probe fires once for all of them.",
        example: "\
if (request > 10) {
    request = work(request);
    simple_mark(queue:large, \"%d\", request);                /* at the instruction behind the block, */
}
queue->last = request;                                       /* which is this one, passed in any case */",
        fix: "\
Give the marker an instruction of its own: `options(anchor)` in Rust, `simple_mark_anchor` in C. Or move it before something that only
its own path does.",
    },
    Explanation {
        code: Code::Folded,
        meaning: "\
The marker's function and others are at one address: they have the same instructions, and the linker kept one for all of them
(`--icf=all`). A probe there fires for each of them, also for those that have no marker, or another one that is said to be discarded.",
        example: "\
int get_depth(struct queue *q) { simple_mark(queue:depth, \"\"); return q->count; }
int get_size(struct list *l)   { simple_mark(list:size, \"\");   return l->count; }     /* linked with --icf=all */",
        fix: "Link without `--icf` (`--icf=safe` folds as well), or make the functions differ.",
    },
    Explanation {
        code: Code::Outside,
        meaning: "\
The address is not in the marker's function: that ends there, for its last instruction is a call that does not return. What stands behind
belongs to something else, and the marker is never passed there.",
        example: "\
void fail(int code)
{
    die(code);                                               /* noreturn */
    simple_mark(queue:failed, \"%d\", code);
}",
        fix: "Put the marker before the call.",
    },
    Explanation {
        code: Code::Unproven,
        meaning: "\
It is not known whether a probe stands for the marker: the function could not be decoded, an indirect jump in it may lead to the address, or
its code is not known to be complete. Which, is told.",
        example: "\
switch (state) {                                             /* in an object file: its jump table is filled in by the linker */
case IDLE:
    simple_mark(queue:idle, \"\");
    ...",
        fix: "Look at the linked program, with its debug information. Or give the marker an instruction of its own, as for SM021.",
    },
    Explanation {
        code: Code::Live,
        meaning: "\
The argument can be read at the site: it is in a register or in memory, is computed from those, or the marker keeps it at hand.",
        example: "\
int submit(int request)
{
    simple_mark(queue:submit, \"request %d\", request);      /* in %rdi, of which it is the low 4 bytes */
    return work(request);
}",
        fix: "None is needed.",
    },
    Explanation {
        code: Code::Constant,
        meaning: "The argument is the same each time the site is passed, and is known without reading anything.",
        example: "\
int limit = 64;
simple_mark(queue:limit, \"limit %d\", limit);                /* = 64 */
return work(limit);",
        fix: "None is needed.",
    },
    Explanation {
        code: Code::Partial,
        meaning: "\
The argument has several parts, and not all of them are there: the compiler took it apart and dropped what is not used any more. What is
there can be read, the whole cannot.",
        example: "\
struct span { long start, length; };
struct span s = { begin(), extent() };
simple_mark(queue:span, \"%p\", s);                           /* s.length is in %rbx, nothing holds s.start */
return s.length;",
        fix: "Name the part that is of interest (`s.length`), or keep the one that is missing.",
    },
    Explanation {
        code: Code::Entry,
        meaning: "\
The argument is only known as what a register held when the function was entered, and that register holds something else by now. A
debugger may find the value where it can look at the caller; whoever reads registers at the site, a probe of the kernel, cannot.",
        example: "\
int submit(int tag)
{
    int status = work(tag);
    simple_mark(queue:status, \"tag %d\", tag);               /* DW_OP_entry_value(%rdi), %rdi was given to work */
    return finish(status);
}",
        fix: "Keep it: `keep tag` in Rust, `simple_mark_keep` in C. Or put the marker before what overwrites the register.",
    },
    Explanation {
        code: Code::Lost,
        meaning: "\
There is such a variable, and the debug information has no location for it at the site: the compiler does not need its value any more
and gave its register away. The nearest addresses where it is described are told.",
        example: "\
int tag = work(0);
int status = work(tag);
simple_mark(queue:status, \"tag %d\", tag);                   /* tag was last used by the call before */
return finish(status);",
        fix: "Keep it: `keep tag` in Rust, `simple_mark_keep` in C. Or put the marker before its last use.",
    },
    Explanation {
        code: Code::Absent,
        meaning: "\
The debug information has no variable of that name in the scopes of the site: it was never described, or the marker names something
that is none, such as a macro.",
        example: "\
#define CURRENT (queue->current)
simple_mark(queue:current, \"%p\", CURRENT);                  /* a macro's name is not in the debug information */",
        fix: "Name the variable itself (`queue->current`), or keep the argument.",
    },
    Explanation {
        code: Code::Unsupported,
        meaning: "\
The argument, or what the debug information says of it, is of a form that `smark` does not stand for; which one is told. It says
nothing rather than something that may be wrong.",
        example: "\
simple_mark(queue:load, \"%d\", queue->depth * 100 / limit);  /* a computation is no place that could be read */",
        fix: "Keep the argument, or put it into a variable and name that.",
    },
    Explanation {
        code: Code::Undescribed,
        meaning: "\
Whether the argument can be read at the site is not known: there is no debug information for it, and the marker does not keep it.",
        example: "\
$ cc -O2 queue.c                      # without -g
$ smark check a.out",
        fix: "\
Compile with `-g` (in a Cargo profile `debug = true`), or name the folder that has the debug information with `--debug-dir`. Or keep the
argument, which is then known without debug information.",
    },
    Explanation {
        code: Code::FormatMismatch,
        meaning: "\
The type of the argument is not what its conversion prints: another size, another sign, a number for a pointer. Whoever prints the
value by the format prints something else than the program means.",
        example: "\
unsigned long sector = request->sector;
simple_mark(queue:sector, \"sector %d\", sector);             /* 4 of its 8 bytes, and signed */",
        fix: "Write the conversion of the type, here `%lu`. With `-Wformat` the C compiler says so, in Rust it is a compile error.",
    },
    Explanation {
        code: Code::Duplicate,
        meaning: "\
Several markers of the image have the same name: it is declared in several places of the source. Whoever puts a probe at the name gets
all of them, with the arguments of one.",
        example: "\
simple_mark(queue:submit, \"request %d\", request);            /* queue.c:12 */
simple_mark(queue:submit, \"flags %x\", flags);                /* queue.c:40 */",
        fix: "Give each marker a name of its own: `queue:submit`, `queue:submit_flags`.",
    },
    Explanation {
        code: Code::Gone,
        meaning: "\
The lock file has the marker, or an argument of it, and the program does not declare it any more: it was taken out of the source, or the
code around it is not compiled. Or, in C, the compiler removed that code, in a dead branch or a `static` function that nothing calls: gcc
and clang remove the declaration with it, and the lock file alone knows of the marker.",
        example: "\
-    simple_mark(queue:drain, \"depth %d\", queue->depth);       /* and markers.lock still has queue:drain */",
        fix: "Put the marker back, or say that it is meant with `smark check --lock markers.lock --update`.",
    },
    Explanation {
        code: Code::New,
        meaning: "The program has the marker, or an argument of it, and the lock file does not.",
        example: "\
+    simple_mark(queue:flush, \"depth %d\", queue->depth);       /* and markers.lock has no queue:flush */",
        fix: "Take it up with `smark check --lock markers.lock --update`.",
    },
    Explanation {
        code: Code::Renamed,
        meaning: "\
The program has no marker of that name any more, and a new one in the same file, with the same format and arguments. Scripts that name the
old one find nothing.",
        example: "\
-    simple_mark(queue:submit, \"request %d\", request);
+    simple_mark(queue:accept, \"request %d\", request);",
        fix: "Take the new name up with `smark check --lock markers.lock --update`, and into whatever uses the old one.",
    },
    Explanation {
        code: Code::Worse,
        meaning: "\
The verdict on an argument, at one of the marker's sites at least, is below the least that the lock file accepts for it. From best to
worst: live and constant, partial, entry, lost, absent, unsupported, undescribed.",
        example: "\
args.tag = \"live\"        # in markers.lock; `tag` is lost since a change of the code, the compiler or its options",
        fix: "What helps against the new verdict; or accept it with `smark check --lock markers.lock --update`.",
    },
    Explanation {
        code: Code::Better,
        meaning: "The verdict on an argument, at all sites of the marker, is above the least that the lock file accepts for it.",
        example: "\
args.tag = \"lost\"        # in markers.lock; `tag` can be read by now",
        fix: "Hold on to it with `smark check --lock markers.lock --update`.",
    },
    Explanation {
        code: Code::FewerCopies,
        meaning: "\
The marker has fewer sites in the program than the lock file asks for. The compiler inlines, unrolls and copies less than it did, which
is no harm; or it removed some of the copies because they are never executed.",
        example: "\
sites = 3                # in markers.lock; two of the three callers that the function was inlined into are gone",
        fix: "Look at the sites with `smark show`. Where nothing is missing accept it with `smark check --lock markers.lock --update`.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::{Survival, Verdict};

    #[test]
    fn codes_are_those_of_the_verdicts() {
        for verdict in Verdict::ALL {
            assert_eq!(verdict.code().name(), verdict.as_str());
        }
        assert_eq!(Survival::Live.code(), None);
        for survival in [Survival::Eliminated, Survival::Discarded] {
            assert_eq!(survival.code().map(Code::name), Some(survival.as_str()));
        }
        use crate::resolve::Exactness;
        for exactness in
            [Exactness::Exact, Exactness::Shared, Exactness::Folded, Exactness::Outside, Exactness::Unproven]
        {
            assert_eq!(exactness.code().name(), exactness.as_str());
        }
        assert_eq!(EXPLANATIONS.iter().filter(|it| it.code.group() == Group::Arguments).count(), 8);
        assert_eq!(find("sm034").map(|it| it.code.name()), Some("lost"));
        assert_eq!(find("SM999"), None);
    }

    #[test]
    fn every_code_is_explained_in_order() {
        assert_eq!(EXPLANATIONS.iter().map(|it| it.code).collect::<Vec<_>>(), Code::ALL);
        for Explanation { code, meaning, example, fix } in EXPLANATIONS {
            assert_eq!((code.as_str().len(), code.as_str().starts_with("SM")), (5, true));
            assert!(Group::ALL.contains(&code.group()), "{code}");
            for text in [code.name(), meaning, fix, example] {
                assert!(!text.is_empty() && text.lines().all(|line| line.len() <= 150), "{code}");
            }
            assert!(example.lines().next().is_some_and(|line| !line.starts_with(' ')), "{code}");
        }
    }

    #[test]
    fn the_page_is_the_one_in_docs() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/verdicts.md");
        let page = std::fs::read_to_string(path).unwrap_or_default();
        let expected = markdown();
        if page != expected && std::env::var_os("WRITE_DOCS").is_some() {
            std::fs::write(path, &expected).unwrap();
        }
        assert!(
            page == expected,
            "docs/verdicts.md is not what WRITE_DOCS=1 cargo test -p simple-markers-resolver writes"
        );
    }
}
