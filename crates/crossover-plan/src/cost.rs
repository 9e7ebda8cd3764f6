//! What a kernel moves and computes, and how long a device with given rates would take.

use crossover_core::DType;

use crate::{
    kernel::{CallOp, Extent, Fused, Kernel, StepOp},
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
    matches!(kernel, Kernel::Call(c) if c.op == CallOp::MatMul)
}

pub(crate) fn kernel(kernel: &Kernel, buffers: &[Buffer]) -> Cost {
    match kernel {
        Kernel::Fused(fused) => fused_cost(fused, buffers),
        Kernel::Call(call) => {
            let read = call.operands.iter().map(|o| (o.layout.shape.size() * o.dtype.size()) as u64).sum();
            let result = call.layout.shape.size() as u64;
            let flops = match call.op {
                CallOp::MatMul => {
                    let inner = call.operands[0].layout.shape.dims().last().copied().unwrap_or(1) as u64;
                    let complex = if call.dtype.is_complex() { 4 } else { 1 };
                    2 * result * inner * complex
                }
                CallOp::Scan { .. } => result,
                // About six transcendental functions and a dozen Philox rounds per element.
                CallOp::Sample(_) => 200 * result,
                CallOp::Take { .. } => 0,
            };
            Cost { read, written: result * call.dtype.size() as u64, flops }
        }
    }
}

fn fused_cost(fused: &Fused, buffers: &[Buffer]) -> Cost {
    let dims = fused.space.dims();
    // Each operand is read once, however often it is repeated.
    let touched = |strides: &[isize], dtype: DType| {
        let points: usize = dims.iter().zip(strides).filter(|&(_, &s)| s != 0).map(|(&n, _)| n).product();
        (points * dtype.size()) as u64
    };
    let read = fused
        .loads
        .iter()
        .map(|l| touched(&l.window.strides, l.dtype).min(buffers[l.buffer.0 as usize].bytes() as u64))
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
            return match call.op {
                CallOp::MatMul => "matmul".to_string(),
                CallOp::Scan { .. } => "scan".to_string(),
                CallOp::Sample(sampler) => format!("sample {sampler}"),
                CallOp::Take { .. } => "take".to_string(),
            };
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
