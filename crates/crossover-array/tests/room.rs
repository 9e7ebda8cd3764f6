//! What does not fit into memory is an error with the sizes in it, and the process goes on.
#![allow(clippy::unwrap_used)]

use crossover_array::{
    Array, DType, Element, Error, Key, fft,
    signal::{self, Mode, Options},
};
use crossover_runtime::Error as RuntimeError;

/// More elements than any host holds, and fewer than a shape may have.
const MANY: usize = 1 << 44;

#[track_caller]
fn no_room<T>(result: Result<T, Error>) -> u64 {
    let error = result.err().expect("there is no room for it");
    match error.kind() {
        RuntimeError::OutOfMemory { requested, .. } => *requested,
        other => panic!("{other}"),
    }
}

fn values<T: Element>(x: &Array) -> u64 {
    no_room(x.to_vec::<T>())
}

#[test]
fn pinned_memory_of_any_size_is_memory_or_an_error() {
    for size in [1 << 62, 1 << 61, usize::MAX] {
        let error = Array::pinned::<f32>([size]).unwrap_err();
        assert!(error.to_string().starts_with("pinned: "), "{error}");
    }
    assert!(Array::pinned::<f64>([0, 1 << 62]).is_err());
    assert_eq!(no_room(Array::pinned::<f32>([MANY])), 4 * MANY as u64);
    assert!(Array::pinned::<f64>([0, 3]).unwrap().is_empty());
    let mut block = Array::pinned::<u8>([3, 7]).unwrap();
    block.fill(9);
    assert_eq!(Array::from(block).sum(()).item::<u64>().unwrap(), 189);
}

#[test]
fn values_that_fit_nowhere_are_an_error() {
    assert!(values::<f32>(&Array::zeros::<f32>([MANY])) >= 4 * MANY as u64);
    assert!(values::<i64>(&Array::arange(MANY as i64)) >= 8 * MANY as u64);
    let one = Array::from([1f32]);
    assert_eq!(values::<f32>(&one.broadcast_to([MANY])), 4 * MANY as u64);
    assert_eq!(values::<f32>(&one.broadcast_to([MANY / 2, 2]).t()), 4 * MANY as u64);
    assert_eq!(one.to_vec::<f32>().unwrap(), [1.0], "the next operation is correct");
}

#[test]
fn transforms_that_fit_nowhere_are_an_error_before_they_are_planned() {
    let long = Array::scalar(1f32).broadcast_to([MANY]);
    no_room(fft::fft(&long).eval());
    no_room(fft::rfft(&long).eval());
    no_room(fft::irfft_with(&Array::ones::<f64>([4]), fft::Options::new().length(MANY)).eval());
}

#[test]
fn lists_that_fit_nowhere_are_an_error() {
    no_room(Key::new(1).split_n(usize::MAX));
    assert_eq!(no_room(Key::new(1).split_n(MANY)), 8 * MANY as u64);
    no_room(Array::scalar(0).broadcast_to([1 << 58]).unstack(0));
    let wide = Array::scalar(1u8).broadcast_to([MANY]);
    no_room(wide.to_npy());
}

#[test]
fn axes_beyond_any_number_are_not_taken_for_others() {
    let x = Array::from([[1, 2], [3, 4]]);
    for wrong in [x.sum(usize::MAX), x.sum([0, usize::MAX]), x.squeeze(usize::MAX), x.flip(usize::MAX)] {
        assert!(wrong.check().unwrap_err().to_string().contains("axis"), "{wrong:?}");
    }
}

#[test]
fn convolutions_of_any_size_are_checked_before_they_are_costed() {
    let valid = |n: &[usize], k: &[usize]| {
        let options = Options::new().mode(Mode::Valid);
        signal::convolve_with(&Array::ones::<f32>(n), &Array::ones::<f32>(k), options)
    };
    let error = valid(&[2, 9], &[5, 3]).check().unwrap_err();
    assert!(error.to_string().contains("no axis of the kernel is longer"), "{error}");
    assert_eq!(valid(&[5, 9], &[5, 3]).shape().dims(), [1, 7]);
    let long = Array::scalar(1f32).broadcast_to([MANY + 1]);
    no_room(signal::convolve(&long, &long).eval());
}

#[test]
fn costs_of_arrays_that_fit_nowhere_can_be_asked_for() {
    let square = Array::scalar(1f32).broadcast_to([1 << 29, 1 << 29]);
    let product = square.matmul(&square) + 1.0;
    assert!(product.explain().unwrap().contains("matmul"));
    no_room(product.astype(DType::F64).eval());
}
