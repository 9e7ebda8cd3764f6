//! Everything that can be generated is accepted by the compiler for two architectures; kernels of every kind, every op, every
//! conversion and every hand-written file for each that is supported, the oldest of which is `sm_75`.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use crossover_codegen::{Limits, cast_functions, fused, fused_within, op_functions, samples};
use crossover_core::{
    DType, Layout, Shape,
    custom::{CustomKernel, Grid},
    ops::{
        convolve::Boundary,
        fft::{FftKind, FftScale},
        linalg::LinalgOp,
    },
};
use crossover_cuda::{
    Nvrtc, calls,
    proof::{
        calls::{KINDS, random_call, random_convolution},
        custom::{random_custom, whole_calls},
    },
};
use crossover_plan::kernel::{Activation, BufferId, Call, CallOp, Operand};

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
    compile_for(&ALL_ARCHITECTURES, &sources);
    // Functions of 16-bit numbers by table, where a block may have that much shared memory.
    let limits = Limits { shared: 200 << 10, table: 1 };
    let by_table = samples::golden().into_iter().map(|(name, kernel)| {
        (format!("{name} within more shared memory"), fused_within(&kernel, limits).text)
    });
    let by_table: Vec<_> =
        by_table.filter(|source| !sources.iter().any(|known| known.1 == source.1)).collect();
    assert!(!by_table.is_empty());
    compile_for(&ALL_ARCHITECTURES, &by_table);
    sources = sources.iter().map(wide).collect();
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

/// One of the functions of each op, another for each number.
fn one_of_each(functions: Vec<(String, String)>, number: usize) -> Vec<(String, String)> {
    let mut ops: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for (name, text) in functions {
        let op = name.rsplit_once('_').map_or(name.clone(), |(op, _)| op.to_string());
        ops.entry(op).or_default().push((name, text));
    }
    ops.into_values().map(|mut all| all.swap_remove(number % all.len())).collect()
}

/// All functions for all architectures would take minutes: the others get every op, each for a dtype of its turn.
#[test]
fn every_op_and_conversion_compiles_for_every_architecture() {
    for (number, architecture) in ALL_ARCHITECTURES.iter().enumerate() {
        if !ARCHITECTURES.contains(architecture) {
            compile_for(&[architecture], &bundle(one_of_each(op_functions(), number), 16));
            compile_for(&[architecture], &bundle(one_of_each(cast_functions(), number), 32));
        }
    }
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
    let mut boundaries = BTreeSet::new();
    for seed in 0..60 {
        if let Some(case) = random_convolution(seed, seed % 3 == 0) {
            add("convolve", &case.call, 2 * each);
            // The boundary is a constant of the text.
            if let CallOp::Convolve { boundary, .. } = &case.call.op {
                boundaries.insert(boundary.name());
                add(boundary.name(), &case.call, 1);
            }
        }
    }
    assert_eq!(boundaries.len(), Boundary::ALL.len(), "{boundaries:?}");
    let square = |at: u32| Operand {
        buffer: BufferId(at),
        dtype: DType::F32,
        layout: Layout::contiguous(Shape::from([64, 64])),
    };
    for activation in [Activation::None, Activation::Relu, Activation::Gelu] {
        let product = Call {
            op: CallOp::Linear { bias: false, activation },
            operands: vec![square(0), square(1)],
            output: BufferId(2),
            layout: square(2).layout,
            dtype: DType::F32,
        };
        add("product", &product, 3);
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

/// The text of a custom kernel of one `f32` operand.
fn custom_text(kernel: CustomKernel) -> String {
    let call = one_operand(CallOp::Custom(kernel), DType::F32, &[3, 100], (DType::F32, &[100, 3]));
    calls::texts(&call).pop().unwrap()
}

#[test]
fn kernels_of_users_compile_for_every_architecture() {
    let mut sources: BTreeMap<String, String> = BTreeMap::new();
    for case in (0..32).filter_map(|seed| random_custom(seed, false)).chain(whole_calls()) {
        sources.extend(calls::texts(&case.call).into_iter().map(|text| (text, case.name.clone())));
    }
    let sources: Vec<_> = sources.into_iter().map(|(text, name)| (name, text)).collect();
    assert!(sources.len() >= 12);
    compile_for(&ALL_ARCHITECTURES, &sources);
    // What a kernel has for Hopper alone.
    let hopper = whole_calls().into_iter().flat_map(|case| {
        let (base, own) = (calls::texts(&case.call), calls::texts_since(&case.call, 90));
        own.into_iter().filter(move |text| !base.contains(text)).map(move |text| (case.name.clone(), text))
    });
    let hopper: Vec<_> = hopper.collect();
    assert!(!hopper.is_empty());
    compile_for(&["sm_90a"], &hopper);
}

#[test]
fn mistakes_of_users_are_found_by_the_compiler_on_their_lines() {
    let Some(nvrtc) = compiler() else { return };
    let start = |name| CustomKernel::builder(name).input("x", DType::F32).output("out", DType::F32);
    let whole = |source: &str| {
        let builder = start("k").shape(|shapes| Ok(shapes[0].clone())).cpu(|_, _| Ok(()));
        custom_text(
            builder.cuda(source, |_, out| Grid::covering(out.size(), 64).size(out.size())).build().unwrap(),
        )
    };
    let right = "extern \"C\" __global__ void k(const float* x, float* out, const long long n) {}";
    nvrtc.compile(&whole(right), "sm_90a").unwrap();
    let by_element = start("k").elementwise("float y = x;\nout = y * nowhere", |x: f32| x).build().unwrap();
    for (text, expected) in [
        (custom_text(by_element), "k.cu(2): error: identifier \"nowhere\" is undefined"),
        (whole(&format!("\n\n{}", right.replace("{}", "{ out[0] = nowhere; }"))), "k.cu(3): error"),
        (
            whole(&right.replace("const float* x", "const double* x")),
            "void k(const float*, float*, long long)",
        ),
        (whole(&right.replace(", const long long n", "")), "void k(const float*, float*, long long)"),
        (whole(&right.replace("extern \"C\" ", "")), "linkage"),
        (whole(&right.replace(" k(", " other(")), "identifier \"k\" is undefined"),
    ] {
        let error = nvrtc.compile(&text, "sm_90a").unwrap_err().to_string();
        assert!(error.contains("NVRTC_ERROR_COMPILATION") && error.contains(expected), "{expected}\n{error}");
    }
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
