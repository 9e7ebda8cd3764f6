//! A tile function: what its symbol says it computes, and the verdict on its code.

use std::fmt;

use super::instruction::{Instruction, Width};
use super::listing::{Function, Listing};

/// Where the tile loops live; the SIMD level follows.
pub const PREFIX: &str = "crossover_cpu::tile::";
/// The operation of a function whose symbol does not show its generic arguments.
pub const UNKNOWN: &str = "?";
/// Loops that compute. The others move bytes, pick functions, or look at too few elements to fill a vector.
const ARITHMETIC: [&str; 15] = [
    "unary",
    "visible_unary",
    "binary",
    "visible_binary",
    "compare",
    "ternary",
    "part",
    "convert",
    "odd",
    "half",
    "canonical",
    "columns",
    "extremes",
    "long_rows",
    "random",
];
/// Thunks made by merging equal functions are one jump; this bounds a chain of them.
const MOST_THUNKS: usize = 8;

/// The identity of a tile function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tile {
    /// Last path segment of the first generic argument, in lower case: `exp`.
    pub operation: String,
    /// Last path segments of the other generic arguments, joined with `_`: `f32`, `f32_i32`.
    pub dtype: String,
    /// `avx2` or `avx512`.
    pub level: String,
    /// The loop's name: `unary`.
    pub shape: String,
}

/// What the code of a tile function looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The hottest loop works on whole vectors.
    Packed {
        /// On the widest registers of the level.
        full_width: bool,
    },
    /// It does not.
    Scalar {
        /// What was seen instead.
        why: String,
    },
}

impl Tile {
    /// Reads `crossover_cpu::tile::avx512::unary::<crossover_core::ops::exp::Exp, F32>`. Loops that do not compute,
    /// closures and other functions nested inside a tile function are not tiles.
    pub fn from_symbol(symbol: &str) -> Option<Self> {
        let path = symbol.strip_prefix('<').unwrap_or(symbol).strip_prefix(PREFIX)?;
        let (level, rest) = path.split_once("::")?;
        if level != "avx2" && level != "avx512" {
            return None;
        }
        let (shape, arguments) = match rest.split_once("::<") {
            Some((shape, arguments)) => (shape, arguments.strip_suffix('>')?),
            None => (rest, ""),
        };
        if !ARITHMETIC.contains(&shape) {
            return None;
        }
        let mut names = split_arguments(arguments).into_iter().map(last_segment);
        let operation = names.next().unwrap_or_else(|| UNKNOWN.to_owned());
        let dtype = names.collect::<Vec<_>>().join("_");
        let dtype = if dtype.is_empty() { UNKNOWN.to_owned() } else { dtype };
        Some(Self { operation, dtype, level: level.to_owned(), shape: shape.to_owned() })
    }
}

impl fmt::Display for Tile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{} {} {} ({})", self.operation, self.dtype, self.level, self.shape);
        formatter.pad(&text)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packed { full_width: true } => formatter.write_str("packed"),
            Self::Packed { full_width: false } => formatter.write_str("packed, below full width"),
            Self::Scalar { why } => write!(formatter, "NOT VECTORISED: {why}"),
        }
    }
}

/// The verdict on every tile function of a program, in order of name.
pub fn verdicts(listing: &Listing<'_>) -> Vec<(Tile, Verdict)> {
    let tiles =
        listing.functions.iter().filter_map(|function| Some((Tile::from_symbol(function.name)?, function)));
    let mut verdicts: Vec<_> = tiles
        .map(|(tile, function)| {
            let verdict = judge(&tile, behind_thunks(listing, function));
            (tile, verdict)
        })
        .collect();
    verdicts.sort_by(|(left, _), (right, _)| left.cmp(right));
    verdicts
}

/// The compiler merges functions with equal code and leaves `jmp other` behind.
fn behind_thunks<'l, 'a>(listing: &'l Listing<'a>, function: &'l Function<'a>) -> &'l Function<'a> {
    let mut function = function;
    for _ in 0..MOST_THUNKS {
        let Some(first) = function.body.first().filter(|first| first.mnemonic == "jmp") else { break };
        let Some(target) = first.jump_target().and_then(|address| listing.at(address)) else { break };
        function = target;
    }
    function
}

fn judge(tile: &Tile, function: &Function<'_>) -> Verdict {
    let loops = innermost_loops(&function.body);
    if loops.is_empty() {
        return Verdict::Scalar { why: "no loop found; was the loop inlined somewhere else?".to_owned() };
    }
    // The loop with the most packed work is the main one; the others are its head and tail.
    let packed = |body: &[Instruction<'_>]| body.iter().filter_map(Instruction::packed).count();
    let main = loops.into_iter().max_by_key(|body| packed(body)).unwrap_or(&[]);
    let work = packed(main);
    let scalar = main.iter().filter(|instruction| instruction.scalar_float()).count();
    if work == 0 {
        return Verdict::Scalar { why: "no packed arithmetic in any loop".to_owned() };
    }
    if scalar > work {
        let why = format!("{scalar} scalar and {work} packed operations in the main loop");
        return Verdict::Scalar { why };
    }
    let widest = main.iter().filter_map(Instruction::packed).max();
    Verdict::Packed { full_width: tile.level != "avx512" || widest == Some(Width::Zmm) }
}

/// Runs of code from the target of a backward jump up to that jump, without those that contain another.
fn innermost_loops<'l, 'a>(body: &'l [Instruction<'a>]) -> Vec<&'l [Instruction<'a>]> {
    let index_of = |address| body.binary_search_by_key(&address, |instruction| instruction.address).ok();
    let mut ranges = Vec::new();
    for (end, instruction) in body.iter().enumerate() {
        let start = instruction.jump_target().and_then(index_of);
        if let Some(start) = start.filter(|start| *start <= end) {
            ranges.push((start, end));
        }
    }
    let contains_another = |&(start, end): &(usize, usize)| {
        ranges.iter().any(|&(s, e)| (s, e) != (start, end) && s >= start && e <= end && e - s < end - start)
    };
    ranges.iter().filter(|range| !contains_another(range)).map(|&(start, end)| &body[start..=end]).collect()
}

/// Splits at the commas that are not inside brackets.
fn split_arguments(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut depth = 0_i32;
    let mut start = 0;
    for (index, character) in text.char_indices() {
        match character {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..index].trim());
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// `crossover_core::ops::exp::Exp` → `exp`; inner arguments are dropped.
fn last_segment(path: &str) -> String {
    let path = path.split_once('<').map_or(path, |(path, _)| path.trim_end_matches("::"));
    path.rsplit("::").next().unwrap_or(path).to_lowercase()
}
