//! Names of arrays in archives.
//!
//! Nothing here is ever written to a place that a file names, but programs use these names as they find them: one
//! that climbs out of a folder is refused where it enters.

use crate::error::Fault;

/// Longest name, in bytes: what a zip archive can hold, less the extension.
const LONGEST: usize = u16::MAX as usize - 4;

/// Refuses names that mean another place once they are used as a path.
pub(crate) fn check(name: &str) -> Result<(), Fault> {
    let drive = name.as_bytes().get(1) == Some(&b':') && name.as_bytes()[0].is_ascii_alphabetic();
    let why = if name.is_empty() {
        "it is empty"
    } else if name.len() > LONGEST {
        "it is longer than 65531 bytes"
    } else if name.chars().any(char::is_control) {
        "it has control characters"
    } else if name.contains('\\') {
        "it has a backslash"
    } else if name.starts_with('/') || drive {
        "it is an absolute path"
    } else if name.split('/').any(|part| matches!(part, "" | "." | "..")) {
        "it is a path with empty, `.` or `..` parts"
    } else {
        return Ok(());
    };
    // Debug form: control characters of a hostile name do not reach a terminal.
    let shown: String = name.chars().take(80).collect();
    Fault::corrupt(format!("the name {shown:?} is not allowed: {why}"))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn plain_names_and_folders_are_allowed() {
        for name in ["x", "arr_0", "layer/0/weight", "a.b", "ß", "…", "..x", "layer:0", "a b"] {
            assert!(check(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let long = "x".repeat(70_000);
        for name in [
            "",
            "/x",
            "../x",
            "a/../../x",
            "a//b",
            "./a",
            "a/",
            "a\\b",
            "C:x",
            "a\nb",
            "a\0",
            "\u{1b}[2J",
            &long,
        ] {
            assert!(check(name).is_err(), "{name:?}");
        }
    }
}
