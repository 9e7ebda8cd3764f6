//! Random fused kernels with their inputs: every kind, dtype, stride pattern and awkward length.

use crossover_codegen::samples::Builder;
use crossover_core::{
    DType, Kind as Family, Scalar,
    ops::{MapOp, reduce::ReduceOp},
};
use crossover_plan::kernel::{Dims, Extent, Fused, Kind, Space, StepId, Window};

use super::random::{Random, fill};

/// A kernel, what goes in and how much comes out.
#[derive(Debug, Clone)]
pub struct Case {
    /// For messages: kind, shape and seed.
    pub name: String,
    /// The kernel.
    pub kernel: Fused,
    /// Bytes per load.
    pub inputs: Vec<Vec<u8>>,
    /// Host scalars.
    pub scalars: Vec<Scalar>,
    /// Size of each output in bytes, gaps included.
    pub outputs: Vec<usize>,
}

/// How large random cases may get, in points.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most points of a case.
    pub points: usize,
}

const LENGTHS: [usize; 26] = [
    1, 2, 3, 4, 5, 7, 8, 31, 33, 64, 100, 127, 128, 129, 300, 768, 1000, 1023, 1024, 1025, 1500, 4096, 5000,
    9001, 33_000, 100_000,
];
const COUNTS: [usize; 12] = [1, 2, 3, 5, 17, 32, 33, 64, 127, 129, 768, 1000];

/// The case of a seed.
pub fn case(seed: u64, limits: Limits) -> Case {
    let mut random = Random::new(seed);
    let kind = [Kind::Map, Kind::Row, Kind::Column][random.below(3)];
    let mut builder = space(kind, &mut random, limits);
    let scalars = compute(&mut builder, &mut random);
    let name = format!("{kind:?} {} seed {seed}", shape_text(builder.space()));
    let kernel = builder.finish();
    let tame = random.chance(if kind == Kind::Map { 60 } else { 85 });
    let inputs = kernel
        .loads
        .iter()
        .map(|load| {
            // Keys are two words where the window names one.
            let count = reach(&kernel.space, &load.window) + 1;
            let mut bytes = vec![0; count * load.dtype.size()];
            fill(&mut bytes, load.dtype, random.bits(), tame);
            bytes
        })
        .collect();
    let outputs = kernel.stores.iter().map(|s| reach(&kernel.space, &s.window) * s.dtype.size()).collect();
    Case { name, kernel, inputs, scalars, outputs }
}

fn shape_text(space: &Space) -> String {
    format!("{:?}x{:?}x{:?}", space.outer, space.reduce, space.inner).replace(' ', "")
}

/// Elements a buffer needs for a window.
pub fn reach(space: &Space, window: &Window) -> usize {
    let dims = space.dims();
    let far: isize =
        dims.iter().zip(&window.strides).map(|(&n, &s)| (n.max(1) as isize - 1) * s.max(0)).sum();
    window.offset + far as usize + 1
}

fn pick_dims(random: &mut Random, from: &[usize], rank: usize, points: &mut usize) -> Vec<usize> {
    (0..rank)
        .map(|_| {
            let fitting: Vec<usize> = from.iter().copied().filter(|&n| n <= *points).collect();
            let n = fitting[random.below(fitting.len())];
            *points /= n.max(1);
            n
        })
        .collect()
}

fn space(kind: Kind, random: &mut Random, limits: Limits) -> Builder {
    let mut points = limits.points;
    match kind {
        Kind::Map => {
            let rank = [1, 1, 2, 2, 3, 0][random.below(6)];
            let mut dims = pick_dims(random, &LENGTHS, rank, &mut points);
            if random.chance(3) && rank > 0 {
                dims[0] = 0;
            }
            Builder::map(&dims)
        }
        Kind::Row => {
            let rank = if random.chance(15) { 2 } else { 1 };
            let mut reduce = pick_dims(random, &LENGTHS, rank, &mut points);
            if random.chance(3) {
                reduce[0] = 0;
            }
            let rank = random.below(3);
            let outer = pick_dims(random, &COUNTS, rank, &mut points);
            Builder::row(&outer, &reduce)
        }
        Kind::Column => {
            let rank = if random.chance(15) { 2 } else { 1 };
            let mut reduce = pick_dims(random, &LENGTHS, rank, &mut points);
            if random.chance(3) {
                reduce[0] = 0;
            }
            let rank = 1 + random.below(2);
            let inner = pick_dims(random, &COUNTS, rank, &mut points);
            let rank = random.below(2);
            let outer = pick_dims(random, &COUNTS, rank, &mut points);
            Builder::column(&outer, &reduce, &inner)
        }
    }
}

/// Strides in a random memory order, with gaps, flips and (for inputs) repeated axes; no two points overlap otherwise.
fn window(builder: &Builder, random: &mut Random, input: bool, skip_reduced: bool) -> Window {
    let dims = builder.space().dims();
    let mut order: Vec<usize> = (0..dims.len()).collect();
    let plain = random.chance(55);
    if !plain && random.chance(40) {
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i + 1));
        }
    }
    let mut strides = Dims::from_elem(0, dims.len());
    let mut offset = if random.chance(60) { 0 } else { [1, 3, 4, 16, 64][random.below(5)] };
    let mut step = if !plain && random.chance(25) { 2 } else { 1 };
    for &axis in order.iter().rev() {
        if (skip_reduced && builder.is_reduced(axis)) || (input && !plain && random.chance(20)) {
            continue;
        }
        strides[axis] = step as isize;
        if !plain && random.chance(20) {
            strides[axis] = -(step as isize);
            offset += step * dims[axis].saturating_sub(1);
        }
        step *= dims[axis].max(1);
        if !plain && random.chance(10) {
            step += [1, 4][random.below(2)];
        }
    }
    Window { offset, strides }
}

fn dtype(random: &mut Random) -> DType {
    // Floats twice as often: they are where devices could differ.
    const CHOICES: [DType; 21] = [
        DType::F32,
        DType::F32,
        DType::F32,
        DType::F64,
        DType::F64,
        DType::F16,
        DType::F16,
        DType::BF16,
        DType::BF16,
        DType::C64,
        DType::C128,
        DType::Bool,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F32,
    ];
    CHOICES[random.below(CHOICES.len())]
}

/// Random loads, steps and stores; returns the host scalars.
fn compute(b: &mut Builder, random: &mut Random) -> Vec<Scalar> {
    let mut scalars = Vec::new();
    let mut pool: Vec<StepId> = Vec::new();
    let main = dtype(random);
    for i in 0..1 + random.below(3) {
        let dtype = if i == 0 || random.chance(70) { main } else { dtype(random) };
        let reduced_only = i > 0 && random.chance(15);
        let window = if i == 0 && random.chance(70) {
            Window { offset: 0, strides: b.strides(|_| true) }
        } else {
            window(b, random, true, reduced_only)
        };
        pool.push(b.load(dtype, window));
    }
    let empty = b.space().reduce_size() == 0;
    for _ in 0..2 + random.below(9) {
        let value = pool[random.below(pool.len())];
        let next = match random.below(100) {
            0..60 => random_op(b, random, &pool, value),
            60..70 => random_cast(b, random, value),
            70..75 => random_choice(b, random, &pool, value),
            75..78 => {
                let window = Window { offset: random.below(9), strides: b.strides(|_| true) };
                let (divisor, modulus) = (1 + random.below(7), 1 + random.below(1000));
                Some(b.index(window, divisor, modulus))
            }
            78..81 => {
                let window = Window { offset: random.below(9), strides: b.strides(|_| true) };
                Some(b.random(window, random.bits() as u32))
            }
            81..85 => {
                let dtype = b.dtype(value);
                scalars.push(random_scalar(random, dtype));
                Some(b.scalar((scalars.len() - 1) as u16, dtype))
            }
            _ => random_reduce(b, random, value, empty),
        };
        pool.extend(next);
    }
    if b.space().rank() > 0 && !b.space().reduce.is_empty() {
        // A Row or Column kernel has at least one reduction.
        let value = pool[0];
        pool.extend(random_reduce(b, random, value, empty));
    }
    for i in 0..1 + random.below(3) {
        let step = if i == 0 { pool[pool.len() - 1] } else { pool[random.below(pool.len())] };
        let every = b.extent(step) == Extent::Full || b.space().reduce.is_empty();
        let window = if random.chance(60) {
            Window { offset: 0, strides: b.strides(|a| every || !b.is_reduced(a)) }
        } else {
            window(b, random, false, !every)
        };
        b.store(step, window);
    }
    scalars
}

fn random_scalar(random: &mut Random, dtype: DType) -> Scalar {
    let mut bytes = [0; 16];
    fill(&mut bytes[..dtype.size()], dtype, random.bits(), true);
    Scalar::read_from(dtype, &bytes)
}

fn random_op(b: &mut Builder, random: &mut Random, pool: &[StepId], value: StepId) -> Option<StepId> {
    let dtype = b.dtype(value);
    let fitting: Vec<MapOp> = MapOp::ALL.iter().copied().filter(|op| op.supports(dtype)).collect();
    let op = *fitting.get(random.below(fitting.len().max(1)))?;
    let same: Vec<StepId> = pool.iter().copied().filter(|&s| b.dtype(s) == dtype).collect();
    let mut args = vec![value];
    while args.len() < op.arity() {
        args.push(same[random.below(same.len())]);
    }
    Some(b.op(op, &args))
}

fn random_cast(b: &mut Builder, random: &mut Random, value: StepId) -> Option<StepId> {
    let to = dtype(random);
    let complex_to_real = b.dtype(value).is_complex() && !to.is_complex();
    (!complex_to_real && to != b.dtype(value)).then(|| b.cast(value, to))
}

fn random_choice(b: &mut Builder, random: &mut Random, pool: &[StepId], value: StepId) -> Option<StepId> {
    let same: Vec<StepId> = pool.iter().copied().filter(|&s| b.dtype(s) == b.dtype(value)).collect();
    let other = same[random.below(same.len())];
    let zero_like = b.op(
        if b.dtype(value).kind() == Family::Complex { MapOp::Equal } else { MapOp::Less },
        &[value, other],
    );
    Some(b.choose(zero_like, value, other))
}

fn random_reduce(b: &mut Builder, random: &mut Random, value: StepId, empty: bool) -> Option<StepId> {
    if b.space().reduce.is_empty() {
        return None;
    }
    let dtype = b.dtype(value);
    let fits = |op: &ReduceOp| op.dtypes().contains(dtype) && (!empty || op.has_identity());
    let fitting: Vec<ReduceOp> = ReduceOp::ALL.into_iter().filter(fits).collect();
    // Sums twice as often: their order is what matters.
    let sum = fitting.contains(&ReduceOp::Sum) && random.chance(40);
    let op = if sum { ReduceOp::Sum } else { *fitting.get(random.below(fitting.len().max(1)))? };
    Some(b.reduce(op, value))
}
