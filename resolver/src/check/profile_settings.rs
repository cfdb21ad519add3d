//! What a manifest of Cargo sets for the debug information of a program: the lines to change.

use std::sync::Arc;

use toml_edit::{Document, TableLike};

/// How a manifest of Cargo sets the debug information of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DebugSetting {
    /// A line asks for less than everything.
    Line {
        /// The path of the manifest.
        manifest: Arc<str>,
        /// The line, from 1.
        line: usize,
        /// What the line sets `debug` to, as written.
        value: Arc<str>,
    },
    /// The profile has a section, which does not set it.
    Section {
        /// The path of the manifest.
        manifest: Arc<str>,
        /// The line where the section begins, from 1.
        line: usize,
        /// The name of the profile.
        profile: Arc<str>,
    },
    /// The profile has no section.
    NoSection {
        /// The path of the manifest.
        manifest: Arc<str>,
        /// The name of the profile.
        profile: Arc<str>,
    },
    /// The manifest asks for everything, so something else asks for less.
    Overridden {
        /// The path of the manifest.
        manifest: Arc<str>,
        /// The line, from 1.
        line: usize,
    },
}

/// A line of a profile that makes cargo strip the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StripSetting {
    /// The path of the manifest.
    pub manifest: Arc<str>,
    /// The line, from 1.
    pub line: usize,
    /// What the line sets `strip` to, as written.
    pub value: Arc<str>,
}

/// How a manifest of Cargo sets what a profile leaves for tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileSettings {
    /// The debug information.
    pub debug: DebugSetting,
    /// What strips it, and the sites of the markers; `None` if nothing does.
    pub strip: Option<StripSetting>,
}

impl ProfileSettings {
    /// Finds the settings in the text of a manifest. `manifest` is its path, as messages give it.
    ///
    /// `None` if the text is not TOML.
    #[must_use]
    pub fn find(manifest: &str, text: &str, profile: &str) -> Option<Self> {
        let debug = DebugSetting::find(manifest, text, profile)?;
        Some(Self { debug, strip: StripSetting::find(manifest, text, profile) })
    }
}

impl StripSetting {
    fn find(manifest: &str, text: &str, profile: &str) -> Option<Self> {
        let document = Document::parse(text).ok()?;
        let strip = document.get("profile")?.as_table_like()?.get(profile)?.as_table_like()?.get("strip")?;
        if !(strip.as_bool() == Some(true) || matches!(strip.as_str(), Some("symbols" | "debuginfo"))) {
            return None;
        }
        let span = strip.span()?;
        let line = text.get(..span.start)?.matches('\n').count().saturating_add(1);
        Some(Self { manifest: manifest.into(), line, value: text.get(span)?.into() })
    }
}

impl DebugSetting {
    /// Finds the setting in the text of a manifest. `manifest` is its path, as messages give it.
    ///
    /// `None` if the text is not TOML.
    #[must_use]
    pub fn find(manifest: &str, text: &str, profile: &str) -> Option<Self> {
        let document = Document::parse(text).ok()?;
        let line_of = |at: usize| text.get(..at).unwrap_or_default().matches('\n').count().saturating_add(1);
        let manifest: Arc<str> = manifest.into();
        let section = document.get("profile").and_then(|profiles| profiles.as_table_like()?.get(profile));
        let Some(section) = section else { return Some(Self::NoSection { manifest, profile: profile.into() }) };
        let Some(debug) = section.as_table_like().and_then(|section: &dyn TableLike| section.get("debug")) else {
            let line = section.span().map_or(1, |span| line_of(span.start));
            return Some(Self::Section { manifest, line, profile: profile.into() });
        };
        let span = debug.span()?;
        let line = line_of(span.start);
        let is_full = debug.as_bool() == Some(true) || debug.as_integer() == Some(2) || debug.as_str() == Some("full");
        Some(match is_full {
            true => Self::Overridden { manifest, line },
            false => Self::Line { manifest, line, value: text.get(span)?.into() },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::english::help::settings;

    #[test]
    fn the_line_of_the_profile_is_found() {
        let find = |text: &str, profile| DebugSetting::find("Cargo.toml", text, profile).expect("a manifest");
        let manifest: Arc<str> = "Cargo.toml".into();
        let line =
            |line, value: &str| DebugSetting::Line { manifest: Arc::clone(&manifest), line, value: value.into() };
        let text = "[package]\nname = \"x\"\n\n[profile.release]\nlto = true\ndebug = 1 # lines\n\n[profile.dist]\n\
                    inherits = \"release\"\n";
        assert_eq!(find(text, "release"), line(6, "1"));
        let profile = "dist".into();
        assert_eq!(find(text, "dist"), DebugSetting::Section { manifest: Arc::clone(&manifest), line: 8, profile });
        let profile = "bench".into();
        assert_eq!(find(text, "bench"), DebugSetting::NoSection { manifest: Arc::clone(&manifest), profile });
        // The other notations of the same.
        assert_eq!(
            find("[profile]\nrelease = { lto = true, debug = \"limited\" }\n", "release"),
            line(2, "\"limited\"")
        );
        assert_eq!(find("\nprofile.release.debug = false\n", "release"), line(2, "false"));
        for full in ["true", "2", "\"full\""] {
            let text = format!("[profile.release]\ndebug = {full}\n");
            assert_eq!(find(&text, "release"), DebugSetting::Overridden { manifest: Arc::clone(&manifest), line: 2 });
        }
        assert_eq!(DebugSetting::find("Cargo.toml", "[profile", "release"), None);
    }

    #[test]
    fn the_lines_of_a_profile_are_named_together() {
        let said = |text: &str| {
            ProfileSettings::find("Cargo.toml", text, "release").map_or_else(String::new, |it| settings(&it))
        };
        let both = "in lines 2 and 3 of Cargo.toml write `debug = \"full\"` instead of `debug = 1`, and `strip = \"none\"` instead of \
                    `strip = true`";
        assert_eq!(said("[profile.release]\ndebug = 1\nstrip = true\n"), both);
        assert_eq!(
            said("[profile.release]\nstrip = \"symbols\"\ndebug = true\n"),
            "in line 2 of Cargo.toml write `strip = \"none\"` instead of `strip = \"symbols\"`"
        );
        assert_eq!(
            said("[profile.release]\nstrip = \"debuginfo\"\n"),
            "add `debug = \"full\"` to the section `[profile.release]` in line 1 of Cargo.toml, and in line 2 write `strip = \
             \"none\"` instead of `strip = \"debuginfo\"`"
        );
        for none in ["strip = false", "strip = \"none\"", "lto = true"] {
            let text = format!("[profile.release]\ndebug = 1\n{none}\n");
            assert_eq!(said(&text), "in line 2 of Cargo.toml write `debug = \"full\"` instead of `debug = 1`");
        }
    }
}
