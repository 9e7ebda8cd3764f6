//! The floating-point control word: kernels round to nearest and keep subnormal numbers, whatever their caller set.
//!
//! Other libraries switch a thread to flush subnormals to zero, and new threads inherit it. A guard puts the word
//! right while a kernel runs and gives the caller's setting back afterwards.
#![allow(unsafe_code)]

/// Keeps the control word right until it is dropped.
#[derive(Debug)]
#[must_use = "the control word is only right while the guard lives"]
pub struct Guard {
    /// What the caller had, if it was different.
    former: Option<u32>,
}

impl Guard {
    /// Looks, and changes the word only if it must.
    #[inline]
    pub fn new() -> Guard {
        let word = read();
        if word & CHANGED == 0 {
            return Guard { former: None };
        }
        write(word & !CHANGED);
        Guard { former: Some(word) }
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        if let Some(word) = self.former {
            write(word);
        }
    }
}

/// Flush-to-zero, denormals-are-zero and both rounding bits of MXCSR.
#[cfg(target_arch = "x86_64")]
const CHANGED: u32 = 0xe040;
/// Flush-to-zero and both rounding bits of FPCR.
#[cfg(target_arch = "aarch64")]
const CHANGED: u32 = 0x01c0_0000;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CHANGED: u32 = 0;

#[cfg(target_arch = "x86_64")]
#[inline]
fn read() -> u32 {
    let mut word = 0u32;
    // SAFETY: every x86-64 has the instruction; it stores the word and changes nothing.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut word, options(nostack, preserves_flags)) };
    word
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn write(word: u32) {
    // SAFETY: only bits that `read` returned are set, so none is reserved; exceptions stay masked as they were.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &word, options(nostack, preserves_flags)) };
}

#[cfg(target_arch = "aarch64")]
#[inline]
fn read() -> u32 {
    let word: u64;
    // SAFETY: reading the control register changes nothing.
    unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) word, options(nomem, nostack, preserves_flags)) };
    word as u32
}

#[cfg(target_arch = "aarch64")]
#[inline]
fn write(word: u32) {
    // SAFETY: only bits that `read` returned are set.
    unsafe { std::arch::asm!("msr fpcr, {}", in(reg) word as u64, options(nomem, nostack, preserves_flags)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn read() -> u32 {
    0
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn write(_word: u32) {}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn subnormals_survive_a_caller_that_flushes_them() {
        let caller = read();
        write(caller | 0x8040);
        let flushed = black_box(1e-40f32) * black_box(0.5);
        let kept = {
            let _guard = Guard::new();
            black_box(1e-40f32) * black_box(0.5)
        };
        let back = read();
        write(caller);
        // The lowest six bits only note what has happened.
        assert_eq!(
            (flushed, back | 0x3f),
            (0.0, caller | 0x8040 | 0x3f),
            "the caller's setting is given back"
        );
        assert_eq!(kept, 1e-40 * 0.5);
    }
}
