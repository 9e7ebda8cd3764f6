//! The case files under `corpus/`, which every backend runs. Their format is described in `corpus/README.md`.
//!
//! A test loads all of them with [`load`], computes each graph its own way and hands the results to
//! [`Case::compare`]. Only the reference rewrites expected values ([`Case::blessed`]).

use std::{fmt::Write as _, fs, path::Path, path::PathBuf};

use super::{Pattern, Tensor};
use crate::{
    DType, Error, Graph, Result, Scalar,
    graph::{
        lexer::{Lexer, Token},
        literal, read,
    },
};

/// A graph with inputs and the outputs that every backend must give, bit for bit.
#[derive(Debug, Clone)]
pub struct Case {
    /// Name of the file, without its extension.
    pub name: String,
    /// What is computed.
    pub graph: Graph,
    /// Its inputs.
    pub inputs: Vec<Tensor>,
    /// Expected outputs; empty in a file that has not been blessed yet.
    pub outputs: Vec<Tensor>,
    /// The file up to the expected outputs.
    head: String,
}

impl Case {
    /// Reads a case file.
    pub fn parse(name: &str, text: &str) -> Result<Case> {
        let mut lexer = Lexer::new(text);
        let graph = read::read(&mut lexer)?;
        let inputs = section(&mut lexer, "inputs")?;
        let outputs = section(&mut lexer, "outputs")?;
        lexer.skip_lines();
        if lexer.peek() != Token::End {
            return Err(lexer.unexpected("`inputs {`, `outputs {` or the end of the text"));
        }
        let end = text
            .match_indices("outputs {")
            .map(|(at, _)| at)
            .find(|&at| at == 0 || text[..at].ends_with('\n'));
        let head = text[..end.unwrap_or(text.len())].trim_end().to_string();
        Ok(Case { name: name.to_string(), graph, inputs, outputs, head })
    }

    /// The text of the file with other outputs.
    pub fn blessed(&self, outputs: &[Tensor]) -> String {
        let mut text = format!("{}\n\noutputs {{\n", self.head);
        for output in outputs {
            let _ = write!(text, "  {} [", output.ty());
            let mut column = 0;
            for (i, value) in output.scalars().enumerate() {
                let value = literal::write(value);
                let comma = if i > 0 { ", " } else { "" };
                column += value.len() + 2;
                if column > 90 {
                    let _ = write!(text, "{}\n    {value}", comma.trim_end());
                    column = value.len();
                } else {
                    let _ = write!(text, "{comma}{value}");
                }
            }
            text.push_str("]\n");
        }
        text.push_str("}\n");
        text
    }

    /// What differs between computed and expected outputs, in words, or nothing.
    pub fn compare(&self, outputs: &[Tensor]) -> Result<(), String> {
        if outputs.len() != self.outputs.len() {
            return Err(format!("{}: {} outputs, {} expected", self.name, outputs.len(), self.outputs.len()));
        }
        for (i, (got, want)) in outputs.iter().zip(&self.outputs).enumerate() {
            if got.ty() != want.ty() {
                return Err(format!("{}: output {i} is {}, expected {}", self.name, got.ty(), want.ty()));
            }
            let Some(at) = (0..want.len()).find(|&at| got.at(at) != want.at(at)) else { continue };
            let (got, want) = (literal::write(got.at(at)), literal::write(want.at(at)));
            return Err(format!("{}: element {at} of output {i} is {got}, expected {want}", self.name));
        }
        Ok(())
    }
}

/// `name { dtype[shape] pattern … }`, or nothing.
fn section(lexer: &mut Lexer<'_>, name: &str) -> Result<Vec<Tensor>> {
    let mut tensors = Vec::new();
    lexer.skip_lines();
    if !lexer.accept_word(name) {
        return Ok(tensors);
    }
    lexer.expect('{')?;
    lexer.skip_lines();
    while !lexer.accept('}') {
        let line = lexer.line();
        let dtype = literal::read_dtype(lexer)?;
        let shape = literal::read_shape(lexer)?;
        if shape
            .iter()
            .try_fold(1usize, |size, &n| size.checked_mul(n))
            .is_none_or(|n| n > super::MAX_ELEMENTS)
        {
            return Err(Error::TooLarge { op: "corpus", shape: shape.to_string() });
        }
        let pattern = read_pattern(lexer, dtype)?;
        let tensor = pattern.tensor(dtype, shape);
        tensors.push(tensor.map_err(|e| Error::Text { line, what: e.to_string() })?);
        lexer.skip_lines();
    }
    Ok(tensors)
}

fn read_pattern(lexer: &mut Lexer<'_>, dtype: DType) -> Result<Pattern> {
    if lexer.peek() == Token::Mark('[') {
        return Ok(Pattern::Values(read_values(lexer, dtype)?));
    }
    let seed = |lexer: &mut Lexer<'_>| literal::read_number(lexer, "a seed");
    let number = |lexer: &mut Lexer<'_>| literal::read_number(lexer, "a number");
    let wrong = lexer.unexpected("`[`, `fill`, `ramp`, `random`, `bits`, `edges` or `mixed`");
    Ok(match lexer.take() {
        Token::Word("fill") => Pattern::Fill(literal::read(lexer, dtype)?),
        Token::Word("ramp") => Pattern::Ramp { start: number(lexer)?, step: number(lexer)? },
        Token::Word("random") => Pattern::Random(seed(lexer)?),
        Token::Word("bits") => Pattern::Bits(seed(lexer)?),
        Token::Word("mixed") => Pattern::Mixed(seed(lexer)?),
        Token::Word("edges") => Pattern::Edges,
        _ => return Err(wrong),
    })
}

fn read_values(lexer: &mut Lexer<'_>, dtype: DType) -> Result<Vec<Scalar>> {
    let mut values = Vec::new();
    lexer.expect('[')?;
    loop {
        lexer.skip_lines();
        if lexer.accept(']') {
            return Ok(values);
        }
        values.push(literal::read(lexer, dtype)?);
        lexer.skip_lines();
        if !lexer.accept(',') && lexer.peek() != Token::Mark(']') {
            return Err(lexer.unexpected("`,` or `]`"));
        }
    }
}

/// The folder of this repository's cases.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

/// Every case of a folder, by name.
pub fn load(folder: &Path) -> Result<Vec<Case>> {
    let unread =
        |path: &Path, why: String| Error::Value { op: "corpus", what: format!("{}: {why}", path.display()) };
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| unread(folder, e.to_string()))? {
        let path = entry.map_err(|e| unread(folder, e.to_string()))?.path();
        if path.extension().is_some_and(|e| e == "case") {
            paths.push(path);
        }
    }
    paths.sort();
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).map_err(|e| unread(path, e.to_string()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Case::parse(&name, &text).map_err(|e| unread(path, e.to_string()))
    };
    paths.iter().map(read).collect()
}
