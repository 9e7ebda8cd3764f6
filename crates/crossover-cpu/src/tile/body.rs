//! Loops over the elements of a tile, before any instruction set is chosen.
//!
//! Everything is `#[inline(always)]` and takes its instructions from the `#[target_feature]` function of
//! [`super::level`] it ends up in.
//!
//! What always holds: operands are aligned for their type and hold `n` initialised elements (one where the
//! operand is a scalar), the output holds room for `n` and overlaps no operand. The lowering upholds this: it never
//! gives an instruction an output register that is also an operand, and kernel outputs never overlap inputs.
#![allow(unsafe_code)]

use std::{mem::MaybeUninit, ptr};

use crossover_core::{
    lane::FloatLane,
    ops::{Apply1, Apply2, Apply3, ApplyCompare, ApplyPart, Truth, cast, cast::CastTo},
};

/// Both operands are vectors.
pub const VV: u8 = 0;
/// The second operand is a scalar.
pub const VS: u8 = 1;
/// The first operand is a scalar.
pub const SV: u8 = 2;

/// # Safety
/// `at` is aligned for `T` and points to `n` initialised elements.
#[inline(always)]
pub unsafe fn input<'a, T>(at: *const u8, n: usize) -> &'a [T] {
    // SAFETY: the caller's contract.
    unsafe { std::slice::from_raw_parts(at.cast(), n) }
}

/// # Safety
/// `at` is aligned for `T` and points to room for `n` elements that nothing else refers to.
#[inline(always)]
pub unsafe fn output<'a, T>(at: *mut u8, n: usize) -> &'a mut [MaybeUninit<T>] {
    // SAFETY: the caller's contract.
    unsafe { std::slice::from_raw_parts_mut(at.cast(), n) }
}

#[inline(always)]
pub fn map1<A: Copy, R>(a: &[A], out: &mut [MaybeUninit<R>], f: impl Fn(A) -> R) {
    for (o, &x) in out.iter_mut().zip(a) {
        *o = MaybeUninit::new(f(x));
    }
}

#[inline(always)]
fn map2<A: Copy, B: Copy, R>(a: &[A], b: &[B], out: &mut [MaybeUninit<R>], f: impl Fn(A, B) -> R) {
    for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
        *o = MaybeUninit::new(f(x, y));
    }
}

#[inline(always)]
fn map3<A: Copy, B: Copy, C: Copy, R>(
    (a, b, c): (&[A], &[B], &[C]),
    out: &mut [MaybeUninit<R>],
    f: impl Fn(A, B, C) -> R,
) {
    for (((o, &x), &y), &z) in out.iter_mut().zip(a).zip(b).zip(c) {
        *o = MaybeUninit::new(f(x, y, z));
    }
}

/// Applies the body to all elements, noting whether any argument was rare.
#[inline(always)]
fn fast<O: Apply1<T>, T: Copy>(a: &[T], out: &mut [MaybeUninit<T>]) -> bool {
    // An integer that is or-ed vectorises as a reduction; a branch would not.
    let mut rare = 0u32;
    for (o, &x) in out.iter_mut().zip(a) {
        rare |= O::rare(x) as u32;
        *o = MaybeUninit::new(O::apply(x));
    }
    rare != 0
}

/// # Safety
/// As the module says.
#[inline(always)]
pub unsafe fn unary<O: Apply1<T>, T: Copy>(a: *const u8, out: *mut u8, n: usize) {
    // SAFETY: the caller's contract.
    let (a, out) = unsafe { (input::<T>(a, n), output::<T>(out, n)) };
    if !O::SOME_RARE {
        return map1(a, out, |x| O::apply(x));
    }
    if fast::<O, T>(a, out) {
        for (o, &x) in out.iter_mut().zip(a) {
            if O::rare(x) {
                *o = MaybeUninit::new(O::slow(x));
            }
        }
    }
}

/// As [`unary`] of an op without rare arguments, with every NaN canonical.
///
/// # Safety
/// As the module says.
#[inline(always)]
pub unsafe fn visible_unary<O: Apply1<T>, T: FloatLane>(a: *const u8, out: *mut u8, n: usize) {
    debug_assert!(!O::SOME_RARE, "rare arguments take a second look at the results");
    // SAFETY: the caller's contract.
    unsafe { map1(input::<T>(a, n), output::<T>(out, n), |x| O::apply(x).canonical()) }
}

/// # Safety
/// As the module says.
#[inline(always)]
pub unsafe fn binary<O: Apply2<T>, T: Copy, const V: u8>(a: *const u8, b: *const u8, out: *mut u8, n: usize) {
    // SAFETY: the caller's contract.
    unsafe { binary_then::<O, T, V>(a, b, out, n, |x| x) }
}

/// As [`binary`], with every NaN canonical.
///
/// # Safety
/// As the module says.
#[inline(always)]
pub unsafe fn visible_binary<O: Apply2<T>, T: FloatLane, const V: u8>(
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    n: usize,
) {
    // SAFETY: the caller's contract.
    unsafe { binary_then::<O, T, V>(a, b, out, n, T::canonical) }
}

/// # Safety
/// As [`binary`].
#[inline(always)]
unsafe fn binary_then<O: Apply2<T>, T: Copy, const V: u8>(
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    n: usize,
    then: impl Fn(T) -> T,
) {
    // SAFETY: the caller's contract.
    unsafe {
        if O::SHORTENED && !any::<T, V>(a, b, n, |x, y| !<O as Apply2<T>>::is_plain(x, y)) {
            return each_into::<T, V>(a, b, out, n, |x, y| then(<O as Apply2<T>>::short(x, y)));
        }
        each_into::<T, V>(a, b, out, n, |x, y| then(O::apply(x, y)));
    }
}

/// Writes `f` of all pairs of operands.
///
/// # Safety
/// As [`binary`].
#[inline(always)]
unsafe fn each_into<T: Copy, const V: u8>(
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    n: usize,
    f: impl Fn(T, T) -> T,
) {
    // SAFETY: the caller's contract; the scalar operand of a variant holds one element.
    unsafe {
        let to = output::<T>(out, n);
        match V {
            VS => {
                let y = *b.cast::<T>();
                map1(input::<T>(a, n), to, |x| f(x, y));
            }
            SV => {
                let x = *a.cast::<T>();
                map1(input::<T>(b, n), to, |y| f(x, y));
            }
            _ => map2(input::<T>(a, n), input::<T>(b, n), to, f),
        }
    }
}

/// Whether `f` holds for any pair of operands.
///
/// # Safety
/// As [`binary`].
#[inline(always)]
unsafe fn any<T: Copy, const V: u8>(a: *const u8, b: *const u8, n: usize, f: impl Fn(T, T) -> bool) -> bool {
    // An integer that is or-ed vectorises as a reduction; a branch would not.
    let or = |found: u32, holds: bool| found | holds as u32;
    // SAFETY: the caller's contract; the scalar operand of a variant holds one element.
    let found = unsafe {
        match V {
            VS => {
                let y = *b.cast::<T>();
                input::<T>(a, n).iter().fold(0, |found, &x| or(found, f(x, y)))
            }
            SV => {
                let x = *a.cast::<T>();
                input::<T>(b, n).iter().fold(0, |found, &y| or(found, f(x, y)))
            }
            _ => {
                let pairs = input::<T>(a, n).iter().zip(input::<T>(b, n));
                pairs.fold(0, |found, (&x, &y)| or(found, f(x, y)))
            }
        }
    };
    found != 0
}

/// # Safety
/// As the module says.
#[inline(always)]
pub unsafe fn compare<O: ApplyCompare<T>, T: Copy, const V: u8>(
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    n: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let to = output::<Truth>(out, n);
        if V == VS {
            let y = *b.cast::<T>();
            truths(input::<T>(a, n), input::<T>(a, n), to, |x, _| O::apply(x, y));
        } else {
            truths(input::<T>(a, n), input::<T>(b, n), to, |x, y| O::apply(x, y));
        }
    }
}

/// Truth values that are narrowed together: a vector of bytes.
const BATCH: usize = 32;

/// Writes truth values of pairs of elements. Of eight bytes, a batch becomes words of ones or zeros first, as comparisons of vectors make them, which are
/// then packed; element by element, the compiler packs each vector for itself.
#[inline(always)]
fn truths<T: Copy>(a: &[T], b: &[T], to: &mut [MaybeUninit<Truth>], f: impl Fn(T, T) -> Truth) {
    if size_of::<T>() != 8 {
        return map2(a, b, to, f);
    }
    let (left, a) = a.as_chunks::<BATCH>();
    let (right, b) = b.as_chunks::<BATCH>();
    let (batches, to) = to.as_chunks_mut::<BATCH>();
    for ((to, x), y) in batches.iter_mut().zip(left).zip(right) {
        let mut words = [0i64; BATCH];
        for ((word, &x), &y) in words.iter_mut().zip(x).zip(y) {
            *word = -i64::from(f(x, y).0);
        }
        for (to, word) in to.iter_mut().zip(words) {
            *to = MaybeUninit::new(Truth((word as i8).wrapping_neg() as u8));
        }
    }
    map2(a, b, to, f);
}

/// # Safety
/// As the module says.
#[inline(always)]
pub unsafe fn ternary<O: Apply3<T>, T: Copy>(
    a: *const u8,
    b: *const u8,
    c: *const u8,
    out: *mut u8,
    n: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        map3((input::<T>(a, n), input::<T>(b, n), input::<T>(c, n)), output::<T>(out, n), |x, y, z| {
            O::apply(x, y, z)
        })
    }
}

/// # Safety
/// As the module says.
#[inline(always)]
pub unsafe fn part<O: ApplyPart<T>, T: Copy>(a: *const u8, out: *mut u8, n: usize) {
    // SAFETY: the caller's contract.
    unsafe { map1(input::<T>(a, n), output::<O::Real>(out, n), |x| O::apply(x)) }
}

/// # Safety
/// As the module says.
#[inline(always)]
pub unsafe fn convert<A: CastTo<R> + Copy, R>(a: *const u8, out: *mut u8, n: usize) {
    // SAFETY: the caller's contract.
    unsafe { map1(input::<A>(a, n), output::<R>(out, n), |x| x.cast_to()) }
}

/// `f64` to `f32`, rounded to odd.
///
/// # Safety
/// As the module says.
#[inline(always)]
pub unsafe fn odd(a: *const u8, out: *mut u8, n: usize) {
    // SAFETY: the caller's contract.
    unsafe { map1(input::<f64>(a, n), output::<f32>(out, n), |x| FloatLane::canonical(cast::odd(x))) }
}

/// `f32` rounded to a 16-bit dtype, or read from or written to one.
///
/// # Safety
/// As the module says.
#[inline(always)]
pub unsafe fn half<const F16: bool, const STEP: u8>(a: *const u8, out: *mut u8, n: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        match (STEP, F16) {
            (ROUND, true) => map1(input(a, n), output(out, n), |x: f32| cast::round_f16(x)),
            (ROUND, false) => map1(input(a, n), output(out, n), |x: f32| cast::round_bf16(x)),
            (WIDEN, true) => map1(input(a, n), output(out, n), |x: u16| cast::widen_f16(x)),
            (WIDEN, false) => map1(input(a, n), output(out, n), |x: u16| cast::widen_bf16(x)),
            (_, true) => map1(input(a, n), output(out, n), |x: f32| cast::narrow_f16(x)),
            (_, false) => map1(input(a, n), output(out, n), |x: f32| cast::narrow_bf16(x)),
        }
    }
}

/// Rounds `f32` to a 16-bit dtype, kept as `f32`.
pub const ROUND: u8 = 0;
/// Reads a 16-bit float from memory.
pub const WIDEN: u8 = 1;
/// Writes a 16-bit float to memory.
pub const NARROW: u8 = 2;

/// # Safety
/// As the module says; here `a` may also be `out`.
#[inline(always)]
pub unsafe fn canonical<F: FloatLane>(a: *const u8, out: *mut u8, n: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        if ptr::eq(a, out) {
            let values = std::slice::from_raw_parts_mut(out.cast::<F>(), n);
            return values.iter_mut().for_each(|x| *x = x.canonical());
        }
        map1(input::<F>(a, n), output::<F>(out, n), |x| x.canonical());
    }
}

/// `mask ? yes : no` on raw elements; each of `yes` and `no` may be a scalar.
///
/// # Safety
/// As the module says.
#[inline(always)]
pub unsafe fn select<E: Copy, const YES: bool, const NO: bool>(
    mask: *const u8,
    yes: *const u8,
    no: *const u8,
    out: *mut u8,
    n: usize,
) {
    // SAFETY: the caller's contract.
    unsafe {
        let (mask, to) = (input::<u8>(mask, n), output::<E>(out, n));
        match (YES, NO) {
            (true, true) => {
                let (y, z) = (*yes.cast::<E>(), *no.cast::<E>());
                map1(mask, to, |m| if m != 0 { y } else { z });
            }
            (true, false) => {
                let y = *yes.cast::<E>();
                map2(mask, input::<E>(no, n), to, |m, z| if m != 0 { y } else { z });
            }
            (false, true) => {
                let z = *no.cast::<E>();
                map2(mask, input::<E>(yes, n), to, |m, y| if m != 0 { y } else { z });
            }
            (false, false) => {
                map3((mask, input::<E>(yes, n), input::<E>(no, n)), to, |m, y, z| if m != 0 { y } else { z })
            }
        }
    }
}

/// Division by one number. Dividing by a power of two and multiplying by its reciprocal round the same real number,
/// and multiplication is several times faster. Where the result is `VISIBLE`, every NaN is canonical.
///
/// # Safety
/// As the module says; `b` is a scalar.
#[inline(always)]
pub unsafe fn divide_by<F: Reciprocal, const VISIBLE: bool>(
    a: *const u8,
    b: *const u8,
    out: *mut u8,
    n: usize,
) {
    let then = |x: F| if VISIBLE { x.canonical() } else { x };
    // SAFETY: the caller's contract.
    unsafe {
        let (a, divisor, out) = (input::<F>(a, n), *b.cast::<F>(), output::<F>(out, n));
        match divisor.exact_reciprocal() {
            Some(factor) => map1(a, out, |x| then(x * factor)),
            None => map1(a, out, |x| then(x / divisor)),
        }
    }
}

/// A float whose reciprocal may be exact.
pub trait Reciprocal: FloatLane {
    /// The reciprocal, if it is exact and normal.
    fn exact_reciprocal(self) -> Option<Self>;
}

macro_rules! reciprocal {
    ($($float:ty)*) => {$(
        impl Reciprocal for $float {
            #[inline(always)]
            fn exact_reciprocal(self) -> Option<Self> {
                const FRACTION: u32 = <$float>::MANTISSA_DIGITS - 1;
                let one = self.to_bits() & ((1 << FRACTION) - 1) == 0;
                let reciprocal = 1.0 / self;
                (one && self.is_normal() && reciprocal.is_normal()).then_some(reciprocal)
            }
        }
    )*};
}

reciprocal!(f32 f64);
