//! Words that must not ship: placeholders that panic on a user, and debugging output.
//!
//! Clippy knows these macros too, but not inside doctests, CUDA text or code that is compiled out on
//! this platform.

use anyhow::Result;

use crate::sources::{self, Source};
use crate::step::Finding;

/// Macro names, without the exclamation mark so that this file does not ban itself.
const MACROS: [&str; 3] = ["todo", "unimplemented", "dbg"];

/// The step of `cargo xtask check`.
pub fn check() -> Result<Finding> {
    let sources = sources::with_extensions(&["rs", "cu", "cuh"])?;
    let offences: Vec<String> = sources.iter().flat_map(offences).collect();
    let note = format!("{} files", sources.len());
    Ok(Finding::judge(&offences, note, "write the code, or return an error that says what is unsupported"))
}

fn offences(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        // Ordinary comments may talk about the macros; doc comments may hold doctests, so they count.
        let code = line.trim_start();
        if code.starts_with("//") && !code.starts_with("///") && !code.starts_with("//!") {
            continue;
        }
        for name in MACROS {
            if calls(line, name) {
                found.push(format!("{}:{}: {name}!", source.path.display(), index + 1));
            }
        }
    }
    found
}

/// Whether the line calls the macro: the name as a whole word, then `!` and an opening bracket.
fn calls(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(start, _)| {
        let inside_word =
            line[..start].chars().next_back().is_some_and(|before| before.is_alphanumeric() || before == '_');
        let rest = &line[start + name.len()..];
        !inside_word && rest.strip_prefix('!').is_some_and(|rest| rest.starts_with(['(', '[', '{']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_as_whole_words_only() {
        assert!(calls(concat!("    tod", "o!()"), "todo"));
        assert!(calls(concat!("x.map(|_| unimplemented", "!(\"later\"))"), "unimplemented"));
        assert!(!calls(concat!("my_tod", "o!()"), "todo"));
        assert!(!calls("todo = \"warn\"", "todo"));
        assert!(!calls("let todo = 1; if !todo {}", "todo"));
    }

    #[test]
    fn plain_comments_may_mention_them_and_doctests_may_not() {
        let text = [concat!("// a todo", "!() here"), concat!("/// todo", "!()"), "fn f() {}"].join("\n");
        let source = Source { path: "a.rs".into(), text };
        assert_eq!(offences(&source), ["a.rs:2: todo!"]);
    }
}
