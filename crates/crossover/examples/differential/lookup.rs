//! Elements by index, and what depends on which elements are true.

use crossover::{Array, DType, Index, Indices, Scatter};
use serde_json::json;

use crate::{
    case::Case,
    dice::{Dice, INTEGERS, NUMBERS, Values},
    entries,
};

/// An operand with at least one axis and no empty one.
fn filled(dice: &mut Dice, dtypes: &[DType], least: usize, most: usize) -> Array {
    let (dtype, shape, values) = (dice.pick(dtypes), dice.filled_shape(least, most), dice.values());
    dice.operand(dtype, &shape, values)
}

fn length(x: &Array, axis: i64) -> usize {
    x.shape().dims()[axis.rem_euclid(x.ndim() as i64) as usize]
}

fn take(dice: &mut Dice) -> Case {
    let x = filled(dice, &DType::ALL, 1, 3);
    let axis = dice.axis(x.ndim());
    let shape: Vec<usize> = (0..dice.below(3)).map(|_| dice.below(6)).collect();
    let at = dice.indices(length(&x, axis), &shape);
    let result = x.take(&at, axis);
    Case::one([x, at], json!({"axis": axis}), result)
}

/// Indices of any size, those of `u64` beyond `i64` too.
fn take_clipped(dice: &mut Dice) -> Case {
    let x = filled(dice, &DType::ALL, 1, 3);
    let axis = dice.axis(x.ndim());
    let shape: Vec<usize> = (0..dice.below(3)).map(|_| dice.below(6)).collect();
    let (dtype, values) = (dice.pick(&INTEGERS), dice.pick(&[Values::Between(-12.0, 12.0), Values::Special]));
    let at = dice.operand(dtype, &shape, values);
    let result = x.take_clipped(&at, axis);
    Case::one([x, at], json!({"axis": axis}), result)
}

/// Indices of the shape of `x` but for one axis.
fn along(dice: &mut Dice, x: &Array, axis: i64) -> Array {
    let mut shape = x.shape().dims().to_vec();
    let place = axis.rem_euclid(x.ndim() as i64) as usize;
    let length = shape[place];
    shape[place] = dice.below(7);
    dice.indices(length, &shape)
}

fn take_along_axis(dice: &mut Dice) -> Case {
    let x = filled(dice, &DType::ALL, 1, 3);
    let axis = dice.axis(x.ndim());
    let at = along(dice, &x, axis);
    let result = x.take_along_axis(&at, axis);
    Case::one([x, at], json!({"axis": axis}), result)
}

/// One index array per leading axis, broadcast against each other.
fn coordinates(dice: &mut Dice, x: &Array) -> Vec<Array> {
    let given = dice.below(x.ndim()) + 1;
    let common: Vec<usize> = (0..dice.below(3)).map(|_| dice.below(5)).collect();
    let lengths: Vec<usize> = x.shape().dims()[..given].to_vec();
    lengths
        .into_iter()
        .map(|length| {
            let shape = dice.broadcasting(&common);
            dice.indices(length, &shape)
        })
        .collect()
}

fn gather(dice: &mut Dice) -> Case {
    let x = filled(dice, &DType::ALL, 1, 3);
    let at = coordinates(dice, &x);
    let result = x.gather(&at.iter().collect::<Vec<_>>());
    Case::one([x].into_iter().chain(at), json!({}), result)
}

fn how(dice: &mut Dice) -> (&'static str, Scatter) {
    dice.pick(&[("set", Scatter::Set), ("add", Scatter::Add), ("min", Scatter::Min), ("max", Scatter::Max)])
}

/// A dtype that a way of scattering combines.
fn combined(dice: &mut Dice, name: &str) -> DType {
    match name {
        "set" => dice.pick(&DType::ALL),
        "add" => dice.pick(&NUMBERS),
        _ => dice.pick(&crate::dice::REALS),
    }
}

fn scatter(dice: &mut Dice) -> Case {
    let (name, how) = how(dice);
    let dtype = combined(dice, name);
    let values = dice.moderate();
    let shape: Vec<usize> = (0..dice.below(3) + 1).map(|_| dice.below(6) + 1).collect();
    let x = dice.operand(dtype, &shape, values);
    let at = coordinates(dice, &x);
    let list: Vec<&Array> = at.iter().collect();
    let target = x.gather(&list).shape().dims().to_vec();
    let small = dice.broadcasting(&target);
    let written = dice.operand(dtype, &small, values);
    let result = x.scatter(&list, &written, how);
    Case::one([x, written].into_iter().chain(at.clone()), json!({"how": name}), result)
}

fn put_along_axis(dice: &mut Dice) -> Case {
    let (name, how) = how(dice);
    let dtype = combined(dice, name);
    let values = dice.moderate();
    let shape: Vec<usize> = (0..dice.below(3) + 1).map(|_| dice.below(6) + 1).collect();
    let x = dice.operand(dtype, &shape, values);
    let axis = dice.axis(x.ndim());
    let at = along(dice, &x, axis);
    let small = dice.broadcasting(at.shape().dims());
    let written = dice.operand(dtype, &small, values);
    let result = x.put_along_axis(&at, &written, axis, how);
    Case::one([x, at, written], json!({"axis": axis, "how": name}), result)
}

/// Index arrays, masks, integers and ranges in one list; arrays are named by their place among the operands.
fn mixed(dice: &mut Dice, x: &Array) -> (Vec<Index>, Vec<serde_json::Value>, Vec<Array>) {
    let (mut indices, mut written, mut arrays) = (Vec::new(), Vec::new(), Vec::new());
    let dims = x.shape().dims().to_vec();
    let common = vec![dice.below(4) + 1];
    let mut axis = 0;
    if dice.once_in(12) {
        // A mask without axes takes everything or nothing.
        let mask = dice.array(DType::Bool, &[], Values::Few);
        indices.push(Index::from(&mask));
        return (indices, vec![json!({"array": 0})], vec![mask]);
    }
    while axis < dims.len() {
        let n = dims[axis] as i64;
        match dice.below(6) {
            0 => {
                let at = dice.between(-n, n - 1);
                indices.push(Index::At(at));
                written.push(json!(at));
            }
            1 | 2 => {
                let shape = if dice.once_in(4) { Vec::new() } else { common.clone() };
                let at = dice.indices(dims[axis], &shape);
                indices.push(Index::from(&at));
                written.push(json!({"array": arrays.len()}));
                arrays.push(at);
            }
            3 if arrays.is_empty() => {
                let mask = dice.array(DType::Bool, &dims[axis..=axis], Values::Few);
                indices.push(Index::from(&mask));
                written.push(json!({"array": arrays.len()}));
                arrays.push(mask);
                // Another index array would have to broadcast against as many as are true.
                indices.push(Index::Ellipsis);
                written.push(json!("..."));
                return (indices, written, arrays);
            }
            4 if dice.once_in(2) => {
                indices.push(Index::NewAxis);
                written.push(json!("new"));
                continue;
            }
            _ => {
                let (start, step) = (dice.between(-n, n), dice.pick(&[1, 2, -1]));
                indices.push(Index::Range { start: Some(start), stop: None, step });
                written.push(json!([start, null, step]));
            }
        }
        axis += 1;
    }
    (indices, written, arrays)
}

fn get(dice: &mut Dice) -> Case {
    let x = filled(dice, &DType::ALL, 1, 4);
    let (indices, written, arrays) = mixed(dice, &x);
    let result = x.get(Indices::from(indices));
    Case::one([x].into_iter().chain(arrays), json!({"indices": written}), result)
}

fn set(dice: &mut Dice) -> Case {
    let x = filled(dice, &DType::ALL, 1, 3).copy();
    let before = x.copy();
    let (indices, written, arrays) = mixed(dice, &x);
    let target = x.get(Indices::from(indices.clone())).shape().dims().to_vec();
    let small = dice.broadcasting(&target);
    let values = dice.values();
    let value = dice.operand(x.dtype(), &small, values);
    let results =
        before.eval().map(drop).and_then(|()| x.set(Indices::from(indices), &value)).map(|()| vec![x]);
    Case::many([before, value].into_iter().chain(arrays), json!({"indices": written}), results)
}

fn nonzero(dice: &mut Dice) -> Case {
    let (dtype, shape) = (dice.pick(&DType::ALL), dice.shape(1, 4));
    let values = dice.pick(&[Values::Few, Values::Special]);
    let x = dice.operand(dtype, &shape, values);
    let results = x.nonzero();
    Case::many([x], json!({}), results)
}

fn argwhere(dice: &mut Dice) -> Case {
    let (dtype, shape) = (dice.pick(&DType::ALL), dice.shape(1, 4));
    let x = dice.operand(dtype, &shape, Values::Few);
    let results = x.argwhere().map(|found| vec![found]);
    Case::many([x], json!({}), results)
}

fn compress(dice: &mut Dice) -> Case {
    let x = filled(dice, &DType::ALL, 1, 3);
    let axis = dice.axis(x.ndim());
    let mask = dice.operand(DType::Bool, &[length(&x, axis)], Values::Few);
    let result = x.compress(&mask, axis);
    Case::one([x, mask], json!({"axis": axis}), result)
}

entries! {
    "argwhere" => argwhere;
    "compress" => compress;
    "gather" => gather;
    "get" => get;
    "nonzero" => nonzero;
    "put_along_axis" => put_along_axis;
    "scatter" => scatter;
    "set" => set;
    "take" => take;
    "take_clipped" => take_clipped;
    "take_along_axis" => take_along_axis;
}
