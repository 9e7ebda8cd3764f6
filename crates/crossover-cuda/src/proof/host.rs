//! Op bodies over slices on the host, vectorised, compared with what the device gave.

#![allow(unsafe_code)]

use crossover_core::{
    for_each_op,
    lane::FloatLane,
    ops::{Apply1, Apply2, Apply3, ApplyCompare, Binary, Compare, MapOp, NanRule, Ternary, Unary},
};

/// Elements computed before they are compared: fits the innermost cache.
const TILE: usize = 1024;

/// A float in which whole slices are compared.
pub(super) trait Real: FloatLane + Copy + Send + Sync + 'static {
    const ZERO: Self;
    fn word(self) -> u64;
    fn of_word(word: u64) -> Self;
}

impl Real for f32 {
    const ZERO: f32 = 0.0;
    #[inline(always)]
    fn word(self) -> u64 {
        self.to_bits() as u64
    }
    #[inline(always)]
    fn of_word(word: u64) -> f32 {
        f32::from_bits(word as u32)
    }
}

impl Real for f64 {
    const ZERO: f64 = 0.0;
    #[inline(always)]
    fn word(self) -> u64 {
        self.to_bits()
    }
    #[inline(always)]
    fn of_word(word: u64) -> f64 {
        f64::from_bits(word)
    }
}

/// Differences in a slice.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) count: u64,
    /// Index, what the device gave, what the host gives.
    pub(super) first: Option<(usize, u64, u64)>,
}

impl Found {
    fn note(&mut self, index: usize, got: u64, want: u64) {
        if got != want {
            self.count += 1;
            self.first.get_or_insert((index, got, want));
        }
    }
}

/// Compares the device's results (in the memory form of the result) with the op applied to the inputs.
pub(super) type Check<T> = fn(&[&[T]], &[u8]) -> Found;

/// Views result bytes as values.
fn values<T>(bytes: &[u8]) -> &[T] {
    // SAFETY: any bits are a valid number; `align_to` gives only what is aligned.
    let (head, middle, _) = unsafe { bytes.align_to::<T>() };
    debug_assert!(head.is_empty());
    middle
}

/// Runs a body with AVX2 and FMA where the processor has them: the same operations, several at once.
macro_rules! widened {
    ($name:ident, $wide:ident, $body:ident, $trait:ident, $apply:ident) => {
        fn $name<O: $trait + $apply<T>, T: Real>(inputs: &[&[T]], got: &[u8]) -> Found {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,f16c")]
                fn $wide<O: $trait + $apply<T>, T: Real>(inputs: &[&[T]], got: &[u8]) -> Found {
                    $body::<O, T>(inputs, got)
                }
                if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                    // SAFETY: the processor was just asked; every machine with AVX2 and FMA has the rest.
                    return unsafe { $wide::<O, T>(inputs, got) };
                }
            }
            $body::<O, T>(inputs, got)
        }
    };
}

widened!(check_unary, wide_unary, unary_body, Unary, Apply1);
widened!(check_binary, wide_binary, binary_body, Binary, Apply2);
widened!(check_compare, wide_compare, compare_body, Compare, ApplyCompare);
widened!(check_ternary, wide_ternary, ternary_body, Ternary, Apply3);

#[inline(always)]
fn settle<T: Real>(want: &mut [T], got: &[T], base: usize, canonical: bool, found: &mut Found) {
    if canonical {
        for w in want.iter_mut() {
            *w = FloatLane::canonical(*w);
        }
    }
    let mut differ = 0;
    for (w, g) in want.iter().zip(got) {
        differ |= w.word() ^ g.word();
    }
    if differ != 0 {
        for (i, (w, g)) in want.iter().zip(got).enumerate() {
            found.note(base + i, g.word(), w.word());
        }
    }
}

#[inline(always)]
fn unary_body<O: Unary + Apply1<T>, T: Real>(inputs: &[&[T]], got: &[u8]) -> Found {
    let mut found = Found::default();
    let canonical = O::INFO.nan == NanRule::Arithmetic;
    for (tile, (x, got)) in inputs[0].chunks(TILE).zip(values::<T>(got).chunks(TILE)).enumerate() {
        let mut want = [T::ZERO; TILE];
        let mut rare = false;
        for (w, &x) in want.iter_mut().zip(x) {
            *w = O::apply(x);
            if O::SOME_RARE {
                rare |= O::rare(x);
            }
        }
        if rare {
            for (w, &x) in want.iter_mut().zip(x) {
                *w = O::value(x);
            }
        }
        settle(&mut want[..x.len()], got, tile * TILE, canonical, &mut found);
    }
    found
}

#[inline(always)]
fn binary_body<O: Binary + Apply2<T>, T: Real>(inputs: &[&[T]], got: &[u8]) -> Found {
    let mut found = Found::default();
    let canonical = O::INFO.nan == NanRule::Arithmetic;
    for (tile, got) in values::<T>(got).chunks(TILE).enumerate() {
        let mut want = [T::ZERO; TILE];
        let [a, b] = [0, 1].map(|k| &inputs[k][tile * TILE..]);
        for ((w, &a), &b) in want[..got.len()].iter_mut().zip(a).zip(b) {
            *w = O::apply(a, b);
        }
        settle(&mut want[..got.len()], got, tile * TILE, canonical, &mut found);
    }
    found
}

#[inline(always)]
fn ternary_body<O: Ternary + Apply3<T>, T: Real>(inputs: &[&[T]], got: &[u8]) -> Found {
    let mut found = Found::default();
    let canonical = O::INFO.nan == NanRule::Arithmetic;
    for (tile, got) in values::<T>(got).chunks(TILE).enumerate() {
        let mut want = [T::ZERO; TILE];
        let [a, b, c] = [0, 1, 2].map(|k| &inputs[k][tile * TILE..]);
        for (((w, &a), &b), &c) in want[..got.len()].iter_mut().zip(a).zip(b).zip(c) {
            *w = O::apply(a, b, c);
        }
        settle(&mut want[..got.len()], got, tile * TILE, canonical, &mut found);
    }
    found
}

#[inline(always)]
fn compare_body<O: Compare + ApplyCompare<T>, T: Real>(inputs: &[&[T]], got: &[u8]) -> Found {
    let mut found = Found::default();
    for (i, ((&a, &b), &got)) in inputs[0].iter().zip(inputs[1]).zip(got).enumerate() {
        found.note(i, got as u64, <O as ApplyCompare<T>>::apply(a, b).0 as u64);
    }
    found
}

macro_rules! checks {
    ($($class:ident $op:ident $module:ident;)*) => {
        /// The check of an op in `T`, if it has one: real operands, result real or boolean.
        pub(super) fn check_f32(op: MapOp) -> Option<Check<f32>> {
            match op { $(MapOp::$op => checks!(@ $class $module $op f32),)* }
        }

        /// The same in `f64`.
        pub(super) fn check_f64(op: MapOp) -> Option<Check<f64>> {
            match op { $(MapOp::$op => checks!(@ $class $module $op f64),)* }
        }
    };
    (@ unary $module:ident $op:ident $t:ident) => { Some(check_unary::<crossover_core::ops::$module::$op, $t>) };
    (@ binary $module:ident $op:ident $t:ident) => { Some(check_binary::<crossover_core::ops::$module::$op, $t>) };
    (@ compare $module:ident $op:ident $t:ident) => { Some(check_compare::<crossover_core::ops::$module::$op, $t>) };
    (@ ternary $module:ident $op:ident $t:ident) => { Some(check_ternary::<crossover_core::ops::$module::$op, $t>) };
    (@ part $module:ident $op:ident $t:ident) => { None };
}

for_each_op!(checks);

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<T: Real>(values: &[T]) -> Vec<u8> {
        values.iter().flat_map(|v| v.word().to_le_bytes()[..size_of::<T>()].to_vec()).collect()
    }

    #[test]
    fn a_wrong_bit_is_found_and_named() {
        let x: Vec<f64> = (0..5000).map(|i| i as f64 * 0.37).collect();
        let mut y: Vec<f64> = x.iter().map(|v| v.sqrt()).collect();
        let check = check_f64(MapOp::Sqrt).expect("sqrt has a check");
        assert_eq!(check(&[&x], &bytes(&y)).count, 0);
        y[4321] = f64::from_bits(y[4321].to_bits() ^ 1);
        let found = check(&[&x], &bytes(&y));
        assert_eq!((found.count, found.first.map(|f| f.0)), (1, Some(4321)));
    }

    #[test]
    fn nan_results_are_compared_as_the_canonical_one() {
        let x = [-1.0f32, f32::from_bits(0xffc0_1234)];
        let check = check_f32(MapOp::Sqrt).expect("sqrt has a check");
        assert_eq!(check(&[&x], &bytes(&[f32::from_bits(0x7fc0_0000); 2])).count, 0);
        let check = check_f32(MapOp::Abs).expect("abs has a check");
        assert_eq!(check(&[&x], &bytes(&[1.0, f32::from_bits(0x7fc0_1234)])).count, 0);
    }
}
