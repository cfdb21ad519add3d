//! `--pair A..B` and `--key ARG`, which belongs to the pair before it or to --time.

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use simple_markers_resolver::record::span;
use simple_markers_tracer::aggregate::{IntervalSubject, Question};
use simple_markers_tracer::pairs::{Pair, SliceBegin, span_question};
use simple_markers_tracer::plan::StackNotes;

use super::recording::RecordedMarkers;
use crate::console::Console;
use crate::count::{Names, interval, names};
use crate::narrow::HitQuery;

/// The intervals that become slices.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    /// Each is a [`Question::Time`].
    pairs: Vec<Question>,
    /// The key of --time.
    pub(crate) key: Option<Names>,
}

impl Args for Pairs {
    fn augment_args(command: Command) -> Command {
        let pair = Arg::new("pair").long("pair").value_name("A..B").value_parser(interval).action(ArgAction::Append);
        let pair = pair.requires("to").help("Make slices from marker A to marker B; may be given several times");
        let key = Arg::new("key").long("key").value_name("ARG,..").value_parser(names).action(ArgAction::Append);
        let key = key.help(
            "With --time, and after a --pair, this argument tells which A a B belongs to, or several together; otherwise it is the thread",
        );
        command.arg(key).arg(pair)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Pairs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let error = |kind, what: &str| Err(Error::raw(kind, format!("{what}\n")));
        let indices = |name| matches.indices_of(name).into_iter().flatten();
        let keys = matches.get_many::<Names>("key").into_iter().flatten().cloned();
        let keys: Vec<(usize, Names)> = indices("key").zip(keys).collect();
        if matches.contains_id("time") {
            return match <[(usize, Names); 1]>::try_from(keys) {
                Ok([(_, key)]) => Ok(Self { pairs: Vec::new(), key: Some(key) }),
                Err(keys) if keys.is_empty() => Ok(Self::default()),
                Err(_) => error(ErrorKind::TooManyValues, "--time takes one --key"),
            };
        }
        let pairs = matches.get_many::<(String, String)>("pair").into_iter().flatten().cloned();
        let mut pairs: Vec<(usize, (String, String), Option<Names>)> =
            indices("pair").zip(pairs).map(|(index, pair)| (index, pair, None)).collect();
        for (index, key) in keys {
            match pairs.iter_mut().rfind(|(pair, ..)| *pair < index) {
                Some((.., of @ None)) => *of = Some(key),
                Some(_) => return error(ErrorKind::TooManyValues, "a --pair takes one --key"),
                None => {
                    return error(ErrorKind::MissingRequiredArgument, "--key belongs to --time, or after a --pair");
                }
            }
        }
        let question = |(_, (from, to), key): (usize, (String, String), Option<Names>)| Question::Time {
            from,
            to,
            key: key.as_ref().map_or(IntervalSubject::Thread, Names::subject),
            by: Vec::new(),
            is_split: false,
            notes: StackNotes::default(),
        };
        Ok(Self { pairs: pairs.into_iter().map(question).collect(), key: None })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Pairs {
    /// Whether a --key is the argument of this name.
    pub(crate) fn names(&self, argument: &str) -> bool {
        self.pairs.iter().any(|question| question.names(argument))
    }

    /// The pairs of these questions, each a [`Question::Time`].
    #[cfg(feature = "view")]
    pub(crate) fn of(pairs: Vec<Question>) -> Self {
        Self { pairs, key: None }
    }

    /// Whether no --pair was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The pairs with their sites, and the spans. `None` if there is no marker of a name, which is said.
    pub(crate) fn choose<B: SliceBegin>(
        &self,
        console: &Console,
        selected: &RecordedMarkers<'_>,
    ) -> anyhow::Result<Option<Vec<Pair<B>>>> {
        let Some(questions) = self.questions(console, selected) else { return Ok(None) };
        let mut pairs = Vec::new();
        for question in &questions {
            pairs.extend(Pair::new(
                question,
                selected.choose(console, &HitQuery { filter: None, question, option: None })?,
            ));
        }
        Ok(Some(pairs))
    }

    /// The questions how long the pairs take, and the spans. `None` if there is no marker of a name, which is said.
    pub(crate) fn questions(&self, console: &Console, selected: &RecordedMarkers<'_>) -> Option<Vec<Question>> {
        let is_given = |name: &str| {
            let mut given = self.pairs.iter();
            given.any(|question| question.asks_for(&span::begin(name)) || question.asks_for(&span::end(name)))
        };
        let spans = selected.spans().into_iter().filter(|name| !is_given(name)).map(|name| span_question(&name));
        let questions: Vec<Question> = self.pairs.iter().cloned().chain(spans).collect();
        let has_markers = |question: &Question| {
            HitQuery { filter: None, question, option: None }.has_markers(console, "--pair", selected.names())
        };
        questions.iter().all(has_markers).then_some(questions)
    }
}
