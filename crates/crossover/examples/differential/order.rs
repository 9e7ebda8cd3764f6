//! Sorting, searching, sets and histograms.

use crossover::{Array, DType, Side};
use serde_json::json;

use crate::{
    case::Case,
    dice::{Dice, INTEGERS, Values},
    entries,
};

fn lines(dice: &mut Dice, dtypes: &[DType]) -> (Array, i64) {
    let (dtype, shape, values) = (dice.pick(dtypes), dice.shape(1, 3), dice.values());
    let x = dice.operand(dtype, &shape, values);
    let axis = dice.axis(x.ndim());
    (x, axis)
}

fn sorted(dice: &mut Dice, apply: fn(&Array, i64) -> Array) -> Case {
    let (x, axis) = lines(dice, &DType::ALL);
    let result = apply(&x, axis);
    Case::one([x], json!({"axis": axis}), result)
}

fn top_k(dice: &mut Dice) -> Case {
    let (x, axis) = lines(dice, &DType::ALL);
    let length = x.shape().dims()[axis.rem_euclid(x.ndim() as i64) as usize];
    let k = dice.below(length + 1);
    let (values, indices) = x.top_k(k, axis);
    Case::many([x], json!({"axis": axis, "k": k}), Ok(vec![values, indices]))
}

fn searchsorted(dice: &mut Dice, by: bool) -> Case {
    let (dtype, length, values) = (dice.pick(&DType::ALL), dice.length(), dice.values());
    let line = dice.operand(dtype, &[length], values);
    let shape = dice.shape(0, 2);
    let wanted = dice.operand(dtype, &shape, values);
    let (name, side) = dice.pick(&[("left", Side::Left), ("right", Side::Right)]);
    let parameters = json!({"side": name});
    if by {
        let order = line.argsort(0);
        let result = line.searchsorted_by(&order, &wanted, side);
        return Case::one([line, order, wanted], parameters, result);
    }
    let line = line.sort(0);
    let result = line.searchsorted(&wanted, side);
    Case::one([line, wanted], parameters, result)
}

fn isin(dice: &mut Dice) -> Case {
    let (dtype, values) = (dice.pick(&DType::ALL), dice.values());
    let (first, second) = (dice.shape(0, 3), dice.shape(0, 2));
    let (x, others) = (dice.operand(dtype, &first, values), dice.operand(dtype, &second, values));
    let result = x.isin(&others);
    Case::one([x, others], json!({}), result)
}

fn distinct(dice: &mut Dice) -> Array {
    let (dtype, shape) = (dice.pick(&DType::ALL), dice.shape(0, 3));
    let values = dice.pick(&[Values::Few, Values::Few, Values::Special, Values::Spread]);
    dice.operand(dtype, &shape, values)
}

fn unique_all(dice: &mut Dice) -> Case {
    let x = distinct(dice);
    let results = x.unique_all().map(|u| vec![u.values, u.indices, u.inverse, u.counts]);
    Case::many([x], json!({}), results)
}

fn unique_values(dice: &mut Dice) -> Case {
    let x = distinct(dice);
    let results = x.unique_values().map(|values| vec![values]);
    Case::many([x], json!({}), results)
}

fn unique_counts(dice: &mut Dice) -> Case {
    let x = distinct(dice);
    let results = x.unique_counts().map(|(values, counts)| vec![values, counts]);
    Case::many([x], json!({}), results)
}

fn unique_inverse(dice: &mut Dice) -> Case {
    let x = distinct(dice);
    let results = x.unique_inverse().map(|(values, inverse)| vec![values, inverse]);
    Case::many([x], json!({}), results)
}

fn bincount(dice: &mut Dice, weighted: bool) -> Case {
    let (dtype, length, least) = (dice.pick(&INTEGERS), dice.length(), dice.below(20));
    let x = dice.operand(dtype, &[length], Values::Between(0.0, 30.0));
    let parameters = json!({"least": least});
    if !weighted {
        let result = x.bincount(least);
        return Case::one([x], parameters, result);
    }
    let (dtype, values) = (dice.pick(&[DType::F32, DType::F64, DType::I32]), dice.moderate());
    let weights = dice.operand(dtype, &[length], values);
    let result = x.bincount_weighted(&weights, least);
    Case::one([x, weights], parameters, result)
}

fn histogram(dice: &mut Dice) -> Case {
    // Halves and whole numbers over whole ranges: the edges are exact, so both sides agree where an element lies.
    let (dtype, shape) = (dice.pick(&[DType::F64, DType::F32, DType::I32, DType::U8]), dice.shape(0, 3));
    let x = dice.operand(dtype, &shape, Values::Few);
    let (low, bins) = (dice.between(-4, 2) as f64, dice.pick(&[1, 2, 4, 8]));
    let high = low + dice.pick(&[1.0, 2.0, 4.0, 8.0]);
    let results = x.histogram_between(bins, low, high).map(|(counts, edges)| vec![counts, edges]);
    Case::many([x], json!({"bins": bins, "low": low, "high": high}), results)
}

/// From the smallest to the largest element; halves and powers of two, so that the edges are exact in `f32` too.
fn histogram_of_range(dice: &mut Dice) -> Case {
    let (dtype, shape) = (dice.pick(&[DType::F64, DType::F32, DType::I32, DType::U8]), dice.shape(0, 3));
    let x = dice.operand(dtype, &shape, Values::Few);
    let bins = if dtype == DType::F32 { dice.pick(&[1, 2, 4, 8]) } else { dice.below(9) + 1 };
    let results = x.histogram(bins).map(|(counts, edges)| vec![counts, edges]);
    Case::many([x], json!({"bins": bins}), results)
}

fn histogram_edges(dice: &mut Dice) -> Case {
    let (shape, values) = (dice.shape(0, 3), dice.moderate());
    let dtype = dice.pick(&[DType::F32, DType::F64]);
    let x = dice.operand(dtype, &shape, values);
    let count = dice.below(9) + 2;
    let edges = dice.array(dtype, &[count], values).sort(0);
    let density = dice.once_in(2);
    if dice.once_in(2) {
        let result = x.histogram_edges_with(&edges, None, density);
        return Case::one([x, edges], json!({"density": density}), result);
    }
    let weights = dice.operand(dtype, &shape, Values::Between(0.0, 1.0));
    let result = x.histogram_edges_with(&edges, Some(&weights), density);
    Case::one([x, edges, weights], json!({"density": density}), result)
}

entries! {
    "argsort" => |dice| sorted(dice, |x, axis| x.argsort(axis));
    "argsort_descending" => |dice| sorted(dice, |x, axis| x.argsort_descending(axis));
    "bincount" => |dice| bincount(dice, false);
    "bincount_weighted" => |dice| bincount(dice, true);
    "histogram" => histogram;
    "histogram_of_range" => histogram_of_range;
    "histogram_edges" => histogram_edges;
    "isin" => isin;
    "searchsorted" => |dice| searchsorted(dice, false);
    "searchsorted_by" => |dice| searchsorted(dice, true);
    "sort" => |dice| sorted(dice, |x, axis| x.sort(axis));
    "sort_descending" => |dice| sorted(dice, |x, axis| x.sort_descending(axis));
    "top_k" => top_k;
    "unique_all" => unique_all;
    "unique_counts" => unique_counts;
    "unique_inverse" => unique_inverse;
    "unique_values" => unique_values;
}
