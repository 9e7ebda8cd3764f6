//! Everything that can be generated is accepted by the compiler, for two architectures; hand-written kernels for every one
//! that is supported, the oldest of which is `sm_75`.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use crossover_codegen::{cast_functions, fused, op_functions, samples};
use crossover_core::{
    DType, Layout, Shape,
    ops::{
        fft::{FftKind, FftScale},
        linalg::LinalgOp,
    },
};
use crossover_cuda::{
    Nvrtc, calls,
    proof::calls::{KINDS, random_call, random_convolution},
};
use crossover_plan::kernel::{BufferId, Call, CallOp, Operand};

const ARCHITECTURES: [&str; 2] = ["sm_80", "sm_90a"];
/// Every architecture that is supported: Turing to Blackwell.
const ALL_ARCHITECTURES: [&str; 7] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"];

fn compiler() -> Option<Nvrtc> {
    match Nvrtc::open() {
        Ok(nvrtc) => Some(nvrtc),
        Err(reason) => {
            println!("not run: {reason}");
            None
        }
    }
}

fn compile_all(sources: &[(String, String)]) {
    compile_for(&ARCHITECTURES, sources);
}

fn compile_for(architectures: &[&str], sources: &[(String, String)]) {
    let Some(nvrtc) = compiler() else { return };
    let jobs: Vec<_> = sources.iter().flat_map(|s| architectures.iter().map(move |&a| (s, a))).collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(((name, text), architecture)) =
                    jobs.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    if let Err(error) = nvrtc.compile(text, architecture) {
                        panic!("{name}: {error}\n{text}");
                    }
                }
            });
        }
    });
}

#[test]
fn golden_kernels_compile() {
    let mut sources: Vec<_> =
        samples::golden().into_iter().map(|(name, kernel)| (name.to_string(), fused(&kernel).text)).collect();
    // With 64-bit index arithmetic too, as for spaces beyond 2^30 points.
    let wide = |(name, text): &(String, String)| {
        (format!("{name} wide"), text.replace("typedef int index_t;", "typedef long long index_t;"))
    };
    sources.extend(sources.iter().map(wide).collect::<Vec<_>>());
    compile_all(&sources);
}

/// Sources with the same entry shape can share a translation unit, which saves most of the compiler's start-up.
fn bundle(sources: Vec<(String, String)>, per_unit: usize) -> Vec<(String, String)> {
    let unit = |part: &[(String, String)]| {
        let names: Vec<&str> = part.iter().map(|(name, _)| name.as_str()).collect();
        let texts: Vec<String> =
            part.iter().map(|(name, text)| format!("namespace unit_{name} {{\n{text}}}\n")).collect();
        (names.join(" "), texts.join("\n"))
    };
    sources.chunks(per_unit).map(unit).collect()
}

#[test]
fn every_op_compiles_for_every_dtype() {
    compile_all(&bundle(op_functions(), 16));
}

#[test]
fn every_conversion_compiles() {
    compile_all(&bundle(cast_functions(), 32));
}

/// A call of one operand of this shape.
fn one_operand(op: CallOp, dtype: DType, shape: &[usize], result: (DType, &[usize])) -> Call {
    let operand = Operand {
        buffer: BufferId(0),
        dtype,
        layout: Layout::contiguous(Shape::from(shape)).permute(&[1, 0]),
    };
    Call {
        op,
        operands: vec![operand],
        output: BufferId(1),
        layout: Layout::contiguous(Shape::from(result.1)),
        dtype: result.0,
    }
}

/// Texts of calls, at most so many of each kind.
fn call_texts(each: usize) -> Vec<(String, String)> {
    let mut kinds: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut add = |kind: &'static str, call: &Call, most: usize| {
        let texts = kinds.entry(kind).or_default();
        for text in calls::texts(call) {
            if texts.len() < most && !texts.contains(&text) {
                texts.push(text);
            }
        }
    };
    for seed in 0..400 {
        for large in [false, true] {
            if let Some(case) = random_call(seed, large).filter(|c| !c.want.is_empty()) {
                add(KINDS[seed as usize % KINDS.len()], &case.call, 2 * each);
            }
        }
    }
    for seed in 0..60 {
        if let Some(case) = random_convolution(seed, seed % 3 == 0) {
            add("convolve", &case.call, 2 * each);
        }
    }
    for dtype in [DType::F32, DType::C128] {
        let (kind, result) = match dtype {
            DType::F32 => (FftKind::Real, DType::C64),
            _ => (FftKind::Hermitian { length: 198 }, DType::F64),
        };
        let op = CallOp::Fft { kind, axes: [0].into_iter().collect(), scale: FftScale::Count };
        let length = if dtype == DType::F32 { 51 } else { 198 };
        add("fft", &one_operand(op, dtype, &[3, 100], (result, &[length, 3])), 8);
        for op in [LinalgOp::Eig, LinalgOp::Qr { complete: true }, LinalgOp::Eigh { upper: true }] {
            let size = op.tail(600, 600).size();
            let call = one_operand(CallOp::Linalg(op), dtype, &[600, 600], (op.result(dtype), &[size]));
            add("linalg", &call, 8);
        }
    }
    kinds
        .into_iter()
        .inspect(|(kind, texts)| assert!(!texts.is_empty(), "no text of {kind}"))
        .flat_map(|(kind, texts)| texts.into_iter().enumerate().map(move |(i, t)| (format!("{kind} {i}"), t)))
        .collect()
}

#[test]
fn hand_written_kernels_compile_for_every_architecture() {
    compile_for(&ALL_ARCHITECTURES, &call_texts(1));
}

#[test]
fn hand_written_kernels_compile_for_many_dtypes_and_ranks() {
    let sources = call_texts(6);
    let wide = |(name, text): &(String, String)| {
        (format!("{name} wide"), text.replace("typedef int index_t;", "typedef long long index_t;"))
    };
    let all: Vec<_> = sources.iter().cloned().chain(sources.iter().step_by(3).map(wide)).collect();
    compile_for(&ARCHITECTURES[1..], &all);
}
