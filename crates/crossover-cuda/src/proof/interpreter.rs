//! A scalar interpreter of fused kernels: what a kernel must give, written for clarity and not for speed.
//!
//! Works on one run of points at a time: a whole row or column, or a stretch of a Map.

use crossover_core::{
    DType, Scalar, canonical,
    lane::FloatLane,
    ops::{cast, reduce::ReduceOp},
    philox,
};
use crossover_plan::kernel::{Extent, Fused, Kind, StepOp, Window};

use super::apply::{Bits, Raw, apply};

/// Points of a Map that are interpreted together.
const STRETCH: usize = 4096;

/// Runs a kernel on bytes: one buffer per load, one per store. Output bytes that are not written stay as they are.
pub fn run(kernel: &Fused, inputs: &[Vec<u8>], scalars: &[Scalar], outputs: &mut [Vec<u8>]) {
    let dims = kernel.space.dims();
    let outer = kernel.space.outer.len();
    let reduce = outer..outer + kernel.space.reduce.len();
    let fixed: Vec<usize> = (0..dims.len()).filter(|a| !reduce.contains(a)).collect();
    let reduced: Vec<usize> = reduce.collect();
    let columns: usize = fixed.iter().map(|&a| dims[a]).product();
    if kernel.kind == Kind::Map {
        for start in (0..columns).step_by(STRETCH) {
            let points: Vec<Vec<usize>> =
                (start..columns.min(start + STRETCH)).map(|i| unflatten(i, &fixed, &dims)).collect();
            Run { kernel, inputs, scalars, points: &points, origin: &points[0] }.go(outputs);
        }
        return;
    }
    let length = kernel.space.reduce_size();
    for column in 0..columns {
        let origin = unflatten(column, &fixed, &dims);
        let points: Vec<Vec<usize>> = (0..length)
            .map(|r| {
                let along = unflatten(r, &reduced, &dims);
                origin.iter().zip(along).map(|(a, b)| a + b).collect()
            })
            .collect();
        Run { kernel, inputs, scalars, points: &points, origin: &origin }.go(outputs);
    }
}

/// The coordinates of flat index `i` over some axes; 0 along the others.
fn unflatten(mut i: usize, axes: &[usize], dims: &[usize]) -> Vec<usize> {
    let mut point = vec![0; dims.len()];
    for &axis in axes.iter().rev() {
        point[axis] = i % dims[axis];
        i /= dims[axis];
    }
    point
}

struct Run<'a> {
    kernel: &'a Fused,
    inputs: &'a [Vec<u8>],
    scalars: &'a [Scalar],
    points: &'a [Vec<usize>],
    /// The point with index 0 along the reduced axes, which need not have any.
    origin: &'a [usize],
}

fn position(window: &Window, point: &[usize]) -> usize {
    let shift: isize = point.iter().zip(&window.strides).map(|(&i, &s)| i as isize * s).sum();
    window.offset.wrapping_add_signed(shift)
}

fn canonical(dtype: DType, bits: Bits) -> Bits {
    let single = |b: u64| FloatLane::canonical(f32::from_bits(b as u32)).to_bits() as u64;
    let double = |b: u64| FloatLane::canonical(f64::from_bits(b)).to_bits();
    match dtype {
        DType::F32 => [single(bits[0]), 0],
        DType::F64 => [double(bits[0]), 0],
        DType::C64 => bits.map(single),
        DType::C128 => bits.map(double),
        _ => bits,
    }
}

impl Run<'_> {
    /// Positions of a window, one per point or just one.
    fn positions(&self, window: &Window, extent: Extent) -> Vec<usize> {
        match extent {
            Extent::Full => self.points.iter().map(|p| position(window, p)).collect(),
            _ => vec![position(window, self.origin)],
        }
    }

    fn go(&self, outputs: &mut [Vec<u8>]) {
        let mut values: Vec<Vec<Bits>> = Vec::with_capacity(self.kernel.steps.len());
        for id in 0..self.kernel.steps.len() {
            let value = self.step(id, &values);
            values.push(value);
        }
        for (store, out) in self.kernel.stores.iter().zip(outputs) {
            let full = self.kernel.steps[store.step as usize].extent == Extent::Full
                || self.kernel.kind == Kind::Map
                || self.varies(&store.window);
            let held = self.kernel.steps[store.step as usize].dtype;
            let value = &values[store.step as usize];
            let places = self.positions(&store.window, if full { Extent::Full } else { Extent::Reduced });
            for (i, place) in places.into_iter().enumerate() {
                let bits = value[if value.len() == 1 { 0 } else { i }];
                let x = f32::of(bits);
                let scalar = match store.dtype {
                    DType::F16 => Scalar::from_bits(DType::F16, [cast::narrow_f16(x) as u64, 0]),
                    DType::BF16 => Scalar::from_bits(DType::BF16, [cast::narrow_bf16(x) as u64, 0]),
                    _ => Scalar::from_bits(held, bits),
                };
                scalar.write_to(&mut out[place * store.dtype.size()..]);
            }
        }
    }

    /// Whether a window moves along the reduced axes.
    fn varies(&self, window: &Window) -> bool {
        let start = self.kernel.space.outer.len();
        window.strides[start..start + self.kernel.space.reduce.len()].iter().any(|&s| s != 0)
    }

    fn step(&self, id: usize, values: &[Vec<Bits>]) -> Vec<Bits> {
        let step = &self.kernel.steps[id];
        let arg = |i: usize| &values[step.args[i] as usize];
        let count = if step.extent == Extent::Full { self.points.len() } else { 1 };
        let pick = |v: &Vec<Bits>, i: usize| v[if v.len() == 1 { 0 } else { i }];
        match &step.op {
            StepOp::Load(load) => self.load(*load as usize, step.extent),
            StepOp::Take { from, at, stride, length } => {
                let (table, which) = (&self.kernel.loads[*from as usize], &self.kernel.loads[*at as usize]);
                let (bytes, indices) = (&self.inputs[*from as usize], &self.inputs[*at as usize]);
                let places = self.positions(&table.window, step.extent);
                let entries = self.positions(&which.window, step.extent);
                let entry = |p: usize| {
                    let index = Scalar::read_from(DType::I64, &indices[p * 8..]).bits()[0] as i64;
                    index.clamp(0, *length as i64 - 1) as usize
                };
                let element = |(place, at): (usize, usize)| {
                    let place = place + entry(at) * stride;
                    hold(Scalar::read_from(table.dtype, &bytes[place * table.dtype.size()..]))
                };
                places.into_iter().zip(entries).map(element).collect()
            }
            StepOp::Scalar(slot) => {
                let scalar = self.scalars[*slot as usize];
                vec![hold(scalar)]
            }
            StepOp::Index { window, divisor, modulus } => {
                let places = self.positions(window, step.extent);
                places.into_iter().map(|p| [(p / divisor % modulus) as u64, 0]).collect()
            }
            StepOp::Random { key, window, stream } => {
                let load = &self.kernel.loads[*key as usize];
                let bytes = &self.inputs[*key as usize];
                let word = |i: usize| {
                    Scalar::read_from(DType::U32, &bytes[(load.window.offset + i) * 4..]).bits()[0] as u32
                };
                let key = [word(0), word(1)];
                let places = self.positions(window, step.extent);
                places.into_iter().map(|p| [philox::word(p as u64, *stream, key) as u64, 0]).collect()
            }
            StepOp::Map(op) => {
                let dtype = self.kernel.steps[step.args[0] as usize].dtype;
                let args: Vec<&[Bits]> = (0..step.args.len()).map(|i| arg(i).as_slice()).collect();
                apply(*op, dtype, &args, count)
            }
            StepOp::Cast(cast) => {
                let from = self.kernel.steps[step.args[0] as usize].dtype;
                (0..count).map(|i| convert(*cast, from, pick(arg(0), i))).collect()
            }
            StepOp::Where => {
                (0..count).map(|i| pick(arg(if pick(arg(0), i)[0] != 0 { 1 } else { 2 }), i)).collect()
            }
            StepOp::Canonical => (0..count).map(|i| canonical(step.dtype, pick(arg(0), i))).collect(),
            StepOp::Expand => (0..count).map(|i| pick(arg(0), i)).collect(),
            StepOp::Reduce(op) => {
                vec![self.reduce(*op, self.kernel.steps[step.args[0] as usize].dtype, arg(0))]
            }
        }
    }

    fn load(&self, load: usize, extent: Extent) -> Vec<Bits> {
        let (dtype, bytes) = (self.kernel.loads[load].dtype, &self.inputs[load]);
        let places = self.positions(&self.kernel.loads[load].window, extent);
        places.into_iter().map(|p| hold(Scalar::read_from(dtype, &bytes[p * dtype.size()..]))).collect()
    }

    fn reduce(&self, op: ReduceOp, dtype: DType, values: &[Bits]) -> Bits {
        if op.is_arg() {
            return first_best(op, dtype, values);
        }
        let combine = |a: Bits, b: Bits| apply(op.combine(), dtype, &[&[a], &[b]], 1)[0];
        let result = match self.kernel.kind {
            Kind::Column => canonical::column(values, combine),
            _ => canonical::row(values, combine),
        };
        let identity = if op == ReduceOp::Prod { Scalar::one(dtype) } else { Scalar::zero(dtype) };
        result.unwrap_or(identity.bits())
    }
}

/// A value as a register holds it.
fn hold(scalar: Scalar) -> Bits {
    match scalar.dtype() {
        DType::F16 => cast::widen_f16(scalar.bits()[0] as u16).raw(),
        DType::BF16 => cast::widen_bf16(scalar.bits()[0] as u16).raw(),
        _ => scalar.bits(),
    }
}

fn convert(step: cast::Step, from: DType, bits: Bits) -> Bits {
    match step {
        cast::Step::Plain(_, to) => Scalar::from_bits(from, bits).cast(to).bits(),
        cast::Step::Odd => cast::odd(f64::of(bits)).raw(),
        cast::Step::Round(DType::F16) => cast::round_f16(f32::of(bits)).raw(),
        cast::Step::Round(_) => cast::round_bf16(f32::of(bits)).raw(),
    }
}

/// Index of the first best element; the first NaN wins over everything.
fn first_best(op: ReduceOp, dtype: DType, values: &[Bits]) -> Bits {
    use crossover_core::ops::MapOp;
    let test = if op == ReduceOp::ArgMax { MapOp::Greater } else { MapOp::Less };
    let holds = |op: MapOp, a: Bits, b: Bits| apply(op, dtype, &[&[a], &[b]], 1)[0][0] != 0;
    let is_nan = |a: Bits| holds(MapOp::NotEqual, a, a);
    let mut best = 0;
    for (i, &value) in values.iter().enumerate() {
        if is_nan(value) {
            return [i as u64, 0];
        }
        if holds(test, value, values[best]) {
            best = i;
        }
    }
    [best as u64, 0]
}
