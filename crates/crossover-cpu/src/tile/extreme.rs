//! The smallest or largest of rows of floats, and whether any or all of rows of booleans hold.
//!
//! `minimum` and `maximum` choose by a total order once NaN is set aside, so the order of combination cannot show. The machine's own
//! comparison finds the value; NaNs, which it passes over, are looked for two vectors at a time, and the sign of a result of
//! zero by a second look at the row.
#![allow(unsafe_code)]

use std::ops::BitOr;

use crossover_core::{
    canonical::{CHUNK, LANES},
    ops::Apply2,
};

use super::{
    body::{input, output},
    reduction::chunk,
};

/// A float.
pub trait Extreme: Copy + PartialOrd {
    /// Its bits.
    type Bits: Copy + Eq + BitOr<Output = Self::Bits>;
    /// No bits, and all.
    const FLAGS: [Self::Bits; 2];
    /// The zero that is the smallest, and the one that is the largest.
    const ZEROS: [Self; 2];
    /// The NaN that operations give.
    const NAN: Self;
    /// The bits of a float.
    fn bits(self) -> Self::Bits;
}

macro_rules! extremes {
    ($($float:ty, $bits:ty, $nan:expr;)*) => {$(
        impl Extreme for $float {
            type Bits = $bits;
            const FLAGS: [$bits; 2] = [0, !0];
            const ZEROS: [$float; 2] = [-0.0, 0.0];
            const NAN: $float = <$float>::from_bits($nan);
            #[inline(always)]
            fn bits(self) -> $bits { self.to_bits() }
        }
    )*};
}

extremes! {
    f32, u32, 0x7fc0_0000;
    f64, u64, 0x7ff8_0000_0000_0000;
}

/// `rows` rows of `n` elements, each reduced to its smallest or largest by `O`, which must be `minimum` or `maximum`.
///
/// # Safety
/// As [`super::reduction::rows`].
#[inline(always)]
pub unsafe fn rows<O: Apply2<T>, T: Extreme, const MAX: bool, const VECTOR: usize>(
    from: *const u8,
    out: *mut u8,
    rows: usize,
    n: usize,
) {
    // SAFETY: the caller's contract.
    let (values, out) = unsafe { (input::<T>(from, rows * n), output::<T>(out, rows)) };
    for (slot, row) in out.iter_mut().zip(values.chunks_exact(n)) {
        slot.write(match (row.len() <= LANES, VECTOR / size_of::<T>()) {
            (true, _) => chunk::<O, T, VECTOR>(row),
            (_, 16) => extreme::<T, MAX, 64>(row),
            (_, 4) => extreme::<T, MAX, 16>(row),
            _ => extreme::<T, MAX, 32>(row),
        });
    }
}

/// The extreme of a row of at least two elements, in `W` lanes: as many as stay in registers.
#[inline(always)]
fn extreme<T: Extreme, const MAX: bool, const W: usize>(row: &[T]) -> T {
    // The second of two that are equal or not ordered, as the machine's instruction has it.
    let better = |x: T, best: T| match MAX {
        true if x > best => x,
        false if x < best => x,
        _ => best,
    };
    // Both are looked at, without a branch.
    #[allow(clippy::eq_op)]
    let flag = |a: T, b: T| if (a != a) | (b != b) { T::FLAGS[1] } else { T::FLAGS[0] };
    let (none, mut best) = (T::FLAGS[0], [row[0]; W]);
    let mut flags = [none; W];
    let (blocks, rest) = row.as_chunks::<W>();
    for block in blocks {
        for j in 0..W / 2 {
            let (a, b) = (block[j], block[W / 2 + j]);
            best[j] = better(a, best[j]);
            best[W / 2 + j] = better(b, best[W / 2 + j]);
            flags[j] = flags[j] | flag(a, b);
        }
    }
    for (j, &x) in rest.iter().enumerate() {
        best[j] = better(x, best[j]);
        flags[j] = flags[j] | flag(x, x);
    }
    if flags.into_iter().fold(none, T::Bits::bitor) != none {
        return T::NAN;
    }
    // By halves: one after the other they would wait for each other.
    let mut width = W;
    while width > 1 {
        width /= 2;
        for j in 0..width {
            best[j] = better(best[width + j], best[j]);
        }
    }
    let found = best[0];
    let [low, high] = T::ZEROS;
    if found != low {
        return found;
    }
    let (wanted, other) = if MAX { (high, low) } else { (low, high) };
    let seen = row.iter().fold(none, |seen, x| if x.bits() == wanted.bits() { T::FLAGS[1] } else { seen });
    if seen != none { wanted } else { other }
}

/// `rows` rows of `n` booleans, each reduced to whether any of it holds, or all of it.
///
/// # Safety
/// As [`super::reduction::rows`].
#[inline(always)]
pub unsafe fn truths<const ANY: bool>(from: *const u8, out: *mut u8, rows: usize, n: usize) {
    // SAFETY: the caller's contract.
    let (values, out) = unsafe { (input::<u8>(from, rows * n), output::<u8>(out, rows)) };
    for (slot, row) in out.iter_mut().zip(values.chunks_exact(n)) {
        slot.write(truth::<ANY>(row));
    }
}

/// Booleans are bytes of 0 or 1.
#[inline(always)]
fn truth<const ANY: bool>(row: &[u8]) -> u8 {
    let fold = |row: &[u8]| match ANY {
        true => row.iter().fold(0, |found, &x| found | x),
        false => row.iter().fold(1, |found, &x| found & x),
    };
    // The usual length, known to the compiler.
    match <&[u8; CHUNK]>::try_from(row) {
        Ok(row) => fold(row),
        Err(_) => fold(row),
    }
}

#[cfg(test)]
mod tests {
    use crossover_core::{
        canonical,
        ops::{maximum::Maximum, minimum::Minimum},
    };

    use super::*;

    fn check<T: Extreme + std::fmt::Debug>(
        rows_of: impl Fn(&mut dyn FnMut(&[T])),
        same: impl Fn(T, T) -> bool,
    ) where
        Maximum: Apply2<T>,
        Minimum: Apply2<T>,
    {
        rows_of(&mut |row| {
            let want = [
                canonical::row(row, <Minimum as Apply2<T>>::apply),
                canonical::row(row, <Maximum as Apply2<T>>::apply),
            ];
            let got = [extreme::<T, false, 32>(row), extreme::<T, true, 32>(row)];
            for (got, want) in got.into_iter().zip(want) {
                assert!(want.is_some_and(|want| same(got, want)), "{got:?}, expected {want:?} of {row:?}");
            }
        });
    }

    /// Rows with zeros of both signs, infinities, and NaNs of either sign and any payload.
    fn rows_of<T: Copy>(special: &[T], plain: impl Fn(u64) -> T, see: &mut dyn FnMut(&[T])) {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 33
        };
        for n in [2, 3, 31, 32, 33, 129, 500, 1024] {
            for mix in 0..40 {
                let row: Vec<T> = (0..n)
                    .map(|_| match next() % 8 < mix % 4 {
                        true => special[next() as usize % (1 + mix as usize % special.len())],
                        false => plain(next()),
                    })
                    .collect();
                see(&row);
            }
        }
    }

    #[test]
    fn one_boolean_decides_for_a_row() {
        for n in [1, 7, 8, 33, 500, CHUNK] {
            for at in [0, n / 2, n - 1] {
                let (mut any, mut all) = (vec![0u8; n], vec![1u8; n]);
                assert_eq!((truth::<true>(&any), truth::<false>(&all)), (0, 1));
                (any[at], all[at]) = (1, 0);
                assert_eq!((truth::<true>(&any), truth::<false>(&all)), (1, 0), "{at} of {n}");
            }
        }
    }

    #[test]
    fn extremes_are_those_of_the_operations() {
        let single = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::from_bits(0xff80_0001)];
        let halves = |x: u64| (x % 9) as f32 - 4.0;
        check::<f32>(|see| rows_of(&single, halves, see), |a, b| a.to_bits() == b.to_bits());
        check::<f32>(|see| rows_of(&single, |_| -0.0, see), |a, b| a.to_bits() == b.to_bits());
        let double =
            [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, -f64::NAN, f64::from_bits(0x7ff0 << 48 | 1)];
        check::<f64>(|see| rows_of(&double, |x| x as f64 - 1e9, see), |a, b| a.to_bits() == b.to_bits());
    }
}
