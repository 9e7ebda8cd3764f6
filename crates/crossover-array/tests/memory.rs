//! A fused expression allocates its output and at most 1 MiB per thread.
//!
//! One test per file: the counting allocator sees every thread of the process.
#![allow(clippy::unwrap_used)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

use crossover_array::{Array, Runtime, keepdims};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[allow(unsafe_code)]
// SAFETY: every call goes to the system allocator; counting changes nothing about the memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller's obligations are the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Most bytes above what was live before, while the closure runs; and what it leaves. The pool is emptied first: a block
/// that is taken from it again would not be counted.
fn growth(runtime: &Runtime, body: impl FnOnce() -> Array) -> (usize, usize) {
    runtime.trim().unwrap();
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let result = body();
    let (peak, after) = (PEAK.load(Ordering::Relaxed), LIVE.load(Ordering::Relaxed));
    drop(result);
    (peak - before, after.saturating_sub(before))
}

/// What is computed, bytes of its output, and how.
type Case = (&'static str, usize, fn(&Array) -> Array);

const THREADS: usize = 2;
const ALLOWED: usize = THREADS << 20;

#[test]
fn fused_expressions_allocate_their_output_only() {
    let runtime = Runtime::builder().threads(THREADS).build().unwrap();
    runtime.scope(|| {
        let (rows, columns) = (2000, 1000);
        let values: Vec<f32> = (0..rows * columns).map(|i| (i % 977) as f32 / 977.0).collect();
        let x = Array::from_vec(values, [rows, columns]);
        let full = rows * columns * 4;
        let cases: [Case; 7] = [
            ("map", full, |x| (x * 2.0 + 1.0).sqrt() - x / 3.0),
            ("gelu", full, |x| x.gelu()),
            ("softmax", full, |x| x.softmax(-1)),
            ("layer norm", full, |x| x.layer_norm(None, None, 1e-5)),
            ("standardise columns", full, |x| x.standardise(0)),
            ("row sums of a long expression", rows * 4, |x| ((x - x.mean(keepdims(1))).exp() * x).sum(1)),
            ("sum of everything", 4, |x| (x * x + 1.0).log().sum(())),
        ];
        for (name, output, build) in cases {
            let (peak, left) = growth(&runtime, || build(&x).eval().unwrap().clone());
            assert!(peak <= output + ALLOWED, "{name}: {peak} bytes for {output} of output");
            assert!(left <= output + ALLOWED, "{name}: {left} bytes stay for {output} of output");
        }

        // What rounding up to the size of a block wastes does not grow with the block.
        let large = Array::from_vec(vec![2f32; 20_000_000], [20_000_000]);
        let (peak, _) = growth(&runtime, || (&large * 2.0 + 1.0).eval().unwrap().clone());
        assert!(peak <= 80_000_000 + ALLOWED, "{peak} bytes for 80000000 of output");
        drop(large);

        // Held elementwise intermediates are recomputed rather than stored.
        let (peak, _) = growth(&runtime, || {
            let held: Vec<Array> = (1..8).map(|i| &x * i as f32).collect();
            let total = held.iter().skip(1).fold(held[0].clone(), |sum, part| sum + part);
            total.eval().unwrap().clone()
        });
        assert!(peak <= full + ALLOWED, "{peak} bytes with held intermediates");
    });
    temporaries_are_counted();
}

/// Without fusion the same expressions have temporaries of full size, every time they are computed.
fn temporaries_are_counted() {
    let runtime = Runtime::builder().threads(THREADS).fusion(false).build().unwrap();
    runtime.scope(|| {
        let x = Array::from_vec(vec![0.5f32; 2_000_000], [2000, 1000]);
        let cases: [Case; 3] = [
            ("map", 8_000_000, |x| (x * 2.0 + 1.0).sqrt() - x / 3.0),
            ("softmax", 8_000_000, |x| x.softmax(-1)),
            ("map again", 8_000_000, |x| (x * 2.0 + 1.0).sqrt() - x / 3.0),
        ];
        for (name, output, build) in cases {
            let (peak, _) = growth(&runtime, || build(&x).eval().unwrap().clone());
            assert!(peak > output + ALLOWED, "{name}: {peak} bytes, as if no temporary had been made");
        }
    });
}
