//! Reading the text form that `write.rs` describes.
//!
//! Names are words after `%`, numbers included; each is defined once, above its use. Newlines end statements
//! except inside brackets, and `#` starts a comment. Whatever the text is, reading it takes memory and time in
//! proportion to its length, and ends in a graph that passes the verifier or in an error that names the line.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use super::{
    Graph, NodeId, Op, Other,
    lexer::{Lexer, Token, excerpt},
    literal::{self, read_dtype, read_list, read_number, read_shape},
    write::CUSTOM,
};
use crate::{
    Error, Layout, Result, Scalar, Shape, Span,
    custom::CustomKernel,
    graph::Type,
    ops::{
        MapOp,
        convolve::{Boundary, ConvolveMode},
        fft::{FftKind, FftScale},
        linalg::LinalgOp,
        reduce::ReduceOp,
        scatter::ScatterOp,
    },
    sample::Sampler,
};

/// Largest slot number a scalar may name; slots below a named one are filled, so text must not choose freely.
const MAX_SLOT: u32 = 1 << 16;

pub(super) fn graph(text: &str, kernels: &[CustomKernel]) -> Result<Graph> {
    let mut lexer = Lexer::new(text);
    let graph = read_with(&mut lexer, kernels)?;
    lexer.skip_lines();
    match lexer.peek() {
        Token::End => Ok(graph),
        _ => Err(lexer.unexpected("nothing after the graph")),
    }
}

/// Reads `graph { … }`, leaving what follows.
pub(crate) fn read(lexer: &mut Lexer<'_>) -> Result<Graph> {
    read_with(lexer, &[])
}

fn read_with<'a>(lexer: &mut Lexer<'a>, kernels: &'a [CustomKernel]) -> Result<Graph> {
    lexer.skip_lines();
    lexer.expect_word("graph")?;
    lexer.expect('{')?;
    let mut reader = Reader { graph: Graph::new(), names: HashMap::new(), slots: HashSet::new(), kernels };
    loop {
        lexer.skip_lines();
        match lexer.peek() {
            Token::Name(_) => reader.definition(lexer)?,
            Token::Word("return") => break,
            _ => return Err(lexer.unexpected("a definition such as `%x = …`, or `return`")),
        }
        end_of_statement(lexer)?;
    }
    lexer.take();
    reader.graph.outputs = reader.operands(lexer)?;
    end_of_statement(lexer)?;
    lexer.skip_lines();
    lexer.expect('}')?;
    reader.graph.verify()?;
    Ok(reader.graph)
}

fn end_of_statement(lexer: &mut Lexer<'_>) -> Result<()> {
    match lexer.peek() {
        Token::Line | Token::Mark('}') => Ok(()),
        _ => Err(lexer.unexpected("the end of the line")),
    }
}

struct Reader<'a> {
    graph: Graph,
    names: HashMap<&'a str, NodeId>,
    /// Scalar slots whose value the text has given.
    slots: HashSet<u32>,
    /// What the text may call, beside the operations there are.
    kernels: &'a [CustomKernel],
}

impl<'a> Reader<'a> {
    /// `%name[: type] = op …`
    fn definition(&mut self, lexer: &mut Lexer<'a>) -> Result<()> {
        let Token::Name(name) = lexer.peek() else { return Err(lexer.unexpected("a name")) };
        if name.is_empty() {
            return Err(lexer.wrong("expected a name after `%`".to_string()));
        }
        if self.names.contains_key(name) {
            return Err(lexer.wrong(format!("`%{}` is defined twice", excerpt(name))));
        }
        let line = lexer.line();
        let at_line = |e: Error| match e {
            Error::Text { .. } => e,
            other => Error::Text { line, what: other.to_string() },
        };
        lexer.take();
        let declared = if lexer.accept(':') { Some(read_type(lexer)?) } else { None };
        lexer.expect('=')?;
        let id = self.statement(lexer).map_err(at_line)?;
        let ty = &self.graph.node(id).ty;
        if let Some(declared) = declared.filter(|d| d != ty) {
            let what = format!("`%{}` is declared {declared} but is {ty}", excerpt(name));
            return Err(Error::Text { line, what });
        }
        self.names.insert(name, id);
        Ok(())
    }

    fn statement(&mut self, lexer: &mut Lexer<'a>) -> Result<NodeId> {
        let wrong_line = lexer.line();
        let word = lexer.word("an operation")?;
        if let Some(op) = MapOp::from_name(word) {
            let args = self.operands(lexer)?;
            return self.graph.push(Op::Map(op), &args);
        }
        if let Some(op) = ScatterOp::from_name(word) {
            let args = self.operands(lexer)?;
            let axis = read_axis(lexer)?;
            return self.graph.push(Op::Scatter { op, axis }, &args);
        }
        if let Some(op) = ReduceOp::from_name(word) {
            let args = self.operands(lexer)?;
            lexer.expect_word("axes")?;
            let axes = read_axes(lexer)?.into();
            let keepdims = lexer.accept_word("keepdims");
            return self.graph.push(Op::Reduce { op, axes, keepdims }, &args);
        }
        match word {
            "input" => {
                let Type { dtype, shape } = read_type(lexer)?;
                self.graph.input(dtype, shape)
            }
            "scalar" => self.scalar(lexer),
            "index" => {
                let shape = read_shape(lexer)?;
                let axis = read_axis(lexer)?;
                self.graph.push(Op::Index { shape, axis }, &[])
            }
            _ => {
                let on_matrices = LinalgOp::ALL.iter().any(|op| op.name() == word);
                if !on_matrices && Other::ALL.iter().all(|op| op.name != word) {
                    return Err(Error::Text { line: wrong_line, what: unknown(word) });
                }
                let args = self.operands(lexer)?;
                let op = if on_matrices {
                    read_linalg(lexer, word)?
                } else {
                    self.attributes(lexer, word, &args)?
                };
                self.graph.push(op, &args)
            }
        }
    }

    /// The op named `word`, one of [`Other::ALL`], with what follows its operands.
    fn attributes(&self, lexer: &mut Lexer<'a>, word: &str, args: &[NodeId]) -> Result<Op> {
        let shape_after_to = |lexer: &mut Lexer<'a>| {
            lexer.expect_word("to")?;
            read_shape(lexer)
        };
        Ok(match word {
            "where" => Op::Where,
            "fft" | "ifft" | "rfft" | "irfft" => read_fft(lexer, word)?,
            "convolve" => {
                let mode = read_choice(lexer, "mode", &ConvolveMode::ALL.map(|m| (m.name(), m)))?;
                let boundary = read_choice(lexer, "boundary", &Boundary::ALL.map(|b| (b.name(), b)))?;
                Op::Convolve { mode, boundary }
            }
            "matmul" => Op::MatMul,
            CUSTOM => self.custom(lexer)?,
            "cast" => {
                lexer.expect_word("to")?;
                Op::Cast(read_dtype(lexer)?)
            }
            "random" => {
                let shape = shape_after_to(lexer)?;
                lexer.expect_word("stream")?;
                Op::Random { shape, stream: read_number(lexer, "the number of a stream")? }
            }
            "sample" => {
                let Token::Word(name) = lexer.peek() else {
                    return Err(lexer.unexpected("the name of a distribution"));
                };
                let Some(sampler) = Sampler::from_name(name) else {
                    return Err(lexer.wrong(format!("there is no distribution `{}`", excerpt(name))));
                };
                lexer.take();
                Op::Sample(sampler)
            }
            "cumulative_sum" => Op::Scan { op: ReduceOp::Sum, axis: read_axis(lexer)? },
            "cumulative_prod" => Op::Scan { op: ReduceOp::Prod, axis: read_axis(lexer)? },
            "concat" => Op::Concat { axis: read_axis(lexer)? },
            "take" => Op::Take { axis: read_axis(lexer)? },
            "take_along_axis" => Op::Gather { axis: read_axis(lexer)? },
            "sort" | "argsort" => Op::Sort {
                axis: read_axis(lexer)?,
                descending: lexer.accept_word("descending"),
                indices: word == "argsort",
            },
            "top_k" => {
                let axis = read_axis(lexer)?;
                lexer.expect_word("first")?;
                let k = read_number(lexer, "a number of elements")?;
                Op::TopK { axis, k, descending: lexer.accept_word("descending") }
            }
            "searchsorted" => Op::SearchSorted { right: lexer.accept_word("right") },
            "compress" => {
                lexer.expect_word("count")?;
                Op::Compress { count: read_number(lexer, "a number of entries")? }
            }
            "reshape" => Op::Reshape(shape_after_to(lexer)?),
            "expand" => Op::Expand(shape_after_to(lexer)?),
            "permute" | "flip" => {
                lexer.expect_word("axes")?;
                let axes = read_axes(lexer)?.into();
                if word == "flip" { Op::Flip(axes) } else { Op::Permute(axes) }
            }
            "slice" => {
                let shape = args.first().map_or(Shape::scalar(), |a| self.graph.node(*a).ty.shape.clone());
                let mut lengths = shape.iter().copied();
                let spans = read_list(lexer, |l| read_span(l, lengths.next()))?;
                Op::Slice(SmallVec::from_vec(spans))
            }
            _ => {
                let shape = shape_after_to(lexer)?;
                lexer.expect_word("strides")?;
                let strides = SmallVec::from_vec(read_list(lexer, |l| read_number(l, "a stride"))?);
                lexer.expect_word("offset")?;
                Op::Strided(Layout { shape, strides, offset: read_number(lexer, "an offset")? })
            }
        })
    }

    /// `kernel name`, one of those that the caller has.
    fn custom(&self, lexer: &mut Lexer<'a>) -> Result<Op> {
        lexer.expect_word("kernel")?;
        let name = lexer.word("the name of a kernel")?;
        match self.kernels.iter().find(|kernel| kernel.name() == name) {
            Some(kernel) => Ok(Op::Custom(kernel.clone())),
            None => Err(lexer.wrong(format!(
                "`{}` is a kernel that a user has written, and text does not hold its code; build it and give it to \
                 Graph::parse_with",
                excerpt(name)
            ))),
        }
    }

    /// `dtype value [slot n]`
    fn scalar(&mut self, lexer: &mut Lexer<'a>) -> Result<NodeId> {
        let dtype = read_dtype(lexer)?;
        let value = literal::read(lexer, dtype)?;
        let next = self.graph.scalars.len() as u32;
        let slot = if lexer.accept_word("slot") { read_number(lexer, "the number of a slot")? } else { next };
        if slot > next.max(MAX_SLOT) {
            return Err(lexer.wrong(format!("slot {slot} is above {MAX_SLOT}")));
        }
        // A slot that no node names has no value in the text; any value will do.
        let at = slot as usize;
        if slot >= next {
            self.graph.scalars.resize(at + 1, Scalar::zero(crate::DType::Bool));
        }
        if !self.slots.insert(slot) && self.graph.scalars[at] != value {
            let held = literal::write(self.graph.scalars[at]);
            return Err(lexer.wrong(format!("slot {slot} holds {held} already")));
        }
        self.graph.scalars[at] = value;
        self.graph.push(Op::Scalar { slot, dtype }, &[])
    }

    /// `%a, %b, …`, at least one.
    fn operands(&self, lexer: &mut Lexer<'a>) -> Result<Vec<NodeId>> {
        let mut args = Vec::new();
        loop {
            let Token::Name(name) = lexer.peek() else {
                return Err(lexer.unexpected("an operand such as `%0`"));
            };
            match self.names.get(name) {
                Some(id) => args.push(*id),
                None => return Err(lexer.wrong(format!("`%{}` is not defined above", excerpt(name)))),
            }
            lexer.take();
            if matches!(lexer.peek(), Token::Name(_)) {
                return Err(lexer.unexpected("`,` between operands"));
            }
            if !lexer.accept(',') {
                return Ok(args);
            }
            lexer.skip_lines();
        }
    }
}

/// `axes [a, …] [length n] scale one|root|count`
fn read_fft(lexer: &mut Lexer<'_>, word: &str) -> Result<Op> {
    lexer.expect_word("axes")?;
    let axes = read_axes(lexer)?.into();
    let kind = match word {
        "fft" => FftKind::Forward,
        "ifft" => FftKind::Inverse,
        "rfft" => FftKind::Real,
        _ => {
            lexer.expect_word("length")?;
            FftKind::Hermitian { length: read_number(lexer, "a length")? }
        }
    };
    let scale = read_choice(lexer, "scale", &FftScale::ALL.map(|s| (s.name(), s)))?;
    Ok(Op::Fft { kind, axes, scale })
}

/// An op on matrices with the word that may follow its operands.
fn read_linalg(lexer: &mut Lexer<'_>, word: &str) -> Result<Op> {
    let flag = match lexer.peek() {
        Token::Word(flag) => Some(flag),
        _ => None,
    };
    let Some(op) = LinalgOp::from_name(word, flag) else {
        return Err(lexer.unexpected("the end of the line"));
    };
    if flag.is_some() {
        lexer.take();
    }
    Ok(Op::Linalg(op))
}

/// `word name`, one of several names.
fn read_choice<T: Copy>(lexer: &mut Lexer<'_>, word: &str, choices: &[(&str, T)]) -> Result<T> {
    lexer.expect_word(word)?;
    let wrong = {
        let names: Vec<String> = choices.iter().map(|(name, _)| format!("`{name}`")).collect();
        lexer.unexpected(&names.join(" or "))
    };
    match lexer.take() {
        Token::Word(given) => choices.iter().find(|c| c.0 == given).map(|c| c.1).ok_or(wrong),
        _ => Err(wrong),
    }
}

fn read_type(lexer: &mut Lexer<'_>) -> Result<Type> {
    Ok(Type { dtype: read_dtype(lexer)?, shape: read_shape(lexer)? })
}

fn read_axes(lexer: &mut Lexer<'_>) -> Result<Vec<usize>> {
    read_list(lexer, |l| read_number(l, "an axis, counted from 0"))
}

fn read_axis(lexer: &mut Lexer<'_>) -> Result<usize> {
    lexer.expect_word("axis")?;
    read_number(lexer, "an axis, counted from 0")
}

/// `start:stop[:step]` with Python's defaults, or `startxlength`; indices count from 0.
fn read_span(lexer: &mut Lexer<'_>, axis: Option<usize>) -> Result<Span> {
    let Some(axis) = axis else {
        return Err(lexer.wrong("more spans than the operand has axes".to_string()));
    };
    if let Token::Word(word) = lexer.peek()
        && let Some((start, length)) = word.split_once('x')
        && let (Ok(start), Ok(length)) = (start.parse(), length.parse())
    {
        lexer.take();
        return Ok(Span { start, step: 0, length });
    }
    let bound = |lexer: &mut Lexer<'_>| match lexer.peek() {
        Token::Word(_) => read_number::<u64>(lexer, "an index from 0, or nothing").map(|v| Some(v as i128)),
        _ => Ok(None),
    };
    let start = bound(lexer)?;
    if !lexer.accept(':') {
        return Err(lexer.unexpected("`:` between the bounds of a slice"));
    }
    // Written stops may lie past the last index by almost a step, hence past 64 bits.
    let stop = match lexer.peek() {
        Token::Word(_) => Some(read_number::<u128>(lexer, "an index from 0, or nothing")?),
        _ => None,
    };
    let step: isize = match lexer.accept(':') {
        true if matches!(lexer.peek(), Token::Word(_)) => read_number(lexer, "a step")?,
        _ => 1,
    };
    if step == 0 {
        return Err(lexer.wrong("a step of 0 is written `startxlength`".to_string()));
    }
    let (first, last) = if step > 0 { (0, axis as i128) } else { (axis as i128 - 1, -1) };
    let start = start.unwrap_or(first);
    let stop = stop.map_or(Some(last), |s| i128::try_from(s).ok());
    let distance = stop.and_then(|s| s.checked_sub(start)).map(|d| if step > 0 { d } else { -d });
    let length = distance.map(|d| (d.max(0) as u128).div_ceil(step.unsigned_abs() as u128));
    match length.and_then(|n| usize::try_from(n).ok()) {
        Some(length) => Ok(Span { start: start.max(0) as usize, step, length }),
        None => Err(lexer.wrong("the slice has more entries than can be addressed".to_string())),
    }
}

/// Every word that a line of a graph's text may have for its operation.
///
/// ```
/// use crossover_core::graph::names;
/// assert!(["add", "sum", "sort", "svd", "scatter_add", "input"].iter().all(|name| names().any(|n| n == *name)));
/// ```
pub fn names() -> impl Iterator<Item = &'static str> {
    let maps = MapOp::ALL.iter().map(|op| op.name());
    let reductions = ReduceOp::ALL.iter().map(|op| op.name());
    let scatters = ScatterOp::ALL.iter().map(|op| op.name());
    // Each once, without the word that may stand behind it.
    let linalg = LinalgOp::ALL.iter().filter(|op| op.flag().is_none()).map(|op| op.name());
    let others = Other::ALL.iter().map(|op| op.name);
    maps.chain(reductions).chain(scatters).chain(others).chain(linalg).chain(["input", "scalar", "index"])
}

/// Functions of arrays that are several operations of a graph, and where to see which.
const COMPOSITIONS: [(&str, &str); 9] = [
    ("layer_norm", "docs/graphs/layer_norm.graph writes it out"),
    ("linear", "docs/graphs/linear_gelu.graph has one"),
    ("log_softmax", "the `log` of what docs/graphs/softmax.graph writes out"),
    ("mean", "a `sum` and a `divide`, as in docs/graphs/layer_norm.graph"),
    ("rms_norm", "docs/graphs/layer_norm.graph without its mean"),
    ("softmax", "docs/graphs/softmax.graph writes it out"),
    ("standardise", "docs/graphs/standardise.graph writes it out"),
    ("std", "the `sqrt` of the variance, as in docs/graphs/layer_norm.graph"),
    ("var", "a `sum` of squares and a `divide`, as in docs/graphs/layer_norm.graph"),
];

/// What to say about a name that no op has.
fn unknown(word: &str) -> String {
    let nearest = names()
        .map(|name| (distance(word, name), name))
        .min()
        .filter(|(d, name)| *d <= name.len().div_ceil(3));
    if let Some((_, parts)) = COMPOSITIONS.iter().find(|(name, _)| *name == word) {
        return format!("`{word}` is not one operation but several: {parts}");
    }
    match nearest {
        Some((_, name)) => format!("there is no operation `{}`; did you mean `{name}`?", excerpt(word)),
        None => format!("there is no operation `{}`", excerpt(word)),
    }
}

/// Insertions, deletions and replacements from one name to another; longer words than any name are far away.
fn distance(a: &str, b: &str) -> usize {
    if a.len() > 32 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + (x != y) as usize;
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
