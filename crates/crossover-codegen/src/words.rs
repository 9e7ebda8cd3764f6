//! Bitwise operations on short integers, taken four bytes at a time.
//!
//! A byte of a word does not see its neighbours in `and`, `or`, `xor` and `invert`: a kernel of nothing else does the
//! same to words, with a quarter of the instructions.

use crossover_core::{DType, ops::MapOp};
use crossover_plan::kernel::{Fused, Kind, Space, StepOp, Window};

use crate::flat::Flat;

/// The same kernel over words, if it is one of these and everything in it lies side by side.
pub(crate) fn widened(kernel: &Fused, flat: &Flat) -> Option<Fused> {
    let dtype = kernel.stores.first()?.dtype;
    let (size, count) = (dtype.size(), flat.size());
    if kernel.kind != Kind::Map || !dtype.is_int() || size >= 4 || flat.axes.len() != 1 {
        return None;
    }
    let per_word = 4 / size;
    let fits = |window: &Window| window.strides[..] == [1] && window.offset.is_multiple_of(per_word);
    let bitwise = |op: &StepOp| {
        use MapOp::{BitwiseAnd, BitwiseInvert, BitwiseOr, BitwiseXor};
        matches!(op, StepOp::Load(_) | StepOp::Map(BitwiseAnd | BitwiseInvert | BitwiseOr | BitwiseXor))
    };
    let alike = kernel.steps.iter().all(|s| s.dtype == dtype && bitwise(&s.op))
        && kernel.loads.iter().all(|l| l.dtype == dtype)
        && kernel.stores.iter().all(|s| s.dtype == dtype)
        && flat.loads.iter().chain(&flat.stores).all(fits);
    if !alike || !count.is_multiple_of(per_word) {
        return None;
    }
    let mut words = kernel.clone();
    words.space = Space { outer: std::iter::once(count / per_word).collect(), ..Space::default() };
    let window = |offset: usize| Window { offset: offset / per_word, strides: std::iter::once(1).collect() };
    for load in &mut words.loads {
        (load.dtype, load.window) = (DType::U32, window(load.window.offset));
    }
    for store in &mut words.stores {
        (store.dtype, store.window) = (DType::U32, window(store.window.offset));
    }
    for step in &mut words.steps {
        step.dtype = DType::U32;
    }
    Some(words)
}
