//! Running fused kernels: which thread does which units, and how a unit's tiles are walked.
#![allow(unsafe_code)]

use std::{
    ops::Range,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
    },
};

use crossover_plan::kernel::Fused;
use crossover_runtime::{Error, Executable, Launch, Result};
use smallvec::SmallVec;

use crate::{
    accumulate::{self, Accumulator, Depth},
    backend::Thresholds,
    control,
    frame::{Arguments, Frame, Tile},
    geometry::{Geometry, Mode},
    lower::{self, Options},
    program::{Program, Stage},
    scratch::Scratch,
    threads::Threads,
};

/// Pieces of work per thread: enough to even out differences, few enough that claiming them costs nothing.
pub const PIECES: usize = 8;
/// Shortest piece worth claiming, in nanoseconds.
const PIECE: f64 = 10_000.0;
/// Bytes of a stage's results that threads of one unit share.
const SHARED: usize = 1 << 20;

/// Runs after which a short kernel is worth machine code: making it takes as long as some hundreds of them.
const OFTEN: u32 = 256;

/// A fused kernel made ready for this processor.
#[derive(Debug)]
pub struct FusedKernel {
    program: Program,
    /// Where the kernel is too short for machine code unless it runs often.
    often: Option<Often>,
    threads: Arc<Threads>,
    /// Nanoseconds of work above which threads help.
    threshold: f64,
}

/// A kernel that may turn out to run often.
#[derive(Debug)]
struct Often {
    kernel: Fused,
    options: Options,
    runs: AtomicU32,
    /// With machine code; `None` where that could not be made.
    made: OnceLock<Option<Program>>,
}

impl Often {
    /// The program with machine code, once it has run often.
    #[inline]
    fn program(&self) -> Option<&Program> {
        if let Some(made) = self.made.get() {
            return made.as_ref();
        }
        // Whoever counts this far makes it, once; others go on as before.
        if self.runs.fetch_add(1, Ordering::Relaxed) != OFTEN {
            return None;
        }
        self.made.get_or_init(|| self.make()).as_ref()
    }

    #[cold]
    fn make(&self) -> Option<Program> {
        let program = lower::lower(&self.kernel, self.options).ok()?;
        program.code.is_some().then_some(program)
    }
}

/// Memory that threads write disjoint parts of.
#[derive(Clone, Copy)]
struct Shared(*mut u8);

// SAFETY: whoever uses the pointer writes only the entries of its own piece, or reads what was written before the
// threads started.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn at(self) -> *mut u8 {
        self.0
    }
}

impl FusedKernel {
    /// Lowers a kernel.
    pub fn new(fused: &Fused, threads: Arc<Threads>, options: Options) -> Result<FusedKernel> {
        let program = lower::lower(fused, options)?;
        let is_short = options.native && program.code.is_none() && program.cost < options.thresholds.native;
        let thresholds = Thresholds { native: 0.0, ..options.thresholds };
        let often = is_short.then(|| Often {
            kernel: fused.clone(),
            options: Options { thresholds, ..options },
            runs: AtomicU32::new(0),
            made: OnceLock::new(),
        });
        Ok(FusedKernel { program, often, threads, threshold: options.thresholds.parallel })
    }

    /// Ranges of units, on this thread or on all.
    fn run_units(&self, arguments: &Arguments<'_>) -> Result<()> {
        let program = arguments.program;
        let units = program.geometry.units();
        if self.threads.count() == 1 || program.cost < self.threshold || units == 1 {
            return run_range(arguments, 0..units);
        }
        let pieces = (program.cost / PIECE).min((self.threads.count() * PIECES) as f64).max(1.0);
        let failed = AtomicBool::new(false);
        self.threads.each(units, units.div_ceil(pieces as usize), |range| {
            if run_range(arguments, range).is_err() {
                failed.store(true, Ordering::Relaxed);
            }
        });
        if failed.into_inner() { Err(out_of_scratch(program.frame.bytes)) } else { Ok(()) }
    }

    /// Every unit on all threads, with a barrier after each stage.
    fn run_split(&self, arguments: &Arguments<'_>) -> Result<()> {
        let program = arguments.program;
        let geometry = &program.geometry;
        let scratch = Scratch::take(program.frame.bytes)?;
        let mut frame = Frame::new(arguments, &scratch);
        prologue(&mut frame);
        for unit in 0..geometry.units() {
            for stage in &program.stages {
                frame.go(unit_line(geometry, unit));
                let tile = setup_tile(geometry, unit);
                frame.place(tile);
                // SAFETY: the frame is at the unit; earlier stages are finished.
                unsafe { frame.execute(&stage.setup) };
                if !stage.body.is_empty() || !stage.reductions.is_empty() {
                    self.split_stage(arguments, &mut frame, stage, unit, tile.reduced)?;
                }
            }
        }
        Ok(())
    }

    fn split_stage(
        &self,
        arguments: &Arguments<'_>,
        frame: &mut Frame<'_>,
        stage: &Stage,
        unit: usize,
        width: usize,
    ) -> Result<()> {
        let (program, geometry) = (arguments.program, &arguments.program.geometry);
        let entry: usize = stage.reductions.iter().map(|r| accumulate::entry(geometry, r)).sum();
        let depth = accumulate::depth(geometry, SHARED / entry.max(16));
        let span = accumulate::span(geometry, depth);
        let all: usize = stage.reductions.iter().map(|r| accumulate::results(geometry, r, depth)).sum();
        let results = Scratch::take(all.max(64))?;
        let shared = Shared(results.start());
        let persistent = Shared(frame.base);
        // Where one element may decide this thread begins alone: waking others would take longer than most of these.
        let first = usize::from(stage.decides && depth.results > 1);
        let grain = (depth.results - first).div_ceil(self.threads.count() * PIECES).max(1);
        let piece = |at: usize| if at < first { 0 } else { first + (at - first) / grain };
        let failed = AtomicBool::new(false);
        // The first result of the earliest piece that has decided.
        let decided = AtomicUsize::new(usize::MAX);
        let part = |range: Range<usize>| {
            let Ok(scratch) = Scratch::take(program.frame.bytes) else {
                return failed.store(true, Ordering::Relaxed);
            };
            let mut frame = Frame::new(arguments, &scratch);
            let (at, bytes) = program.frame.persistent;
            // SAFETY: both frames have the layout of the program; the first one does not change meanwhile.
            unsafe { std::ptr::copy_nonoverlapping(persistent.at().add(at), frame.base.add(at), bytes) };
            let mut accumulators = SmallVec::<[Accumulator<'_>; 2]>::new();
            let mut place = frame.base.wrapping_add(program.frame.accumulators);
            let mut column = 0;
            for reduction in &stage.reductions {
                let bytes = accumulate::entry(geometry, reduction);
                let first = if reduction.op.is_arg() { piece(range.start) } else { range.start };
                // SAFETY: the results have `depth.results` entries per reduction, and this piece fills its own.
                let results = unsafe { shared.at().add(column + first * bytes) };
                // SAFETY: the frame has room for deeper accumulators than these.
                let (mut accumulator, end) =
                    unsafe { Accumulator::new(geometry, reduction, depth, place, Some(results)) };
                accumulator.narrow(width);
                accumulators.push(accumulator);
                place = end;
                column += accumulate::results(geometry, reduction, depth);
            }
            // What comes after an element that decides changes nothing, not even which of them is the first.
            if decided.load(Ordering::Relaxed) > range.start {
                let rows = range.start * span..(range.end * span).min(geometry.reduce);
                walk(&mut frame, stage, unit, rows, &mut accumulators);
                if stage.decides && accumulators.iter().all(Accumulator::is_decided) {
                    decided.fetch_min(range.start, Ordering::Relaxed);
                }
            }
            for (accumulator, reduction) in accumulators.iter_mut().zip(&stage.reductions) {
                // SAFETY: the entries of this piece.
                unsafe { accumulator.leave_out(if reduction.op.is_arg() { 1 } else { range.len() }) };
            }
            publish(program);
        };
        if first > 0 {
            part(0..first);
        }
        let rest = depth.results - first;
        let is_over = decided.load(Ordering::Relaxed) == 0;
        if !is_over {
            self.threads.each(rest, grain, |range| part(first + range.start..first + range.end));
        }
        if failed.into_inner() {
            return Err(out_of_scratch(program.frame.bytes));
        }
        let pieces = first + rest.div_ceil(grain);
        let mut column = 0;
        for reduction in &stage.reductions {
            let place = frame.base.wrapping_add(program.frame.accumulators);
            // SAFETY: as above; all pieces are complete.
            unsafe {
                let results = shared.at().add(column);
                let (mut all, _) = Accumulator::new(geometry, reduction, depth, place, Some(results));
                all.narrow(width);
                let entries = match reduction.op.is_arg() {
                    _ if is_over => first,
                    true => pieces,
                    false => depth.results,
                };
                all.finish(entries, frame.register(reduction.out), width);
            }
            column += accumulate::results(geometry, reduction, depth);
        }
        Ok(())
    }
}

impl Executable for FusedKernel {
    fn run(&self, launch: &Launch<'_>) -> Result<()> {
        let program = self.often.as_ref().and_then(Often::program).unwrap_or(&self.program);
        if program.geometry.units() == 0 {
            return Ok(());
        }
        let _control = control::Guard::new();
        let arguments = Arguments { program, launch };
        if program.split { self.run_split(&arguments) } else { self.run_units(&arguments) }
    }
}

fn out_of_scratch(bytes: usize) -> Error {
    Error::OutOfMemory { device: "CPU".into(), requested: bytes as u64, free: 0, reserved: 0, largest: 0 }
}

/// Uniform values, computed as if for the largest tile.
#[inline]
fn prologue(frame: &mut Frame<'_>) {
    let geometry = &frame.program.geometry;
    if frame.program.prologue.is_empty() {
        return;
    }
    frame.tile = Tile {
        count: geometry.tile,
        reduced: geometry.reduced(),
        rows: geometry.rows,
        columns: geometry.columns,
        ..Tile::default()
    };
    // SAFETY: the prologue reads only scalars and uniform operands, and fills places of a full tile.
    unsafe { frame.execute(&frame.program.prologue) };
}

/// Orders stores past the caches before whatever tells others that they are done.
#[inline]
fn publish(program: &Program) {
    if program.streams {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 processor has the instruction.
        unsafe {
            std::arch::x86_64::_mm_sfence()
        };
    }
}

/// Units of a range, one after another on this thread.
#[inline]
fn run_range(arguments: &Arguments<'_>, range: Range<usize>) -> Result<()> {
    let program = arguments.program;
    let scratch = Scratch::take(program.frame.bytes)?;
    let mut frame = Frame::new(arguments, &scratch);
    prologue(&mut frame);
    if program.geometry.mode == Mode::Inline {
        inline(&mut frame, range);
    } else {
        range.for_each(|unit| staged(&mut frame, unit));
    }
    publish(program);
    Ok(())
}

/// Tiles of an inline kernel.
#[inline]
fn inline(frame: &mut Frame<'_>, range: Range<usize>) {
    let program = frame.program;
    let geometry = &program.geometry;
    let Some(stage) = program.stages.first() else { return };
    let (tiles, lines) = (geometry.tiles(), geometry.lines());
    let (mut line, mut k) = match geometry.lines_first {
        true => (range.start % lines, range.start / lines),
        false => (range.start / tiles, range.start % tiles),
    };
    for _ in range {
        frame.go(line);
        let start = k * geometry.tile;
        let count = geometry.tile.min(geometry.flat - start);
        let tile = if geometry.grouped {
            let rows = count / geometry.columns;
            let reduced_start = start / geometry.columns;
            Tile { start, count, reduced_start, reduced: rows, rows, columns: geometry.columns, local: 0 }
        } else {
            Tile { start, count, reduced_start: 0, reduced: 1, rows: 1, columns: count, local: 0 }
        };
        frame.place(tile);
        // SAFETY: the tile lies inside the flat part of a line of the space.
        unsafe { frame.execute(&stage.body) };
        if geometry.lines_first {
            line += 1;
            if line == lines {
                (line, k) = (0, k + 1);
            }
        } else {
            k += 1;
            if k == tiles {
                (line, k) = (line + 1, 0);
            }
        }
    }
}

/// The first line of a unit.
fn unit_line(geometry: &Geometry, unit: usize) -> usize {
    match geometry.mode {
        Mode::Columns => unit / geometry.strips * geometry.reduce.max(1),
        _ => unit,
    }
}

/// The tile on which reduced values of a unit are computed.
fn setup_tile(geometry: &Geometry, unit: usize) -> Tile {
    let (start, width) = match geometry.mode {
        Mode::Columns => {
            let start = unit % geometry.strips * geometry.columns;
            (start, geometry.columns.min(geometry.flat - start))
        }
        _ => (0, geometry.columns),
    };
    let reduced = if geometry.mode == Mode::Rows { 1 } else { width };
    // Values repeated to a full tile are repeated for the largest one.
    let count = if geometry.mode == Mode::Columns { width * geometry.rows } else { geometry.tile };
    Tile { start, count, reduced_start: start, reduced, rows: geometry.rows, columns: width, local: 0 }
}

/// All stages of one unit on this thread.
fn staged(frame: &mut Frame<'_>, unit: usize) {
    let program = frame.program;
    let geometry = &program.geometry;
    let depth: Depth = accumulate::whole(geometry);
    for stage in &program.stages {
        frame.go(unit_line(geometry, unit));
        let tile = setup_tile(geometry, unit);
        frame.place(tile);
        // SAFETY: the frame is at the unit; earlier stages are finished.
        unsafe { frame.execute(&stage.setup) };
        if stage.body.is_empty() && stage.reductions.is_empty() {
            continue;
        }
        let mut accumulators = SmallVec::<[Accumulator<'_>; 2]>::new();
        let mut place = frame.base.wrapping_add(program.frame.accumulators);
        for reduction in &stage.reductions {
            // SAFETY: the frame has room for the accumulators of each stage.
            let (mut accumulator, end) = unsafe { Accumulator::new(geometry, reduction, depth, place, None) };
            accumulator.narrow(tile.reduced);
            accumulators.push(accumulator);
            place = end;
        }
        walk(frame, stage, unit, 0..geometry.reduce, &mut accumulators);
        for (accumulator, reduction) in accumulators.iter_mut().zip(&stage.reductions) {
            // SAFETY: the walk has completed the entries; results have permanent places.
            unsafe { accumulator.finish(accumulator.done(), frame.register(reduction.out), tile.reduced) };
        }
    }
}

/// The tiles of a unit whose elements (rows, for columns) lie in a range of the reduced group.
fn walk(
    frame: &mut Frame<'_>,
    stage: &Stage,
    unit: usize,
    range: Range<usize>,
    accumulators: &mut [Accumulator<'_>],
) {
    let geometry = &frame.program.geometry;
    let setup = setup_tile(geometry, unit);
    let line = unit_line(geometry, unit);
    let per_tile = match geometry.mode {
        Mode::Rows => geometry.tile,
        _ => geometry.rows,
    };
    let mut at = range.start;
    if stage.direct {
        let n = range.end - at;
        frame.go(line);
        frame.place(Tile {
            start: at,
            count: n,
            reduced: 1,
            rows: 1,
            columns: n,
            local: at,
            ..Tile::default()
        });
        for (accumulator, reduction) in accumulators.iter_mut().zip(&stage.reductions) {
            // SAFETY: the registers point at the range, which lies inside the unit.
            unsafe { accumulator.push_run(frame.register(reduction.from), n, at) };
        }
        at = range.end;
    }
    let is_decided =
        |accumulators: &[Accumulator<'_>]| stage.decides && accumulators.iter().all(Accumulator::is_decided);
    while at < range.end && !is_decided(accumulators) {
        let n = per_tile.min(range.end - at);
        let tile = match geometry.mode {
            Mode::Rows => {
                Tile { start: at, count: n, reduced_start: 0, reduced: 1, rows: 1, columns: n, local: at }
            }
            Mode::Columns => {
                Tile { count: n * setup.columns, local: at * geometry.columns, rows: n, ..setup }
            }
            _ => {
                let width = geometry.columns;
                Tile { start: at * width, count: n * width, rows: n, local: at * width, ..setup }
            }
        };
        frame.go(if geometry.mode == Mode::Columns { line + at } else { line });
        frame.place(tile);
        // SAFETY: the tile lies inside the unit.
        unsafe {
            if geometry.mode == Mode::Columns {
                for (accumulator, reduction) in accumulators.iter_mut().zip(&stage.reductions) {
                    if reduction.is_folded() {
                        frame.point_at(reduction.from, accumulator.open(tile.columns));
                    }
                }
            }
            frame.execute(&stage.body);
            for (accumulator, reduction) in accumulators.iter_mut().zip(&stage.reductions) {
                accumulator.push(frame.register(reduction.from), &tile, at);
            }
        }
        at += n;
    }
    for accumulator in accumulators {
        // SAFETY: all tiles of the range have been pushed.
        unsafe { accumulator.flush(setup.reduced) };
    }
}
