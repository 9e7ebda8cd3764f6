//! One thread's view of a running program: registers, cursors and the current tile.
#![allow(unsafe_code)]

use crossover_core::{DType, Scalar, ops::cast};
use crossover_runtime::Launch;
use smallvec::SmallVec;

use crate::{
    program::{Count, Instr, Program, Reg, Source, Step},
    scratch::Scratch,
    tile::movement,
};

/// The part of the space that instructions work on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tile {
    /// First position of the flat part.
    pub start: usize,
    /// Elements.
    pub count: usize,
    /// First position among reduced values.
    pub reduced_start: usize,
    /// Reduced values.
    pub reduced: usize,
    /// Rows, each of `columns` elements.
    pub rows: usize,
    pub columns: usize,
    /// Position within the unit, for kept values.
    pub local: usize,
}

/// First position, elements and rows of a walk.
type Part = (usize, usize, usize);

/// The arguments of a run, shared by all threads.
pub struct Arguments<'a> {
    pub program: &'a Program,
    pub launch: &'a Launch<'a>,
}

// SAFETY: blocks are plain addresses; `Launch::new` has checked that the kernel stays inside them, and the units that
// threads work on write disjoint parts.
unsafe impl Sync for Arguments<'_> {}

/// A thread's frame. Everything lives in one block of scratch: register pointers, cursors, values.
pub struct Frame<'a> {
    pub program: &'a Program,
    pub base: *mut u8,
    registers: *mut *mut u8,
    cursors: *mut isize,
    line: usize,
    index: SmallVec<[usize; 4]>,
    pub tile: Tile,
    _scratch: &'a Scratch,
}

impl<'a> Frame<'a> {
    /// A frame in `scratch`, which has at least `program.frame.bytes`, pointing at the launch's memory.
    #[inline]
    pub fn new(arguments: &Arguments<'a>, scratch: &'a Scratch) -> Frame<'a> {
        let program = arguments.program;
        let base = scratch.start();
        // SAFETY: the layout of the frame gives every region its place inside the scratch block.
        let cursors = unsafe { base.add(program.frame.cursors) }.cast::<isize>();
        let registers = base.cast::<*mut u8>();
        let launch = arguments.launch;
        for (i, access) in program.accesses.iter().enumerate() {
            let start = match access.source {
                Source::Input(block) => launch.inputs()[block as usize].address.0 as isize,
                Source::Output(block) => launch.outputs()[block as usize].address.0 as isize,
                Source::Position => 0,
            };
            // SAFETY: one cursor per access.
            unsafe { cursors.add(i).write(start.wrapping_add(access.offset)) };
        }
        let mut frame = Frame {
            program,
            base,
            registers,
            cursors,
            line: 0,
            index: SmallVec::from_elem(0, program.geometry.line_dims.len()),
            tile: Tile::default(),
            _scratch: scratch,
        };
        frame.point();
        frame.load_scalars(launch.scalars());
        frame
    }

    /// Points registers at their places.
    #[inline]
    fn point(&mut self) {
        use crate::program::Home;
        for (reg, home) in self.program.regs.iter().enumerate() {
            let pointer = match *home {
                Home::Frame(offset) | Home::Kept(offset, _) => self.base.wrapping_add(offset),
                // SAFETY: one cursor per access.
                Home::Stream { access, .. } => unsafe { *self.cursors.add(access as usize) as *mut u8 },
            };
            // SAFETY: one pointer per register.
            unsafe { self.registers.add(reg).write(pointer) };
        }
    }

    #[inline]
    fn load_scalars(&mut self, scalars: &[Scalar]) {
        for slot in &self.program.scalars {
            let value = scalars[slot.slot as usize];
            let bits = match value.dtype() {
                DType::F16 => [cast::widen_f16(value.bits()[0] as u16).to_bits() as u64, 0],
                DType::BF16 => [cast::widen_bf16(value.bits()[0] as u16).to_bits() as u64, 0],
                _ => value.bits(),
            };
            let to = self.register(slot.reg);
            // SAFETY: the place of a scalar has 16 bytes; parts of a complex number are half its size apart.
            unsafe {
                match slot.dtype {
                    DType::C64 => to.cast::<[u32; 2]>().write([bits[0] as u32, bits[1] as u32]),
                    DType::C128 => to.cast::<[u64; 2]>().write(bits),
                    // Little-endian: the value is in the first bytes.
                    _ => to.cast::<u64>().write(bits[0]),
                }
            }
        }
    }

    #[inline(always)]
    pub fn register(&self, reg: Reg) -> *mut u8 {
        // SAFETY: one pointer per register.
        unsafe { *self.registers.add(reg as usize) }
    }

    /// Moves to a line from anywhere.
    pub fn seek(&mut self, line: usize) {
        let dims = &self.program.geometry.line_dims;
        let mut rest = line;
        for axis in (0..dims.len()).rev() {
            let to = rest % dims[axis];
            rest /= dims[axis];
            let by = to as isize - self.index[axis] as isize;
            self.index[axis] = to;
            self.shift(axis, by);
        }
        self.line = line;
    }

    /// Moves to a line, usually the next.
    #[inline]
    pub fn go(&mut self, line: usize) {
        if line == self.line {
            return;
        }
        if line != self.line + 1 {
            return self.seek(line);
        }
        let dims = &self.program.geometry.line_dims;
        for axis in (0..dims.len()).rev() {
            self.index[axis] += 1;
            self.shift(axis, 1);
            if self.index[axis] < dims[axis] {
                break;
            }
            self.index[axis] = 0;
            self.shift(axis, -(dims[axis] as isize));
        }
        self.line = line;
    }

    #[inline]
    fn shift(&mut self, axis: usize, by: isize) {
        for (i, access) in self.program.accesses.iter().enumerate() {
            // SAFETY: one cursor per access. Addresses wrap on the way and are inside their block where they are used.
            unsafe {
                let cursor = self.cursors.add(i);
                *cursor = (*cursor).wrapping_add(access.line[axis].wrapping_mul(by));
            }
        }
    }

    /// Sets the tile and moves the streams there.
    #[inline]
    pub fn place(&mut self, tile: Tile) {
        self.tile = tile;
        for moving in &self.program.moving {
            // SAFETY: one cursor per access, one pointer per register.
            unsafe {
                let at = *self.cursors.add(moving.access as usize);
                let to = match moving.step {
                    Step::Line => at,
                    Step::Full(size) => at.wrapping_add((tile.start * size) as isize),
                    Step::Reduced(size) => at.wrapping_add((tile.reduced_start * size) as isize),
                };
                *self.registers.add(moving.reg as usize) = to as *mut u8;
            }
        }
        for &(reg, offset, size) in &self.program.kept {
            // SAFETY: one pointer per register; a kept value has room for every position of the unit.
            unsafe { *self.registers.add(reg as usize) = self.base.add(offset + tile.local * size) };
        }
    }

    #[inline(always)]
    fn elements(&self, count: Count) -> usize {
        match count {
            Count::One => 1,
            Count::Reduced => self.tile.reduced,
            Count::Full => self.tile.count,
        }
    }

    /// Points a register elsewhere.
    ///
    /// # Safety
    /// What the program reads and writes through it is there.
    #[inline]
    pub unsafe fn point_at(&mut self, reg: Reg, to: *mut u8) {
        // SAFETY: one pointer per register.
        unsafe { *self.registers.add(reg as usize) = to };
    }

    /// Runs instructions on the current tile.
    ///
    /// # Safety
    /// The instructions are the program's, the tile lies inside the space, and what earlier lists of the program
    /// compute has been computed in this frame.
    #[inline]
    pub unsafe fn execute(&mut self, instructions: &[Instr]) {
        for instruction in instructions {
            // SAFETY: the lowering gives every instruction registers of the right size and dtype, and outputs that
            // overlap no operand.
            unsafe {
                match *instruction {
                    Instr::Apply { f, a, b, c, out, count, .. } => f(
                        self.register(a),
                        self.register(b),
                        self.register(c),
                        self.register(out),
                        self.elements(count),
                    ),
                    Instr::Native { f, count } => f(self.registers, self.elements(count)),
                    Instr::NativeRows { f } => f(self.registers, self.tile.rows, self.tile.columns),
                    Instr::Rows { f, from, out, .. } => {
                        f(self.register(from), self.register(out), self.tile.rows, self.tile.columns)
                    }
                    Instr::Reduce { f, from, out, .. } => {
                        f(self.register(from), self.register(out), self.tile.rows, self.tile.columns)
                    }
                    Instr::ArgRows { f, from, best, out } => f(
                        self.register(from),
                        self.register(best),
                        self.register(out).cast(),
                        self.tile.rows,
                        self.tile.columns,
                    ),
                    _ => self.walk(instruction),
                }
            }
        }
    }

    /// Instructions that follow a window through the tile.
    ///
    /// # Safety
    /// As [`Frame::execute`].
    unsafe fn walk(&mut self, instruction: &Instr) {
        // SAFETY: one cursor per access.
        let cursor = |access: u16| unsafe { *self.cursors.add(access as usize) };
        let tile = &self.tile;
        // Rows of a strip are walked one by one, and a walk of one element starts nowhere.
        let part = |count: Count| -> Part {
            match count {
                Count::One => (0, 1, 1),
                Count::Reduced => (tile.reduced_start, tile.reduced, 1),
                Count::Full if self.program.geometry.pitched => (tile.start, tile.columns, tile.rows),
                Count::Full => (tile.start, tile.count, 1),
            }
        };
        let each = |access: u16, (start, n, rows): Part, f: &mut dyn FnMut(isize, isize, usize)| {
            let window = &self.program.accesses[access as usize];
            let pitch = window.line.last().copied().unwrap_or(0);
            let mut row = cursor(access);
            for _ in 0..rows {
                window.flat.runs(start, n, |at, stride, n| {
                    f(row.wrapping_add(at * window.size as isize), stride, n);
                });
                row = row.wrapping_add(pitch);
            }
        };
        match *instruction {
            Instr::Gather { f, access, out, count, .. } => {
                let window = &self.program.accesses[access as usize];
                let (start, n, rows) = part(count);
                let first = window.flat.period().filter(|_| rows == 1).map_or(n, |period| period.min(n));
                let out = self.register(out);
                let mut to = out;
                // SAFETY: the caller's contract; runs cover the tile, or what the rest of it repeats.
                each(access, (start, first, rows), &mut |at, stride, n| unsafe {
                    f(at as *const u8, stride, to, n);
                    to = to.add(n * window.size);
                });
                if first < n {
                    // SAFETY: the tile has room, and its first part is written.
                    unsafe { movement::repeat(out, first * window.size, n * window.size) };
                }
            }
            Instr::Scatter { f, access, from, count, .. } => {
                let size = self.program.accesses[access as usize].size;
                let mut from = self.register(from).cast_const();
                // SAFETY: as above.
                each(access, part(count), &mut |at, stride, n| unsafe {
                    f(from, at as *mut u8, stride, n);
                    from = from.add(n * size);
                });
            }
            Instr::Interleave { f, access, from, count } => {
                let size = self.program.accesses[access as usize].size;
                let [mut a, mut b] = from.map(|reg| self.register(reg).cast_const());
                // SAFETY: as above; every run takes every second element, so that those of both fill what lies between.
                each(access, part(count), &mut |at, _, n| unsafe {
                    f(a, b, at as *mut u8, n);
                    (a, b) = (a.add(n * size), b.add(n * size));
                });
            }
            Instr::Index { f, access, divisor, modulus, out, count } => {
                let mut to = self.register(out);
                // SAFETY: as above.
                each(access, part(count), &mut |at, stride, n| unsafe {
                    f(at as i64, stride as i64, divisor, modulus, to, n);
                    to = to.add(n * 8);
                });
            }
            Instr::Random { f, access, key, stream, out, count } => {
                let key = cursor(key) as *const u32;
                let mut to = self.register(out);
                // SAFETY: as above; the key's cursor never moves, as its window is constant.
                each(access, part(count), &mut |at, stride, n| unsafe {
                    f(at as u64, stride as i64, stream, key, to, n);
                    to = to.add(n * 4);
                });
            }
            _ => {}
        }
    }
}
