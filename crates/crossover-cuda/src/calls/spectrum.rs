//! Fourier transforms by cuFFT.
//!
//! Axes are transformed in groups of up to three, the last ones first. Before a group its axes are brought to the end,
//! without gaps, unless they are there already; after it, values go where they belong, scaled and with canonical NaNs.

#![allow(unsafe_code)]

use std::sync::Arc;

use crossover_codegen::element;
use crossover_core::{
    DType, Layout, Shape,
    ops::fft::{FftKind, FftScale},
};
use crossover_plan::kernel::Call;
use crossover_runtime::{Error, Executable, Launch, Result};
use smallvec::SmallVec;

use super::{
    own::Ready,
    program::{Cell, Cells, Program, Room, blocks},
    views::{Views, is_wide},
};
use crate::{
    backend::Open,
    compiler::Compilation,
    cufft::{Kind, Plan, Shape as PlanShape},
};

const VIEWS: &str = include_str!("../kernels/views.cuh");
const SPECTRUM: &str = include_str!("../kernels/spectrum.cu");
/// Axes that the library transforms at once.
const AXES: usize = 3;

/// Where bytes of a pass are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The operand's block, so many bytes in.
    Operand(usize),
    Output,
    Scratch(usize),
}

/// A group of axes: perhaps a copy, the transform, perhaps a copy.
#[derive(Debug, Clone)]
pub(super) struct Pass {
    pub(super) program: Program,
    opens: bool,
    closes: bool,
    from: Place,
    to: Place,
    shape: PlanShape,
}

/// A call taken apart; pure.
pub(super) fn passes(call: &Call, kind: FftKind, axes: &[usize], scale: FftScale) -> Vec<Pass> {
    let operand = &call.operands[0];
    let points = kind.points(&operand.layout.shape, axes);
    let groups: Vec<&[usize]> = axes.rchunks(AXES).collect();
    let last = groups.len() - 1;
    let pass = |(at, group): (usize, &&[usize])| {
        let factor = if at == last { scale.factor(points) } else { 1.0 };
        let source = if at == 0 { &operand.layout } else { &call.layout };
        one(call, kind, group, source, at == 0, (at == last).then_some(factor))
    };
    groups.iter().enumerate().map(pass).collect()
}

/// The layout with some axes at the end.
fn turned(layout: &Layout, group: &[usize]) -> Layout {
    let others = (0..layout.shape.rank()).filter(|axis| !group.contains(axis));
    let order: Vec<usize> = others.chain(group.iter().copied()).collect();
    layout.permute(&order)
}

fn one(
    call: &Call,
    kind: FftKind,
    group: &[usize],
    source: &Layout,
    is_first: bool,
    factor: Option<f64>,
) -> Pass {
    let wide = is_wide(call);
    let (from_type, to_type) = (if is_first { call.operands[0].dtype } else { call.dtype }, call.dtype);
    let (from, to) = (turned(source, group), turned(&call.layout, group));
    let half = matches!(kind, FftKind::Hermitian { .. });
    // The library destroys half a spectrum, and may read parts that do not count.
    let opens = !from.is_contiguous() || half;
    let direct = to.is_contiguous();
    let closes = factor.is_some() || !direct;
    let size = |layout: &Layout, dtype: DType| layout.shape.size() * dtype.size();
    let mut room = Room::default();
    let origin = if is_first { Place::Operand(from.offset * from_type.size()) } else { Place::Output };
    let begin = if opens { Place::Scratch(room.take(size(&from, from_type))) } else { origin };
    let end = if direct { Place::Output } else { Place::Scratch(room.take(size(&to, to_type))) };

    let (open, close) = (view(&from), view(&to));
    let mut steps = Vec::new();
    let length = match kind {
        FftKind::Hermitian { length } => length,
        _ => 0,
    };
    let cell = |cells: Cells, place: Place| match place {
        Place::Operand(at) => cells.input(0, at),
        Place::Output => cells.output(),
        Place::Scratch(at) => cells.scratch(at),
    };
    if opens {
        let cells = cell(cell(Cells::new(wide), origin), begin).views(&open);
        let cells = cells.indices(&[from.shape.size() as isize, length as isize]);
        steps.push(cells.step("spectrum_open", blocks(from.shape.size(), 256, 2), 256));
    }
    if closes {
        let cells = cell(Cells::new(wide), end).output().views(&close);
        let mut step = cells.indices(&[to.shape.size() as isize]).step(
            "spectrum_close",
            blocks(to.shape.size(), 256, 2),
            256,
        );
        let factor = factor.unwrap_or(1.0);
        let bits = match to_type.real() {
            DType::F32 => u64::from((factor as f32).to_bits()),
            _ => factor.to_bits(),
        };
        step.cells.push(Cell::Value(SmallVec::from_slice(&[bits])));
        steps.push(step);
    }
    let real = if to_type.real() == DType::F32 { "float" } else { "double" };
    // One side at least is complex.
    let mut text = element(to_type.complex(), None, wide);
    let source = if from_type.is_complex() { "xo_complex<real_t>" } else { "real_t" };
    text.push_str(&format!("\n{VIEWS}\ntypedef {real} real_t;\ntypedef {source} source_t;\n"));
    text.push_str(&format!("constexpr int OPEN = {}, CLOSE = {};\n", open.rank(), close.rank()));
    text.push_str(if half { "#define HALF\n" } else { "" });
    text.push_str(if to_type.is_complex() { "#define COMPLEX_RESULT\n\n" } else { "\n" });
    text.push_str(SPECTRUM);

    let dims: &Shape = match kind {
        // Lengths count points, of which half a spectrum has fewer.
        FftKind::Hermitian { .. } => &to.shape,
        _ => &from.shape,
    };
    let lengths: Vec<i64> = dims.dims()[dims.rank() - group.len()..].iter().map(|&n| n as i64).collect();
    let batch = dims.dims()[..dims.rank() - group.len()].iter().map(|&n| n as i64).product();
    let plan_kind = match kind {
        FftKind::Forward => Kind::Forward,
        FftKind::Inverse => Kind::Inverse,
        FftKind::Real => Kind::Real,
        FftKind::Hermitian { .. } => Kind::Hermitian,
    };
    let shape = PlanShape { kind: plan_kind, double: to_type.real() == DType::F64, lengths, batch };
    let program = Program { text, scratch: room.bytes(), steps };
    Pass { program, opens, closes, from: begin, to: end, shape }
}

fn view(layout: &Layout) -> Views<1> {
    Views::new(layout.shape.dims(), [&layout.strides])
}

/// A transform made ready.
#[derive(Debug)]
pub(super) struct Spectrum {
    /// Before the device, which closes the library when it is dropped.
    passes: Vec<(Pass, Ready, Arc<Plan>)>,
    open: Arc<Open>,
}

impl Spectrum {
    pub(super) fn new(open: &Arc<Open>, passes: &[(Pass, Arc<Compilation>)]) -> crate::Result<Spectrum> {
        let library = open.fft()?;
        let mut out = Vec::new();
        for (pass, compilation) in passes {
            let ready = Ready::new(&[(pass.program.clone(), compilation.clone())])?;
            open.gpu.bind()?;
            out.push((pass.clone(), ready, library.plan(&open.gpu, &pass.shape)?));
        }
        Ok(Spectrum { open: open.clone(), passes: out })
    }

    /// Queues one pass; the scratch has its own part and, behind it, that of the library.
    fn queue(
        &self,
        (pass, ready, plan): &(Pass, Ready, Arc<Plan>),
        input: u64,
        output: u64,
        scratch: u64,
    ) -> crate::Result<()> {
        let at = |place: Place| match place {
            Place::Operand(at) => input + at as u64,
            Place::Output => output,
            Place::Scratch(at) => scratch + at as u64,
        };
        // SAFETY: the launch was checked against the call, and the scratch has the bytes that both ask for.
        unsafe {
            ready.queue(&self.open.gpu, 0..pass.opens as usize, &[input], output, scratch)?;
            plan.run(at(pass.from), at(pass.to), scratch + ready.scratch as u64)?;
            ready.queue(
                &self.open.gpu,
                pass.opens as usize..pass.opens as usize + pass.closes as usize,
                &[input],
                output,
                scratch,
            )
        }
    }
}

impl Executable for Spectrum {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        const DURING: &str = "transforming";
        self.open.check(DURING)?;
        self.open.gpu.bind().map_err(|e| self.open.failed(DURING, e))?;
        let (input, output) = (launch.inputs()[0].address.0, launch.outputs()[0].address.0);
        for pass in &self.passes {
            let bytes = pass.1.scratch + pass.2.workspace;
            let scratch = if bytes > 0 { self.open.take(bytes)? } else { 0 };
            let queued = self.queue(pass, input, output, scratch);
            if bytes > 0 {
                // In the order of the stream: what is queued above comes first.
                self.open.give(scratch, bytes);
            }
            match queued {
                // The library may refuse what the host can do.
                Err(error @ crate::Error::Library { .. }) => {
                    let (device, what) = (self.open.gpu.name().to_string(), error.to_string());
                    return Err(Error::Unsupported { device, what });
                }
                other => other.map_err(|e| self.open.failed(DURING, e))?,
            }
        }
        Ok(())
    }
}
