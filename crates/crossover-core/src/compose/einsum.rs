//! `einsum`: sums of products in Einstein's notation, with NumPy's syntax.
//!
//! Letters name axes, `...` stands for axes that broadcast, a letter twice in one operand takes its diagonal, and without
//! `->` the letters that occur once are the result's, in alphabetical order. Operands are contracted two at a time; the
//! order is the cheapest one for up to [`EXACT`] operands, and greedy beyond. A pair becomes a matrix product over
//! permuted views, or a broadcast product where one of them has no axes of its own.

use super::{
    Build, binary, cast,
    contract::{diagonal, permuted, reshaped},
    expand, matmul, reduce,
};
use crate::{
    DType, Error, Result, Shape,
    ops::{MapOp, reduce::ReduceOp},
};

/// Most operands for which every order is compared.
const EXACT: usize = 5;
/// Labels of the axes of an ellipsis, counted from the last, start here: after every letter.
const DOTS: u32 = 1 << 16;

/// An axis: a letter, or a place in the ellipsis.
type Label = u32;

/// An operand on the way, with the label of each axis; no label occurs twice.
#[derive(Clone)]
struct Term<V> {
    value: V,
    labels: Vec<Label>,
}

/// Lengths of labels.
struct Lengths(Vec<(Label, usize)>);

impl Lengths {
    fn of(&self, label: Label) -> usize {
        self.0.iter().find(|l| l.0 == label).map_or(1, |l| l.1)
    }

    fn product(&self, labels: impl IntoIterator<Item = Label>) -> f64 {
        labels.into_iter().map(|l| self.of(l) as f64).product()
    }

    /// Notes a length; 1 broadcasts against any other, under an ellipsis and under a letter.
    fn note(&mut self, label: Label, length: usize, shape: &Shape) -> Result<()> {
        match self.0.iter_mut().find(|l| l.0 == label) {
            None => self.0.push((label, length)),
            Some(known) if known.1 == length || length == 1 => {}
            Some(known) if known.1 == 1 => known.1 = length,
            Some(known) => {
                let name = if label < DOTS { char::from_u32(label).unwrap_or('?') } else { '.' };
                let what = format!("axis `{name}` of {shape} has length {length}, elsewhere {}", known.1);
                return Err(wrong(what));
            }
        }
        Ok(())
    }
}

fn wrong(what: String) -> Error {
    Error::Value { op: "einsum", what }
}

/// Sum of products as `subscripts` say.
pub fn einsum<B: Build>(b: &mut B, subscripts: &str, operands: &[B::Value]) -> Result<B::Value> {
    let text: String = subscripts.chars().filter(|c| !c.is_whitespace()).collect();
    let (inputs, output) = match text.split_once("->") {
        Some((inputs, output)) => (inputs, Some(output)),
        None => (text.as_str(), None),
    };
    let inputs: Vec<&str> = inputs.split(',').collect();
    if inputs.len() != operands.len() || operands.is_empty() {
        return Err(wrong(format!("`{subscripts}` has {} operands, {} given", inputs.len(), operands.len())));
    }
    let dtype = operands[1..].iter().fold(b.ty(&operands[0]).dtype, |d, x| d.promote(b.dtype(x)));
    if dtype == DType::Bool {
        // As in NumPy, a product of truth values is and, a sum is or: the numbers 0 and 1, counted and compared with 0.
        let counted = operands.iter().map(|x| cast(b, x, DType::I64)).collect::<Result<Vec<_>>>()?;
        let sums = einsum(b, subscripts, &counted)?;
        return cast(b, &sums, DType::Bool);
    }
    let mut lengths = Lengths(Vec::new());
    let mut written = Vec::new();
    for (text, operand) in inputs.iter().zip(operands) {
        let shape = b.ty(operand).shape;
        let labels = labels(text, Some(shape.rank()))?;
        for (&label, &length) in labels.iter().zip(shape.iter()) {
            lengths.note(label, length, &shape)?;
        }
        written.push(labels);
    }
    let result = match output {
        Some(output) => explicit(output, &written)?,
        None => implicit(&written),
    };
    let mut terms = Vec::new();
    for (operand, labels) in operands.iter().zip(written) {
        let value = cast(b, operand, dtype.compute())?;
        terms.push(distinct(b, Term { value, labels })?);
    }
    let value = contracted(b, terms, &result, &lengths)?;
    let shape: Shape = result.iter().map(|&l| lengths.of(l)).collect();
    let value = expand(b, &value, &shape)?;
    cast(b, &value, dtype)
}

/// The labels of an operand with `rank` axes, or of the result, whose ellipsis is left as one label.
fn labels(text: &str, rank: Option<usize>) -> Result<Vec<Label>> {
    let (before, dots, after) = match text.split_once("...") {
        Some((before, after)) => (before, true, after),
        None => (text, false, ""),
    };
    let letters = |part: &str| {
        part.chars()
            .map(|c| {
                if c.is_ascii_alphabetic() {
                    Ok(c as Label)
                } else {
                    Err(wrong(format!("`{c}` in `{text}` is no letter")))
                }
            })
            .collect::<Result<Vec<Label>>>()
    };
    let (before, after) = (letters(before)?, letters(after)?);
    let named = before.len() + after.len();
    let hidden = match rank {
        Some(rank) if dots && named <= rank => rank - named,
        Some(rank) if !dots && named == rank => 0,
        Some(rank) => return Err(wrong(format!("`{text}` names {named} axes of an operand with {rank}"))),
        None => 0,
    };
    let middle = (0..hidden as Label).rev().map(|i| DOTS + i);
    if rank.is_none() && dots {
        return Ok(before.into_iter().chain([DOTS]).chain(after).collect());
    }
    Ok(before.into_iter().chain(middle).chain(after).collect())
}

/// Axes that operands hide under their ellipses, first ones first.
fn hidden(written: &[Vec<Label>]) -> Vec<Label> {
    let most = written.iter().flatten().filter(|&&l| l >= DOTS).max();
    most.map_or(Vec::new(), |&most| (DOTS..=most).rev().collect())
}

fn explicit(text: &str, written: &[Vec<Label>]) -> Result<Vec<Label>> {
    let mut result = labels(text, None)?;
    if let Some(at) = result.iter().position(|&l| l == DOTS) {
        result.splice(at..=at, hidden(written));
    }
    for (i, &label) in result.iter().enumerate() {
        let name = char::from_u32(label).filter(|_| label < DOTS).unwrap_or('.');
        if result[..i].contains(&label) {
            return Err(wrong(format!("`{name}` is twice in the result `{text}`")));
        }
        if !written.iter().any(|labels| labels.contains(&label)) {
            return Err(wrong(format!("`{name}` of the result `{text}` is in no operand")));
        }
    }
    // NumPy refuses to drop the axes of an ellipsis silently.
    if let Some(dropped) = hidden(written).iter().find(|l| !result.contains(l)) {
        let what = format!("the result `{text}` has no `...` for axis {} of an operand's", dropped - DOTS);
        return Err(wrong(what));
    }
    Ok(result)
}

fn implicit(written: &[Vec<Label>]) -> Vec<Label> {
    let mut letters: Vec<Label> = written.iter().flatten().copied().filter(|&l| l < DOTS).collect();
    letters.sort_unstable();
    let once = letters.iter().filter(|&&l| letters.iter().filter(|&&m| m == l).count() == 1);
    hidden(written).into_iter().chain(once.copied()).collect()
}

/// Labels that occur twice in an operand: the diagonal of their axes.
fn distinct<B: Build>(b: &mut B, mut term: Term<B::Value>) -> Result<Term<B::Value>> {
    let repeated = |labels: &[Label]| {
        let second = (0..labels.len()).find(|&j| labels[..j].contains(&labels[j]))?;
        Some((labels.iter().position(|l| *l == labels[second])?, second))
    };
    while let Some((first, second)) = repeated(&term.labels) {
        let shape = b.ty(&term.value).shape;
        if shape[first] != shape[second] {
            return Err(wrong(format!("a diagonal of {shape} needs axes {first} and {second} to be equal")));
        }
        term.value = diagonal(b, &term.value, 0, first as i64, second as i64)?;
        let label = term.labels.remove(second);
        term.labels.remove(first);
        term.labels.push(label);
    }
    Ok(term)
}

/// Contracts until one operand is left, with the result's axes in order.
fn contracted<B: Build>(
    b: &mut B,
    mut terms: Vec<Term<B::Value>>,
    result: &[Label],
    lengths: &Lengths,
) -> Result<B::Value> {
    let labels: Vec<Vec<Label>> = terms.iter().map(|t| t.labels.clone()).collect();
    for (i, j) in path(&labels, result, lengths) {
        let right = terms.remove(j);
        let left = terms.remove(i);
        let others = terms.iter().flat_map(|t| t.labels.iter().copied());
        let kept: Vec<Label> = others.chain(result.iter().copied()).collect();
        let left = summed(b, left, |l| right.labels.contains(&l) || kept.contains(&l))?;
        let right = summed(b, right, |l| left.labels.contains(&l) || kept.contains(&l))?;
        terms.push(pair(b, left, right, &kept)?);
    }
    let Some(last) = terms.pop() else { return Err(wrong("there is no operand".to_string())) };
    let last = summed(b, last, |l| result.contains(&l))?;
    let order: Vec<usize> = result.iter().filter_map(|l| last.labels.iter().position(|m| m == l)).collect();
    permuted(b, &last.value, &order)
}

/// Pairs to contract, by position in the list of what is left; the product goes to its end.
fn path(labels: &[Vec<Label>], result: &[Label], lengths: &Lengths) -> Vec<(usize, usize)> {
    if labels.len() <= EXACT {
        return cheapest(labels, result, lengths).1;
    }
    let mut left = labels.to_vec();
    let mut path = Vec::new();
    while left.len() > 1 {
        let pairs = (0..left.len()).flat_map(|i| (i + 1..left.len()).map(move |j| (i, j)));
        // The pair whose product shrinks most, and among those the cheapest.
        let price = |&(i, j): &(usize, usize)| {
            let product = lengths.product(after(&left, i, j, result));
            let grown = product - lengths.product(left[i].clone()) - lengths.product(left[j].clone());
            (grown, cost(&left, i, j, lengths))
        };
        let best = pairs.min_by(|a, b| {
            let (a, b) = (price(a), price(b));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        let Some((i, j)) = best else { break };
        left = contraction(&left, i, j, result);
        path.push((i, j));
    }
    path
}

/// The cheapest order and its price.
fn cheapest(labels: &[Vec<Label>], result: &[Label], lengths: &Lengths) -> (f64, Vec<(usize, usize)>) {
    if labels.len() < 2 {
        return (0.0, Vec::new());
    }
    let mut best = (f64::INFINITY, Vec::new());
    for i in 0..labels.len() {
        for j in i + 1..labels.len() {
            let (rest, mut path) = cheapest(&contraction(labels, i, j, result), result, lengths);
            let price = cost(labels, i, j, lengths) + rest;
            if price < best.0 || best.1.is_empty() {
                path.insert(0, (i, j));
                best = (price, path);
            }
        }
    }
    best
}

/// Multiplications of a pair.
fn cost(labels: &[Vec<Label>], i: usize, j: usize, lengths: &Lengths) -> f64 {
    let own = labels[j].iter().filter(|l| !labels[i].contains(l));
    lengths.product(labels[i].iter().chain(own).copied())
}

/// Labels of the product of a pair: those that anything else still needs.
fn after(labels: &[Vec<Label>], i: usize, j: usize, result: &[Label]) -> Vec<Label> {
    let own = labels[j].iter().filter(|l| !labels[i].contains(l));
    let needed = |label: &&Label| {
        let others = labels.iter().enumerate().filter(|(k, _)| *k != i && *k != j);
        result.contains(label) || others.into_iter().any(|(_, l)| l.contains(label))
    };
    labels[i].iter().chain(own).filter(needed).copied().collect()
}

fn contraction(labels: &[Vec<Label>], i: usize, j: usize, result: &[Label]) -> Vec<Vec<Label>> {
    let product = after(labels, i, j, result);
    let others = labels.iter().enumerate().filter(|(k, _)| *k != i && *k != j).map(|(_, l)| l.clone());
    others.chain([product]).collect()
}

/// Sums over axes that nobody needs.
fn summed<B: Build>(
    b: &mut B,
    mut term: Term<B::Value>,
    needed: impl Fn(Label) -> bool,
) -> Result<Term<B::Value>> {
    let axes: Vec<i64> =
        (0..term.labels.len()).filter(|&i| !needed(term.labels[i])).map(|i| i as i64).collect();
    if !axes.is_empty() {
        term.value = reduce(b, ReduceOp::Sum, &term.value, &axes, false)?;
        term.labels.retain(|&l| needed(l));
    }
    Ok(term)
}

/// The product of two operands, summed over the labels that both have and nobody else needs.
fn pair<B: Build>(
    b: &mut B,
    left: Term<B::Value>,
    right: Term<B::Value>,
    kept: &[Label],
) -> Result<Term<B::Value>> {
    let both = |l: &&Label| left.labels.contains(l) && right.labels.contains(l);
    let batch: Vec<Label> = left.labels.iter().filter(both).filter(|l| kept.contains(l)).copied().collect();
    let inner: Vec<Label> = left.labels.iter().filter(both).filter(|l| !kept.contains(l)).copied().collect();
    let own = |term: &Term<B::Value>, other: &Term<B::Value>| {
        term.labels.iter().filter(|l| !other.labels.contains(l)).copied().collect::<Vec<Label>>()
    };
    let (rows, columns) = (own(&left, &right), own(&right, &left));
    let labels: Vec<Label> = [batch.as_slice(), &rows, &columns].concat();
    // Lengths of this pair; an axis of length 1 broadcasts.
    let length = |b: &B, label: Label| {
        let of = |term: &Term<B::Value>| {
            term.labels.iter().position(|l| *l == label).map_or(1, |i| b.ty(&term.value).shape[i])
        };
        if of(&left) == 1 { of(&right) } else { of(&left) }
    };
    let all = [batch.as_slice(), &rows, &columns, &inner].concat();
    let lengths: Vec<(Label, usize)> = all.iter().map(|&l| (l, length(b, l))).collect();
    let size = |group: &[Label]| -> Vec<usize> {
        group.iter().filter_map(|l| lengths.iter().find(|k| k.0 == *l)).map(|k| k.1).collect()
    };
    let arranged = |b: &mut B, term: &Term<B::Value>, groups: [&[Label]; 3]| {
        let wanted = groups.concat();
        let order: Vec<usize> =
            wanted.iter().filter_map(|l| term.labels.iter().position(|m| m == l)).collect();
        let value = permuted(b, &term.value, &order)?;
        expand(b, &value, &Shape::from(size(&wanted)))
    };
    if inner.is_empty() || (rows.is_empty() && columns.is_empty()) {
        // Nothing to sum over, or nothing but that: a broadcast product, and a sum in canonical order.
        let ones = |n: usize| vec![1usize; n];
        let x = arranged(b, &left, [&batch, &rows, &inner])?;
        let shape = [size(&batch), size(&rows), ones(columns.len()), size(&inner)].concat();
        let x = reshaped(b, &x, Shape::from(shape))?;
        let y = arranged(b, &right, [&batch, &columns, &inner])?;
        let shape = [size(&batch), ones(rows.len()), size(&columns), size(&inner)].concat();
        let y = reshaped(b, &y, Shape::from(shape))?;
        let product = binary(b, MapOp::Multiply, &x, &y)?;
        let axes: Vec<i64> = (labels.len()..labels.len() + inner.len()).map(|i| i as i64).collect();
        let value =
            if inner.is_empty() { product } else { reduce(b, ReduceOp::Sum, &product, &axes, false)? };
        return Ok(Term { value, labels });
    }
    let flat = |group: &[Label]| size(group).iter().product::<usize>();
    let x = arranged(b, &left, [&batch, &rows, &inner])?;
    let x = reshaped(b, &x, size(&batch).into_iter().chain([flat(&rows), flat(&inner)]).collect())?;
    let y = arranged(b, &right, [&batch, &inner, &columns])?;
    let y = reshaped(b, &y, size(&batch).into_iter().chain([flat(&inner), flat(&columns)]).collect())?;
    let product = matmul(b, &x, &y)?;
    let value = reshaped(b, &product, Shape::from(size(&labels)))?;
    Ok(Term { value, labels })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(subscripts: &str, shapes: &[&[usize]]) -> Vec<(usize, usize)> {
        let (inputs, output) = subscripts.split_once("->").unwrap();
        let mut lengths = Lengths(Vec::new());
        let mut all = Vec::new();
        for (text, shape) in inputs.split(',').zip(shapes) {
            let labels = labels(text, Some(shape.len())).unwrap();
            labels.iter().zip(*shape).for_each(|(&l, &n)| lengths.note(l, n, &Shape::from(*shape)).unwrap());
            all.push(labels);
        }
        path(&all, &labels(output, None).unwrap(), &lengths)
    }

    #[test]
    fn chains_of_products_start_where_they_are_narrow() {
        // 1000×2 · 2×1000 · 1000×3: the last two first.
        assert_eq!(order("ij,jk,kl->il", &[&[1000, 2], &[2, 1000], &[1000, 3]]), [(1, 2), (0, 1)]);
        assert_eq!(order("ij,jk,kl->il", &[&[3, 1000], &[1000, 2], &[2, 1000]]), [(0, 1), (0, 1)]);
        let many: Vec<&[usize]> = vec![&[2, 2]; 8];
        assert_eq!(order("ab,bc,cd,de,ef,fg,gh,hi->ai", &many).len(), 7);
    }
}
