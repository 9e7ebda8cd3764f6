//! What a kernel moves and computes, and how long a device with given rates would take.

use crossover_core::{DType, Layout, Shape, custom, ops::linalg::LinalgOp};
use smallvec::SmallVec;

use crate::{
    kernel::{Activation, Call, CallOp, Extent, Fused, Kernel, StepOp},
    plan::{Buffer, Plan},
};

/// Bytes and arithmetic of a kernel.
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
    /// Predicted time in nanoseconds: whatever takes longer, plus the start.
    pub fn time(&self, rates: &Rates, is_matrix: bool) -> f64 {
        let rate = if is_matrix { rates.matrix } else { rates.arithmetic };
        let bytes = (self.read + self.written) as f64 / rates.bandwidth;
        rates.launch + bytes.max(self.flops as f64 / rate)
    }
}

impl Plan {
    /// Predicted time of the whole plan in nanoseconds.
    pub fn time(&self, rates: &Rates) -> f64 {
        self.launches.iter().map(|l| l.cost.time(rates, is_matrix(&l.kernel))).sum()
    }
}

/// Whether a kernel runs at the matrix rate.
pub(crate) fn is_matrix(kernel: &Kernel) -> bool {
    let Kernel::Call(call) = kernel else { return false };
    matches!(call.op, CallOp::MatMul | CallOp::Linear { .. })
        || custom_work(call).is_some_and(|work| 2 * work.products > work.flops())
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
            let read = call.operands.iter().map(|o| (touched(&o.layout) * o.dtype.size()) as u64).sum();
            let written = (call.layout.shape.size() * call.dtype.size()) as u64;
            match custom_work(call) {
                Some(work) => {
                    let read = work.bytes.map_or(read, |bytes| bytes.saturating_sub(written));
                    Cost { read, written, flops: work.flops() }
                }
                None => Cost { read, written, flops: call_flops(call) },
            }
        }
    }
}

/// Elements of a view, each once, however often it is repeated.
fn touched(layout: &Layout) -> usize {
    let axes = layout.shape.iter().zip(&layout.strides);
    axes.map(|(&n, &stride)| if stride == 0 { n.min(1) } else { n }).product()
}

/// Arithmetic of a call, as textbooks count it.
fn call_flops(call: &Call) -> u64 {
    let result = call.layout.shape.size() as u64;
    let first = &call.operands[0].layout.shape;
    let complex = if call.operands[0].dtype.is_complex() { 4 } else { 1 };
    match &call.op {
        CallOp::MatMul | CallOp::Linear { .. } => {
            2 * result * first.dims().last().copied().unwrap_or(1) as u64 * complex
        }
        CallOp::Scan { .. } => result,
        // About six transcendental functions and a dozen Philox rounds per element.
        CallOp::Sample(_) => 200 * result,
        CallOp::Take { .. } | CallOp::Gather { .. } | CallOp::Compress => 0,
        CallOp::Scatter { .. } => call.operands[1].layout.shape.size() as u64,
        // Comparisons: the logarithm of the length for each element.
        CallOp::Sort { axis, .. } => result * call.layout.shape[*axis].max(2).ilog2() as u64,
        // One look at each element, and a sort of those that are kept.
        CallOp::TopK { axis, .. } => {
            first.size() as u64 + result * call.layout.shape[*axis].max(2).ilog2() as u64
        }
        CallOp::SearchSorted { .. } => result * first.size().max(2).ilog2() as u64,
        CallOp::Fft { kind, axes, .. } => {
            let points = kind.points(first, axes).max(2) as f64;
            let all = first.size().max(call.layout.shape.size()) as f64;
            (5.0 * all * points.log2()) as u64
        }
        CallOp::Linalg(op) => {
            let (lead, matrix) = first.dims().split_at(first.rank().saturating_sub(2));
            let (long, short) = match matrix {
                [m, n] => (*m.max(n) as u64, *m.min(n) as u64),
                _ => (1, 1),
            };
            // Multiples of long·short², roughly.
            let steps = match op {
                LinalgOp::Cholesky { .. } | LinalgOp::Det | LinalgOp::SlogDet => 1,
                LinalgOp::Inv | LinalgOp::Solve | LinalgOp::Qr { .. } => 2,
                LinalgOp::EigValsH { .. } | LinalgOp::SvdVals => 4,
                LinalgOp::Eigh { .. } | LinalgOp::EigVals => 10,
                LinalgOp::Eig | LinalgOp::Svd { .. } => 25,
            };
            lead.iter().product::<usize>() as u64 * long * short * short * steps * complex
        }
        // Nobody has said; a few operations per element read or written.
        CallOp::Custom(_) => {
            4 * (result + call.operands.iter().map(|o| o.layout.shape.size() as u64).sum::<u64>())
        }
        CallOp::Convolve { .. } => 2 * result * call.operands[1].layout.shape.size() as u64 * complex,
    }
}

fn fused_cost(fused: &Fused, buffers: &[Buffer]) -> Cost {
    let dims = fused.space.dims();
    // Each operand is read once, however often it is repeated.
    let touched = |strides: &[isize], dtype: DType| {
        let points: usize = dims.iter().zip(strides).filter(|&(_, &s)| s != 0).map(|(&n, _)| n).product();
        (points * dtype.size()) as u64
    };
    // What is looked up is read at every point.
    let looked_up = |load: usize| {
        fused.steps.iter().any(|s| matches!(s.op, StepOp::Take { from, .. } if from as usize == load))
    };
    let read = fused
        .loads
        .iter()
        .enumerate()
        .map(|(at, l)| {
            if looked_up(at) {
                return fused.space.size() as u64 * l.dtype.size() as u64;
            }
            // Overlapping windows touch no more than there is.
            let all = buffers.get(l.buffer.0 as usize).map_or(u64::MAX, |b| b.bytes() as u64);
            touched(&l.window.strides, l.dtype).min(all)
        })
        .sum();
    let written = fused.stores.iter().map(|s| touched(&s.window.strides, s.dtype)).sum();
    let full = fused.space.size() as u64;
    let reduced = (fused.space.outer_size() * fused.space.inner_size()) as u64;
    let flops = fused
        .steps
        .iter()
        .map(|step| {
            let points = match step.extent {
                Extent::Full => full,
                Extent::Reduced => reduced,
                Extent::One => 1,
            };
            match &step.op {
                StepOp::Map(op) => points * op.info().cost.flops(),
                StepOp::Cast(_) | StepOp::Where => points,
                // Ten rounds of two products each, for four words.
                StepOp::Random { .. } => points * 20,
                StepOp::Reduce(_) => full,
                _ => 0,
            }
        })
        .sum();
    Cost { read, written, flops }
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
