//! The count of tests over many test programs, read from what `cargo test` prints.

use std::fmt;
use std::ops::AddAssign;

/// Passed, failed and skipped tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Ran and held.
    pub passed: u64,
    /// Ran and did not hold.
    pub failed: u64,
    /// Did not run: ignored by attribute, or the machine lacks what they need.
    pub skipped: u64,
}

impl Tally {
    /// Reads `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s`.
    pub fn from_line(line: &str) -> Option<Self> {
        let counts = line.strip_prefix("test result: ")?;
        let count = |noun: &str| {
            let words: Vec<&str> = counts.split([' ', ';']).filter(|word| !word.is_empty()).collect();
            let position = words.iter().position(|word| *word == noun)?;
            words[position.checked_sub(1)?].parse().ok()
        };
        Some(Self { passed: count("passed")?, failed: count("failed")?, skipped: count("ignored")? })
    }

    /// Moves tests that returned early for want of a device from passed to skipped.
    pub fn not_run(&mut self, count: u64) {
        self.passed = self.passed.saturating_sub(count);
        self.skipped += count;
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_add_up() {
        let text = "running 4 tests\n\
            test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
            test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 5 filtered out; finished in 1.00s\n";
        let mut tally = Tally::default();
        text.lines().filter_map(Tally::from_line).for_each(|one| tally += one);
        assert_eq!(tally, Tally { passed: 13, failed: 2, skipped: 1 });
        tally.not_run(3);
        assert_eq!(tally.to_string(), "10 passed, 2 failed, 4 skipped");
    }
}
