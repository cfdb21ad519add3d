//! The rules of `smark agent`: a file in TOML. An unknown key is an error with its line.

use std::fmt::{self, Display};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use toml_edit::{Document, Item, Table, TableLike};

use super::images::ImagePattern;
use super::limits::RuleLimits;
use crate::address::Address;
use crate::quantity;

/// What an agent does.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AgentRules {
    /// Where Prometheus is answered about the rules; `None` if it is not.
    pub(super) status: Option<Address>,
    /// How often files, and changes of the rules, are looked for.
    pub(super) look: Duration,
    pub(super) rules: Vec<Rule>,
}

/// What is watched, by which command, and what it may cost.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) command: RuleCommand,
    /// The files that are watched, by path.
    pub(super) images: Vec<ImagePattern>,
    /// The running programs that are watched, by build id in hexadecimal.
    pub(super) build_ids: Vec<String>,
    /// Globs for the names of markers.
    pub(super) markers: Vec<String>,
    /// Options of the command.
    pub(super) options: Vec<String>,
    /// Where plan files are; `None` if debug information is read.
    pub(super) plans: Option<PlanStore>,
    pub(super) limits: RuleLimits,
}

/// The command of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RuleCommand {
    Count,
    Trace,
    Record(RecordedParts),
}

impl RuleCommand {
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Trace => "trace",
            Self::Record(_) => "record",
        }
    }
}

/// Where the parts of a recording go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordedParts {
    pub(super) folder: PathBuf,
    /// How long a part is.
    pub(super) every: Duration,
    /// The most bytes of the folder; the oldest parts are removed. `None` if it has no limit.
    pub(super) keep: Option<u64>,
    /// Whether parts become tables of Parquet.
    pub(super) as_parquet: bool,
}

/// Where plan files are, by build id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlanStore {
    Folder(PathBuf),
    /// A server, as of debuginfod.
    Server(String),
}

/// Why a file has no rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RuleError {
    /// From 1.
    pub(super) line: usize,
    what: String,
}

impl Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.what)
    }
}

impl std::error::Error for RuleError {}

/// How often files are looked for if the rules do not say it.
const LOOK: Duration = Duration::from_secs(5);

/// How long a part is if the rule does not say it.
const PART: Duration = Duration::from_secs(600);

/// The options that the agent gives itself, first those that say where hits go.
const OWN_OPTIONS: [&str; 8] = ["-o", "--output", "--force", "--to", "--parts", "--plan", "--for-agent", "--"];
const OF_OUTPUT: usize = 4;

/// The keys of a rule.
const KEYS: [&str; 12] = [
    "name",
    "command",
    "images",
    "build-ids",
    "markers",
    "options",
    "plans",
    "folder",
    "parts",
    "keep",
    "parquet",
    "limits",
];

impl AgentRules {
    /// Reads the text of a file.
    pub(super) fn parse(text: &str) -> Result<Self, RuleError> {
        let reader = RuleReader { text };
        let document = Document::parse(text)
            .map_err(|error| reader.error(error.span(), error.message().trim().replace('\n', ", ")))?;
        let table = document.as_table();
        reader.known(table, &["status", "look", "rule"])?;
        let look = reader.parsed(table, "look", quantity::duration)?.unwrap_or(LOOK);
        let status = reader.parsed(table, "status", |text| text.parse().map_err(|fault| format!("{fault}")))?;
        let rules = match table.get("rule") {
            None => Vec::new(),
            Some(Item::ArrayOfTables(tables)) => {
                tables.iter().map(|table| reader.rule(table)).collect::<Result<Vec<_>, _>>()?
            }
            Some(other) => return Err(reader.error(other.span(), "write rules as [[rule]]")),
        };
        for (number, rule) in rules.iter().enumerate() {
            if rules.iter().take(number).any(|other| other.name == rule.name) {
                let span = reader.span_of_rule(table, number);
                return Err(reader.error(span, format!("another rule has the name `{}`", rule.name)));
            }
        }
        Ok(Self { status, look, rules })
    }
}

/// Reads the items of a text.
struct RuleReader<'t> {
    text: &'t str,
}

impl RuleReader<'_> {
    fn error(&self, span: Option<Range<usize>>, what: impl Into<String>) -> RuleError {
        let before = self.text.get(..span.map_or(0, |span| span.start)).unwrap_or(self.text);
        RuleError { line: before.matches('\n').count() + 1, what: what.into() }
    }

    fn span_of_rule(&self, table: &Table, number: usize) -> Option<Range<usize>> {
        table.get("rule")?.as_array_of_tables()?.get(number)?.span()
    }

    fn known(&self, table: &dyn TableLike, keys: &[&str]) -> Result<(), RuleError> {
        match table.iter().find(|(key, _)| !keys.contains(key)) {
            Some((key, item)) => {
                let span = table.key(key).and_then(toml_edit::Key::span).or(item.span());
                Err(self.error(span, format!("there is no key `{key}` here, only {}", keys.join(", "))))
            }
            None => Ok(()),
        }
    }

    fn string(&self, table: &dyn TableLike, key: &str) -> Result<Option<String>, RuleError> {
        let Some(item) = table.get(key) else { return Ok(None) };
        match item.as_str().filter(|text| !text.trim().is_empty()) {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(self.error(item.span(), format!("`{key}` must be a string that is not empty"))),
        }
    }

    /// A string with a meaning.
    fn parsed<T>(
        &self,
        table: &dyn TableLike,
        key: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, RuleError> {
        let Some(text) = self.string(table, key)? else { return Ok(None) };
        let span = table.get(key).and_then(Item::span);
        parse(&text).map(Some).map_err(|what| self.error(span, format!("`{key}`: {what}")))
    }

    fn strings(&self, table: &dyn TableLike, key: &str) -> Result<Vec<String>, RuleError> {
        let Some(item) = table.get(key) else { return Ok(Vec::new()) };
        let error = |span| self.error(span, format!("`{key}` must be a list of strings"));
        let array = item.as_array().ok_or_else(|| error(item.span()))?;
        let each = |value: &toml_edit::Value| value.as_str().map(str::to_owned).ok_or_else(|| error(value.span()));
        array.iter().map(each).collect()
    }

    fn rule(&self, table: &Table) -> Result<Rule, RuleError> {
        self.known(table, &KEYS)?;
        let missing = |key: &str| self.error(table.span(), format!("`{key}` is missing"));
        let at = |key: &str| table.get(key).and_then(Item::span);
        let name = self.string(table, "name")?.ok_or_else(|| missing("name"))?;
        let command = match self.string(table, "command")?.ok_or_else(|| missing("command"))?.as_str() {
            "count" => RuleCommand::Count,
            "trace" => RuleCommand::Trace,
            "record" => RuleCommand::Record(self.parts(table)?.ok_or_else(|| missing("folder"))?),
            _ => return Err(self.error(at("command"), "`command` must be count, record or trace")),
        };
        let is_record = matches!(command, RuleCommand::Record(_));
        let of_record = ["folder", "parts", "keep", "parquet"];
        if let Some(key) = of_record.into_iter().find(|key| !is_record && table.contains_key(key)) {
            return Err(self.error(at(key), format!("only a rule with `command = \"record\"` has `{key}`")));
        }
        let options = self.strings(table, "options")?;
        // A trace writes its hits where the rule says.
        let own = || OWN_OPTIONS.iter().skip(if is_record { 0 } else { OF_OUTPUT });
        let is_own = |option: &&String| own().any(|own| option.split('=').next() == Some(own));
        if let Some(option) = options.iter().find(is_own) {
            return Err(self.error(at("options"), format!("the agent gives `{option}` itself")));
        }
        let images = self.strings(table, "images")?;
        let images = images.iter().map(|image| ImagePattern::parse(image)).collect::<Result<Vec<_>, _>>();
        let build_ids = self.strings(table, "build-ids")?;
        let is_id = |id: &String| id.len() >= 8 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if let Some(id) = build_ids.iter().find(|id| !is_id(id)) {
            return Err(self.error(at("build-ids"), format!("`{id}` is no build id: 8 or more digits of 0-9 and a-f")));
        }
        Ok(Rule {
            name,
            command,
            images: images.map_err(|what| self.error(at("images"), what))?,
            build_ids,
            markers: self.strings(table, "markers")?,
            options,
            plans: self.string(table, "plans")?.map(|plans| match plans.contains("://") {
                true => PlanStore::Server(plans),
                false => PlanStore::Folder(plans.into()),
            }),
            limits: self.limits(table)?,
        })
    }

    fn parts(&self, table: &Table) -> Result<Option<RecordedParts>, RuleError> {
        let Some(folder) = self.string(table, "folder")? else { return Ok(None) };
        let as_parquet = match table.get("parquet") {
            None => false,
            Some(item) => item.as_bool().ok_or_else(|| self.error(item.span(), "`parquet` must be true or false"))?,
        };
        Ok(Some(RecordedParts {
            folder: folder.into(),
            every: self.parsed(table, "parts", quantity::duration)?.unwrap_or(PART),
            keep: self.parsed(table, "keep", quantity::size)?,
            as_parquet,
        }))
    }

    fn limits(&self, table: &Table) -> Result<RuleLimits, RuleError> {
        let mut limits = RuleLimits::default();
        let Some(item) = table.get("limits") else { return Ok(limits) };
        let of = item.as_table_like().ok_or_else(|| self.error(item.span(), "`limits` must be a table"))?;
        self.known(of, &["cpu", "hits", "bytes", "pause"])?;
        limits.cpu = self.parsed(of, "cpu", percent)?;
        limits.bytes = self.parsed(of, "bytes", quantity::size)?;
        if let Some(pause) = self.parsed(of, "pause", quantity::duration)? {
            limits.pause = pause;
        }
        if let Some(hits) = of.get("hits") {
            let number = hits.as_integer().and_then(|number| u64::try_from(number).ok());
            limits.hits =
                Some(number.ok_or_else(|| self.error(hits.span(), "`hits` must be a number, the most in a second"))?);
        }
        Ok(limits)
    }
}

/// A share of one CPU, as a number of which 1 is all of it.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = number.filter(|number| number.is_finite() && *number > 0.0).map(|number| number / 100.0);
    share.ok_or_else(|| "a share of one CPU, as in \"0.5%\"".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_keys_are_read() {
        let rules = AgentRules::parse(
            r#"
status = ":9110"
[[rule]]
name = "requests"
command = "count"
images = ["/opt/*/bin/server"]
markers = ["http:*"]
options = ["--time", "http:begin..http:end"]
plans = "http://plans.example/"
[rule.limits]
cpu = "0.5%"
hits = 1000
pause = "1min"
[[rule]]
name = "all"
command = "record"
build-ids = ["0123abcd"]
folder = "/var/lib/smark/all"
parts = "1h"
keep = "1G"
parquet = true
limits = { bytes = "64M" }
"#,
        )
        .expect("rules");
        assert_eq!(rules.status.map(|address| address.to_string()).as_deref(), Some("127.0.0.1:9110"));
        let [requests, all] = &rules.rules[..] else { panic!("{:?}", rules.rules) };
        assert_eq!((requests.name.as_str(), requests.command.word()), ("requests", "count"));
        assert_eq!(requests.plans, Some(PlanStore::Server("http://plans.example/".to_owned())));
        assert_eq!((requests.limits.cpu, requests.limits.hits), (Some(0.005), Some(1000)));
        assert_eq!(requests.limits.pause, Duration::from_secs(60));
        assert_eq!(all.build_ids, ["0123abcd"]);
        assert_eq!(all.limits.bytes, Some(64 << 20));
        let parts = RecordedParts {
            folder: "/var/lib/smark/all".into(),
            every: Duration::from_secs(3600),
            keep: Some(1 << 30),
            as_parquet: true,
        };
        assert_eq!(all.command, RuleCommand::Record(parts));
    }

    #[test]
    fn errors_name_the_line() {
        let wrong = |text: &str| AgentRules::parse(text).expect_err(text).to_string();
        let rule = "[[rule]]\nname = \"a\"\ncommand = \"count\"\n";
        assert_eq!(wrong("x = 1"), "1: there is no key `x` here, only status, look, rule");
        assert_eq!(wrong("rule = 1"), "1: write rules as [[rule]]");
        assert_eq!(wrong("\n[[rule]]\ncommand = \"count\"\n"), "2: `name` is missing");
        assert_eq!(wrong("[[rule]]\nname = \"a\"\ncommand = \"top\"\n"), "3: `command` must be count, record or trace");
        assert_eq!(wrong("[[rule]]\nname = \"a\"\ncommand = \"record\"\n"), "1: `folder` is missing");
        assert_eq!(
            wrong(&format!("{rule}images = [\"bin/x\"]\n")),
            "4: `bin/x` is no whole path: it must begin with `/`"
        );
        assert_eq!(wrong(&format!("{rule}options = [\"--plan=x\"]\n")), "4: the agent gives `--plan=x` itself");
        assert_eq!(wrong(&format!("{rule}keep = \"1G\"\n")), "4: only a rule with `command = \"record\"` has `keep`");
        assert_eq!(
            wrong(&format!("{rule}limits = {{ cpu = \"x\" }}\n")),
            "4: `cpu`: a share of one CPU, as in \"0.5%\""
        );
        assert_eq!(wrong(&format!("{rule}{rule}")), "4: another rule has the name `a`");
        assert!(wrong("[[rule]\n").starts_with("1: "), "{}", wrong("[[rule]\n"));
    }
}
