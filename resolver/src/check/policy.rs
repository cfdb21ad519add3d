//! The severity of each code: denied, a warning, or not reported.

use std::collections::BTreeMap;

use crate::verdicts::{self, Code, EXPLANATIONS, Group};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Not reported.
    Allow,
    /// Reported, and the check still passes.
    Warn,
    /// Reported, and the check fails.
    Deny,
}

impl Severity {
    /// The word in reports: `error`, `warning`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allowed",
            Self::Warn => "warning",
            Self::Deny => "error",
        }
    }
}

/// The codes that are never reported.
const FINE: [Code; 3] = [Code::Exact, Code::Live, Code::Constant];

/// The codes that are denied by default: markers that are missing or cannot be found, arguments that
/// are lost or not described, wrong formats, and duplicate names. All other codes warn.
const DENIED: [Code; 9] = [
    Code::Eliminated,
    Code::Discarded,
    Code::UnknownSurvival,
    Code::Unresolved,
    Code::Ambiguous,
    Code::Lost,
    Code::Undescribed,
    Code::FormatMismatch,
    Code::Duplicate,
];

/// The severity of each code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    levels: BTreeMap<Code, Severity>,
}

impl Default for Policy {
    fn default() -> Self {
        let severity = |code: Code| if DENIED.contains(&code) { Severity::Deny } else { Severity::Warn };
        Self { levels: codes().map(|code| (code, severity(code))).collect() }
    }
}

impl Policy {
    /// The severity of a code; a warning if the code is unknown.
    #[must_use]
    pub fn severity(&self, code: Code) -> Severity {
        self.levels.get(&code).copied().unwrap_or(Severity::Warn)
    }

    /// Sets the severity of codes. The last setting wins.
    pub fn set(&mut self, severity: Severity, codes: &Codes) {
        for code in &codes.0 {
            self.levels.insert(*code, severity);
        }
    }
}

/// The codes that a word selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codes(Vec<Code>);

impl Codes {
    /// Parses a code, the word for one, a group, or `all`.
    ///
    /// # Errors
    ///
    /// There is no such code or group, or the code is never reported. The message names the groups.
    pub fn parse(word: &str) -> Result<Self, String> {
        if word.eq_ignore_ascii_case("all") {
            return Ok(Self(codes().collect()));
        }
        let of_group =
            EXPLANATIONS.iter().filter(|it| it.code.group().as_str().eq_ignore_ascii_case(word)).map(|it| it.code);
        let of_group: Vec<_> = of_group.filter(|code| !FINE.contains(code)).collect();
        if !of_group.is_empty() {
            return Ok(Self(of_group));
        }
        match verdicts::find(word) {
            Some(explanation) if FINE.contains(&explanation.code) => {
                Err(format!("{} ({}) is never reported", explanation.code, explanation.code.name()))
            }
            Some(explanation) => Ok(Self(vec![explanation.code])),
            None => Err(format!("there is no code `{word}`, and no group: those are {}, and all", groups().join(", "))),
        }
    }

    /// Whether a code is selected.
    #[must_use]
    pub fn contains(&self, code: Code) -> bool {
        self.0.contains(&code)
    }
}

/// The groups, in the order of their codes.
#[must_use]
pub fn groups() -> Vec<&'static str> {
    Group::ALL.map(Group::as_str).into()
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
    fn words_that_mean_nothing_are_refused() {
        assert_eq!(groups(), ["survival", "place", "exactness", "arguments", "format", "names", "baseline"]);
        assert_eq!(Codes::parse("sm030"), Err("SM030 (live) is never reported".to_owned()));
        let unknown = Codes::parse("speed").unwrap_err();
        assert!(unknown.starts_with("there is no code `speed`, and no group: those are survival, "), "{unknown}");
    }
}
