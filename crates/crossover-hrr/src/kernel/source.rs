//! The CUDA text of a convolution: constants of the task before the text of the files beside this one.

use std::sync::{LazyLock, Mutex, PoisonError};

use crossover_array::DType;
use rustc_hash::FxHashMap;

use super::convolve::Task;

const BUTTERFLY: &str = include_str!("butterfly.cuh");
const COMPOSITE: &str = include_str!("composite.cuh");
const TRANSFORM: &str = include_str!("transform.cuh");
const CONVOLVE: &str = include_str!("convolve.cu");

/// Longest rows whose transform is held in shared memory.
const LONGEST: usize = 8192;
/// Shortest rows that are worth a kernel of their own.
const SHORTEST: usize = 64;
/// Radices that the kernel has butterflies for, larger ones first.
const RADICES: [usize; 7] = [16, 8, 7, 5, 4, 3, 2];
/// The same with products of two primes, for lengths that would take more than four stages without.
const ALL_RADICES: [usize; 12] = [25, 16, 15, 10, 9, 8, 7, 6, 5, 4, 3, 2];

/// How the threads of a block share the work of one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Geometry {
    /// Radices of the stages; 1 where there is none.
    radices: [usize; 4],
    /// Threads of a group, which does one row pair at a time.
    group: usize,
    /// Groups of a block.
    pub groups: usize,
}

/// Whether rows of this length have a kernel; the others go through the library's transforms.
pub(super) fn is_direct(d: usize) -> bool {
    Geometry::of(d).is_some()
}

impl Geometry {
    /// For rows of `d` elements; `None` if `d` is odd, too long or short, or has a prime factor beyond 7. Found once per length.
    pub fn of(d: usize) -> Option<Geometry> {
        static FOUND: LazyLock<Mutex<FxHashMap<usize, Option<Geometry>>>> = LazyLock::new(Mutex::default);
        if !(SHORTEST..=LONGEST).contains(&d) {
            return None;
        }
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        *found.entry(d).or_insert_with(|| Geometry::find(d))
    }

    /// For so few rows that each wants as many threads as can help it: time is that of one row. `None` where the other one is as quick.
    pub fn few(d: usize) -> Option<Geometry> {
        // The other one has 16 threads for each of eight rows.
        (d == 512).then_some(Geometry { radices: [8, 4, 8, 1], group: 32, groups: 1 })
    }

    fn find(d: usize) -> Option<Geometry> {
        if !d.is_multiple_of(2) {
            return None;
        }
        let m = d / 2;
        // Measured on an H200 for powers of two; others by the fewest elements per thread.
        let (radices, group) = match m {
            32 => (vec![8, 4], 4),
            64 => (vec![8, 8], 8),
            128 => (vec![4, 8, 4], 16),
            256 => (vec![16, 16], 16),
            512 => (vec![8, 8, 8], 64),
            1024 => (vec![8, 16, 8], 64),
            2048 => (vec![16, 8, 16], 128),
            4096 => (vec![16, 16, 16], 256),
            _ => {
                let group = (m.div_ceil(8 * 32) * 32).clamp(32, 512);
                (factors(m, group, &RADICES).or_else(|| factors(m, group, &ALL_RADICES))?, group)
            }
        };
        let mut all = [1; 4];
        all[..radices.len()].copy_from_slice(&radices);
        Some(Geometry { radices: all, group, groups: if group <= 32 { 128 / group } else { 1 } })
    }

    /// Threads of a block.
    pub fn threads(&self) -> usize {
        self.group * self.groups
    }

    /// Bytes of shared memory of a block.
    pub fn shared(&self, task: Task) -> usize {
        let real = if task.dtype == DType::F64 { 8 } else { 4 };
        self.groups * task.d * 2 * real
    }
}

/// At most four radices whose product is `m`, such that a thread of a group holds as few elements as can be; powers of two last, whose roots
/// are constants.
fn factors(m: usize, group: usize, radices: &[usize]) -> Option<Vec<usize>> {
    let mut best: Option<(usize, Vec<usize>)> = None;
    let mut open = vec![(m, 0, Vec::new())];
    while let Some((left, from, chosen)) = open.pop() {
        if left == 1 {
            let held = |&r: &usize| (m / r).div_ceil(group) * r;
            let cost = chosen.iter().map(held).max().unwrap_or(1) * 8 + chosen.len();
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, chosen));
            }
        } else if chosen.len() < 4 {
            for (i, &radix) in radices.iter().enumerate().skip(from) {
                if left.is_multiple_of(radix) {
                    let mut more = chosen.clone();
                    more.push(radix);
                    open.push((left / radix, i, more));
                }
            }
        }
    }
    let (_, mut chosen) = best?;
    chosen.sort_by_key(|r| r.is_power_of_two());
    Some(chosen)
}

/// The name of the kernel: what it does and in which dtype.
pub(super) fn name(task: Task) -> &'static str {
    let wide = match task.dtype {
        DType::F64 => 1,
        DType::BF16 => 2,
        _ => 0,
    };
    let names = match (task.sum, task.correlate, task.normalise) {
        (true, ..) => ["hrr_bind_sum", "hrr_bind_sum_f64", "hrr_bind_sum_bf16"],
        (_, false, false) => ["hrr_bind", "hrr_bind_f64", "hrr_bind_bf16"],
        (_, false, true) => ["hrr_bind_normalise", "hrr_bind_normalise_f64", "hrr_bind_normalise_bf16"],
        (_, true, false) => ["hrr_unbind", "hrr_unbind_f64", "hrr_unbind_bf16"],
        (_, true, true) => ["hrr_unbind_normalise", "hrr_unbind_normalise_f64", "hrr_unbind_normalise_bf16"],
    };
    names[wide]
}

/// The name of the entry point for few rows.
pub(super) fn few_name(task: Task) -> String {
    format!("{}_few", name(task))
}

/// The text: the kernel, and where there is one the kernel for few rows.
pub(super) fn text(task: Task, geometry: &Geometry) -> String {
    let (real, element, hold, release) = match task.dtype {
        DType::F64 => ("double", "double", "(x)", "(x)"),
        DType::BF16 => ("float", "unsigned short", "xo_widen_bf16(x)", "xo_settle_bf16(x)"),
        _ => ("float", "float", "(x)", "(x)"),
    };
    let composite =
        if geometry.radices.iter().all(|r| *r == 1 || RADICES.contains(r)) { "" } else { COMPOSITE };
    let mut text = format!(
        "typedef {real} real;\ntypedef {element} element;\n#define hold(x) {hold}\n#define release(x) {release}\n\
         constexpr bool CORRELATE = {}, NORMALISE = {}, SUM = {};\n{BUTTERFLY}{composite}{}",
        task.correlate,
        task.normalise,
        task.sum,
        body("many", name(task), task, geometry),
    );
    if let (Some(few), false) = (Geometry::few(task.d), task.sum) {
        text.push_str(&body("few", &few_name(task), task, &few));
    }
    text
}

/// One kernel, in a namespace of its own: constants of the geometry before the files that use them.
fn body(space: &str, name: &str, task: Task, geometry: &Geometry) -> String {
    let [r0, r1, r2, r3] = geometry.radices;
    format!(
        "namespace {space} {{\n\
         constexpr int M = {}, T = {}, GROUPS = {}, RADIX0 = {r0}, RADIX1 = {r1}, RADIX2 = {r2}, RADIX3 = {r3};\n\
         #define NAME {name}\n{TRANSFORM}{CONVOLVE}#undef NAME\n}}\nusing {space}::{name};\n",
        task.d / 2,
        geometry.group,
        geometry.groups,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radices_multiply_to_half_the_length() {
        for d in 1..=LONGEST + 2 {
            if let Some(geometry) = Geometry::of(d) {
                assert_eq!(geometry.radices.iter().product::<usize>(), d / 2, "{d}");
                assert!(geometry.threads() <= 1024);
                assert!(
                    geometry.group > 32 || 32 % geometry.group == 0,
                    "groups do not share warps unevenly: {d}"
                );
            }
        }
        for d in [7, 9, 22, 514, 8193, 16384] {
            assert_eq!(Geometry::of(d), None, "{d}");
        }
    }

    #[test]
    fn every_even_length_of_small_primes_has_a_kernel() {
        let is_smooth = |d: usize| {
            let rest = [2, 3, 5, 7].into_iter().fold(d, |mut left, prime| {
                while left.is_multiple_of(prime) {
                    left /= prime;
                }
                left
            });
            rest == 1
        };
        let mut smooth = 0;
        for d in 1..=LONGEST + 2 {
            let wanted = d.is_multiple_of(2) && (SHORTEST..=LONGEST).contains(&d) && is_smooth(d);
            assert_eq!(is_direct(d), wanted, "{d}");
            smooth += usize::from(wanted);
        }
        assert_eq!(smooth, 226);
    }

    #[test]
    fn lengths_of_few_stages_have_the_text_that_they_had() {
        let task = Task { d: 0, dtype: DType::F32, correlate: false, normalise: false, sum: false };
        let text = |d: usize| text(Task { d, ..task }, &Geometry::of(d).unwrap());
        for d in [512, 882, 1000, 4000, 8192] {
            assert!(!text(d).contains("Composite"), "{d}");
        }
        for d in [1500, 2500, 6250] {
            assert!(text(d).contains("Composite"), "{d}");
        }
    }

    #[test]
    fn few_rows_have_more_threads_each() {
        for d in 1..=LONGEST {
            if let Some(few) = Geometry::few(d) {
                assert_eq!(few.radices.iter().product::<usize>(), d / 2, "{d}");
                assert!(Geometry::of(d).is_some_and(|many| many.group < few.group), "{d}");
            }
        }
    }
}
