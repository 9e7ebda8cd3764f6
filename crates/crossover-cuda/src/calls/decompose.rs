//! Decompositions by cuSOLVER, one matrix after another.
//!
//! A row-major matrix is its transpose by columns, which most jobs can use as it is; others get a copy in the other order. A
//! matrix with NaN or infinity, or one that the library has no result for, is left to the host, which says what is wrong.

#![allow(unsafe_code)]

use std::sync::Arc;

use crossover_codegen::element;
use crossover_core::{DType, ops::linalg::LinalgOp};
use crossover_plan::kernel::{Call, Operand};
use crossover_runtime::{Error, Executable, Launch, Result};

use super::{
    own::Ready,
    program::{Cells, Program, Room, Step, blocks},
    views::{Views, is_wide},
};
use crate::{
    backend::Open,
    compiler::Compilation,
    cusolver::{Job, Parts},
    queue::Lane,
};

const VIEWS: &str = include_str!("../kernels/views.cuh");
const MATRIX: &str = include_str!("../kernels/matrix.cu");

/// Sides below which the host is faster. On an H200 beside 16 cores, in f32, `crossover-gpu-test --only libraries`: at 64 the
/// host takes a third of the time; at 256 twice that of a factorisation and of self-adjoint eigenvalues, but two thirds of
/// that of singular values and half that of general eigenvalues; at 1024 much more than any.
const SMALL: usize = 128;
const SMALL_ITERATED: usize = 512;

/// Parts of the scratch memory, for all matrices together.
#[derive(Debug, Clone, Copy, Default)]
struct Rooms {
    matrix: usize,
    values: usize,
    left: usize,
    right: usize,
    /// One number per matrix from the library, then one from us; 4 bytes each.
    infos: usize,
}

/// What is done, in order.
#[derive(Debug, Clone)]
enum Act {
    /// A step of the programs.
    Queue(usize),
    /// A job for every matrix.
    Job(Job),
    /// The numbers about matrices are looked at; any but 0 leaves the call to the host.
    Look,
}

/// A decomposition taken apart; pure.
#[derive(Debug, Clone)]
pub(super) struct Outline {
    /// One step each.
    pub(super) programs: Vec<Program>,
    acts: Vec<Act>,
    rooms: Rooms,
    scratch: usize,
    dtype: DType,
    batches: usize,
    /// Bytes from one matrix to the next, in the order of `Rooms`.
    strides: [usize; 4],
}

/// The text for elements of a dtype.
fn text(dtype: DType, rank: usize, wide: bool) -> String {
    let kind = if dtype.is_complex() { 2 } else { 1 };
    let part = if dtype.real() == DType::F32 { "float" } else { "double" };
    let pairs = if dtype.is_complex() { "#define PAIRS\n" } else { "" };
    format!(
        "{}\n{VIEWS}\n#define KIND {kind}\n{pairs}typedef {part} part_t;\nconstexpr int RANK = {rank};\n\n{MATRIX}",
        element(dtype, None, wide)
    )
}

/// Programs and acts as they are added.
struct Draft {
    wide: bool,
    dtype: DType,
    batches: usize,
    programs: Vec<Program>,
    acts: Vec<Act>,
}

impl Draft {
    fn queue(&mut self, text: String, step: Step) {
        self.acts.push(Act::Queue(self.programs.len()));
        self.programs.push(Program { text, scratch: 0, steps: vec![step] });
    }

    /// An operand's matrices, by columns or as they are; `side` above 0 for self-adjoint ones.
    fn open(&mut self, at: usize, operand: &Operand, to: usize, doubt: usize, by_columns: bool, side: usize) {
        let (mut dims, mut strides) = (operand.layout.shape.dims().to_vec(), operand.layout.strides.to_vec());
        let rank = dims.len();
        if by_columns {
            dims.swap(rank - 2, rank - 1);
            strides.swap(rank - 2, rank - 1);
        }
        let view = Views::new(&dims, [&strides]);
        let count = view.size();
        let cells = Cells::new(self.wide)
            .input(at, operand.layout.offset * operand.dtype.size())
            .scratch(to)
            .scratch(doubt)
            .views(&view)
            .indices(&[count as isize, side as isize]);
        let step = cells.step("matrix_open", blocks(count, 256, 2), 256);
        self.queue(text(self.dtype, view.rank(), self.wide), step);
    }

    /// A part of the results, written at `to` of the output or of the scratch.
    fn close(&mut self, dtype: DType, piece: Piece) {
        let numbers = [piece.rows, piece.columns, piece.down, piece.across, piece.from_step, piece.to_step];
        let cells = Cells::new(self.wide).scratch(piece.from);
        let cells = match piece.to {
            To::Output(elements) => cells.output().moved(elements * dtype.size()),
            To::Scratch(at) => cells.scratch(at),
        };
        let cells = cells
            .indices(&[self.batches as isize])
            .indices(&numbers.map(|n| n as isize))
            .int(piece.triangle)
            .int(piece.conjugate as i32);
        let count = self.batches * piece.rows * piece.columns;
        self.queue(text(dtype, 1, self.wide), cells.step("matrix_close", blocks(count, 256, 2), 256));
    }

    /// `count` real numbers per matrix, at the start of each result.
    fn values(&mut self, dtype: DType, from: usize, at: usize, count: usize, to_step: usize) {
        let cells = Cells::new(self.wide).scratch(from).output().moved(at * dtype.size());
        let cells = cells.indices(&[self.batches, count, to_step].map(|n| n as isize));
        let step = cells.step("matrix_values", blocks(self.batches * count, 256, 1), 256);
        self.queue(text(dtype, 1, self.wide), step);
    }

    fn job(&mut self, job: Job) {
        self.acts.push(Act::Job(job));
    }
}

enum To {
    /// Elements behind the start of each result.
    Output(usize),
    /// Bytes in scratch.
    Scratch(usize),
}

struct Piece {
    from: usize,
    to: To,
    rows: usize,
    columns: usize,
    down: usize,
    across: usize,
    from_step: usize,
    to_step: usize,
    /// 0 all, 1 the lower triangle, 2 the upper one.
    triangle: i32,
    conjugate: bool,
}

/// The parts of a call, or why the host does it.
pub(super) fn outline(call: &Call, op: LinalgOp) -> std::result::Result<Outline, String> {
    let operand = &call.operands[0];
    let dtype = operand.dtype;
    let dims = operand.layout.shape.dims();
    let (m, n) = (dims[dims.len() - 2], dims[dims.len() - 1]);
    let batches: usize = dims[..dims.len() - 2].iter().product();
    let k = m.min(n);
    let name = op.name();
    let least = match op {
        LinalgOp::Svd { .. } | LinalgOp::SvdVals | LinalgOp::Eig | LinalgOp::EigVals => SMALL_ITERATED,
        _ => SMALL,
    };
    if k == 0 || batches == 0 || m.max(n) < least {
        return Err(format!("{name} of {m}x{n}: below sides of {least} the host is faster"));
    }
    let columns = call.operands.get(1).map_or(n, |b| b.layout.shape.dims()[dims.len() - 1]);
    // The widest Q that is built in place of the matrix.
    let p = match op {
        LinalgOp::Qr { complete: true } => m,
        LinalgOp::Svd { full: true } => m.max(n),
        _ => k,
    };
    let elements: [usize; 4] = match op {
        LinalgOp::Cholesky { .. } => [n * n, 0, 0, 0],
        LinalgOp::Inv | LinalgOp::Solve => [n * n, n, n * columns, 0],
        LinalgOp::Qr { .. } => [m * n, k, if p > n { m * p } else { 0 }, 0],
        LinalgOp::Eigh { .. } | LinalgOp::EigValsH { .. } => [n * n, n, 0, 0],
        LinalgOp::SvdVals => [m * n, k, 0, 0],
        LinalgOp::Svd { .. } => [m * n, k, m.max(n) * p.max(k), k * k],
        LinalgOp::Eig => [n * n, n, n * n, 0],
        LinalgOp::EigVals => [n * n, n, 0, 0],
        LinalgOp::Det | LinalgOp::SlogDet => return Err(format!("{name}: the host does it")),
    };
    let value = match op {
        LinalgOp::Inv | LinalgOp::Solve => 8,
        LinalgOp::Qr { .. } => dtype.size(),
        LinalgOp::Eig | LinalgOp::EigVals => dtype.complex().size(),
        _ => dtype.real().size(),
    };
    let size = dtype.size();
    let strides = [elements[0] * size, elements[1] * value, elements[2] * size, elements[3] * size];
    let mut room = Room::default();
    let mut take = |i: usize| room.take(batches * strides[i]);
    let rooms = Rooms { matrix: take(0), values: take(1), left: take(2), right: take(3), infos: 0 };
    let rooms = Rooms { infos: room.take(4 * (batches + 1)), ..rooms };
    let doubt = rooms.infos + 4 * batches;
    let mut draft = Draft { wide: is_wide(call), dtype, batches, programs: Vec::new(), acts: Vec::new() };
    let by_columns = match op {
        LinalgOp::Qr { .. } | LinalgOp::Eig => true,
        LinalgOp::Svd { .. } | LinalgOp::SvdVals => m > n,
        _ => false,
    };
    let side = match op {
        LinalgOp::Cholesky { .. } | LinalgOp::Eigh { .. } | LinalgOp::EigValsH { .. } => n,
        _ => 0,
    };
    draft.open(0, operand, rooms.matrix, doubt, by_columns, side);
    if let Some(right) = call.operands.get(1) {
        draft.open(1, right, rooms.left, doubt, true, 0);
    }
    draft.acts.push(Act::Look);
    let (rows64, side64) = (m as i64, n as i64);
    let step = op.tail(m, n).size();
    let out = dtype;
    match op {
        LinalgOp::Cholesky { upper } => {
            draft.job(Job::Cholesky { upper: !upper, side: side64 });
            draft.acts.push(Act::Look);
            let triangle = if upper { 2 } else { 1 };
            draft.close(out, square(rooms.matrix, To::Output(0), n, (n, 1), n * n, triangle, false));
        }
        LinalgOp::Inv | LinalgOp::Solve => {
            if op == LinalgOp::Inv {
                let count = batches * n * n;
                let cells = Cells::new(draft.wide).scratch(rooms.left).indices(&[count as isize, n as isize]);
                let step = cells.step("matrix_identity", blocks(count, 256, 2), 256);
                draft.queue(text(dtype, 1, draft.wide), step);
            }
            draft.job(Job::Lu { side: side64 });
            draft.acts.push(Act::Look);
            draft.job(Job::SolveTransposed { side: side64, columns: columns as i64 });
            draft.close(
                out,
                Piece {
                    from: rooms.left,
                    to: To::Output(0),
                    rows: n,
                    columns,
                    down: 1,
                    across: n,
                    from_step: n * columns,
                    to_step: n * columns,
                    triangle: 0,
                    conjugate: false,
                },
            );
        }
        LinalgOp::Qr { .. } => {
            draft.job(Job::Qr { rows: rows64, columns: side64 });
            let piece = |from, to, rows, columns, from_step, triangle| Piece {
                from,
                to,
                rows,
                columns,
                down: 1,
                across: m,
                from_step,
                to_step: step,
                triangle,
                conjugate: false,
            };
            draft.close(out, piece(rooms.matrix, To::Output(m * p), p, n, m * n, 2));
            let (base, from_step) = if p > n { (rooms.left, m * p) } else { (rooms.matrix, m * n) };
            if p > n {
                // Columns as rows, so that the order in memory stays.
                let wider = Piece {
                    from: rooms.matrix,
                    to: To::Scratch(rooms.left),
                    rows: n,
                    columns: m,
                    down: m,
                    across: 1,
                    from_step: m * n,
                    to_step: m * p,
                    triangle: 0,
                    conjugate: false,
                };
                draft.close(out, wider);
            }
            draft.job(Job::Q { rows: rows64, columns: p as i64, reflectors: k as i64 });
            draft.acts.push(Act::Look);
            draft.close(out, piece(base, To::Output(0), m, p, from_step, 0));
        }
        LinalgOp::Eigh { upper } | LinalgOp::EigValsH { upper } => {
            let vectors = matches!(op, LinalgOp::Eigh { .. });
            draft.job(Job::SelfAdjoint { upper: !upper, vectors, side: side64 });
            draft.acts.push(Act::Look);
            draft.values(if vectors { dtype } else { dtype.real() }, rooms.values, 0, n, step);
            if vectors {
                // The library decomposed the conjugate of the matrix.
                draft.close(out, square(rooms.matrix, To::Output(n), n, (1, n), step, 0, true));
            }
        }
        LinalgOp::Svd { .. } | LinalgOp::SvdVals => singular(&mut draft, op, (m, n), rooms, step),
        LinalgOp::Eig | LinalgOp::EigVals => {
            let (vectors, whole) = (op == LinalgOp::Eig, dtype.complex());
            draft.job(Job::Eigen { vectors, side: side64 });
            draft.acts.push(Act::Look);
            let values = Piece {
                from: rooms.values,
                to: To::Output(0),
                rows: 1,
                columns: n,
                down: 0,
                across: 1,
                from_step: n,
                to_step: step,
                triangle: 0,
                conjugate: false,
            };
            draft.close(whole, values);
            if vectors && dtype.is_complex() {
                draft.close(whole, square(rooms.left, To::Output(n), n, (1, n), step, 0, false));
            } else if vectors {
                let cells = Cells::new(draft.wide).scratch(rooms.left).scratch(rooms.values).output();
                let cells = cells.moved(n * whole.size());
                let cells = cells.indices(&[batches, n, step].map(|x| x as isize));
                let step = cells.step("matrix_pairs", blocks(batches * n * n, 256, 2), 256);
                draft.queue(text(whole, 1, draft.wide), step);
            }
        }
        LinalgOp::Det | LinalgOp::SlogDet => {}
    }
    let Draft { programs, acts, .. } = draft;
    Ok(Outline { programs, acts, rooms, scratch: room.bytes(), dtype, batches, strides })
}

/// All of a square matrix.
fn square(
    from: usize,
    to: To,
    n: usize,
    (down, across): (usize, usize),
    to_step: usize,
    triangle: i32,
    conjugate: bool,
) -> Piece {
    Piece { from, to, rows: n, columns: n, down, across, from_step: n * n, to_step, triangle, conjugate }
}

/// Singular values, with vectors if asked for. The library wants at least as many rows as columns: a wide matrix is its
/// transpose by columns, whose U is our conjugated V, and whose Vᴴ is our transposed U.
fn singular(draft: &mut Draft, op: LinalgOp, (m, n): (usize, usize), rooms: Rooms, step: usize) {
    let (k, long, dtype) = (m.min(n), m.max(n), draft.dtype);
    let letters = match op {
        LinalgOp::Svd { full: true } => *b"AA",
        LinalgOp::Svd { .. } => *b"SS",
        _ => *b"NN",
    };
    draft.job(Job::Singular { rows: long as i64, columns: k as i64, jobs: letters });
    draft.acts.push(Act::Look);
    let LinalgOp::Svd { full } = op else {
        draft.values(dtype.real(), rooms.values, 0, k, step);
        return;
    };
    let wide = n >= m;
    let (p, q) = if full { (m, n) } else { (k, k) };
    let piece = |from, at, (rows, columns), down, across, from_step| Piece {
        from,
        to: To::Output(at),
        rows,
        columns,
        down,
        across,
        from_step,
        to_step: step,
        triangle: 0,
        conjugate: false,
    };
    let left_step = long * if full { long } else { k };
    draft.values(dtype, rooms.values, m * p, k, step);
    if wide {
        draft.close(dtype, piece(rooms.right, 0, (m, p), m, 1, k * k));
        draft.close(dtype, piece(rooms.left, m * p + k, (q, n), n, 1, left_step));
    } else {
        draft.close(dtype, piece(rooms.left, 0, (m, p), 1, m, left_step));
        draft.close(dtype, piece(rooms.right, m * p + k, (q, n), 1, n, k * k));
    }
}

/// A decomposition made ready.
#[derive(Debug)]
pub(super) struct Decomposition {
    open: Arc<Open>,
    outline: Outline,
    ready: Ready,
    /// Bytes of working memory of the library on the device, and on the host, by act.
    work: Vec<[usize; 2]>,
}

impl Decomposition {
    pub(super) fn new(
        open: &Arc<Open>,
        outline: &Outline,
        compilations: &[Arc<Compilation>],
    ) -> crate::Result<Decomposition> {
        let programs: Vec<_> = outline.programs.iter().cloned().zip(compilations.iter().cloned()).collect();
        let ready = Ready::new(&programs)?;
        open.gpu.bind()?;
        let solver = open.solver()?;
        let needed = |act: &Act| match act {
            Act::Job(job) => solver.workspace(*job, outline.dtype),
            _ => Ok([0, 0]),
        };
        let work = outline.acts.iter().map(needed).collect::<crate::Result<Vec<_>>>()?;
        Ok(Decomposition { open: open.clone(), outline: outline.clone(), ready, work })
    }

    /// Whether all numbers about matrices are 0 so far.
    fn look(&self, scratch: u64) -> crate::Result<bool> {
        let mut infos = vec![0u8; 4 * (self.outline.batches + 1)];
        let gpu = &self.open.gpu;
        let from = scratch + self.outline.rooms.infos as u64;
        // SAFETY: the scratch has these bytes, and `finish` returns after the copy.
        unsafe { gpu.copy_down(from, infos.as_mut_ptr(), infos.len(), Lane::Compute)? };
        gpu.finish(Lane::Compute)?;
        Ok(infos.iter().all(|&byte| byte == 0))
    }

    /// False if the host has to do it.
    fn queue(&self, inputs: &[u64], output: u64, scratch: u64, work: u64) -> crate::Result<bool> {
        let outline = &self.outline;
        let solver = self.open.solver()?;
        self.open.gpu.zero(scratch + outline.rooms.infos as u64, 4 * (outline.batches + 1))?;
        for (act, &bytes) in outline.acts.iter().zip(&self.work) {
            match act {
                // SAFETY: the launch was checked against the call, and the scratch has the bytes asked for.
                Act::Queue(step) => unsafe {
                    self.ready.queue(&self.open.gpu, *step..*step + 1, inputs, output, scratch)?;
                },
                Act::Job(job) => {
                    for batch in 0..outline.batches {
                        let parts = self.parts(*job, scratch, batch);
                        // SAFETY: as above; the working memory has the bytes that the job asked for.
                        unsafe { solver.run(*job, outline.dtype, parts, (work, bytes))? };
                    }
                }
                Act::Look if !self.look(scratch)? => return Ok(false),
                Act::Look => {}
            }
        }
        Ok(true)
    }

    fn parts(&self, job: Job, scratch: u64, batch: usize) -> Parts {
        let (rooms, strides) = (&self.outline.rooms, &self.outline.strides);
        let at = |room: usize, stride: usize| scratch + (room + batch * stride) as u64;
        let mut parts = Parts {
            matrix: at(rooms.matrix, strides[0]),
            values: at(rooms.values, strides[1]),
            left: at(rooms.left, strides[2]),
            right: at(rooms.right, strides[3]),
            info: at(rooms.infos, 4),
        };
        // A Q with more columns than the matrix has a place of its own.
        if matches!(job, Job::Q { .. }) && strides[2] > 0 {
            parts.matrix = parts.left;
        }
        parts
    }
}

impl Executable for Decomposition {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        const DURING: &str = "decomposing matrices";
        self.open.check(DURING)?;
        self.open.gpu.bind().map_err(|e| self.open.failed(DURING, e))?;
        let inputs: Vec<u64> = launch.inputs().iter().map(|b| b.address.0).collect();
        let work = self.work.iter().map(|w| w[0]).max().unwrap_or(0);
        let bytes = self.outline.scratch + work;
        let scratch = self.open.take(bytes)?;
        let output = launch.outputs()[0].address.0;
        let queued = self.queue(&inputs, output, scratch, scratch + self.outline.scratch as u64);
        // In the order of the stream: what is queued above comes first.
        self.open.give(scratch, bytes);
        let left = |what: String| Error::Unsupported { device: self.open.gpu.name().to_string(), what };
        match queued {
            Ok(true) => Ok(()),
            Ok(false) => {
                Err(left("a decomposition without a result: the host says what is wrong".to_string()))
            }
            Err(error @ crate::Error::Library { .. }) => Err(left(error.to_string())),
            Err(error) => Err(self.open.failed(DURING, error)),
        }
    }
}
