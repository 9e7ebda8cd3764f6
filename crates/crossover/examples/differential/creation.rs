//! Arrays made from nothing.

use crossover::{Array, DType, Shape};
use serde_json::json;

use crate::{
    case::Case,
    dice::{Dice, FLOATS, INTEGERS, NUMBERS, Values},
    entries,
};

fn arange(dice: &mut Dice) -> Case {
    let (start, step, count) = (dice.between(-50, 50), dice.between(1, 9), dice.between(0, 40));
    let step = if dice.once_in(2) { -step } else { step };
    let stop = start + step * count + if dice.once_in(2) { 0 } else { step.signum() };
    if dice.once_in(2) {
        let dtype = dice.pick(&[DType::I16, DType::I32, DType::I64]);
        let parameters = json!({"start": start, "stop": stop, "step": step, "dtype": dtype.name()});
        return Case::one([], parameters, Array::arange_from(start, stop, step, dtype));
    }
    // Quarters are exact, so that both sides count the same number of steps.
    let [start, stop, step] = [start, stop, step].map(|number| number as f64 / 4.0);
    let dtype = dice.pick(&[DType::F32, DType::F64]);
    let parameters = json!({"start": start, "stop": stop, "step": step, "dtype": dtype.name()});
    Case::one([], parameters, Array::arange_from(start, stop, step, dtype))
}

fn linspace(dice: &mut Dice) -> Case {
    let values = dice.pick(&[Values::Between(-1.0, 1.0), Values::Between(-1e6, 1e6), Values::Few]);
    let [start, stop] = [(); 2].map(|()| f64::from_bits(dice.value(DType::F64, values).bits()[0]));
    let count = dice.below(60);
    let result = Array::linspace(start, stop, count);
    Case::one([], json!({"start": start, "stop": stop, "count": count}), result)
}

fn eye(dice: &mut Dice) -> Case {
    let (rows, columns, offset) = (dice.below(9), dice.below(9), dice.between(-9, 9));
    let dtype = dice.pick(&DType::ALL);
    let parameters = json!({"rows": rows, "columns": columns, "offset": offset, "dtype": dtype.name()});
    Case::one([], parameters, Array::eye_dtype(rows, columns, offset, dtype))
}

fn full(dice: &mut Dice) -> Case {
    let (shape, dtype, value) = (dice.shape(0, 3), dice.pick(&NUMBERS), dice.between(0, 100));
    let result = Array::full_dtype(Shape::from(shape.clone()), value, dtype);
    Case::one([], json!({"shape": shape, "dtype": dtype.name(), "value": value}), result)
}

fn like(dice: &mut Dice, make: fn(&Array) -> Array) -> Case {
    let x = dice.any(&DType::ALL, 0, 3);
    let result = make(&x);
    Case::one([x], json!({}), result)
}

fn full_like(dice: &mut Dice) -> Case {
    let (x, value) = (dice.any(&NUMBERS, 0, 3), dice.between(0, 100));
    let result = x.full_like(value);
    Case::one([x], json!({"value": value}), result)
}

fn frequencies(dice: &mut Dice, make: fn(usize, f64) -> Array) -> Case {
    let (count, step) = (dice.below(40) + 1, dice.between(1, 400) as f64 / 16.0);
    Case::one([], json!({"count": count, "step": step}), make(count, step))
}

/// Evenly spaced numbers of a dtype; integers are rounded down.
fn spaced(dice: &mut Dice, endpoint: bool) -> Case {
    let (count, dtype) =
        (dice.below(40), if dice.once_in(2) { dice.pick(&FLOATS) } else { dice.pick(&INTEGERS) });
    let least = if dtype.is_unsigned_int() { 0 } else { -24 };
    let mut end = || dice.between(least, 24) as f64 / if dtype.is_float() { 3.0 } else { 2.0 };
    let (start, stop) = (end(), end());
    let make = if endpoint { Array::linspace_dtype } else { Array::linspace_before };
    let parameters =
        json!({"start": start, "stop": stop, "count": count, "endpoint": endpoint, "dtype": dtype.name()});
    Case::one([], parameters, make(start, stop, count, dtype))
}

entries! {
    "arange" => arange;
    "eye" => eye;
    "fftfreq" => |dice| frequencies(dice, crossover::fft::fftfreq);
    "full" => full;
    "full_like" => full_like;
    "linspace" => linspace;
    "linspace_before" => |dice| spaced(dice, false);
    "linspace_dtype" => |dice| spaced(dice, true);
    "ones_like" => |dice| like(dice, Array::ones_like);
    "rfftfreq" => |dice| frequencies(dice, crossover::fft::rfftfreq);
    "zeros_like" => |dice| like(dice, Array::zeros_like);
}
