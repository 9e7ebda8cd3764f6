//! Measures the function bodies: the error of every `f32` argument, and the time of one element.
//!
//! `cargo run --release -p crossover-core --example ulp -- --all` compares all 2^32 arguments of each op with an
//! `f64` reference on every core, prints the largest error and where it is, and fails if one exceeds what the op
//! declares; for pow, which has 2^64, ten million pairs. `--op exp` takes one op, `--time` measures nanoseconds per element on one core, `--stride N` looks at
//! every N-th argument only. `--json FILE` writes what was found, one line for each op.

use std::{
    io::IsTerminal,
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

#[path = "../tests/accuracy/truth.rs"]
mod truth;

use crossover_core::ops::{self, Apply1, Apply2, OpInfo, Unary};

/// Arguments handed to a body at once, as a tile of the CPU backend.
const TILE: usize = 1024;

type Tile = fn(&[f32], &mut [f32]);

struct Subject {
    info: OpInfo,
    reference: fn(f64) -> f64,
    tile: Tile,
    times: fn() -> Vec<(&'static str, f64, f64)>,
}

fn subject<O: Unary>(reference: fn(f64) -> f64) -> Subject {
    Subject { info: O::INFO, reference, tile: best_tile::<O>(), times: times::<O> }
}

fn subjects() -> Vec<Subject> {
    macro_rules! list {
        ($($op:ident $module:ident $reference:path;)*) => {
            vec![$(subject::<ops::$module::$op>($reference),)*]
        };
    }
    for_each_function!(list)
}

macro_rules! tiles {
    ($($name:ident $(#[$features:meta])*;)*) => {$(
        mod $name {
            use super::*;
            $(#[$features])*
            pub fn unary<O: Apply1<T>, T: Copy>(input: &[T], output: &mut [T]) {
                for (y, &x) in output.iter_mut().zip(input) {
                    *y = O::apply(x);
                }
                if O::SOME_RARE {
                    let mut any = false;
                    for &x in input {
                        any |= O::rare(x);
                    }
                    if any {
                        for (y, &x) in output.iter_mut().zip(input) {
                            if O::rare(x) {
                                *y = O::slow(x);
                            }
                        }
                    }
                }
            }
            $(#[$features])*
            pub fn binary<O: Apply2<T>, T: Copy>(a: &[T], b: &[T], output: &mut [T]) {
                for ((y, &a), &b) in output.iter_mut().zip(a).zip(b) {
                    *y = O::apply(a, b);
                }
            }
        }
    )*};
}

tiles! { plain; }
#[cfg(target_arch = "x86_64")]
tiles! {
    avx2 #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt")];
    avx512 #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt")];
}

/// Whether this machine has a set of instructions.
fn has(level: &str) -> bool {
    #[cfg(target_arch = "x86_64")]
    match level {
        "avx2" => return is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
        "avx512" => return is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512vl"),
        _ => {}
    }
    level == "plain"
}

#[allow(unsafe_code)]
fn unary<O: Apply1<T>, T: Copy>(level: &str, input: &[T], output: &mut [T]) {
    #[cfg(target_arch = "x86_64")]
    match level {
        // SAFETY: `level` is one that `has` confirmed for this machine.
        "avx512" => return unsafe { avx512::unary::<O, T>(input, output) },
        // SAFETY: as above.
        "avx2" => return unsafe { avx2::unary::<O, T>(input, output) },
        _ => {}
    }
    plain::unary::<O, T>(input, output);
}

#[allow(unsafe_code)]
fn binary<O: Apply2<T>, T: Copy>(level: &str, a: &[T], b: &[T], output: &mut [T]) {
    #[cfg(target_arch = "x86_64")]
    match level {
        // SAFETY: `level` is one that `has` confirmed for this machine.
        "avx512" => return unsafe { avx512::binary::<O, T>(a, b, output) },
        // SAFETY: as above.
        "avx2" => return unsafe { avx2::binary::<O, T>(a, b, output) },
        _ => {}
    }
    plain::binary::<O, T>(a, b, output);
}

fn best_tile<O: Unary>() -> Tile {
    if has("avx512") {
        |x, y| unary::<O, f32>("avx512", x, y)
    } else if has("avx2") {
        |x, y| unary::<O, f32>("avx2", x, y)
    } else {
        |x, y| unary::<O, f32>("plain", x, y)
    }
}

/// Nanoseconds per element of the best of many passes over one tile.
fn nanoseconds(mut pass: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..40 {
        let start = Instant::now();
        for _ in 0..200 {
            pass();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / (200 * TILE) as f64);
    }
    best
}

/// Arguments spread over ±8, away from rare paths.
fn arguments(seed: u64) -> Vec<f64> {
    let mut state = seed;
    (0..TILE)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64 * 16.0 - 8.0
        })
        .collect()
}

fn times<O: Unary>() -> Vec<(&'static str, f64, f64)> {
    let wide = arguments(1);
    let narrow: Vec<f32> = wide.iter().map(|&x| x as f32).collect();
    let (mut out32, mut out64) = (vec![0.0f32; TILE], vec![0.0f64; TILE]);
    ["avx512", "avx2"]
        .into_iter()
        .filter(|l| has(l))
        .map(|level| {
            let single = nanoseconds(|| unary::<O, f32>(level, std::hint::black_box(&narrow), &mut out32));
            let double = nanoseconds(|| unary::<O, f64>(level, std::hint::black_box(&wide), &mut out64));
            (level, single, double)
        })
        .collect()
}

fn print_binary_times<O: Apply2<f32> + Apply2<f64>>() {
    let (a, b): (Vec<f64>, Vec<f64>) = (arguments(1).iter().map(|x| x.abs()).collect(), arguments(2));
    let a32: Vec<f32> = a.iter().map(|&x| x as f32).collect();
    let b32: Vec<f32> = b.iter().map(|&x| x as f32).collect();
    let (mut out32, mut out64) = (vec![0.0f32; TILE], vec![0.0f64; TILE]);
    for level in ["avx512", "avx2"].into_iter().filter(|l| has(l)) {
        let single = nanoseconds(|| binary::<O, f32>(level, std::hint::black_box(&a32), &b32, &mut out32));
        let double = nanoseconds(|| binary::<O, f64>(level, std::hint::black_box(&a), &b, &mut out64));
        println!(
            "{:<12} {level:<7} f32 {single:6.3}  f64 {double:6.3} ns/element",
            <O as ops::Binary>::INFO.name
        );
    }
}

/// The largest error over every `stride`-th argument, and the argument.
fn worst(subject: &Subject, stride: u64) -> (f64, f32) {
    const CHUNK: u64 = 1 << 22;
    let count = (1u64 << 32).div_ceil(stride);
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let work = || {
        let (mut input, mut output) = (vec![0.0f32; TILE], vec![0.0f32; TILE]);
        let mut worst = (0.0, 0.0);
        loop {
            let start = next.fetch_add(CHUNK, Ordering::Relaxed);
            if start >= count {
                return worst;
            }
            for tile in (start..count.min(start + CHUNK)).step_by(TILE) {
                for (i, x) in input.iter_mut().enumerate() {
                    *x = f32::from_bits(((tile + i as u64).min(count - 1) * stride) as u32);
                }
                (subject.tile)(&input, &mut output);
                for (&x, &y) in input.iter().zip(&output) {
                    let error = truth::ulps(y, (subject.reference)(x as f64));
                    if error > worst.0 {
                        worst = (error, x);
                    }
                }
            }
            if std::io::stderr().is_terminal() {
                eprint!("\r{:<8} {:3}%  ", subject.info.name, (start + CHUNK).min(count) * 100 / count);
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let results = workers.into_iter().map(|w| w.join().expect("a worker does not panic"));
        results.fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a })
    })
}

/// The largest error of pow over random pairs: any bits, and moderate results, and bases near one.
fn worst_pow(pairs: usize) -> (f64, (f32, f32)) {
    let level = ["avx512", "avx2", "plain"].into_iter().find(|l| has(l)).expect("plain is always there");
    let mut state = 3u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state ^ (state >> 31)
    };
    let mut unit = || (next() >> 11) as f64 / (1u64 << 53) as f64;
    let (mut a, mut b, mut y) = (vec![0.0f32; TILE], vec![0.0f32; TILE], vec![0.0f32; TILE]);
    let mut worst = (0.0, (0.0, 0.0));
    for tile in 0..pairs / TILE {
        for (a, b) in a.iter_mut().zip(&mut b) {
            (*a, *b) = match tile % 3 {
                0 => (
                    f32::from_bits((unit() * 4294967296.0) as u32),
                    f32::from_bits((unit() * 4294967296.0) as u32),
                ),
                1 => ((unit() * 8.0) as f32, (unit() * 120.0 - 60.0) as f32),
                _ => ((0.999 + unit() * 0.002) as f32, (unit() * 2e5 - 1e5) as f32),
            };
        }
        binary::<ops::pow::Pow, f32>(level, &a, &b, &mut y);
        for ((&a, &b), &y) in a.iter().zip(&b).zip(&y) {
            let error = truth::ulps(y, (a as f64).powf(b as f64));
            if error > worst.0 {
                worst = (error, (a, b));
            }
        }
    }
    worst
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |flag: &str| arguments.iter().position(|a| a == flag).and_then(|i| arguments.get(i + 1));
    let only = value("--op");
    let stride = value("--stride").and_then(|s| s.parse().ok()).unwrap_or(1).max(1);
    let all = arguments.iter().any(|a| a == "--all");
    let time = arguments.iter().any(|a| a == "--time");
    if !all && !time && only.is_none() {
        eprintln!("usage: ulp (--all | --op NAME) [--stride N] [--time] [--json FILE]");
        return ExitCode::from(2);
    }
    let mut failed = false;
    let mut records = Vec::new();
    let mut record = |name: &str, arguments: u64, error: f64, declared: f64| {
        let numbers =
            format!("\"arguments\": {arguments}, \"max_ulp\": {error:.4}, \"declared\": {declared}");
        records.push(format!("  {{\"op\": \"{name}\", {numbers}}}"));
    };
    for subject in subjects().iter().filter(|s| only.is_none_or(|name| s.info.name == name)) {
        let name = subject.info.name;
        if time {
            for (level, single, double) in (subject.times)() {
                println!("{name:<12} {level:<7} f32 {single:6.3}  f64 {double:6.3} ns/element");
            }
            continue;
        }
        let start = Instant::now();
        let (error, at) = worst(subject, stride);
        let verdict = if error <= subject.info.max_ulp { "ok" } else { "TOO LARGE" };
        failed |= error > subject.info.max_ulp;
        record(name, (1u64 << 32).div_ceil(stride), error, subject.info.max_ulp);
        let line = if std::io::stderr().is_terminal() { "\r" } else { "" };
        println!(
            "{line}{name:<10} max {error:.4} ulp at {at:e} (0x{:08x}), declared {}: {verdict} ({:.0} s)",
            at.to_bits(),
            subject.info.max_ulp,
            start.elapsed().as_secs_f64()
        );
    }
    if !time && only.is_none_or(|name| name == "pow") {
        let limit = <ops::pow::Pow as ops::Binary>::INFO.max_ulp;
        let (error, at) = worst_pow(10_000_000);
        failed |= error > limit;
        record("pow", 10_000_000, error, limit);
        println!("pow      max {error:.4} ulp at {at:?} of 10^7 pairs, declared {limit}");
    }
    if time && only.is_none() {
        print_binary_times::<ops::pow::Pow>();
        print_binary_times::<ops::remainder::Remainder>();
        print_binary_times::<ops::floor_divide::FloorDivide>();
    }
    if let Some(file) = value("--json") {
        let written = std::fs::write(file, format!("[\n{}\n]\n", records.join(",\n")));
        if let Err(error) = written {
            eprintln!("{file} could not be written: {error}");
            return ExitCode::FAILURE;
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
