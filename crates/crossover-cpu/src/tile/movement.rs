//! Copies between tiles and strided memory, by element size alone: bits pass unchanged.
#![allow(unsafe_code)]

use super::body::{input, map1, output};

/// `n` copies of one element.
///
/// # Safety
/// As [`super::body`] says.
#[inline(always)]
pub unsafe fn fill<E: Copy>(from: *const u8, out: *mut u8, n: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        let value = *from.cast::<E>();
        for slot in output::<E>(out, n) {
            slot.write(value);
        }
    }
}

/// A plain copy.
///
/// # Safety
/// As [`super::body`] says.
#[inline(always)]
pub unsafe fn copy<E: Copy>(from: *const u8, out: *mut u8, n: usize) {
    // SAFETY: the caller's contract.
    unsafe { map1(input::<E>(from, n), output::<E>(out, n), |x| x) }
}

/// Elements `stride` apart, gathered side by side.
///
/// # Safety
/// Every element of the walk is readable; otherwise as [`super::body`] says.
#[inline(always)]
pub unsafe fn gather<E: Copy>(from: *const u8, stride: isize, out: *mut u8, n: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        let from = from.cast::<E>();
        match stride {
            1 => std::ptr::copy_nonoverlapping(from, out.cast::<E>(), n),
            0 => fill::<E>(from.cast(), out, n),
            _ => {
                for (i, slot) in output::<E>(out, n).iter_mut().enumerate() {
                    slot.write(*from.offset(i as isize * stride));
                }
            }
        }
    }
}

/// Elements that lie side by side, written `stride` apart.
///
/// # Safety
/// Every element of the walk is writable; otherwise as [`super::body`] says.
#[inline(always)]
pub unsafe fn scatter<E: Copy>(from: *const u8, out: *mut u8, stride: isize, n: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        let out = out.cast::<E>();
        if stride == 1 {
            return std::ptr::copy_nonoverlapping(from.cast::<E>(), out, n);
        }
        for (i, &value) in input::<E>(from, n).iter().enumerate() {
            *out.offset(i as isize * stride) = value;
        }
    }
}

/// Elements of two tiles in turn.
///
/// # Safety
/// `a` and `b` hold `n` elements, and `out` has room for `2 * n`; otherwise as [`super::body`] says.
#[inline(always)]
pub unsafe fn interleave<E: Copy>(a: *const u8, b: *const u8, out: *mut u8, n: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        let (a, b) = (input::<E>(a, n), input::<E>(b, n));
        for (pair, (&a, &b)) in output::<E>(out, 2 * n).chunks_exact_mut(2).zip(a.iter().zip(b)) {
            pair[0].write(a);
            pair[1].write(b);
        }
    }
}

/// Each of `rows` elements repeated `n` times.
///
/// # Safety
/// `from` holds `rows` elements and `out` has room for `rows * n`; otherwise as [`super::body`] says.
#[inline(always)]
pub unsafe fn repeat_each<E: Copy>(from: *const u8, out: *mut u8, rows: usize, n: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        let values = input::<E>(from, rows);
        for (row, &value) in output::<E>(out, rows * n).chunks_exact_mut(n).zip(values) {
            for slot in row {
                slot.write(value);
            }
        }
    }
}

/// A vector of `n` elements repeated `rows` times.
///
/// # Safety
/// `from` holds `n` elements and `out` has room for `rows * n`; otherwise as [`super::body`] says.
#[inline(always)]
pub unsafe fn repeat_all<E: Copy>(from: *const u8, out: *mut u8, rows: usize, n: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        std::ptr::copy_nonoverlapping(from.cast::<E>(), out.cast::<E>(), n.min(rows * n));
        repeat(out, n * size_of::<E>(), rows * n * size_of::<E>());
    }
}

/// What the first `period` bytes hold, again and again up to `total` bytes.
///
/// # Safety
/// `out` has room for `total` bytes, and the first `period` of them, more than none, are written.
#[inline(always)]
pub unsafe fn repeat(out: *mut u8, period: usize, total: usize) {
    let mut done = period;
    while done < total {
        let more = done.min(total - done);
        // SAFETY: doubling copies only what has been written.
        unsafe { std::ptr::copy_nonoverlapping(out, out.add(done), more) };
        done += more;
    }
}
