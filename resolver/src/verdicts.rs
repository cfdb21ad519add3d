//! What each code means, with an example and the fix. `docs/verdicts.md` and `smark explain` are made
//! from this file.

use std::fmt::Write as _;

pub use crate::codes::{Code, Group, UnknownCode};

/// A code explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The code.
    pub code: Code,
    /// What it means.
    pub meaning: &'static str,
    /// An example, as code or commands.
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
/// `None` if a code has none; a test makes sure that each has one.
#[must_use]
pub fn explanation(code: Code) -> Option<&'static Explanation> {
    EXPLANATIONS.iter().find(|explanation| explanation.code == code)
}

/// The explanation of a code or of a verdict's word, in any case; `None` if there is no such code.
#[must_use]
pub fn find(text: &str) -> Option<&'static Explanation> {
    explanation(text.parse().ok()?)
}

/// What a reason for a doubt means ([`Reason::doubts`](crate::resolve::Reason::doubts), also after `SM038.`), and how often values
/// with it were wrong; `None` if there is no such reason.
#[must_use]
pub fn explain_reason(text: &str) -> Option<String> {
    let name = match text.split_once('.') {
        Some((code, name)) => find(code).filter(|of| of.code == Code::Doubtful).map(|_| name)?,
        None => text,
    };
    crate::resolve::Reason::doubt(name).map(crate::english::rates::explained)
}

/// How often the values of doubtful arguments were wrong, by reason and compiler, as text.
#[must_use]
pub fn doubtful_rates() -> String {
    crate::english::rates::table()
}

/// All explanations as a page of Markdown: `docs/verdicts.md`.
#[must_use]
pub fn markdown() -> String {
    let mut page = String::from(INTRODUCTION);
    page.push_str("| group | verdicts |\n| --- | --- |");
    let mut group = None;
    // Writing to a String cannot fail.
    for Explanation { code, .. } in EXPLANATIONS {
        if group == Some(code.group()) {
            page.push_str(", ");
        } else {
            let end = if group.is_some() { " |\n" } else { "\n" };
            let _ = write!(page, "{end}| {} | ", code.group());
            group = Some(code.group());
        }
        let _ = write!(page, "[{code} {name}](#{anchor})", name = code.name(), anchor = anchor(*code));
    }
    page.push_str(" |\n");
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

Every verdict of `smark` on a marker has a code that does not change: look it up here, or with `smark explain SM034`, and use it in
`smark check --deny SM034`.

![How a site gets its verdict](images/verdict.svg)

In the examples of SM030 to SM034 the functions `work` and `finish` are in another file. This page is generated from `resolver/src/verdicts.rs`.

";

/// All explanations, by code.
pub const EXPLANATIONS: &[Explanation] = &[
    Explanation {
        code: Code::Eliminated,
        meaning: "\
The compiler removed every copy of the code, because it is never executed, or because nothing instantiates the generic function.

This is reported for Rust. In C, gcc and clang remove the declaration together with the code, and only a lock file remembers the marker
(SM060).",
        example: "\
fn submit(request: u32) -> u32 {
    if DEBUG_QUEUE {                  // false in this build
        simple_mark!(queue:debug, \"request %u\", request);
    }
    work(request)
}",
        fix: "\
None is needed if the code is meant to be dead. Otherwise look for a constant condition, a configuration, or a function that is never used.",
    },
    Explanation {
        code: Code::Discarded,
        meaning: "\
The linker dropped every function that contains the marker. Either nothing refers to these functions (`--gc-sections`), or the linker merged
them with another function that has the same code (`--icf`). Then the code still runs, at the address of the function that was kept.",
        example: "\
void dump(struct queue *queue)        /* built with -ffunction-sections, linked with --gc-sections, never called */
{
    simple_mark(queue:dump, \"depth %zu\", queue->depth);
}",
        fix: "\
None is needed if nobody is meant to call the function. Otherwise call it, export it, or mark it as used
(`__attribute__((used, retain))`, `#[used]`).",
    },
    Explanation {
        code: Code::UnknownSurvival,
        meaning: "\
The image declares the marker, but its sites were stripped, are in another object of the program, or are damaged. A note says which.",
        example: "\
$ strip --strip-debug server
$ smark list server
   ID MODULE  FUNCTION   NAME        DESCRIPTION
    1 server  <unknown>  queue:drain $depth left",
        fix: "\
Read the file before it was stripped, its separate debug file, or the linked program instead of one of its objects. In a Cargo profile,
`strip = \"none\"` keeps the sites.",
    },
    Explanation {
        code: Code::Nearest,
        meaning: "\
The marker was compiled with a macro for C that writes no site record, and no instruction belongs to its line. The site is the next line of
the same function that has an instruction. A probe there may fire although the marker is not passed.",
        example: "\
11    if (status)
12        simple_mark(queue:failed, \"status %d\", status);    /* no instruction of its own */
13    return status;                                        /* the site is here, reached with status 0 too */",
        fix: "Compile with the `simple_marker.h` of this project, which records the address of each copy.",
    },
    Explanation {
        code: Code::Unresolved,
        meaning: "\
The marker has no site record, and the line table has neither its line nor a later line of the same function. Either its file has no debug
information, or its function is not in the image.",
        example: "\
$ cc -O2 -c queue.c                   # without -g: there is no line table
$ smark list queue.o",
        fix: "Compile with `-g`, or with the `simple_marker.h` of this project, which needs no debug information to find a site.",
    },
    Explanation {
        code: Code::Ambiguous,
        meaning: "The marker has no site record, and its path matches several files of the line table equally well. `smark` does not pick one.",
        example: "\
$ cd block && cc -g -c queue.c          # markers and line tables of both say queue.c
$ cd net && cc -g -c queue.c",
        fix: "Compile the two files with paths that differ: `cc -c block/queue.c` instead of `cd block && cc -c queue.c`.",
    },
    Explanation {
        code: Code::Exact,
        meaning: "\
A probe at the site fires when, and only when, the marker is passed: the marker has an instruction of its own, or only one path leads to
the address.",
        example: "\
int status = work(tag);
simple_mark(queue:status, \"%d\", status);                   /* the instruction after the call, no jump leads here */
queue->status = status;",
        fix: "None is needed.",
    },
    Explanation {
        code: Code::Shared,
        meaning: "\
Several paths lead to the address of the site, so a probe there may also fire when the marker is not passed. The instructions that lead
there are listed. An unrolled loop without other code is also shared: several copies of the marker have one address.",
        example: "\
if (request > 10) {
    request = work(request);
    simple_mark(queue:large, \"%d\", request);                /* the instruction after the block, */
}
queue->last = request;                                       /* which is this one, always executed */",
        fix: "\
Give the marker an instruction of its own: `options(anchor)` in Rust, `simple_mark_anchor` in C. Or move it before a statement that only
its own path executes.",
    },
    Explanation {
        code: Code::Folded,
        meaning: "\
The linker kept one copy of several functions with the same instructions (`--icf=all`), and the marker's function is one of them. A probe
there fires for all of these functions.",
        example: "\
int get_depth(struct queue *q) { simple_mark(queue:depth, \"\"); return q->count; }
int get_size(struct list *l)   { simple_mark(list:size, \"\");   return l->count; }     /* linked with --icf=all */",
        fix: "Link without `--icf` (`--icf=safe` folds as well), or make the functions differ.",
    },
    Explanation {
        code: Code::Outside,
        meaning: "\
The function ends before the address with a call that does not return, so the marker is never passed there.",
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
It is not known whether a probe at the site fires exactly when the marker is passed. The function could not be decoded, an indirect jump
may lead to the address, or the code may be incomplete. The reason is given.",
        example: "\
switch (state) {                                             /* in an object file: its jump table is filled in by the linker */
case IDLE:
    simple_mark(queue:idle, \"\");
    ...",
        fix: "Look at the linked program, with its debug information. Or give the marker an instruction of its own, as for SM021.",
    },
    Explanation {
        code: Code::Likely,
        meaning: "\
The site is that of a ghost, and a probe there most likely fires exactly when the ghost is passed. A ghost is never better than likely,
because only the debug information says where it is. In generated programs, 93 to 97 of 100 likely ones were hit as often as passed. Or it
is that of a line of optimised code, or of an inlined function, that you named with `--mark`. Of 100 likely lines of C that other people
wrote, 95 to 100 were hit as often as passed, and 81 of Rust.",
        example: "\
static int drain(struct queue *queue)       /* built by clang with -flto */
{
    simple_mark_ghost(queue:drain, \"%zu left\", queue->depth);
    return flush(queue);
}",
        fix: "\
None is needed if a few wrong hits do no harm: `--include likely` takes the site. Otherwise use a plain marker, or one with an anchor.",
    },
    Explanation {
        code: Code::Approximate,
        meaning: "\
The site is that of a ghost, and the hits there are not its passes. The compiler unrolled or vectorised the loop around it, made other copies
of the code, or moved or removed the ghost's statement on some way to it. Or the site is that of a line that you named with `--mark`: the
line has no code, has code in several places, leads back to its beginning, or some of its copies were lost. The reason is given.",
        example: "\
for (size_t i = 0; i < count; i++) {        /* vectorised: one round for eight elements */
    simple_mark_ghost(sum:element, \"%zu\", i);
    sum += values[i];
}",
        fix: "\
None is needed if it is enough to know that the code runs. To count passes, use a plain marker: the loop may be slower.",
    },
    Explanation {
        code: Code::Refused,
        meaning: "\
The site is exact, but a kernel refuses a uprobe at its instruction, or runs it wrongly, and no other address is as good. `smark trace`
leaves the site out if the running kernel is one of those. A breakpoint of gdb works there. `show` and `check` judge for all supported
kernels, and `--kernel 6.1` for one.",
        example: "\
    lock incl  (%rdi)                       /* the first instruction behind simple_mark(queue:add): a lock prefix is refused */",
        fix: "\
Anchor it: `options(anchor)`, or `simple_mark_anchor` in C. The probe is then on a no-operation of its own.",
    },
    Explanation {
        code: Code::Live,
        meaning: "The argument can be read at the site: it is in a register or in memory, it can be computed from those, or the marker keeps it.",
        example: "\
int submit(int request)
{
    simple_mark(queue:submit, \"request %d\", request);      /* the low 4 bytes of %rdi */
    return work(request);
}",
        fix: "None is needed.",
    },
    Explanation {
        code: Code::Constant,
        meaning: "The argument has the same value each time the site is passed, and the value is known without reading anything.",
        example: "\
int limit = 64;
simple_mark(queue:limit, \"limit %d\", limit);                /* = 64 */
return work(limit);",
        fix: "None is needed.",
    },
    Explanation {
        code: Code::Partial,
        meaning: "\
The compiler split the argument and dropped the parts that are not used any more. The remaining parts can be read, the whole cannot.
`check` and `show` name the members that are gone. A whole value (`%p{}`) is shown with those that are left.",
        example: "\
struct span { long start, length; };
struct span s = { begin(), extent() };
simple_mark(queue:span, \"%p{}\", s);                         /* {start = <optimised out>, length = 12} */
return s.length;",
        fix: "Name the part that you need (`s.length`), or keep the part that is missing.",
    },
    Explanation {
        code: Code::Entry,
        meaning: "\
The argument was in a register when the function was entered, and that register holds something else now. `smark trace` and the other
commands that watch read it at the entry, by a second probe, if `show` says so ([live.md](live.md#values-at-the-entry)). A debugger may
recover it from the caller. A tool with one probe cannot.",
        example: "\
int submit(int tag)
{
    int status = work(tag);
    simple_mark(queue:status, \"tag %d\", tag);               /* DW_OP_entry_value(%rdi), work overwrote %rdi */
    return finish(status);
}",
        fix: "Keep it: `keep tag` in Rust, `simple_mark_keep` in C. Or put the marker before the code that overwrites the register.",
    },
    Explanation {
        code: Code::Lost,
        meaning: "\
The debug information has no location for the variable at the site: the compiler no longer needs the value and reused its register. The
nearest addresses where it has a location are given.",
        example: "\
int tag = work(0);
int status = work(tag);
simple_mark(queue:status, \"tag %d\", tag);                   /* last used by the call before */
return finish(status);",
        fix: "Keep it: `keep tag` in Rust, `simple_mark_keep` in C. Or put the marker before its last use.",
    },
    Explanation {
        code: Code::Absent,
        meaning: "\
The debug information has no variable of that name in the scopes of the site. It may be the name of a macro.",
        example: "\
#define CURRENT (queue->current)
simple_mark(queue:current, \"%p\", CURRENT);                  /* a macro's name is not in the debug information */",
        fix: "Name the variable itself (`queue->current`), or keep the argument.",
    },
    Explanation {
        code: Code::Unsupported,
        meaning: "\
`smark` does not support the argument, or the form in which the debug information describes it. The form is named.",
        example: "\
simple_mark(queue:load, \"%d\", queue->depth * 100 / limit);  /* a computation, not a place that can be read */",
        fix: "Keep the argument, or assign it to a variable and name that.",
    },
    Explanation {
        code: Code::Undescribed,
        meaning: "\
There is no debug information for the site, or it describes only lines, and the marker does not keep the argument. `smark check` says this
once for a program, with the number of arguments.",
        example: "\
$ cc -O2 queue.c                      # without -g, or with -g1
$ smark check a.out",
        fix: "\
Compile with `-g` (in a Cargo profile, `debug = true`; 1 is too little), or name the folder with the debug information in `--debug-dir`. Or keep the
argument: a kept argument needs no debug information.",
    },
    Explanation {
        code: Code::Doubtful,
        meaning: "\
The argument has a location, and what is there may be another value than the variable has in the source. The reason says why:

- The variable changes exactly at the site, before or after the marker.
- The value is in memory, and nothing reads it there before it is overwritten, so its store may be delayed or dropped.
- The compiler describes the value as a computation, in a form that was wrong before.
- The code uses only a part of the value, or none of it, so the compiler was free to change the rest.
- The compiler moved the assignment past the marker, turned a recursion into a loop, or describes a constant in a loop that also sets another one.
- The compiler describes a pointer by the address of the slot in the frame that holds it.

A debugger prints the same value as if it were certain. `smark trace` and `smark report` print it with a question mark: `17?`. Filters, keys,
counts and `smark export` leave it out unless `--include doubtful` is given. `smark check --allow SM038.begins_here` accepts one reason;
`smark explain SM038` lists the reasons, and says how often such values were wrong.",
        example: "\
int slots[4];
slots[1] = 77;                                               /* dropped: the program does not read it */
simple_mark(queue:reset, \"slot %d\", slots[1]);              /* in memory, which has another value */
slots[1] = count;
fill(slots);",
        fix: "\
Keep it: `keep a` in Rust, `simple_mark_keep` in C. A kept argument has the value that it has at the marker. If the variable changes at the
site, an instruction at the marker is enough: `options(anchor)` in Rust, `simple_mark_anchor` in C.",
    },
    Explanation {
        code: Code::InVectorRegister,
        meaning: "\
The argument is in a vector register, as most floating-point numbers are, and the kernel hands none of these to BPF programs and probes. Only
a debugger can read it. `smark trace`, `count` and `record` cannot, and exports for tools other than gdb leave it out.",
        example: "\
double load = average(queue);
simple_mark(queue:load, \"%f\", load);                       /* in %xmm0 */",
        fix: "Keep it: `keep load` in Rust, `simple_mark_keep` in C. A kept number goes through a general register, with one instruction.",
    },
    Explanation {
        code: Code::FormatMismatch,
        meaning: "\
The type of the argument does not match its conversion: the size or the sign differs, or one is a number and the other a pointer. A tool that
goes by the format prints something else. Or the braces behind a conversion have a mistake, or name a member that the value does not have.",
        example: "\
unsigned long sector = request->sector;
simple_mark(queue:sector, \"sector %d\", sector);             /* 4 of its 8 bytes, and signed */",
        fix: "Write the conversion for the type, here `%lu`. In Rust this is a compile error; in C the compiler reports it with `-Wformat`.",
    },
    Explanation {
        code: Code::Duplicate,
        meaning: "\
Several markers of the image have the same name. A probe that is set by name is set at all of them, with the arguments of one.",
        example: "\
simple_mark(queue:submit, \"request %d\", request);            /* queue.c:12 */
simple_mark(queue:submit, \"flags %x\", flags);                /* queue.c:40 */",
        fix: "Give each marker a name of its own: `queue:submit`, `queue:submit_flags`.",
    },
    Explanation {
        code: Code::Gone,
        meaning: "\
The lock file has the marker, or one of its arguments, and the program no longer declares it. It was removed from the source, or is not
compiled. In C the compiler may also have removed it, in a dead branch or in a `static` function that nothing calls.",
        example: "\
-    simple_mark(queue:drain, \"depth %d\", queue->depth);       /* markers.lock still has queue:drain */",
        fix: "Put the marker back, or accept the removal with `smark check --lock markers.lock --update`.",
    },
    Explanation {
        code: Code::New,
        meaning: "The program has the marker, or one of its arguments, and the lock file does not.",
        example: "\
+    simple_mark(queue:flush, \"depth %d\", queue->depth);       /* markers.lock has no queue:flush */",
        fix: "Add it with `smark check --lock markers.lock --update`.",
    },
    Explanation {
        code: Code::Renamed,
        meaning: "\
The program has no marker of that name any more, but a new one in the same file with the same format and arguments.",
        example: "\
-    simple_mark(queue:submit, \"request %d\", request);
+    simple_mark(queue:accept, \"request %d\", request);",
        fix: "Accept the new name with `smark check --lock markers.lock --update`, and change the scripts that use the old one.",
    },
    Explanation {
        code: Code::Worse,
        meaning: "\
At some site, the verdict on an argument is below the minimum that the lock file accepts. From best to worst: live and constant, partial,
doubtful, entry, lost, absent, unsupported, undescribed.",
        example: "\
args.tag = \"live\"        # in markers.lock; `tag` is lost after a change of the code, the compiler or its options",
        fix: "Do what helps against the new verdict, or accept it with `smark check --lock markers.lock --update`.",
    },
    Explanation {
        code: Code::Better,
        meaning: "At all sites of the marker, the verdict on an argument is above the minimum that the lock file accepts.",
        example: "\
args.tag = \"lost\"        # in markers.lock; `tag` can be read now",
        fix: "Raise the minimum with `smark check --lock markers.lock --update`.",
    },
    Explanation {
        code: Code::FewerCopies,
        meaning: "\
The marker has fewer sites in the program than the lock file asks for. The compiler inlines, unrolls or copies less than before, which is
harmless, or it removed copies that are never executed.",
        example: "\
sites = 3                # in markers.lock; two of the three callers with an inlined copy are gone",
        fix: "Look at the sites with `smark show`. If nothing is missing, accept the number with `smark check --lock markers.lock --update`.",
    },
    Explanation {
        code: Code::NoteGone,
        meaning: "\
The lock file has the static probe of `<sys/sdt.h>`, and the program has no note of it. It was built without its probes, for example because
the header was not found, or a tool or a linker removed the section `.note.stapsdt`. Or the program does not have this probe any more.",
        example: "\
note = \"-4, 8\"           # in markers.lock; the program was configured without --enable-dtrace",
        fix: "Build the program with its probes, or accept the removal with `smark check --lock markers.lock --update`.",
    },
    Explanation {
        code: Code::NoteChanged,
        meaning: "\
The static probe has more or fewer arguments than in the lock file, or arguments of other sizes, or it lost its semaphore. A script that reads
its arguments by number reads something else.",
        example: "\
note = \"-4, 8\"           # in markers.lock; the probe has the arguments `-4, 8, 8` now",
        fix: "Change the scripts that use the probe, and accept it with `smark check --lock markers.lock --update`.",
    },
];

#[cfg(test)]
mod tests {
    use strum::VariantArray as _;

    use super::*;
    use crate::resolve::{Survival, Verdict};

    #[test]
    fn codes_are_those_of_the_verdicts() {
        for verdict in Verdict::VARIANTS {
            assert_eq!(verdict.code().name(), verdict.as_str());
        }
        assert_eq!(Survival::Live.code(), None);
        for survival in [Survival::Eliminated, Survival::Discarded] {
            assert_eq!(survival.code().map(Code::name), Some(survival.as_str()));
        }
        for exactness in crate::resolve::Exactness::VARIANTS {
            assert_eq!(exactness.code().name(), exactness.as_str());
        }
        assert_eq!(EXPLANATIONS.iter().filter(|it| it.code.group() == Group::Arguments).count(), 10);
        assert_eq!(find("sm034").map(|it| it.code.name()), Some("lost"));
        assert_eq!(find("SM999"), None);
    }

    #[test]
    fn every_code_is_explained_in_order() {
        assert_eq!(EXPLANATIONS.iter().map(|it| it.code).collect::<Vec<_>>(), Code::VARIANTS);
        for Explanation { code, meaning, example, fix } in EXPLANATIONS {
            assert_eq!((code.as_str().len(), code.as_str().starts_with("SM")), (5, true));
            assert!(Group::VARIANTS.contains(&code.group()), "{code}");
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
