//! The list of tile loops that are known not to vectorise, each with its reason.

use anyhow::{Result, bail};

use super::tile::Tile;

/// Parsed `xtask/vector-exceptions.txt`.
pub struct Exceptions {
    rules: Vec<Rule>,
}

struct Rule {
    line: String,
    operation: String,
    dtype: String,
    level: String,
}

impl Exceptions {
    /// Reads lines of the form `operation dtype level : reason`; `*` stands for any; `#` begins a comment.
    pub fn parse(text: &str) -> Result<Self> {
        let mut rules = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let number = index + 1;
            let Some((key, reason)) = line.split_once(':') else {
                bail!("line {number} of the exceptions has no `: reason`: {line}");
            };
            if reason.trim().is_empty() {
                bail!("line {number} of the exceptions gives no reason: {line}");
            }
            let words: Vec<String> = key.split_whitespace().map(str::to_lowercase).collect();
            let [operation, dtype, level] = words.as_slice() else {
                bail!("line {number} of the exceptions is not `operation dtype level : reason`: {line}");
            };
            let (operation, dtype, level) = (operation.clone(), dtype.clone(), level.clone());
            rules.push(Rule { line: line.to_owned(), operation, dtype, level });
        }
        Ok(Self { rules })
    }

    /// The index of the first rule that excuses a tile.
    pub fn find(&self, tile: &Tile) -> Option<usize> {
        let agrees = |pattern: &str, value: &str| pattern == "*" || pattern == value;
        self.rules.iter().position(|rule| {
            agrees(&rule.operation, &tile.operation)
                && agrees(&rule.dtype, &tile.dtype)
                && agrees(&rule.level, &tile.level)
        })
    }

    /// How many rules there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// The rules as written.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|rule| rule.line.as_str())
    }
}
