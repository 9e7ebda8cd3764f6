//! Reductions, scans and the compositions made of them.

use crossover::{Array, Axes, DType, Kind, Rotary};
use serde_json::json;

use crate::{
    case::Case,
    dice::{Dice, FLOATS, INTEGERS, NUMBERS, ORDERED, Values},
    entries,
};

const FLOATING: [DType; 6] = [DType::F16, DType::BF16, DType::F32, DType::F64, DType::C64, DType::C128];

fn axes(dice: &mut Dice, rank: usize) -> (Axes, serde_json::Value) {
    let (list, keep) = (dice.axes(rank), dice.once_in(3));
    let axes = Axes::from(list.clone());
    (if keep { axes.keepdims() } else { axes }, json!({"axes": list, "keepdims": keep}))
}

/// Values of moderate size, rarely with NaN or an infinity among them.
fn moderate(dice: &mut Dice) -> Values {
    if dice.once_in(8) { Values::Special } else { dice.moderate() }
}

fn reduced(
    dice: &mut Dice,
    dtypes: &[DType],
    values: Values,
    empty: bool,
    apply: fn(&Array, Axes) -> Array,
) -> Case {
    let shape = if empty { dice.shape(0, 4) } else { dice.filled_shape(0, 4) };
    let dtype = dice.pick(dtypes);
    let x = dice.operand(dtype, &shape, values);
    let (axes, parameters) = axes(dice, x.ndim());
    let result = apply(&x, axes);
    Case::one([x], parameters, result)
}

/// One axis, or all of them: what NumPy's argmin takes.
fn searched(dice: &mut Dice, apply: fn(&Array, Axes) -> Array) -> Case {
    let (dtype, shape, values) = (dice.pick(&ORDERED), dice.filled_shape(1, 4), dice.values());
    let x = dice.operand(dtype, &shape, values);
    let axis = (!dice.once_in(3)).then(|| dice.axis(x.ndim()));
    let result = apply(&x, axis.map_or(Axes::from(()), Axes::from));
    Case::one([x], json!({"axis": axis}), result)
}

fn corrected(dice: &mut Dice, apply: fn(&Array, Axes, f64) -> Array) -> Case {
    let dtype = dice.pick(&NUMBERS);
    let (shape, values) = (dice.filled_shape(0, 4), dice.moderate());
    let x = dice.operand(dtype, &shape, values);
    let (axes, mut parameters) = axes(dice, x.ndim());
    let correction = dice.pick(&[0.0, 1.0, 0.5]);
    parameters["correction"] = json!(correction);
    let result = apply(&x, axes, correction);
    Case::one([x], parameters, result)
}

fn scanned(dice: &mut Dice, dtypes: &[DType], values: Values, apply: fn(&Array, i64, bool) -> Array) -> Case {
    let (dtype, shape) = (dice.pick(dtypes), dice.shape(1, 3));
    let x = dice.operand(dtype, &shape, values);
    let (axis, initial) = (dice.axis(x.ndim()), dice.once_in(3));
    let result = apply(&x, axis, initial);
    Case::one([x], json!({"axis": axis, "initial": initial}), result)
}

fn diff(dice: &mut Dice) -> Case {
    let (dtype, shape, values) = (dice.pick(&NUMBERS), dice.shape(1, 3), dice.moderate());
    let x = dice.operand(dtype, &shape, values);
    let (axis, times) = (dice.axis(x.ndim()), dice.below(4));
    let result = x.diff(axis, times);
    Case::one([x], json!({"axis": axis, "times": times}), result)
}

/// With elements before, after, on both sides or on none.
fn diff_with(dice: &mut Dice) -> Case {
    let (dtype, shape, values) = (dice.pick(&DType::ALL), dice.shape(1, 3), dice.moderate());
    let x = dice.operand(dtype, &shape, values);
    let (axis, times) = (dice.axis(x.ndim()), dice.below(3));
    let place = axis.rem_euclid(x.ndim() as i64) as usize;
    let side = |dice: &mut Dice| {
        let mut shape = shape.clone();
        shape[place] = dice.below(4);
        (!dice.once_in(3)).then(|| dice.operand(dtype, &shape, values))
    };
    let (before, after) = (side(dice), side(dice));
    let result = x.diff_with(axis, times, before.as_ref(), after.as_ref());
    let parameters =
        json!({"axis": axis, "times": times, "before": before.is_some(), "after": after.is_some()});
    Case::one([x].into_iter().chain(before).chain(after), parameters, result)
}

/// Pairs turned by angles that all rows share or that each has for itself.
fn turn_pairs(dice: &mut Dice) -> Case {
    let (dtype, pairs) = (dice.pick(&FLOATS), dice.below(6) + 1);
    let outer: Vec<usize> = (0..dice.below(3)).map(|_| dice.below(5) + 1).collect();
    let shape: Vec<usize> = outer.iter().copied().chain([2 * pairs]).collect();
    let angles: Vec<usize> =
        if dice.once_in(2) { vec![pairs] } else { outer.iter().copied().chain([pairs]).collect() };
    let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let values = dice.moderate();
    let x = dice.operand(dtype, &shape, values);
    let [sin, cos] = [(); 2].map(|()| dice.operand(wide, &angles, Values::Between(-1.0, 1.0)));
    let (name, order) = dice.pick(&[("halves", Rotary::Halves), ("neighbours", Rotary::Neighbours)]);
    let result = x.turn_pairs(&sin, &cos, order);
    Case::one([x, sin, cos], json!({"pairs": name}), result)
}

fn rows(dice: &mut Dice, apply: fn(&Array, i64) -> Array) -> Case {
    let (dtype, shape, values) = (dice.pick(&FLOATS), dice.filled_shape(1, 3), dice.moderate());
    let x = dice.operand(dtype, &shape, values);
    let axis = dice.axis(x.ndim());
    let result = apply(&x, axis);
    Case::one([x], json!({"axis": axis}), result)
}

fn layer_norm(dice: &mut Dice) -> Case {
    let (dtype, shape, values) = (dice.pick(&FLOATS), dice.filled_shape(1, 3), dice.moderate());
    let x = dice.operand(dtype, &shape, values);
    let width = &shape[shape.len() - 1..];
    let (scale, shift) = (dice.operand(dtype, width, values), dice.operand(dtype, width, values));
    let result = x.layer_norm(Some(&scale), Some(&shift), 1e-5);
    Case::one([x, scale, shift], json!({"epsilon": 1e-5}), result)
}

fn vector_norm(dice: &mut Dice) -> Case {
    let (dtype, shape, values) = (dice.pick(&NUMBERS), dice.filled_shape(0, 3), dice.moderate());
    let x = dice.operand(dtype, &shape, values);
    let (axes, mut parameters) = axes(dice, x.ndim());
    let order = dice.pick(&[2.0, 1.0, 0.0, 3.0, 2.5, f64::INFINITY, f64::NEG_INFINITY]);
    parameters["order"] = json!(order.to_string());
    let result = x.vector_norm_with(axes, order);
    Case::one([x], parameters, result)
}

/// Sums and products of the elements as another dtype, which NumPy converts to in the same way; the second is what to make.
fn as_dtype(dice: &mut Dice, values: Values, apply: fn(&Array, Axes, DType) -> Array) -> Case {
    let (x, dtype) = converted(dice, values, 0);
    let (axes, mut parameters) = axes(dice, x.ndim());
    parameters["dtype"] = json!(dtype.name());
    let result = apply(&x, axes, dtype);
    Case::one([x], parameters, result)
}

fn scanned_as(dice: &mut Dice, values: Values, apply: fn(&Array, i64, bool, DType) -> Array) -> Case {
    let (x, dtype) = converted(dice, values, 1);
    let (axis, initial) = (dice.axis(x.ndim()), dice.once_in(3));
    let result = apply(&x, axis, initial, dtype);
    Case::one([x], json!({"axis": axis, "initial": initial, "dtype": dtype.name()}), result)
}

/// An operand and a dtype it is converted to.
fn converted(dice: &mut Dice, values: Values, least: usize) -> (Array, DType) {
    let from = dice.pick(&NUMBERS);
    let to = match from.kind() {
        Kind::Complex => dice.pick(&[DType::C64, DType::C128]),
        Kind::Float => dice.pick(&[DType::F32, DType::F64, DType::C64, DType::C128]),
        _ => dice.pick(&[&INTEGERS[..], &[DType::F64]].concat()),
    };
    let shape = dice.shape(least, 3);
    (dice.operand(from, &shape, values), to)
}

fn factors(dice: &mut Dice) -> Values {
    dice.pick(&[Values::Between(0.5, 2.0), Values::Between(-1.5, 1.5), Values::Few])
}

fn sums(dice: &mut Dice, apply: fn(&Array, Axes) -> Array) -> Case {
    let values = moderate(dice);
    reduced(dice, &DType::ALL, values, true, apply)
}

entries! {
    "all" => |dice| { let values = moderate(dice); reduced(dice, &DType::ALL, values, true, |x, axes| x.all(axes)) };
    "any" => |dice| { let values = moderate(dice); reduced(dice, &DType::ALL, values, true, |x, axes| x.any(axes)) };
    "argmax" => |dice| searched(dice, |x, axes| x.argmax(axes));
    "argmin" => |dice| searched(dice, |x, axes| x.argmin(axes));
    "count_nonzero" => |dice| sums(dice, |x, axes| x.count_nonzero(axes));
    "cumulative_prod" => |dice| {
        let values = factors(dice);
        scanned(dice, &NUMBERS, values, |x, axis, initial| x.cumulative_prod_with(axis, initial))
    };
    "cumulative_prod_dtype" => |dice| {
        let values = factors(dice);
        scanned_as(dice, values, |x, axis, initial, dtype| x.cumulative_prod_dtype(axis, initial, dtype))
    };
    "cumulative_sum" => |dice| {
        let values = moderate(dice);
        scanned(dice, &NUMBERS, values, |x, axis, initial| x.cumulative_sum_with(axis, initial))
    };
    "cumulative_sum_dtype" => |dice| {
        let values = moderate(dice);
        scanned_as(dice, values, |x, axis, initial, dtype| x.cumulative_sum_dtype(axis, initial, dtype))
    };
    "diff" => diff;
    "diff_with" => diff_with;
    "layer_norm" => layer_norm;
    "log_softmax" => |dice| rows(dice, |x, axis| x.log_softmax(axis));
    "logsumexp" => |dice| { let values = dice.moderate(); reduced(dice, &FLOATS, values, false, |x, axes| x.logsumexp(axes)) };
    "max" => |dice| { let values = dice.values(); reduced(dice, &ORDERED, values, false, |x, axes| x.max(axes)) };
    "mean" => |dice| { let values = moderate(dice); reduced(dice, &DType::ALL, values, false, |x, axes| x.mean(axes)) };
    "min" => |dice| { let values = dice.values(); reduced(dice, &ORDERED, values, false, |x, axes| x.min(axes)) };
    "prod" => |dice| {
        let values = factors(dice);
        reduced(dice, &NUMBERS, values, true, |x, axes| x.prod(axes))
    };
    "prod_dtype" => |dice| { let values = factors(dice); as_dtype(dice, values, |x, axes, dtype| x.prod_dtype(axes, dtype)) };
    "softmax" => |dice| rows(dice, |x, axis| x.softmax(axis));
    "standardise" => |dice| rows(dice, |x, axis| x.standardise(axis));
    "std" => |dice| corrected(dice, |x, axes, correction| x.std_with(axes, correction));
    "sum" => |dice| sums(dice, |x, axes| x.sum(axes));
    "sum_dtype" => |dice| { let values = moderate(dice); as_dtype(dice, values, |x, axes, dtype| x.sum_dtype(axes, dtype)) };
    "sum_of_floats" => |dice| {
        let values = dice.pick(&[Values::Spread, Values::Bits]);
        reduced(dice, &FLOATING, values, true, |x, axes| x.sum(axes))
    };
    "turn_pairs" => turn_pairs;
    "var" => |dice| corrected(dice, |x, axes, correction| x.var_with(axes, correction));
    "vector_norm" => vector_norm;
}
