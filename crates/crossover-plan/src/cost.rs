//! What a kernel moves and computes, and how long a device with given rates would take.

use std::num::Saturating;

use crossover_core::{DType, Layout, Shape, custom, ops::linalg::LinalgOp};
use smallvec::SmallVec;

use crate::{
    count::{Count, count, product, total},
    kernel::{Activation, Call, CallOp, Extent, Fused, Kernel, StepOp},
    plan::{Buffer, Plan},
};

/// Bytes and arithmetic of a kernel, or of several; what is more than a `u64` holds is the most that it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Bytes read from memory, each operand once.
    pub read: u64,
    /// Bytes written to memory.
    pub written: u64,
    /// Arithmetic operations.
    pub flops: u64,
}

/// What a device is able to do, as measured or assumed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Bytes per nanosecond from and to memory.
    pub bandwidth: f64,
    /// Elementwise arithmetic operations per nanosecond.
    pub arithmetic: f64,
    /// Matrix-product operations per nanosecond.
    pub matrix: f64,
    /// Nanoseconds to start a kernel.
    pub launch: f64,
}

impl Cost {
    /// Bytes read and written.
    pub fn moved(&self) -> u64 {
        self.read.saturating_add(self.written)
    }

    /// Both together.
    pub fn and(&self, other: &Cost) -> Cost {
        Cost {
            read: self.read.saturating_add(other.read),
            written: self.written.saturating_add(other.written),
            flops: self.flops.saturating_add(other.flops),
        }
    }

    /// Predicted time in nanoseconds: whatever takes longer, plus the start.
    pub fn time(&self, rates: &Rates, is_matrix: bool) -> f64 {
        let rate = if is_matrix { rates.matrix } else { rates.arithmetic };
        let bytes = self.moved() as f64 / rates.bandwidth;
        rates.launch + bytes.max(self.flops as f64 / rate)
    }
}

impl Plan {
    /// What all kernels move and compute together.
    pub fn cost(&self) -> Cost {
        self.launches.iter().fold(Cost::default(), |sum, launch| sum.and(&launch.cost))
    }

    /// Predicted time of the whole plan in nanoseconds.
    pub fn time(&self, rates: &Rates) -> f64 {
        self.launches.iter().map(|l| l.cost.time(rates, is_matrix(&l.kernel))).sum()
    }
}

/// Whether a kernel runs at the matrix rate.
pub(crate) fn is_matrix(kernel: &Kernel) -> bool {
    let Kernel::Call(call) = kernel else { return false };
    matches!(call.op, CallOp::MatMul | CallOp::Linear { .. })
        || custom_work(call).is_some_and(|work| work.products > work.flops() / 2)
}

/// What the user's rule says about a kernel of theirs.
pub(crate) fn custom_work(call: &Call) -> Option<custom::Work> {
    let CallOp::Custom(kernel) = &call.op else { return None };
    let shapes: SmallVec<[&Shape; 4]> = call.operands.iter().map(|o| &o.layout.shape).collect();
    kernel.work(&shapes, &call.layout.shape)
}

pub(crate) fn kernel(kernel: &Kernel, buffers: &[Buffer]) -> Cost {
    match kernel {
        Kernel::Fused(fused) => fused_cost(fused, buffers),
        Kernel::Call(call) => {
            let read = total(call.operands.iter().map(|o| touched(&o.layout) * count(o.dtype.size()))).0;
            let written = (product(call.layout.shape.iter()) * count(call.dtype.size())).0;
            match custom_work(call) {
                Some(work) => {
                    let read = work.bytes.map_or(read, |bytes| bytes.saturating_sub(written));
                    Cost { read, written, flops: work.flops() }
                }
                None => Cost { read, written, flops: call_flops(call).0 },
            }
        }
    }
}

/// Elements of a view, each once, however often it is repeated.
fn touched(layout: &Layout) -> Count {
    let axes = layout.shape.iter().zip(&layout.strides);
    product(axes.map(|(n, &stride)| if stride == 0 && *n > 0 { &1 } else { n }))
}

/// Arithmetic of a call, as textbooks count it.
fn call_flops(call: &Call) -> Count {
    let size = |shape: &Shape| product(shape.iter());
    let bisections = |length: usize| count(length.max(2).ilog2() as usize);
    let result = size(&call.layout.shape);
    let first = &call.operands[0].layout.shape;
    let complex = count(if call.operands[0].dtype.is_complex() { 4 } else { 1 });
    match &call.op {
        CallOp::MatMul | CallOp::Linear { .. } => {
            count(2) * result * count(first.dims().last().copied().unwrap_or(1)) * complex
        }
        CallOp::Scan { .. } => result,
        // About six transcendental functions and a dozen Philox rounds per element.
        CallOp::Sample(_) => count(200) * result,
        CallOp::Take { .. } | CallOp::Gather { .. } | CallOp::Compress => count(0),
        CallOp::Scatter { .. } => size(&call.operands[1].layout.shape),
        // Comparisons: the logarithm of the length for each element.
        CallOp::Sort { axis, .. } => result * bisections(call.layout.shape[*axis]),
        // One look at each element, and a sort of those that are kept.
        CallOp::TopK { axis, .. } => size(first) + result * bisections(call.layout.shape[*axis]),
        CallOp::SearchSorted { .. } => result * bisections(first.size()),
        CallOp::Fft { kind, axes, .. } => {
            let points = kind.points(first, axes).max(2) as f64;
            let all = first.size().max(call.layout.shape.size()) as f64;
            // The conversion saturates.
            count((5.0 * all * points.log2()) as usize)
        }
        CallOp::Linalg(op) => {
            let (lead, matrix) = first.dims().split_at(first.rank().saturating_sub(2));
            let (long, short) = match matrix {
                [m, n] => (count(*m.max(n)), count(*m.min(n))),
                _ => (count(1), count(1)),
            };
            // Multiples of long·short², roughly.
            let steps = match op {
                LinalgOp::Cholesky { .. } | LinalgOp::Det | LinalgOp::SlogDet => 1,
                LinalgOp::Inv | LinalgOp::Solve | LinalgOp::Qr { .. } => 2,
                LinalgOp::EigValsH { .. } | LinalgOp::SvdVals => 4,
                LinalgOp::Eigh { .. } | LinalgOp::EigVals => 10,
                LinalgOp::Eig | LinalgOp::Svd { .. } => 25,
            };
            product(lead) * long * short * short * count(steps) * complex
        }
        // Nobody has said; a few operations per element read or written.
        CallOp::Custom(_) => count(4) * (result + total(call.operands.iter().map(|o| size(&o.layout.shape)))),
        CallOp::Convolve { .. } => count(2) * result * size(&call.operands[1].layout.shape) * complex,
    }
}

fn fused_cost(fused: &Fused, buffers: &[Buffer]) -> Cost {
    let dims = fused.space.dims();
    // Each operand is read once, however often it is repeated.
    let touched = |strides: &[isize], dtype: DType| {
        product(dims.iter().zip(strides).filter(|&(_, &s)| s != 0).map(|(n, _)| n)) * count(dtype.size())
    };
    // What is looked up is read at every point.
    let looked_up = |load: usize| {
        fused.steps.iter().any(|s| matches!(s.op, StepOp::Take { from, .. } if from as usize == load))
    };
    let read = total(fused.loads.iter().enumerate().map(|(at, l)| {
        if looked_up(at) {
            return points(fused, Extent::Full) * count(l.dtype.size());
        }
        // Overlapping windows touch no more than there is.
        let all = buffers.get(l.buffer.0 as usize).map_or(usize::MAX, Buffer::bytes);
        touched(&l.window.strides, l.dtype).min(count(all))
    }));
    let written = total(fused.stores.iter().map(|s| touched(&s.window.strides, s.dtype)));
    let flops = total(fused.steps.iter().map(|step| {
        let points = points(fused, step.extent);
        match &step.op {
            StepOp::Map(op) => points * Saturating(op.info().cost.flops()),
            StepOp::Cast(_) | StepOp::Where => points,
            // Ten rounds of two products each, for four words.
            StepOp::Random { .. } => points * count(20),
            StepOp::Reduce(_) => self::points(fused, Extent::Full),
            _ => count(0),
        }
    }));
    Cost { read: read.0, written: written.0, flops: flops.0 }
}

/// Points at which a step of a fused kernel is computed.
pub(crate) fn points(fused: &Fused, extent: Extent) -> Count {
    let space = &fused.space;
    match extent {
        Extent::Full => product(space.outer.iter().chain(&space.reduce).chain(&space.inner)),
        Extent::Reduced => product(space.outer.iter().chain(&space.inner)),
        Extent::One => count(1),
    }
}

/// A short name for people: the telling ops inside, in order.
pub(crate) fn name(kernel: &Kernel) -> String {
    let fused = match kernel {
        Kernel::Fused(fused) => fused,
        Kernel::Call(call) => {
            return match &call.op {
                CallOp::MatMul => "matmul",
                CallOp::Linear { bias, activation } => match (*bias, *activation) {
                    (true, Activation::None) => "matmul+bias",
                    (true, Activation::Relu) => "matmul+bias+relu",
                    (true, Activation::Gelu) => "matmul+bias+gelu",
                    (false, Activation::Relu) => "matmul+relu",
                    (false, Activation::Gelu) => "matmul+gelu",
                    (false, Activation::None) => "matmul",
                },
                CallOp::Scan { .. } => "scan",
                CallOp::Sample(sampler) => sampler.name(),
                CallOp::Take { .. } => "take",
                CallOp::Gather { .. } => "take_along_axis",
                CallOp::Scatter { op, .. } => op.name(),
                CallOp::Sort { indices: true, .. } => "argsort",
                CallOp::Sort { .. } => "sort",
                CallOp::TopK { .. } => "top_k",
                CallOp::SearchSorted { .. } => "searchsorted",
                CallOp::Compress => "compress",
                CallOp::Fft { kind, .. } => kind.name(),
                CallOp::Linalg(op) => op.name(),
                CallOp::Convolve { .. } => "convolve",
                CallOp::Custom(kernel) => kernel.name(),
            }
            .to_string();
        }
    };
    let mut names: Vec<&str> = Vec::new();
    for step in &fused.steps {
        let name = match &step.op {
            StepOp::Map(op) => op.name(),
            StepOp::Reduce(op) => op.name(),
            StepOp::Where => "where",
            StepOp::Random { .. } => "random",
            StepOp::Index { .. } => "index",
            StepOp::Take { .. } => "take",
            StepOp::Cast(_) => "cast",
            _ => continue,
        };
        if names.last() != Some(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return "copy".to_string();
    }
    const SHOWN: usize = 6;
    let more = if names.len() > SHOWN { format!("+{}", names.len() - SHOWN) } else { String::new() };
    names.truncate(SHOWN);
    names.join("+") + &more
}
