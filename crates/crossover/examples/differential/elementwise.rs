//! Elementwise operations: everything in the op table, and what is made of it by hand.

use crossover::{Array, DType, Operand, core::for_each_op, core::ops::Class, core::ops::MapOp};
use serde_json::{Value, json};

use crate::{
    case::Case,
    dice::{Dice, FLOATS, INTEGERS, NUMBERS, Values},
    entries,
};

macro_rules! apply {
    (unary, $method:ident, $x:expr, $y:expr, $z:expr) => {
        $x.$method()
    };
    (binary, $method:ident, $x:expr, $y:expr, $z:expr) => {
        $x.$method($y)
    };
    (compare, $method:ident, $x:expr, $y:expr, $z:expr) => {
        $x.$method($y)
    };
    (ternary, $method:ident, $x:expr, $y:expr, $z:expr) => {
        $x.$method($y, $z)
    };
    // The modulus is what `abs` means for complex numbers; the op has no name of its own among the methods.
    (part, modulus, $x:expr, $y:expr, $z:expr) => {
        $x.abs()
    };
    (part, $method:ident, $x:expr, $y:expr, $z:expr) => {
        $x.$method()
    };
}

macro_rules! dispatch {
    ($($class:ident $op:ident $module:ident;)*) => {
        /// Calls the method of an op; unused operands are ignored.
        fn call<'a>(op: MapOp, x: &Array, y: Operand<'a>, z: Operand<'a>) -> Array {
            match op {
                $(MapOp::$op => apply!($class, $module, x, y, z),)*
            }
        }
    };
}

for_each_op!(dispatch);

/// The dtypes of operands: those of the op itself, and those that its composition adds.
fn supported(op: MapOp) -> Vec<DType> {
    let narrow: &[DType] = if op == MapOp::Nextafter { &[DType::F16, DType::BF16] } else { &[] };
    op.info().dtypes.iter().chain(narrow.iter().copied()).collect()
}

/// The line of the table for an op.
pub fn described(op: MapOp) -> Value {
    let info = op.info();
    json!({
        "name": info.name,
        "family": "elementwise",
        "max_ulp": info.max_ulp,
        "dtypes": supported(op).into_iter().map(DType::name).collect::<Vec<_>>(),
    })
}

/// A random case of an op.
pub fn case(op: MapOp, dice: &mut Dice) -> Case {
    let supported = supported(op);
    let integers_too = supported.contains(&DType::F64) && op.class() != Class::Part;
    let dtype = |dice: &mut Dice| {
        if integers_too && dice.once_in(8) { dice.pick(&INTEGERS) } else { dice.pick(&supported) }
    };
    let (first, shape, values) = (dtype(dice), dice.shape(0, 4), dice.values());
    let small = dice.broadcasting(&shape);
    let whole = dice.once_in(2);
    let x = dice.operand(first, if whole { &shape } else { &small }, values);
    if op.arity() == 1 {
        let result = call(op, &x, 0.into(), 0.into());
        return Case::one([x], json!({}), result);
    }
    if dice.once_in(10) {
        return beside_a_number(op, dice, x);
    }
    // Operands mostly agree; shifts and powers are worth small numbers on the right.
    let second = if dice.once_in(4) { dtype(dice) } else { first };
    let near = if dice.once_in(3) { Values::Between(-2.0, 12.0) } else { values };
    let y = dice.operand(second, &shape, near);
    if op.arity() == 2 {
        let result = call(op, &x, (&y).into(), 0.into());
        return Case::one([x, y], json!({}), result);
    }
    let z = dice.operand(first, &small, values);
    let result = call(op, &x, (&y).into(), (&z).into());
    Case::one([x, y, z], json!({}), result)
}

/// A host number on the right of an op of two or three operands.
fn beside_a_number(op: MapOp, dice: &mut Dice, x: Array) -> Case {
    let whole = dice.once_in(2);
    let (integer, fraction) = (dice.between(0, 7), dice.between(-12, 12) as f64 / 4.0);
    // An integer that does not fit is an error on both sides, so only these are given to unsigned arrays.
    let result =
        if whole { call(op, &x, integer.into(), 1.into()) } else { call(op, &x, fraction.into(), 1.into()) };
    let number = if whole { json!(integer) } else { json!(fraction) };
    Case::one([x], json!({"number": number, "third": 1}), result)
}

fn one(dice: &mut Dice, dtypes: &[DType], apply: fn(&Array) -> Array) -> Case {
    let x = dice.any(dtypes, 0, 4);
    let result = apply(&x);
    Case::one([x], json!({}), result)
}

fn two(dice: &mut Dice, dtypes: &[DType], apply: fn(&Array, &Array) -> Array) -> Case {
    let (shape, values) = (dice.shape(0, 4), dice.values());
    let small = dice.broadcasting(&shape);
    let (first, second) = (dice.pick(dtypes), dice.pick(dtypes));
    let (x, y) = (dice.operand(first, &shape, values), dice.operand(second, &small, values));
    let result = apply(&x, &y);
    Case::one([x, y], json!({}), result)
}

fn clip(dice: &mut Dice) -> Case {
    let dtype = dice.pick(&crate::dice::REALS);
    let (shape, values) = (dice.shape(0, 3), dice.values());
    let small = dice.broadcasting(&shape);
    let x = dice.operand(dtype, &shape, values);
    let (low, high) = (dice.operand(dtype, &small, values), dice.operand(dtype, &small, values));
    let bounds = dice.pick(&["both", "both", "low", "high"]);
    let result = match bounds {
        "low" => x.clip(&low, ()),
        "high" => x.clip((), &high),
        _ => x.clip(&low, &high),
    };
    Case::one([x, low, high], json!({"bounds": bounds}), result)
}

fn choose(dice: &mut Dice) -> Case {
    let (shape, values) = (dice.shape(0, 3), dice.values());
    let small = dice.broadcasting(&shape);
    let mask_dtype = dice.pick(&[DType::Bool, DType::Bool, DType::I32, DType::F32]);
    let mask = dice.operand(mask_dtype, &small, Values::Few);
    let (first, second) = (dice.pick(&DType::ALL), dice.pick(&DType::ALL));
    let second = if dice.once_in(2) { first } else { second };
    let (yes, no) = (dice.operand(first, &shape, values), dice.operand(second, &small, values));
    let result = mask.where_(&yes, &no);
    Case::one([mask, yes, no], json!({}), result)
}

fn astype(dice: &mut Dice) -> Case {
    let x = dice.any(&DType::ALL, 0, 4);
    let real_only = x.dtype().is_complex();
    let mut dtype = dice.pick(&DType::ALL);
    while real_only && !dtype.is_complex() && dtype != DType::Bool {
        dtype = dice.pick(&DType::ALL);
    }
    let result = x.astype(dtype);
    Case::one([x], json!({"dtype": dtype.name()}), result)
}

entries! {
    "astype" => astype;
    "clip" => clip;
    "iscomplex" => |dice| one(dice, &DType::ALL, Array::iscomplex);
    "isfinite" => |dice| one(dice, &DType::ALL, Array::isfinite);
    "isinf" => |dice| one(dice, &DType::ALL, Array::isinf);
    "isnan" => |dice| one(dice, &DType::ALL, Array::isnan);
    "isneginf" => |dice| one(dice, &crate::dice::ORDERED, Array::isneginf);
    "isposinf" => |dice| one(dice, &crate::dice::ORDERED, Array::isposinf);
    "isreal" => |dice| one(dice, &DType::ALL, Array::isreal);
    "logical_and" => |dice| two(dice, &DType::ALL, |x, y| x.logical_and(y));
    "logical_or" => |dice| two(dice, &DType::ALL, |x, y| x.logical_or(y));
    "logical_xor" => |dice| two(dice, &DType::ALL, |x, y| x.logical_xor(y));
    "positive" => |dice| one(dice, &NUMBERS, Array::positive);
    "relu" => |dice| one(dice, &crate::dice::REALS, Array::relu);
    "signbit" => |dice| one(dice, &FLOATS, Array::signbit);
    "where" => choose;
}
