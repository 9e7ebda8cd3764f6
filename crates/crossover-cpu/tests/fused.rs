//! Random fused kernels, bit for bit against the interpreter, for every SIMD level and several thread counts.
#![allow(clippy::unwrap_used)]

mod generator;
mod interpreter;

use crossover_core::{
    DType, Scalar,
    ops::{MapOp, reduce::ReduceOp},
};
use crossover_cpu::{CpuBackend, Simd};
use crossover_plan::kernel::{
    BufferId, Extent, Fused, Kernel, Kind, Load, Space, Step, StepOp, Store, Window,
};
use crossover_runtime::{Address, Backend, Block, Launch};

use generator::{Case, Dice, generate, value};

/// Every level with one thread, the widest with several; machine code with cached and with streaming stores.
fn backends() -> Vec<CpuBackend> {
    let mut out = Vec::new();
    for stream in [usize::MAX, 0] {
        let builder = CpuBackend::builder().threads(1).native_threshold(0.0);
        out.push(builder.stream_threshold(stream).build().unwrap());
    }
    for simd in Simd::available() {
        out.push(CpuBackend::builder().threads(1).simd(simd).build().unwrap());
    }
    for threads in [2, 7] {
        out.push(CpuBackend::builder().threads(threads).parallel_threshold(0.0).build().unwrap());
    }
    out
}

fn block(bytes: &mut [u8]) -> Block {
    Block { address: Address(bytes.as_mut_ptr() as u64), bytes: bytes.len() }
}

/// Bytes aligned for every dtype.
struct Aligned {
    words: Vec<u128>,
    len: usize,
}

impl Aligned {
    fn of(bytes: &[u8]) -> Aligned {
        let mut out = Aligned { words: vec![0; bytes.len().div_ceil(16).max(1)], len: bytes.len() };
        out.bytes().copy_from_slice(bytes);
        out
    }
    fn bytes(&mut self) -> &mut [u8] {
        #[allow(unsafe_code)]
        // SAFETY: the words are initialised and at least `len` bytes long.
        unsafe {
            std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.len)
        }
    }
}

fn run(
    cpu: &CpuBackend,
    fused: &Fused,
    inputs: &[Vec<u8>],
    outputs: &[Vec<u8>],
    scalars: &[Scalar],
) -> Vec<Vec<u8>> {
    let mut inputs: Vec<Aligned> = inputs.iter().map(|b| Aligned::of(b)).collect();
    let mut outputs: Vec<Aligned> = outputs.iter().map(|b| Aligned::of(b)).collect();
    let kernel = Kernel::Fused(fused.clone());
    let ready = cpu.prepare(&kernel).unwrap();
    let ins: Vec<Block> = inputs.iter_mut().map(|b| block(b.bytes())).collect();
    let outs: Vec<Block> = outputs.iter_mut().map(|b| block(b.bytes())).collect();
    ready.run(&Launch::new(&kernel, &ins, &outs, scalars).unwrap()).unwrap();
    outputs.iter_mut().map(|b| b.bytes().to_vec()).collect()
}

/// Whether two stored elements are the same; NaNs that were not made canonical may differ in their bits.
fn same(dtype: DType, a: &[u8], b: &[u8]) -> bool {
    let part = dtype.real();
    let nan = |bytes: &[u8]| {
        part.is_float() && f64::from_bits(Scalar::read_from(part, bytes).cast(DType::F64).bits()[0]).is_nan()
    };
    a == b || a.chunks(part.size()).zip(b.chunks(part.size())).all(|(a, b)| a == b || (nan(a) && nan(b)))
}

fn check(case: &Case, backends: &[CpuBackend], name: &str) {
    let Case { fused, inputs, outputs, scalars } = case;
    let mut want = outputs.clone();
    interpreter::interpret(fused, inputs, &mut want, scalars);
    for cpu in backends {
        let got = run(cpu, fused, inputs, outputs, scalars);
        for (s, store) in fused.stores.iter().enumerate() {
            let size = store.dtype.size();
            for (i, (a, b)) in got[s].chunks(size).zip(want[s].chunks(size)).enumerate() {
                let (sa, sb) = (a, b);
                assert!(
                    same(store.dtype, sa, sb),
                    "{name}: store {s} element {i}: got {sa:x?}, want {sb:x?} with {} threads, {}\n{fused:#?}",
                    cpu.threads(),
                    cpu.simd(),
                );
            }
        }
    }
}

fn random(kind: Kind, seeds: std::ops::Range<u64>) {
    let backends = backends();
    for seed in seeds {
        let case = generate(&mut Dice::new(seed), kind);
        check(&case, &backends, &format!("{kind:?} seed {seed}"));
    }
}

/// Kernels per kind; the variable asks for more.
fn count() -> u64 {
    std::env::var("CROSSOVER_CASES").ok().and_then(|s| s.parse().ok()).unwrap_or(300)
}

#[test]
fn map_kernels_give_the_same_bits_everywhere() {
    random(Kind::Map, 0..count());
}

#[test]
fn row_kernels_give_the_same_bits_everywhere() {
    random(Kind::Row, 0..count());
}

#[test]
fn column_kernels_give_the_same_bits_everywhere() {
    random(Kind::Column, 0..count());
}

/// One op and nothing else, on values and on a value and a scalar.
fn single(op: MapOp, dtype: DType, n: usize, scalar: bool) -> Fused {
    let window = |stride: isize| Window { offset: 0, strides: [stride][..].into() };
    let arity = op.arity();
    let result = op.result(dtype).unwrap();
    let load = |i: usize| Load {
        buffer: BufferId(i as u32),
        dtype,
        window: window(if scalar && i == arity - 1 { 0 } else { 1 }),
    };
    let step = |op, args: &[u16], dtype, extent| Step { op, args: args.into(), dtype, extent };
    let extent = |i: usize| if scalar && i == arity - 1 { Extent::One } else { Extent::Full };
    let mut steps: Vec<Step> =
        (0..arity).map(|i| step(StepOp::Load(i as u16), &[], dtype, extent(i))).collect();
    let args: Vec<u16> = (0..arity as u16).collect();
    steps.push(step(StepOp::Map(op), &args, result, Extent::Full));
    Fused {
        kind: Kind::Map,
        space: Space { outer: [n][..].into(), ..Space::default() },
        loads: (0..arity).map(load).collect(),
        steps,
        stores: vec![Store { step: arity as u16, buffer: BufferId(9), dtype: result, window: window(1) }],
    }
}

#[test]
fn every_op_is_the_same_in_tiles_and_in_machine_code() {
    const N: usize = 1500;
    let backends = backends();
    let dice = &mut Dice::new(7);
    for &op in MapOp::ALL {
        for dtype in DType::ALL.into_iter().filter(|&d| op.supports(d) && !d.is_half()) {
            for scalar in [false, true] {
                if scalar && op.arity() == 1 {
                    continue;
                }
                let fused = single(op, dtype, N, scalar);
                let mut inputs = Vec::new();
                for _ in 0..op.arity() {
                    let mut bytes = vec![0; N * dtype.size()];
                    bytes.chunks_mut(dtype.size()).for_each(|slot| value(dice, dtype).write_to(slot));
                    inputs.push(bytes);
                }
                let outputs = vec![vec![0xA5; N * op.result(dtype).unwrap().size()]];
                let case = Case { fused, inputs, outputs, scalars: Vec::new() };
                check(&case, &backends, &format!("{op} of {dtype}"));
            }
        }
    }
}

#[test]
fn long_tiles_are_the_same_in_tiles_and_in_machine_code() {
    let backends = backends();
    let dice = &mut Dice::new(13);
    for (op, dtype) in [(MapOp::BitwiseXor, DType::U8), (MapOp::Add, DType::F32), (MapOp::Less, DType::F64)] {
        for (n, lines) in [(300_001, 1), (100_003, 3)] {
            let mut fused = single(op, dtype, n, false);
            let apart = n as isize + 5;
            if lines > 1 {
                fused.space.outer = [lines, n][..].into();
                fused.loads[0].window.strides = [apart, 1][..].into();
                fused.loads[1].window.strides = [0, 1][..].into();
                fused.stores[0].window.strides = [n as isize, 1][..].into();
            }
            let mut inputs = Vec::new();
            for _ in 0..2 {
                let mut bytes = vec![0; lines * apart as usize * dtype.size()];
                bytes.chunks_mut(dtype.size()).for_each(|slot| value(dice, dtype).write_to(slot));
                inputs.push(bytes);
            }
            let outputs = vec![vec![0xA5; lines * n * op.result(dtype).unwrap().size()]];
            let case = Case { fused, inputs, outputs, scalars: Vec::new() };
            check(&case, &backends, &format!("{op} of {lines} × {n} {dtype}"));
        }
    }
}

/// Rows of `n` elements reduced as they are.
fn plain_rows(op: ReduceOp, dtype: DType, rows: usize, n: usize) -> Fused {
    let mut fused = reduced_rows(op, dtype, rows, n);
    fused.steps.truncate(3);
    fused.stores.truncate(1);
    fused
}

#[test]
fn every_reduction_of_rows_in_memory_is_the_same_in_tiles_and_in_machine_code() {
    let backends = backends();
    let dice = &mut Dice::new(17);
    for op in ReduceOp::ALL.into_iter().filter(|op| !op.is_arg()) {
        for dtype in DType::ALL.into_iter().filter(|&d| op.dtypes().contains(d) && !d.is_half()) {
            if dtype == DType::Bool || dtype.is_complex() {
                continue;
            }
            for n in [1025, 2048, 9_999] {
                let rows = 3;
                let mut bytes = vec![0; rows * n * dtype.size()];
                bytes.chunks_mut(dtype.size()).for_each(|slot| value(dice, dtype).write_to(slot));
                let fused = plain_rows(op, dtype, rows, n);
                let outputs = vec![vec![0xA5; rows * dtype.size()]];
                let case = Case { fused, inputs: vec![bytes], outputs, scalars: Vec::new() };
                check(&case, &backends, &format!("{op} of {n} {dtype}"));
            }
        }
    }
}

/// Rows of `n` elements reduced as they are and after a map, and the map's values.
fn reduced_rows(op: ReduceOp, dtype: DType, rows: usize, n: usize) -> Fused {
    let window = |strides: [isize; 2]| Window { offset: 0, strides: strides[..].into() };
    let step = |op, args: &[u16], extent| Step { op, args: args.into(), dtype, extent };
    let store =
        |step, buffer, strides| Store { step, buffer: BufferId(buffer), dtype, window: window(strides) };
    let last = || if dtype.is_float() { StepOp::Canonical } else { StepOp::Map(MapOp::BitwiseInvert) };
    Fused {
        kind: Kind::Row,
        space: Space { outer: [rows][..].into(), reduce: [n][..].into(), ..Space::default() },
        loads: vec![Load { buffer: BufferId(0), dtype, window: window([n as isize, 1]) }],
        steps: vec![
            step(StepOp::Load(0), &[], Extent::Full),
            step(StepOp::Reduce(op), &[0], Extent::Reduced),
            step(last(), &[1], Extent::Reduced),
            step(StepOp::Map(MapOp::Multiply), &[0, 0], Extent::Full),
            step(last(), &[3], Extent::Full),
            step(StepOp::Reduce(op), &[4], Extent::Reduced),
            step(last(), &[5], Extent::Reduced),
        ],
        stores: vec![store(2, 1, [1, 0]), store(6, 2, [1, 0]), store(4, 3, [n as isize, 1])],
    }
}

#[test]
fn every_reduction_of_rows_is_the_same_in_tiles_and_in_machine_code() {
    let backends = backends();
    let dice = &mut Dice::new(11);
    for op in ReduceOp::ALL.into_iter().filter(|op| !op.is_arg()) {
        for dtype in DType::ALL.into_iter().filter(|&d| op.dtypes().contains(d) && !d.is_half()) {
            if dtype == DType::Bool || dtype.is_complex() {
                continue;
            }
            for n in [192, 193, 200, 255, 256, 300, 383, 511, 768, 1000, 1023, 1024, 1025, 1100, 3071, 4096] {
                let rows = 5;
                let fused = reduced_rows(op, dtype, rows, n);
                let mut bytes = vec![0; rows * n * dtype.size()];
                // Plain numbers, zeros of both signs, and everything.
                for (at, slot) in bytes.chunks_mut(dtype.size()).enumerate() {
                    let number: f64 = match at / n {
                        0 | 1 => dice.below(4000) as f64 / 64.0 - 30.0,
                        2 => [0.0, -0.0][dice.below(2)],
                        _ => {
                            value(dice, dtype).write_to(slot);
                            continue;
                        }
                    };
                    Scalar::from_bits(DType::F64, [number.to_bits(), 0]).cast(dtype).write_to(slot);
                }
                let out = |n: usize| vec![0xA5; n * dtype.size()];
                let outputs = vec![out(rows), out(rows), out(rows * n)];
                let case = Case { fused, inputs: vec![bytes], outputs, scalars: Vec::new() };
                check(&case, &backends, &format!("{op} of {n} {dtype}"));
            }
        }
    }
}

/// Rows less their sum, times the same scale for every row, plus the largest of what that gives.
fn scaled_rows(dtype: DType, rows: usize, n: usize) -> Fused {
    let window = |strides: [usize; 2]| Window { offset: 0, strides: strides.map(|s| s as isize)[..].into() };
    let step = |op, args: &[u16], extent| Step { op, args: args.into(), dtype, extent };
    let load = |buffer, strides| Load { buffer: BufferId(buffer), dtype, window: window(strides) };
    let store =
        |step, buffer, strides| Store { step, buffer: BufferId(buffer), dtype, window: window(strides) };
    Fused {
        kind: Kind::Row,
        space: Space { outer: [rows][..].into(), reduce: [n][..].into(), ..Space::default() },
        loads: vec![load(0, [n, 1]), load(1, [0, 1]), load(2, [1, 0])],
        steps: vec![
            step(StepOp::Load(0), &[], Extent::Full),
            step(StepOp::Load(1), &[], Extent::Full),
            step(StepOp::Load(2), &[], Extent::Reduced),
            step(StepOp::Reduce(ReduceOp::Sum), &[0], Extent::Reduced),
            step(StepOp::Map(MapOp::Add), &[2, 3], Extent::Reduced),
            step(StepOp::Expand, &[4], Extent::Full),
            step(StepOp::Map(MapOp::Subtract), &[0, 5], Extent::Full),
            step(StepOp::Map(MapOp::Multiply), &[6, 1], Extent::Full),
            step(StepOp::Reduce(ReduceOp::Max), &[7], Extent::Reduced),
            step(StepOp::Expand, &[8], Extent::Full),
            step(StepOp::Map(MapOp::Add), &[7, 9], Extent::Full),
        ],
        stores: vec![store(10, 3, [n, 1]), store(4, 4, [1, 0])],
    }
}

#[test]
fn several_rows_of_a_tile_are_the_same_in_tiles_and_in_machine_code() {
    let backends = backends();
    let dice = &mut Dice::new(17);
    for dtype in [DType::F32, DType::F64, DType::I32, DType::U64] {
        for n in [192, 250, 768, 1000, 1024] {
            for rows in [16, 61, 128] {
                let mut memory = |n: usize| {
                    let mut bytes = vec![0; n * dtype.size()];
                    for slot in bytes.chunks_mut(dtype.size()) {
                        let number = dice.below(4000) as f64 / 64.0 - 30.0;
                        Scalar::from_bits(DType::F64, [number.to_bits(), 0]).cast(dtype).write_to(slot);
                    }
                    bytes
                };
                let inputs = vec![memory(rows * n), memory(n), memory(rows)];
                let out = |n: usize| vec![0xA5; n * dtype.size()];
                let outputs = vec![out(rows * n), out(rows)];
                let case = Case { fused: scaled_rows(dtype, rows, n), inputs, outputs, scalars: Vec::new() };
                check(&case, &backends, &format!("{rows}x{n} of {dtype}"));
            }
        }
    }
}

/// Columns less their sum, the sum of their squares, and both stored: two passes over tiles whose rows lie apart.
fn centred_columns(dtype: DType, outer: usize, reduce: usize, inner: usize, pitch: usize) -> Fused {
    let window = |strides: [usize; 3]| Window { offset: 0, strides: strides.map(|s| s as isize)[..].into() };
    let step = |op, args: &[u16], extent| Step { op, args: args.into(), dtype, extent };
    let full = window([reduce * pitch, pitch, 1]);
    let store = |step, buffer, window| Store { step, buffer: BufferId(buffer), dtype, window };
    Fused {
        kind: Kind::Column,
        space: Space { outer: [outer][..].into(), reduce: [reduce][..].into(), inner: [inner][..].into() },
        loads: vec![Load { buffer: BufferId(0), dtype, window: full.clone() }],
        steps: vec![
            step(StepOp::Load(0), &[], Extent::Full),
            step(StepOp::Reduce(ReduceOp::Sum), &[0], Extent::Reduced),
            step(StepOp::Expand, &[1], Extent::Full),
            step(StepOp::Map(MapOp::Subtract), &[0, 2], Extent::Full),
            step(StepOp::Map(MapOp::Square), &[3], Extent::Full),
            step(StepOp::Reduce(ReduceOp::Sum), &[4], Extent::Reduced),
            step(StepOp::Expand, &[5], Extent::Full),
            step(StepOp::Map(MapOp::Maximum), &[3, 6], Extent::Full),
        ],
        stores: vec![store(7, 1, full), store(5, 2, window([inner, 0, 1]))],
    }
}

#[test]
fn rows_that_lie_apart_are_the_same_in_tiles_and_in_machine_code() {
    let backends = backends();
    let dice = &mut Dice::new(13);
    for dtype in [DType::F32, DType::F64, DType::I16, DType::I64] {
        for (inner, pitch) in [(192, 192), (200, 256), (250, 250), (333, 340), (1000, 1000), (2500, 2500)] {
            for (outer, reduce) in [(1, 5), (1, 300), (2, 131)] {
                let fused = centred_columns(dtype, outer, reduce, inner, pitch);
                let n = outer * reduce * pitch;
                let mut bytes = vec![0; n * dtype.size()];
                for slot in bytes.chunks_mut(dtype.size()) {
                    let number = dice.below(4000) as f64 / 64.0 - 30.0;
                    Scalar::from_bits(DType::F64, [number.to_bits(), 0]).cast(dtype).write_to(slot);
                }
                let out = |n: usize| vec![0xA5; n * dtype.size()];
                let outputs = vec![out(n), out(outer * inner)];
                let case = Case { fused, inputs: vec![bytes], outputs, scalars: Vec::new() };
                check(&case, &backends, &format!("{outer}x{reduce}x{inner} of {dtype}"));
            }
        }
    }
}

/// A reduction over everything that `kind` reduces.
fn total(kind: Kind, outer: usize, reduce: usize, inner: usize, op: ReduceOp, dtype: DType) -> Fused {
    let strides: Vec<isize> = vec![(reduce * inner) as isize, inner as isize, 1];
    let window = |strides: Vec<isize>| Window { offset: 0, strides: strides.into() };
    let out = vec![inner as isize, 0, 1];
    Fused {
        kind,
        space: Space { outer: [outer][..].into(), reduce: [reduce][..].into(), inner: [inner][..].into() },
        loads: vec![Load { buffer: BufferId(0), dtype, window: window(strides) }],
        steps: vec![
            Step { op: StepOp::Load(0), args: [][..].into(), dtype, extent: Extent::Full },
            Step {
                op: StepOp::Reduce(op),
                args: [0][..].into(),
                dtype: op.result(dtype).unwrap(),
                extent: Extent::Reduced,
            },
        ],
        stores: vec![Store {
            step: 1,
            buffer: BufferId(1),
            dtype: op.result(dtype).unwrap(),
            window: window(out),
        }],
    }
}

#[test]
fn long_reductions_carry_through_every_level() {
    let cases = [
        (Kind::Row, 1, 4_300_000, 1),
        (Kind::Row, 3, 70_000, 1),
        (Kind::Column, 1, 40_000, 3),
        (Kind::Column, 2, 20_000, 1),
        (Kind::Column, 1, 17_000, 200),
        (Kind::Column, 1, 300, 2500),
    ];
    for (kind, outer, reduce, inner) in cases {
        let n = outer * reduce * inner;
        let value = |i: usize| crossover_core::philox::word(i as u64, 0, [1, 2]) as f32 / 65536.0 - 30000.0;
        let values: Vec<f32> = (0..n).map(value).collect();
        let input: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        for op in [ReduceOp::Sum, ReduceOp::ArgMin] {
            let fused = total(kind, outer, reduce, inner, op, DType::F32);
            let size = if op == ReduceOp::Sum { 4 } else { 8 };
            let mut want = Vec::new();
            for o in 0..outer {
                for i in 0..inner {
                    let group: Vec<f32> = (0..reduce).map(|r| values[(o * reduce + r) * inner + i]).collect();
                    if op == ReduceOp::ArgMin {
                        let least = group.iter().copied().fold(f32::MAX, f32::min);
                        let first = group.iter().position(|&v| v == least).unwrap() as i64;
                        want.extend(first.to_le_bytes());
                        continue;
                    }
                    let sum = match kind {
                        Kind::Row => crossover_core::canonical::row(&group, |a, b| a + b),
                        _ => crossover_core::canonical::column(&group, |a, b| a + b),
                    };
                    want.extend(sum.unwrap().to_le_bytes());
                }
            }
            for cpu in &backends() {
                let out = vec![0xA5; outer * inner * size];
                let got = run(cpu, &fused, std::slice::from_ref(&input), &[out], &[]);
                assert!(got[0] == want, "{kind:?} {op} {outer}x{reduce}x{inner}: {} threads", cpu.threads());
            }
        }
    }
}

#[test]
fn what_one_boolean_decides_is_the_same_wherever_it_is() {
    let backends = backends();
    for (outer, reduce) in [(1, 1_100_001), (3, 70_000), (2, 1000)] {
        for op in [ReduceOp::Max, ReduceOp::Min, ReduceOp::ArgMax, ReduceOp::ArgMin] {
            let fused = total(Kind::Row, outer, reduce, 1, op, DType::Bool);
            let usual = u8::from(matches!(op, ReduceOp::Min | ReduceOp::ArgMin));
            for places in [&[][..], &[0], &[1500 % reduce], &[reduce / 2, reduce - 1], &[reduce - 1]] {
                let mut input = vec![usual; outer * reduce];
                // The first row is left as it is, where there are others.
                for row in usize::from(outer > 1)..outer {
                    places.iter().for_each(|at| input[row * reduce + at] = 1 - usual);
                }
                let want = input.chunks(reduce).flat_map(|row| {
                    let first = row.iter().position(|&x| x != usual);
                    match op.is_arg() {
                        true => (first.unwrap_or(0) as i64).to_le_bytes().to_vec(),
                        false => vec![if first.is_some() { 1 - usual } else { usual }],
                    }
                });
                let want: Vec<u8> = want.collect();
                for cpu in &backends {
                    let out = vec![0xA5; want.len()];
                    let got = run(cpu, &fused, std::slice::from_ref(&input), &[out], &[]);
                    assert_eq!(
                        got[0],
                        want,
                        "{op} of {outer}x{reduce} at {places:?}: {} threads",
                        cpu.threads()
                    );
                }
            }
        }
    }
}
