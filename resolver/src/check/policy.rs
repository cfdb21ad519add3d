//! The severity of each code, and of the reasons of doubtful arguments: denied, a warning, or not
//! reported.

use std::collections::BTreeMap;

use strum::VariantArray as _;

use crate::resolve::Reason;
use crate::verdicts::{self, Code, EXPLANATIONS, Group};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
pub enum Severity {
    /// Not reported.
    #[strum(serialize = "allowed")]
    Allow,
    /// Reported, and the check still passes.
    #[strum(serialize = "warning")]
    Warn,
    /// Reported, and the check fails.
    #[strum(serialize = "error")]
    Deny,
}

impl Severity {
    /// The word in reports: `error`, `warning`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The codes that are never reported.
const FINE: [Code; 3] = [Code::Exact, Code::Live, Code::Constant];

/// The codes that are denied by default: markers that are missing or cannot be found, arguments that
/// are lost or not described, wrong formats, duplicate names, and static probes that are gone. All other codes warn.
const DENIED: [Code; 10] = [
    Code::Eliminated,
    Code::Discarded,
    Code::UnknownSurvival,
    Code::Unresolved,
    Code::Ambiguous,
    Code::Lost,
    Code::Undescribed,
    Code::FormatMismatch,
    Code::Duplicate,
    Code::NoteGone,
];

/// The severity of each code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    levels: BTreeMap<Code, Severity>,
    /// The severity of doubtful arguments with these reasons, where it is not that of the code.
    reasons: BTreeMap<&'static str, Severity>,
}

impl Default for Policy {
    fn default() -> Self {
        let severity = |code: Code| if DENIED.contains(&code) { Severity::Deny } else { Severity::Warn };
        Self { levels: codes().map(|code| (code, severity(code))).collect(), reasons: BTreeMap::new() }
    }
}

impl Policy {
    /// The severity of a code; a warning if the code is unknown.
    #[must_use]
    pub fn severity(&self, code: Code) -> Severity {
        self.levels.get(&code).copied().unwrap_or(Severity::Warn)
    }

    /// The severity of a finding with a code about arguments that are doubtful for these reasons: the
    /// highest of them. Without reasons that of the code.
    #[must_use]
    pub fn severity_of(&self, code: Code, reasons: &[&str]) -> Severity {
        let of = |reason: &&str| self.reasons.get(*reason).copied().unwrap_or(self.severity(code));
        match code {
            Code::Doubtful => reasons.iter().map(of).max().unwrap_or(self.severity(code)),
            _ => self.severity(code),
        }
    }

    /// Sets the severity of codes. The last setting wins.
    pub fn set(&mut self, severity: Severity, codes: &Codes) {
        for selected in &codes.0 {
            match *selected {
                CodeSelector::Code(code) => {
                    self.levels.insert(code, severity);
                    if code == Code::Doubtful {
                        self.reasons.clear();
                    }
                }
                CodeSelector::Reason(reason) => _ = self.reasons.insert(reason, severity),
            }
        }
    }
}

/// The codes that a word selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codes(Vec<CodeSelector>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CodeSelector {
    Code(Code),
    /// A reason of doubtful arguments.
    Reason(&'static str),
}

impl Codes {
    /// Parses a code, the word for one, a group, or `all`, or a reason of doubtful arguments
    /// (`SM038.begins_here`, `doubtful.begins_here`).
    ///
    /// # Errors
    ///
    /// There is no such code or group, or the code is never reported. The message names the groups.
    pub fn parse(word: &str) -> Result<Self, String> {
        let of_codes = |codes: &mut dyn Iterator<Item = Code>| Self(codes.map(CodeSelector::Code).collect());
        if word.eq_ignore_ascii_case("all") {
            return Ok(of_codes(&mut codes()));
        }
        if let Some((code, reason)) = word.split_once('.') {
            let is_doubtful = verdicts::find(code).is_some_and(|of| of.code == Code::Doubtful);
            return match Reason::doubt(reason).filter(|_| is_doubtful) {
                Some(reason) => Ok(Self(vec![CodeSelector::Reason(reason)])),
                None if is_doubtful => {
                    Err(format!("no doubt is called `{reason}`; the reasons are {}", Reason::doubts().join(", ")))
                }
                None => Err(format!(
                    "`{word}`: only doubtful arguments are told apart by reason (SM038.{})",
                    Reason::doubts().join(", SM038.")
                )),
            };
        }
        let of_group =
            EXPLANATIONS.iter().filter(|it| it.code.group().as_str().eq_ignore_ascii_case(word)).map(|it| it.code);
        let of_group: Vec<_> = of_group.filter(|code| !FINE.contains(code)).collect();
        if !of_group.is_empty() {
            return Ok(of_codes(&mut of_group.into_iter()));
        }
        match verdicts::find(word) {
            Some(explanation) if FINE.contains(&explanation.code) => {
                Err(format!("{} ({}) is never reported", explanation.code, explanation.code.name()))
            }
            Some(explanation) => Ok(of_codes(&mut std::iter::once(explanation.code))),
            None => Err(format!("there is no code `{word}`, and no group: those are {}, and all", groups().join(", "))),
        }
    }

    /// How much is selected: more by a group than by a code, and more by a code than by a reason.
    pub(super) fn breadth(&self) -> usize {
        let of = |selected: &CodeSelector| if matches!(selected, CodeSelector::Code(_)) { 2 } else { 1 };
        self.0.iter().map(of).sum()
    }

    /// Whether a finding is selected that has this code, and is about arguments that are doubtful for
    /// these reasons.
    #[must_use]
    pub fn contains(&self, code: Code, reasons: &[&str]) -> bool {
        let has = |reason: &&str| self.0.iter().any(|it| matches!(it, CodeSelector::Reason(of) if of == reason));
        self.0.contains(&CodeSelector::Code(code))
            || code == Code::Doubtful && !reasons.is_empty() && reasons.iter().all(has)
    }
}

/// The groups, in the order of their codes.
#[must_use]
pub fn groups() -> Vec<&'static str> {
    Group::VARIANTS.iter().map(|group| group.as_str()).collect()
}

/// All codes that a finding can have.
pub(super) fn codes() -> impl Iterator<Item = Code> {
    EXPLANATIONS.iter().map(|explanation| explanation.code).filter(|code| !FINE.contains(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_last_counts() {
        let mut policy = Policy::default();
        let denied: Vec<_> = codes().filter(|code| policy.severity(*code) == Severity::Deny).collect();
        assert_eq!(denied, DENIED);
        assert!(DENIED.iter().all(|code| verdicts::explanation(*code).is_some()));
        let mut set = |severity, word| policy.set(severity, &Codes::parse(word).unwrap());
        set(Severity::Deny, "arguments");
        set(Severity::Allow, "sm035");
        set(Severity::Allow, "survival");
        set(Severity::Warn, "eliminated");
        let severities =
            [Code::Partial, Code::Absent, Code::Discarded, Code::Eliminated].map(|code| policy.severity(code));
        assert_eq!(severities, [Severity::Deny, Severity::Allow, Severity::Allow, Severity::Warn]);
        policy.set(Severity::Deny, &Codes::parse("ALL").unwrap());
        assert!(codes().all(|code| policy.severity(code) == Severity::Deny));
    }

    #[test]
    fn doubtful_arguments_are_told_apart_by_reason() {
        let mut policy = Policy::default();
        let codes = Codes::parse("SM038.Begins_Here").unwrap();
        policy.set(Severity::Allow, &codes);
        let of = |policy: &Policy, reasons: &[&str]| policy.severity_of(Code::Doubtful, reasons);
        assert_eq!(of(&policy, &["begins_here"]), Severity::Allow);
        assert_eq!(of(&policy, &["begins_here", "replaced"]), Severity::Warn);
        assert_eq!((of(&policy, &["replaced"]), of(&policy, &[])), (Severity::Warn, Severity::Warn));
        assert_eq!(policy.severity_of(Code::Lost, &["begins_here"]), Severity::Deny);
        assert!(codes.contains(Code::Doubtful, &["begins_here"]) && !codes.contains(Code::Doubtful, &[]));
        assert!(!codes.contains(Code::Doubtful, &["begins_here", "replaced"]) && !codes.contains(Code::Lost, &[]));
        policy.set(Severity::Deny, &Codes::parse("doubtful.replaced").unwrap());
        assert_eq!(of(&policy, &["begins_here", "replaced"]), Severity::Deny);
        // What names the code comes later, and counts.
        policy.set(Severity::Warn, &Codes::parse("arguments").unwrap());
        assert_eq!(of(&policy, &["begins_here"]), Severity::Warn);
        let unknown = Codes::parse("SM038.soon").unwrap_err();
        assert!(unknown.starts_with("no doubt is called `soon`; the reasons are replaced, begins_here, "), "{unknown}");
        assert!(Codes::parse("lost.begins_here").unwrap_err().contains("only doubtful arguments"));
    }

    #[test]
    fn words_that_mean_nothing_are_refused() {
        assert_eq!(groups(), ["survival", "place", "exactness", "arguments", "format", "names", "baseline"]);
        assert_eq!(Codes::parse("sm030"), Err("SM030 (live) is never reported".to_owned()));
        let unknown = Codes::parse("speed").unwrap_err();
        assert!(unknown.starts_with("there is no code `speed`, and no group: those are survival, "), "{unknown}");
    }
}
