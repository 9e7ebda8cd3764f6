//! Calls: what a plan asks for beside generated kernels.
//!
//! Most are [`Program`]s of our own kernels in `kernels/*.cu`, compiled and cached like generated ones; [`programs`] makes
//! them without a device, so that they can be tested without one. Products, transforms and decompositions belong to
//! CUDA's libraries. What nobody here can do is refused, and the host does it.
//!
//! What always holds: lookups, scatters, sorts, scans and convolutions have the bits of the host. Kernels take what
//! depends on a structure (ranks, element sizes, which rule) from their text, and sizes as arguments.

mod compress;
mod convolve;
mod custom;
mod decompose;
mod launched;
mod libraries;
mod lookup;
mod order;
mod own;
pub(crate) mod product;
mod program;
mod scan;
mod scatter;
mod spectrum;
mod views;

use std::sync::Arc;

use crossover_core::ops::linalg::LinalgOp;
use crossover_plan::kernel::{Call, CallOp};
use crossover_runtime::{Coming, Error, Executable, Result};

use crate::{backend::Open, compiler::Compilation, matmul::MatMul};

pub(crate) use launched::Launched;
pub(crate) use libraries::Libraries;
pub(crate) use own::OwnCall;
pub use program::{Cell, Program, Step};

/// The programs of a call, one after another, or `None` for what libraries and the host do.
///
/// ```
/// use crossover_core::{DType, Layout, Shape};
/// use crossover_plan::kernel::{BufferId, Call, CallOp, Operand};
/// let line = |buffer, dtype, n| Operand {
///     buffer: BufferId(buffer),
///     dtype,
///     layout: Layout::contiguous(Shape::from([n])),
/// };
/// let call = Call {
///     op: CallOp::Take { axis: 0 },
///     operands: vec![line(0, DType::F32, 100), line(1, DType::I64, 7)],
///     output: BufferId(2),
///     layout: Layout::contiguous(Shape::from([7])),
///     dtype: DType::F32,
/// };
/// let programs = crossover_cuda::calls::programs(&call).unwrap();
/// assert_eq!(programs[0].steps[0].entry, "entries");
/// ```
pub fn programs(call: &Call) -> Option<Vec<Program>> {
    Some(match &call.op {
        CallOp::Take { axis } => vec![lookup::take(call, *axis)],
        CallOp::Gather { axis } => vec![lookup::gather(call, *axis)],
        CallOp::Scatter { op, axis } => scatter::scatter(call, *op, *axis).to_vec(),
        CallOp::Sort { axis, descending, indices } => {
            vec![order::sort(call, *axis, *descending, *indices)?]
        }
        CallOp::SearchSorted { right } => vec![order::search(call, *right)],
        CallOp::Compress => vec![compress::compress(call)],
        CallOp::Scan { op, axis } => vec![scan::scan(call, *op, *axis)],
        CallOp::Convolve { mode, boundary } => vec![convolve::convolve(call, *mode, *boundary)],
        CallOp::Custom(kernel) => vec![custom::elementwise(call, kernel)?],
        _ => return None,
    })
}

/// The files of our own kernels, by name. Every text that is compiled has some of them in it, as they are.
pub const FILES: [(&str, &str); 13] = [
    ("compress.cu", include_str!("../kernels/compress.cu")),
    ("convolve.cu", include_str!("../kernels/convolve.cu")),
    ("copy.cu", include_str!("../kernels/copy.cu")),
    ("entries.cu", include_str!("../kernels/entries.cu")),
    ("matrix.cu", include_str!("../kernels/matrix.cu")),
    ("product.cu", include_str!("../kernels/product.cu")),
    ("radix.cu", include_str!("../kernels/radix.cu")),
    ("scan.cu", include_str!("../kernels/scan.cu")),
    ("scatter.cu", include_str!("../kernels/scatter.cu")),
    ("search.cu", include_str!("../kernels/search.cu")),
    ("sort.cu", include_str!("../kernels/sort.cu")),
    ("spectrum.cu", include_str!("../kernels/spectrum.cu")),
    ("take.cu", include_str!("../kernels/take.cu")),
];

/// Our own kernel for a matrix product, which is tried beside the library's; `None` where we have none.
///
/// ```
/// use crossover_core::{DType, Layout, Shape};
/// use crossover_plan::kernel::{BufferId, Call, CallOp, Operand};
/// let matrix = |buffer| Operand {
///     buffer: BufferId(buffer),
///     dtype: DType::F32,
///     layout: Layout::contiguous(Shape::from([64, 64])),
/// };
/// let call = Call {
///     op: CallOp::MatMul,
///     operands: vec![matrix(0), matrix(1)],
///     output: BufferId(2),
///     layout: Layout::contiguous(Shape::from([64, 64])),
///     dtype: DType::F32,
/// };
/// assert_eq!(crossover_cuda::calls::own_product(&call).unwrap().steps[0].blocks, 4);
/// ```
pub fn own_product(call: &Call) -> Option<Program> {
    MatMul::program(call)
}

/// What is made of the modules of a call.
#[derive(Debug)]
enum Plan {
    Own(Vec<Program>),
    Spectrum(Vec<spectrum::Pass>),
    Decomposition(Box<decompose::Outline>),
}

impl Plan {
    /// The plan of a call, or why the host does it.
    fn new(call: &Call) -> std::result::Result<Plan, String> {
        if let Some(programs) = programs(call) {
            return Ok(Plan::Own(programs.into_iter().filter(|p| !p.steps.is_empty()).collect()));
        }
        match &call.op {
            CallOp::Fft { kind, axes, scale } => {
                Ok(Plan::Spectrum(spectrum::passes(call, *kind, axes, *scale)))
            }
            CallOp::Linalg(op) => Ok(Plan::Decomposition(Box::new(decompose::outline(call, *op)?))),
            other => Err(format!("the call {other:?}")),
        }
    }

    fn programs(&self) -> Vec<&Program> {
        match self {
            Plan::Own(programs) => programs.iter().collect(),
            Plan::Spectrum(passes) => passes.iter().map(|pass| &pass.program).collect(),
            Plan::Decomposition(outline) => outline.programs.iter().collect(),
        }
    }

    /// Opens the library that the call needs, so that a missing one is known before anything is compiled.
    fn check(&self, open: &Open, call: &Call) -> crate::Result<()> {
        match (self, &call.op) {
            (Plan::Spectrum(_), _) => open.fft().map(drop),
            (_, CallOp::Linalg(LinalgOp::Eig | LinalgOp::EigVals)) => open.solver()?.general(),
            (Plan::Decomposition(_), _) => open.solver().map(drop),
            (Plan::Own(_), _) => Ok(()),
        }
    }
}

/// Every text that a call is made of, whoever runs it; for tests that compile without a device.
pub fn texts(call: &Call) -> Vec<String> {
    texts_since(call, 0)
}

/// As [`texts`], with the source that a custom kernel has for a compute capability, 90 for 9.0.
pub fn texts_since(call: &Call, capability: u32) -> Vec<String> {
    if let CallOp::Custom(kernel) = &call.op {
        return custom::text(call, kernel, capability).ok().flatten().into_iter().collect();
    }
    if matches!(call.op, CallOp::MatMul | CallOp::Linear { .. }) {
        return own_product(call).into_iter().map(|program| program.text).collect();
    }
    let plan = Plan::new(call).ok();
    plan.map_or_else(Vec::new, |plan| plan.programs().iter().map(|p| p.text.clone()).collect())
}

/// A call on its way through the compiler.
#[derive(Debug)]
struct ComingCall {
    open: Arc<Open>,
    plan: Plan,
    compilations: Vec<Arc<Compilation>>,
}

impl ComingCall {
    fn made(&self) -> crate::Result<Box<dyn Executable>> {
        let open = &self.open;
        let made = self.compilations.iter().cloned();
        Ok(match &self.plan {
            Plan::Own(programs) => {
                let programs: Vec<_> = programs.iter().cloned().zip(made).collect();
                Box::new(own::OwnCall::new(open, &programs)?)
            }
            Plan::Spectrum(passes) => {
                let passes: Vec<_> = passes.iter().cloned().zip(made).collect();
                Box::new(spectrum::Spectrum::new(open, &passes)?)
            }
            Plan::Decomposition(outline) => {
                Box::new(decompose::Decomposition::new(open, outline, &self.compilations)?)
            }
        })
    }
}

impl Coming for ComingCall {
    fn is_ready(&self) -> bool {
        self.compilations.iter().all(|compilation| compilation.is_done())
    }

    fn wait(&self) -> Result<Box<dyn Executable>> {
        self.made().map_err(|error| self.open.refused("making a call ready", error))
    }
}

/// Starts to make a call ready; `None` where that takes no time worth speaking of.
pub(crate) fn begin(open: &Arc<Open>, call: &Call) -> Result<Option<Box<dyn Coming>>> {
    if matches!(call.op, CallOp::MatMul | CallOp::Linear { .. }) {
        return Ok(None);
    }
    if let CallOp::Custom(kernel) = &call.op {
        return custom::begin(open, call, kernel).map(Some);
    }
    let refused = |what: String| Error::Unsupported { device: open.gpu.name().to_string(), what };
    let plan = Plan::new(call).map_err(refused)?;
    plan.check(open, call).map_err(|error| refused(format!("{}: {error}", call_name(call))))?;
    let compilations = plan.programs().iter().map(|p| open.compiler.begin(&p.text)).collect();
    Ok(Some(Box::new(ComingCall { open: open.clone(), plan, compilations })))
}

fn call_name(call: &Call) -> &'static str {
    match &call.op {
        CallOp::Fft { kind, .. } => kind.name(),
        CallOp::Linalg(op) => op.name(),
        _ => "a call",
    }
}

/// Makes a call ready that needs no compiler.
pub(crate) fn prepare(open: &Arc<Open>, call: &Call) -> Result<Box<dyn Executable>> {
    Ok(Box::new(MatMul::new(open, call)?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_file_of_kernels_is_listed() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels");
        let names =
            std::fs::read_dir(folder).unwrap().flatten().filter_map(|e| e.file_name().into_string().ok());
        let mut found: Vec<String> = names.filter(|name| name.ends_with(".cu")).collect();
        found.sort();
        assert_eq!(found, super::FILES.map(|(name, _)| name));
    }
}
