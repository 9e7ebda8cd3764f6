//! Products of arrays: matrices, tensors, Einstein's notation, convolutions.

use crossover::{Array, DType, einsum, linalg, signal};
use serde_json::json;

use crate::{
    case::Case,
    dice::{Dice, NUMBERS, Values},
    entries,
};

fn pair(dice: &mut Dice, first: &[usize], second: &[usize]) -> (Array, Array) {
    let (dtype, values) = (dice.pick(&NUMBERS), moderate(dice));
    let other = if dice.once_in(6) { dice.pick(&NUMBERS) } else { dtype };
    (dice.operand(dtype, first, values), dice.operand(other, second, values))
}

fn moderate(dice: &mut Dice) -> Values {
    dice.pick(&[Values::Between(-1.0, 1.0), Values::Between(-9.0, 9.0), Values::Few])
}

fn length(dice: &mut Dice) -> usize {
    match dice.below(30) {
        0 => 0,
        1 => dice.below(70) + 1,
        _ => dice.below(7) + 1,
    }
}

fn matmul(dice: &mut Dice) -> Case {
    let (m, k, n) = (length(dice), length(dice), length(dice));
    let batch: Vec<usize> = (0..dice.below(3)).map(|_| dice.below(3) + 1).collect();
    let (one, other) = (dice.broadcasting(&batch), dice.broadcasting(&batch));
    let mut first: Vec<usize> = one.into_iter().chain([m, k]).collect();
    let mut second: Vec<usize> = other.into_iter().chain([k, n]).collect();
    match dice.below(6) {
        0 => first = vec![k],
        1 => second = vec![k],
        _ => {}
    }
    let (a, b) = pair(dice, &first, &second);
    let result = a.matmul(&b);
    Case::one([a, b], json!({}), result)
}

fn dot(dice: &mut Dice) -> Case {
    let (m, k, n) = (length(dice), length(dice), length(dice));
    let (first, second) = match dice.below(4) {
        0 => (vec![k], vec![k]),
        1 => (vec![m, k], vec![k, n]),
        2 => (vec![m, k], vec![]),
        _ => (vec![m, k], vec![k]),
    };
    let (a, b) = pair(dice, &first, &second);
    let result = a.dot(&b);
    Case::one([a, b], json!({}), result)
}

fn vecdot(dice: &mut Dice) -> Case {
    let shape = dice.filled_shape(1, 3);
    let (a, b) = pair(dice, &shape, &shape);
    let axis = dice.axis(shape.len());
    let result = a.vecdot(&b, axis);
    Case::one([a, b], json!({"axis": axis}), result)
}

fn tensordot(dice: &mut Dice) -> Case {
    let shared: Vec<usize> = (0..dice.below(2) + 1).map(|_| dice.below(4) + 1).collect();
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let free = |dice: &mut Dice| -> Vec<usize> { (0..dice.below(3)).map(|_| dice.below(4) + 1).collect() };
    let (mut first, mut second) = (free(dice), free(dice));
    for &n in &shared {
        let (i, j) = (dice.below(first.len() + 1), dice.below(second.len() + 1));
        left.iter_mut().filter(|a| **a >= i as i64).for_each(|a| *a += 1);
        right.iter_mut().filter(|a| **a >= j as i64).for_each(|a| *a += 1);
        first.insert(i, n);
        second.insert(j, n);
        left.push(i as i64);
        right.push(j as i64);
    }
    let (a, b) = pair(dice, &first, &second);
    let result = a.tensordot(&b, left.clone(), right.clone());
    Case::one([a, b], json!({"left": left, "right": right}), result)
}

fn contracted(dice: &mut Dice) -> Case {
    const FORMS: [&str; 18] = [
        "ij,jk->ik",
        "ij,ij->",
        "i,j->ij",
        "ij->ji",
        "ii->i",
        "ii->",
        "ij->j",
        "bij,bjk->bik",
        "bij,jk->bik",
        "ij,j->i",
        "ijk,ikl,lm->ijm",
        "ab,bc,cd->ad",
        "i,i,i->i",
        "ij,kj->ik",
        "...ij,...jk->...ik",
        "ij,jk",
        "i...->...i",
        "bhqd,bhkd->bhqk",
    ];
    let form = dice.pick(&FORMS);
    let mut lengths = [0usize; 256];
    lengths.iter_mut().for_each(|n| *n = length(dice).min(9));
    let inputs = form.split("->").next().unwrap_or(form);
    let (dtype, values) = (if dice.once_in(12) { DType::Bool } else { dice.pick(&NUMBERS) }, moderate(dice));
    let extra: Vec<usize> = (0..dice.below(2)).map(|_| dice.below(3) + 1).collect();
    let arrays: Vec<Array> = inputs
        .split(',')
        .map(|term| {
            let dotted = term.replace("...", ".");
            let shape: Vec<usize> = dotted
                .bytes()
                .flat_map(
                    |letter| if letter == b'.' { extra.clone() } else { vec![lengths[letter as usize]] },
                )
                .collect();
            dice.operand(dtype, &shape, values)
        })
        .collect();
    let result = einsum(form, &arrays.iter().collect::<Vec<_>>());
    Case::one(arrays.clone(), json!({"form": form}), result)
}

fn outer(dice: &mut Dice) -> Case {
    let (n, m) = (length(dice), length(dice));
    let (a, b) = pair(dice, &[n], &[m]);
    let result = linalg::outer(&a, &b);
    Case::one([a, b], json!({}), result)
}

fn cross(dice: &mut Dice) -> Case {
    let mut shape = dice.filled_shape(0, 2);
    let place = dice.below(shape.len() + 1);
    shape.insert(place, 3);
    let (a, b) = pair(dice, &shape, &shape);
    let axis = place as i64;
    let result = linalg::cross(&a, &b, axis);
    Case::one([a, b], json!({"axis": axis}), result)
}

fn trace(dice: &mut Dice) -> Case {
    let (dtype, shape, values) = (dice.pick(&NUMBERS), dice.filled_shape(2, 3), moderate(dice));
    let x = dice.operand(dtype, &shape, values);
    let offset = dice.between(-4, 4);
    let result = linalg::trace(&x, offset);
    Case::one([x], json!({"offset": offset}), result)
}

fn convolved(dice: &mut Dice, correlate: bool) -> Case {
    let rank = dice.below(3) + 1;
    let shape: Vec<usize> = (0..rank).map(|_| dice.below(if rank == 3 { 5 } else { 12 }) + 1).collect();
    let kernel: Vec<usize> = shape.iter().map(|&n| dice.below(n) + 1).collect();
    let dtype =
        dice.pick(&[DType::F32, DType::F64, DType::C64, DType::C128, DType::I32, DType::I64, DType::U8]);
    let values = moderate(dice);
    let (x, k) = (dice.operand(dtype, &shape, values), dice.operand(dtype, &kernel, values));
    let (mode, name) = dice.pick(&[
        (signal::Mode::Full, "full"),
        (signal::Mode::Same, "same"),
        (signal::Mode::Valid, "valid"),
    ]);
    let (boundary, outside) = if rank == 2 {
        dice.pick(&[
            (signal::Boundary::Fill, "fill"),
            (signal::Boundary::Wrap, "wrap"),
            (signal::Boundary::Symm, "symm"),
            (signal::Boundary::Nearest, "nearest"),
            (signal::Boundary::Mirror, "mirror"),
        ])
    } else {
        // SciPy wraps and reflects two axes only; what is beside it is made of `numpy.pad`, for any number.
        dice.pick(&[
            (signal::Boundary::Fill, "fill"),
            (signal::Boundary::Nearest, "nearest"),
            (signal::Boundary::Mirror, "mirror"),
        ])
    };
    let mut options = signal::Options::new().mode(mode).boundary(boundary);
    let fill = if outside == "fill" && dice.once_in(3) { dice.between(1, 3) } else { 0 };
    if fill != 0 {
        options = options.fill(fill);
    }
    let apply = if correlate { signal::correlate_with } else { signal::convolve_with };
    let result = apply(&x, &k, options);
    Case::one([x, k], json!({"mode": name, "boundary": outside, "fill": fill}), result)
}

/// Through Fourier transforms, which small operands take only when they are told to; a few cases are large enough
/// to go there by themselves.
fn transformed(dice: &mut Dice) -> Case {
    let large = dice.once_in(200);
    let rank = if large { 2 } else { dice.below(3) + 1 };
    let most = [0, 90, 20, 7][rank];
    let shape: Vec<usize> = (0..rank).map(|_| if large { 120 } else { dice.below(most) + 1 }).collect();
    let kernel: Vec<usize> = shape.iter().map(|&n| if large { 100 } else { dice.below(n) + 1 }).collect();
    let floats = [DType::F16, DType::BF16, DType::F32, DType::F64, DType::C64, DType::C128];
    let dtype = if large || dice.once_in(2) {
        dice.pick(if large { &floats[2..4] } else { &floats[..] })
    } else {
        dice.pick(&[DType::I8, DType::U8, DType::I16, DType::U16])
    };
    let values = if dtype.is_int() { Values::Bits } else { moderate(dice) };
    let (x, k) = (dice.operand(dtype, &shape, values), dice.operand(dtype, &kernel, values));
    let (mode, name) = dice.pick(&[
        (signal::Mode::Full, "full"),
        (signal::Mode::Same, "same"),
        (signal::Mode::Valid, "valid"),
    ]);
    let method = if large { signal::Method::Auto } else { signal::Method::Fft };
    let result = signal::convolve_with(&x, &k, signal::Options::new().mode(mode).method(method));
    Case::one([x, k], json!({"mode": name}), result)
}

entries! {
    "convolve" => |dice| convolved(dice, false);
    "convolve_by_transforms" => transformed;
    "correlate" => |dice| convolved(dice, true);
    "cross" => cross;
    "dot" => dot;
    "einsum" => contracted;
    "matmul" => matmul;
    "outer" => outer;
    "tensordot" => tensordot;
    "trace" => trace;
    "vecdot" => vecdot;
}
