//! A kernel interpreted one point at a time: what the backend is compared with.

use crossover_core::{
    DType, Scalar, canonical,
    ops::{cast, reduce::ReduceOp},
    philox, reference,
};
use crossover_plan::kernel::{Extent, Fused, Kind, StepOp, Window};

/// Values of one step: one per point of outer × inner, or one per point of the space.
struct Values {
    full: bool,
    data: Vec<Scalar>,
}

struct Points {
    /// Lengths of all axes; 1 for the reduced ones when one of them is 0, since only reduced values have points then.
    dims: Vec<usize>,
    outer: usize,
    reduce: usize,
    inner: usize,
}

impl Points {
    fn index(&self, o: usize, r: usize, i: usize) -> usize {
        (o * self.reduce + r) * self.inner + i
    }

    /// Position of a point in a window.
    fn at(&self, window: &Window, o: usize, r: usize, i: usize) -> usize {
        let mut flat = if self.reduce == 0 { o * self.inner + i } else { self.index(o, r, i) };
        let mut position = window.offset as isize;
        for axis in (0..self.dims.len()).rev() {
            position += (flat % self.dims[axis]) as isize * window.strides[axis];
            flat /= self.dims[axis];
        }
        position as usize
    }
}

fn held(value: Scalar) -> Scalar {
    if value.dtype().is_half() { value.cast(DType::F32) } else { value }
}

/// Runs a kernel on bytes; outputs are written where their windows say and nowhere else.
pub fn interpret(fused: &Fused, inputs: &[Vec<u8>], outputs: &mut [Vec<u8>], scalars: &[Scalar]) {
    let space = &fused.space;
    let mut dims = space.dims().to_vec();
    if space.reduce_size() == 0 {
        dims[space.outer.len()..][..space.reduce.len()].fill(1);
    }
    let points =
        Points { dims, outer: space.outer_size(), reduce: space.reduce_size(), inner: space.inner_size() };
    let mut values: Vec<Values> = Vec::new();
    for step in &fused.steps {
        let full = step.extent == Extent::Full;
        let mut data = Vec::new();
        for o in 0..points.outer {
            for r in 0..if full { points.reduce } else { 1 } {
                for i in 0..points.inner {
                    let arg = |k: usize| {
                        let v = &values[step.args[k] as usize];
                        v.data[if v.full { points.index(o, r, i) } else { o * points.inner + i }]
                    };
                    data.push(match &step.op {
                        StepOp::Load(l) => {
                            let load = &fused.loads[*l as usize];
                            let size = load.dtype.size();
                            let at = points.at(&load.window, o, r, i) * size;
                            held(Scalar::read_from(load.dtype, &inputs[*l as usize][at..at + size]))
                        }
                        StepOp::Take { .. } => panic!("kernels of the CPU look nothing up"),
                        StepOp::Scalar(slot) => held(scalars[*slot as usize]),
                        StepOp::Index { window, divisor, modulus } => {
                            let at = points.at(window, o, r, i);
                            Scalar::from_bits(DType::I64, [(at / divisor % modulus) as u64, 0])
                        }
                        StepOp::Random { key, window, stream } => {
                            let at = points.at(window, o, r, i) as u64;
                            let from = fused.loads[*key as usize].window.offset * 4;
                            let bytes = &inputs[*key as usize];
                            let word = |k: usize| {
                                u32::from_le_bytes(bytes[from + 4 * k..from + 4 * k + 4].try_into().unwrap())
                            };
                            let bits = philox::word(at, *stream, [word(0), word(1)]);
                            Scalar::from_bits(DType::U32, [bits as u64, 0])
                        }
                        StepOp::Map(op) => {
                            let args: Vec<Scalar> = (0..step.args.len()).map(arg).collect();
                            reference::map(*op, &args)
                        }
                        StepOp::Cast(cast) => convert(*cast, arg(0)),
                        StepOp::Where => {
                            if arg(0).bits()[0] != 0 {
                                arg(1)
                            } else {
                                arg(2)
                            }
                        }
                        StepOp::Canonical => reference::canonical(arg(0)),
                        StepOp::Expand => arg(0),
                        StepOp::Reduce(op) => {
                            let v = &values[step.args[0] as usize];
                            let item = |r: usize| {
                                v.data[if v.full { points.index(o, r, i) } else { o * points.inner + i }]
                            };
                            let group: Vec<Scalar> = (0..points.reduce).map(item).collect();
                            reduce(fused.kind, *op, fused.steps[step.args[0] as usize].dtype, &group)
                        }
                    });
                }
            }
        }
        values.push(Values { full, data });
    }
    for (store, out) in fused.stores.iter().zip(outputs) {
        let v = &values[store.step as usize];
        let size = store.dtype.size();
        for o in 0..points.outer {
            for r in 0..if v.full { points.reduce } else { 1 } {
                for i in 0..points.inner {
                    let value = v.data[if v.full { points.index(o, r, i) } else { o * points.inner + i }];
                    let at = points.at(&store.window, o, r, i) * size;
                    let value = if store.dtype.is_half() { value.cast(store.dtype) } else { value };
                    value.write_to(&mut out[at..at + size]);
                }
            }
        }
    }
}

fn convert(step: cast::Step, value: Scalar) -> Scalar {
    let float = |x: f32| Scalar::from_bits(DType::F32, [x.to_bits() as u64, 0]);
    match step {
        cast::Step::Plain(_, to) => value.cast(to),
        cast::Step::Odd => float(cast::odd(f64::from_bits(value.bits()[0]))),
        cast::Step::Round(DType::F16) => float(cast::round_f16(f32::from_bits(value.bits()[0] as u32))),
        cast::Step::Round(_) => float(cast::round_bf16(f32::from_bits(value.bits()[0] as u32))),
    }
}

fn is_nan(value: Scalar) -> bool {
    value.dtype().is_float() && f64::from_bits(value.cast(DType::F64).bits()[0]).is_nan()
}

fn reduce(kind: Kind, op: ReduceOp, dtype: DType, group: &[Scalar]) -> Scalar {
    use crossover_core::ops::MapOp;
    if op.is_arg() {
        let less = if op == ReduceOp::ArgMin { MapOp::Less } else { MapOp::Greater };
        let mut best = 0;
        for (i, &value) in group.iter().enumerate().skip(1) {
            let better = is_nan(value) || reference::map(less, &[value, group[best]]).bits()[0] != 0;
            if !is_nan(group[best]) && better {
                best = i;
            }
        }
        return Scalar::from_bits(DType::I64, [best as u64, 0]);
    }
    let combine = |a: Scalar, b: Scalar| reference::map(op.combine(), &[a, b]);
    let total = match kind {
        Kind::Row => canonical::row(group, combine),
        _ => canonical::column(group, combine),
    };
    total.unwrap_or(if op == ReduceOp::Prod { Scalar::one(dtype) } else { Scalar::zero(dtype) })
}
