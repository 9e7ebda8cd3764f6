//! Views, joins and rearrangements: elements move and keep their bits.

use crossover::{Array, DType, Index, Indices, Padding, Shape, fft, linalg};
use serde_json::{Value, json};

use crate::{
    case::Case,
    dice::{Dice, NUMBERS},
    entries,
};

fn reshape(dice: &mut Dice) -> Case {
    let mut shape = dice.shape(0, 4);
    let dtype = dice.pick(&DType::ALL);
    let values = dice.values();
    let x = dice.operand(dtype, &shape, values);
    let order = dice.permutation(shape.len());
    shape = order.iter().map(|&axis| shape[axis as usize]).collect();
    if shape.len() > 1 && dice.once_in(2) {
        let last = shape.pop().unwrap_or(1);
        if let Some(before) = shape.last_mut() {
            *before *= last;
        }
    }
    let mut dims: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
    if !dims.is_empty() && !shape.contains(&0) && dice.once_in(3) {
        let open = dice.below(dims.len());
        dims[open] = -1;
    }
    let result = x.reshape(dims.clone());
    Case::one([x], json!({"shape": dims}), result)
}

fn simple(dice: &mut Dice, least: usize, apply: fn(&mut Dice, &Array) -> (Value, Array)) -> Case {
    let x = dice.any(&DType::ALL, least, 4);
    let (parameters, result) = apply(dice, &x);
    Case::one([x], parameters, result)
}

fn axes_or_all(dice: &mut Dice, x: &Array) -> Vec<i64> {
    dice.axes(x.ndim())
}

fn squeeze(dice: &mut Dice) -> Case {
    let shape: Vec<usize> =
        dice.shape(0, 4).into_iter().map(|n| if dice.once_in(2) { 1 } else { n }).collect();
    let dtype = dice.pick(&DType::ALL);
    let values = dice.values();
    let x = dice.operand(dtype, &shape, values);
    let ones: Vec<i64> = (0..shape.len()).filter(|&a| shape[a] == 1).map(|a| a as i64).collect();
    let axes: Vec<i64> =
        if dice.once_in(3) { Vec::new() } else { ones.into_iter().filter(|_| dice.once_in(2)).collect() };
    let result = x.squeeze(axes.clone());
    Case::one([x], json!({"axes": axes}), result)
}

fn broadcast_to(dice: &mut Dice) -> Case {
    let shape = dice.shape(0, 4);
    let small = dice.broadcasting(&shape);
    let dtype = dice.pick(&DType::ALL);
    let values = dice.values();
    let x = dice.operand(dtype, &small, values);
    let result = x.broadcast_to(Shape::from(shape.clone()));
    Case::one([x], json!({"shape": shape}), result)
}

/// Integers, ranges, new axes and an ellipsis, as NumPy writes them.
fn random_indices(dice: &mut Dice, shape: &[usize]) -> (Vec<Index>, Vec<Value>) {
    let (mut indices, mut written) = (Vec::new(), Vec::new());
    let given = dice.below(shape.len() + 1);
    for &length in &shape[..given] {
        if dice.once_in(8) {
            indices.push(Index::NewAxis);
            written.push(json!("new"));
        }
        let n = length as i64;
        if length > 0 && dice.once_in(4) {
            let at = dice.between(-n, n - 1);
            indices.push(Index::At(at));
            written.push(json!(at));
            continue;
        }
        let bound = |dice: &mut Dice| (!dice.once_in(3)).then(|| dice.between(-n - 2, n + 2));
        let (start, stop) = (bound(dice), bound(dice));
        let step = dice.pick(&[1, 1, 2, 3, -1, -2]);
        indices.push(Index::Range { start, stop, step });
        written.push(json!([start, stop, step]));
    }
    if dice.once_in(5) {
        indices.push(Index::Ellipsis);
        written.push(json!("..."));
    }
    (indices, written)
}

fn slice(dice: &mut Dice) -> Case {
    simple(dice, 0, |dice, x| {
        let (indices, written) = random_indices(dice, x.shape().dims());
        (json!({"indices": written}), x.slice(Indices::from(indices)))
    })
}

fn assign(dice: &mut Dice) -> Case {
    let x = dice.any(&DType::ALL, 0, 3).copy();
    let before = x.copy();
    let (indices, written) = random_indices(dice, x.shape().dims());
    let part = x.slice(Indices::from(indices));
    let small = dice.broadcasting(part.shape().dims());
    let values = dice.values();
    let value = dice.operand(x.dtype(), &small, values);
    let results = before.eval().map(drop).and_then(|()| part.assign(&value)).map(|()| vec![x]);
    Case::many([before, value], json!({"indices": written}), results)
}

fn joined(dice: &mut Dice, stack: bool) -> Case {
    let shape = dice.shape(usize::from(!stack), 3);
    let axis = dice.axis(shape.len() + usize::from(stack));
    let place = axis.rem_euclid(shape.len().max(1) as i64) as usize;
    let (first, values) = (dice.pick(&DType::ALL), dice.values());
    let count = dice.below(3) + 1;
    let mut arrays = Vec::new();
    for _ in 0..count {
        let dtype = if dice.once_in(5) { dice.pick(&DType::ALL) } else { first };
        let mut shape = shape.clone();
        if !stack {
            shape[place] = dice.below(6);
        }
        arrays.push(dice.operand(dtype, &shape, values));
    }
    let list: Vec<&Array> = arrays.iter().collect();
    let result = if stack { Array::stack(&list, axis) } else { Array::concat(&list, axis) };
    Case::one(arrays.clone(), json!({"axis": axis}), result)
}

fn pad(dice: &mut Dice) -> Case {
    let shape: Vec<usize> = (0..dice.below(3) + 1).map(|_| dice.below(6) + 1).collect();
    let dtype = dice.pick(&NUMBERS);
    let values = dice.values();
    let x = dice.operand(dtype, &shape, values);
    let widths: Vec<(usize, usize)> = shape.iter().map(|_| (dice.below(9), dice.below(9))).collect();
    let (name, padding) = dice.pick(&[
        ("constant", Padding::Constant(crossover::core::Number::Int(3))),
        ("edge", Padding::Edge),
        ("reflect", Padding::Reflect),
        ("symmetric", Padding::Symmetric),
        ("wrap", Padding::Wrap),
    ]);
    let result = x.pad(&widths, padding);
    Case::one([x], json!({"widths": widths, "mode": name}), result)
}

fn repeat_each(dice: &mut Dice) -> Case {
    let x = dice.any(&DType::ALL, 1, 3);
    let axis = dice.axis(x.ndim());
    let length = x.shape().dims()[axis.rem_euclid(x.ndim() as i64) as usize];
    let counts = dice.array(DType::I64, &[length], crate::dice::Values::Between(0.0, 4.0));
    let result = x.repeat_each(&counts, axis);
    Case::one([x, counts], json!({"axis": axis}), result)
}

fn tile(dice: &mut Dice) -> Case {
    let shape: Vec<usize> = (0..dice.below(4)).map(|_| dice.below(5)).collect();
    let dtype = dice.pick(&DType::ALL);
    let values = dice.values();
    let x = dice.operand(dtype, &shape, values);
    let counts: Vec<usize> = (0..dice.below(4)).map(|_| dice.below(4)).collect();
    let result = x.tile(&counts);
    Case::one([x], json!({"counts": counts}), result)
}

fn meshgrid(dice: &mut Dice) -> Case {
    let count = dice.below(3) + 1;
    let arrays: Vec<Array> = (0..count)
        .map(|_| {
            let (dtype, length, values) = (dice.pick(&DType::ALL), dice.below(6), dice.values());
            dice.operand(dtype, &[length], values)
        })
        .collect();
    let list: Vec<&Array> = arrays.iter().collect();
    let pictured = dice.once_in(2);
    let results = if pictured { Array::meshgrid_xy(&list) } else { Array::meshgrid(&list) };
    Case::many(arrays.clone(), json!({"indexing": if pictured { "xy" } else { "ij" }}), results)
}

fn broadcast_arrays(dice: &mut Dice) -> Case {
    let shape = dice.shape(0, 3);
    let arrays: Vec<Array> = (0..dice.below(3) + 1)
        .map(|_| {
            let (dtype, small, values) = (dice.pick(&DType::ALL), dice.broadcasting(&shape), dice.values());
            dice.operand(dtype, &small, values)
        })
        .collect();
    let list: Vec<&Array> = arrays.iter().collect();
    let results = Array::broadcast_arrays(&list);
    Case::many(arrays.clone(), json!({}), results)
}

fn shifted(dice: &mut Dice, apply: fn(&Array, Vec<i64>) -> Array) -> Case {
    let x = dice.any(&NUMBERS, 1, 3);
    let axes = axes_or_all(dice, &x);
    let result = apply(&x, axes.clone());
    Case::one([x], json!({"axes": axes}), result)
}

fn unstack(dice: &mut Dice) -> Case {
    let shape: Vec<usize> = (0..dice.below(3) + 1).map(|_| dice.below(6) + 1).collect();
    let (dtype, values) = (dice.pick(&DType::ALL), dice.values());
    let x = dice.operand(dtype, &shape, values);
    let axis = dice.axis(shape.len());
    let results = x.unstack(axis);
    Case::many([x], json!({"axis": axis}), results)
}

entries! {
    "assign" => assign;
    "broadcast_arrays" => broadcast_arrays;
    "broadcast_to" => broadcast_to;
    "concat" => |dice| joined(dice, false);
    "copy" => |dice| simple(dice, 0, |_, x| (json!({}), x.copy()));
    "diagonal" => |dice| simple(dice, 2, |dice, x| {
        let offset = dice.between(-4, 4);
        (json!({"offset": offset}), linalg::diagonal(x, offset))
    });
    "expand_dims" => |dice| simple(dice, 0, |dice, x| {
        let axis = dice.axis(x.ndim() + 1);
        (json!({"axis": axis}), x.expand_dims(axis))
    });
    "fftshift" => |dice| shifted(dice, |x, axes| fft::fftshift(x, axes));
    "flatten" => |dice| simple(dice, 0, |_, x| (json!({}), x.flatten()));
    "flip" => |dice| simple(dice, 0, |dice, x| {
        let axes = axes_or_all(dice, x);
        (json!({"axes": axes.clone()}), x.flip(axes))
    });
    "ifftshift" => |dice| shifted(dice, |x, axes| fft::ifftshift(x, axes));
    "matrix_transpose" => |dice| simple(dice, 2, |_, x| (json!({}), linalg::matrix_transpose(x)));
    "meshgrid" => meshgrid;
    "move_axis" => |dice| simple(dice, 1, |dice, x| {
        let count = dice.below(x.ndim()) + 1;
        let [from, to] = [(); 2].map(|()| dice.permutation(x.ndim())[..count].to_vec());
        (json!({"from": from.clone(), "to": to.clone()}), x.move_axis(from, to))
    });
    "pad" => pad;
    "permute" => |dice| simple(dice, 0, |dice, x| {
        let order = dice.permutation(x.ndim());
        (json!({"order": order.clone()}), x.permute(order))
    });
    "repeat" => |dice| simple(dice, 0, |dice, x| {
        let axis = (x.ndim() > 0 && !dice.once_in(3)).then(|| dice.axis(x.ndim()));
        let count = dice.below(4);
        (json!({"count": count, "axis": axis}), x.repeat(count, axis))
    });
    "repeat_each" => repeat_each;
    "reshape" => reshape;
    "roll" => |dice| simple(dice, 0, |dice, x| {
        let axes = axes_or_all(dice, x);
        let count = if dice.once_in(2) { 1 } else { axes.len().max(1) };
        let shifts: Vec<i64> = (0..count).map(|_| dice.between(-12, 12)).collect();
        (json!({"shift": shifts.clone(), "axes": axes.clone()}), x.roll(shifts, axes))
    });
    "slice" => slice;
    "squeeze" => squeeze;
    "stack" => |dice| joined(dice, true);
    "swap_axes" => |dice| simple(dice, 1, |dice, x| {
        let (first, second) = (dice.axis(x.ndim()), dice.axis(x.ndim()));
        (json!({"first": first, "second": second}), x.swap_axes(first, second))
    });
    "t" => |dice| simple(dice, 0, |_, x| (json!({}), x.t()));
    "tile" => tile;
    "tril" => |dice| simple(dice, 2, |dice, x| {
        let offset = dice.between(-4, 4);
        (json!({"offset": offset}), x.tril(offset))
    });
    "triu" => |dice| simple(dice, 2, |dice, x| {
        let offset = dice.between(-4, 4);
        (json!({"offset": offset}), x.triu(offset))
    });
    "unstack" => unstack;
}
