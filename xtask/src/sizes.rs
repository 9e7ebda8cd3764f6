//! File sizes: a file is one noun. Past 600 lines look for the second noun in it, past 1000 it has one.

use anyhow::Result;

use crate::sources::{self, Source};
use crate::step::Finding;

/// Lines from which a file is worth a look.
const LOOK: usize = 600;
/// Lines past which a file fails.
const MOST: usize = 1000;
/// Lines past which a CUDA kernel file fails; a kernel must be readable in one sitting.
const MOST_KERNEL: usize = 400;

/// The step of `cargo xtask check`.
pub fn check() -> Result<Finding> {
    Ok(judge(&sources::with_extensions(&["rs", "cu", "cuh", "py", "js", "css", "html"])?))
}

fn judge(sources: &[Source]) -> Finding {
    let mut offences = Vec::new();
    let mut warnings = Vec::new();
    for source in sources {
        let lines = source.text.lines().count();
        let most = if source.extension() == "cu" { MOST_KERNEL } else { MOST };
        let message = format!("{}: {lines} lines, at most {most}", source.path.display());
        if lines > most {
            offences.push(message);
        } else if lines > LOOK {
            warnings.push(message);
        }
    }
    if offences.is_empty() {
        return Finding::Holds { note: format!("{} files", sources.len()), warnings };
    }
    Finding::judge(&offences, "", "find the second noun in the file and give it a file of its own")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, lines: usize) -> Source {
        Source { path: name.into(), text: "x\n".repeat(lines) }
    }

    #[test]
    fn limits_are_inclusive() {
        let Finding::Holds { warnings, .. } =
            judge(&[file("a.rs", 1000), file("b.cu", 400), file("c.cuh", 600), file("d.py", 601)])
        else {
            panic!("all are within limits");
        };
        assert_eq!(warnings, ["a.rs: 1000 lines, at most 1000", "d.py: 601 lines, at most 1000"]);
    }

    #[test]
    fn one_line_too_many_fails() {
        for source in [file("a.rs", 1001), file("b.cu", 401)] {
            assert!(matches!(judge(&[source]), Finding::Broken { .. }));
        }
    }
}
