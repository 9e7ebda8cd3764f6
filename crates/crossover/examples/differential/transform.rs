//! Fourier transforms of every kind, with lengths, axes and norms.

use crossover::{
    Array, DType,
    fft::{self, Norm, Options},
};
use serde_json::{Value, json};

use crate::{
    case::Case,
    dice::{Dice, Values},
    entries,
};

const REAL: [DType; 5] = [DType::F32, DType::F64, DType::F16, DType::I16, DType::U8];
const ANY: [DType; 5] = [DType::C64, DType::C128, DType::F32, DType::F64, DType::I32];

fn operand(dice: &mut Dice, dtypes: &[DType], least: usize) -> Array {
    let rank = least + dice.below(4 - least);
    let shape: Vec<usize> =
        (0..rank).map(|_| if dice.once_in(12) { dice.below(60) } else { dice.below(8) } + 1).collect();
    let dtype = dice.pick(dtypes);
    dice.operand(dtype, &shape, Values::Between(-9.0, 9.0))
}

fn norm(dice: &mut Dice) -> (Norm, &'static str) {
    dice.pick(&[(Norm::Backward, "backward"), (Norm::Ortho, "ortho"), (Norm::Forward, "forward")])
}

/// A transform along one axis. Half-sided ones get the length they came from, which must not be too small.
fn along(dice: &mut Dice, dtypes: &[DType], apply: fn(&Array, Options) -> Array) -> Case {
    let x = operand(dice, dtypes, 1);
    let axis = dice.axis(x.ndim());
    let (norm, name) = norm(dice);
    let mut options = Options::new().axis(axis).norm(norm);
    let length = (!dice.once_in(3)).then(|| dice.below(12) + 2);
    if let Some(length) = length {
        options = options.length(length);
    }
    let parameters = json!({"axis": axis, "norm": name, "length": length});
    // Without a length, half of one value comes from nothing.
    let short = length.is_none() && x.shape().dims()[axis.rem_euclid(x.ndim() as i64) as usize] < 2;
    let (options, parameters) = if short {
        (options.length(2), json!({"axis": axis, "norm": name, "length": 2}))
    } else {
        (options, parameters)
    };
    let result = apply(&x, options);
    Case::one([x], parameters, result)
}

/// A transform over several axes; `fixed` is for those that name two.
fn over(dice: &mut Dice, dtypes: &[DType], fixed: bool, apply: fn(&Array, Options) -> Array) -> Case {
    let x = operand(dice, dtypes, 2);
    let (norm, name) = norm(dice);
    let mut options = Options::new().norm(norm);
    let axes: Vec<i64> = if fixed {
        Vec::new()
    } else {
        let count = dice.below(x.ndim()) + 1;
        dice.permutation(x.ndim())[..count].to_vec()
    };
    if !axes.is_empty() {
        options = options.axes(axes.clone());
    }
    // Lengths make sure that halves of one value do not occur.
    let count = if fixed { 2 } else { axes.len() };
    let lengths: Vec<usize> = (0..count).map(|_| dice.below(7) + 2).collect();
    options = options.lengths(lengths.clone());
    let axes: Value = if fixed { json!([-2, -1]) } else { json!(axes) };
    let result = apply(&x, options);
    Case::one([x], json!({"axes": axes, "norm": name, "lengths": lengths}), result)
}

entries! {
    "fft" => |dice| along(dice, &ANY, fft::fft_with);
    "fft2" => |dice| over(dice, &ANY, true, fft::fft2_with);
    "fftn" => |dice| over(dice, &ANY, false, fft::fftn_with);
    "hfft" => |dice| along(dice, &ANY, fft::hfft_with);
    "ifft" => |dice| along(dice, &ANY, fft::ifft_with);
    "ifft2" => |dice| over(dice, &ANY, true, fft::ifft2_with);
    "ifftn" => |dice| over(dice, &ANY, false, fft::ifftn_with);
    "ihfft" => |dice| along(dice, &REAL, fft::ihfft_with);
    "irfft" => |dice| along(dice, &ANY, fft::irfft_with);
    "irfft2" => |dice| over(dice, &ANY, true, fft::irfft2_with);
    "irfftn" => |dice| over(dice, &ANY, false, fft::irfftn_with);
    "rfft" => |dice| along(dice, &REAL, fft::rfft_with);
    "rfft2" => |dice| over(dice, &REAL, true, fft::rfft2_with);
    "rfftn" => |dice| over(dice, &REAL, false, fft::rfftn_with);
}
