//! Runs of elementwise instructions as one loop of machine code, for processors with AVX-512.
//!
//! Tile functions write every intermediate to the first-level cache and read it back. Here the bodies of several
//! instructions, recorded as lane operations, become one loop that keeps intermediates in registers, repeats scalars
//! from where they are and can store past the caches. The operations are those of the bodies, in their order, so the
//! bits are those of the tile functions; what cannot be recorded stays with them.

mod assembler;
mod body;
mod fold;
mod group;
mod interleave;
mod memory;
mod select;

use std::sync::OnceLock;

use crossover_core::lane::{Node, Primitive, Recorder, Type};

use assembler::{Assembler, Condition, Gpr, RAX, RBP, RCX, RDI, RDX, RSI, RSP};
use body::{Body, Input, Loop, Output, Pass, TAIL, whole_mask};
use fold::Fold;
pub use fold::fill_identity;
pub use group::{Context, TileRows, replace};
pub use memory::Code;
use select::Code as Kind;

use crate::program::Reg;

/// Whether code for this kind of machine can be made executable here; hardened systems refuse.
pub fn is_available() -> bool {
    const RETURN: [u8; 1] = [0xc3];
    static PROBE: OnceLock<bool> = OnceLock::new();
    cfg!(target_arch = "x86_64") && *PROBE.get_or_init(|| Code::new(&RETURN).is_some())
}

/// Whether recorded operations can be part of a loop.
pub fn supports(nodes: &[Node]) -> bool {
    nodes.iter().all(select::supported)
}

/// A loop: the table of register pointers, the number of elements.
#[cfg(target_arch = "x86_64")]
pub type NativeFn = unsafe extern "sysv64" fn(*const *mut u8, usize);
/// Never called.
#[cfg(not(target_arch = "x86_64"))]
pub type NativeFn = unsafe extern "C" fn(*const *mut u8, usize);

/// A loop over rows: the table of register pointers, the number of rows, the elements of each.
#[cfg(target_arch = "x86_64")]
pub type NativeRowsFn = unsafe extern "sysv64" fn(*const *mut u8, usize, usize);
/// Never called.
#[cfg(not(target_arch = "x86_64"))]
pub type NativeRowsFn = unsafe extern "C" fn(*const *mut u8, usize, usize);

/// How a pointer moves from row to row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pitch {
    /// By so many bytes.
    Bytes(i32),
    /// Rows of elements of this size follow each other.
    Dense(usize),
}

/// What a loop reads: a register, and whether it holds one element for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    pub reg: Reg,
    pub one: bool,
    pub pitch: Pitch,
    /// How many bytes ahead lines are fetched; 0 for none.
    pub ahead: i32,
}

/// What a loop writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The recorded value.
    pub value: u32,
    pub reg: Reg,
    pub pitch: Pitch,
    pub stream: bool,
}

/// Registers for pointers; the last one held the table they came from.
const POINTERS: [Gpr; 11] =
    [RDX, Gpr(8), Gpr(9), Gpr(10), Gpr(11), Gpr(3), Gpr(12), Gpr(13), Gpr(14), Gpr(15), RDI];
/// Those of them that belong to the caller.
const SAVED: [Gpr; 5] = [Gpr(3), Gpr(12), Gpr(13), Gpr(14), Gpr(15)];
/// Pointers that a loop can follow.
pub const PORTS: usize = POINTERS.len();
/// Vectors of stack for values that find no register.
const SLOTS: i32 = 64;
/// Values kept in registers for all passes, so that the rest has enough.
const KEPT_VECTORS: usize = 12;
const KEPT_MASKS: usize = 3;

/// Where numbers are kept, from the frame's base: rows left, elements in a row, elements before the first line.
const ROWS: i32 = -8;
const ELEMENTS: i32 = -16;
const HEAD: i32 = -24;

/// Pointers of a loop and how they move from row to row.
#[derive(Default)]
struct Bases(Vec<(Reg, Pitch)>);

impl Bases {
    /// The register of a pointer. `None` where there are too many, or one would have to move in two ways.
    fn get(&mut self, reg: Reg, pitch: Pitch) -> Option<Gpr> {
        let at = self.0.iter().position(|&(r, _)| r == reg).unwrap_or_else(|| {
            self.0.push((reg, pitch));
            self.0.len() - 1
        });
        (self.0[at].1 == pitch).then_some(())?;
        POINTERS.get(at).copied()
    }

    fn load(&self, asm: &mut Assembler) {
        for (i, &(reg, _)) in self.0.iter().enumerate() {
            asm.load(POINTERS[i], RDI, 8 * reg as i32);
        }
    }

    /// Moves all to the next row.
    fn advance(&self, asm: &mut Assembler) {
        asm.load(RCX, RBP, ELEMENTS);
        for (i, &(_, pitch)) in self.0.iter().enumerate() {
            match pitch {
                Pitch::Bytes(0) => {}
                Pitch::Bytes(bytes) => asm.add_immediate(POINTERS[i], bytes),
                Pitch::Dense(size) => asm.add_scaled(POINTERS[i], RCX, size),
            }
        }
    }
}

/// What a loop is made of.
struct Recording<'a> {
    recorder: &'a Recorder,
    sources: &'a [Source],
    targets: &'a [Target],
    fold: Option<&'a Fold>,
    /// Whether it is for rows of a tile.
    rows: bool,
}

/// Writes the loop of a recording; `None`, and nothing is written, where it needs more than there is.
fn write(asm: &mut Assembler, recording: &Recording<'_>) -> Option<usize> {
    let before = asm.lengths();
    let start = attempt(asm, recording);
    if start.is_none() {
        asm.rewind(before);
    }
    start
}

fn attempt(asm: &mut Assembler, recording: &Recording<'_>) -> Option<usize> {
    let Recording { recorder, sources, targets, fold, rows } = *recording;
    let mut bases = Bases::default();
    let (insts, value) = select::lower(recorder.nodes());
    let mut inputs = Vec::new();
    for source in sources {
        let base = bases.get(source.reg, source.pitch)?;
        inputs.push(Input { base, one: source.one, ahead: source.ahead, shift: 0 });
    }
    let mut outputs = Vec::new();
    for target in targets {
        let size = recorder.nodes()[target.value as usize].result().size();
        let value = value[target.value as usize];
        let base = bases.get(target.reg, target.pitch)?;
        outputs.push(Output { value, base, size, after: 0, stream: target.stream, shift: 0 });
    }
    let folding = match fold {
        Some(fold) => {
            let out = bases.get(fold.out, Pitch::Bytes(fold.dtype.size() as i32))?;
            Some(fold::Folding::new(fold, &value, out)?)
        }
        None => None,
    };
    let work = arrange(insts, inputs, outputs, folding.as_ref().map(|f| f.value))?;
    asm.align(64);
    let start = asm.position();
    let saved: Vec<Gpr> = SAVED.iter().copied().filter(|r| POINTERS[..bases.0.len()].contains(r)).collect();
    saved.iter().for_each(|&reg| asm.push(reg));
    asm.push(RBP);
    asm.move_from(RBP, RSP);
    asm.add_immediate(RSP, -64 * (SLOTS + 1));
    asm.and_immediate(RSP, -64);
    if rows {
        asm.store(RBP, ROWS, RSI);
        asm.store(RBP, ELEMENTS, RDX);
    }
    bases.load(asm);
    let again = asm.label();
    asm.bind(again);
    if rows {
        asm.load(RSI, RBP, ELEMENTS);
    }
    match &folding {
        Some(folding) => folding.write(asm, &work)?,
        None => loops(asm, &work, interleave::interleave(&work).as_ref())?,
    }
    if rows {
        bases.advance(asm);
        asm.load(RCX, RBP, ROWS);
        asm.add_immediate(RCX, -1);
        asm.store(RBP, ROWS, RCX);
        asm.jump_if(Condition::NotZero, again);
    }
    asm.move_from(RSP, RBP);
    asm.pop(RBP);
    saved.iter().rev().for_each(|&reg| asm.pop(reg));
    asm.return_();
    Some(start)
}

/// All lanes as long as there are enough elements, then the rest. Where results go past the caches, as many elements
/// come first as bring the first such result to the start of a line. `several` are as many passes of `work` as it has
/// copies; they come before single ones.
fn loops(asm: &mut Assembler, work: &Loop, several: Option<&Loop>) -> Option<()> {
    let (plain, tail, done) = (asm.label(), asm.label(), asm.label());
    all_lanes(asm, work.lanes);
    let mut body = Body::new(asm, work);
    body.fixed()?;
    body.asm.clear(RAX);
    let mut streams = work.outputs.iter().filter(|o| o.stream && o.size * work.lanes == 64);
    let mut passes = vec![Pass::Whole];
    if let Some(first) = streams.next() {
        passes = vec![Pass::Streaming, Pass::Whole];
        head(&mut body, first)?;
        for output in streams {
            body.asm.move_from(RCX, output.base);
            body.asm.add_scaled(RCX, RAX, output.size);
            body.asm.test_immediate(RCX, 63);
            body.asm.jump_if(Condition::NotZero, plain);
        }
    }
    let mut slots = 0;
    for pass in passes {
        if pass == Pass::Whole {
            body.asm.bind(plain);
        }
        if let Some(several) = several {
            slots = slots.max(body.registers.slots);
            repeat(asm, several, pass);
            // What stays in registers is in the same ones again, as it was when the head was written.
            body = Body::new(asm, work);
            body.fixed()?;
        }
        whole_passes(&mut body, pass, tail)?;
        if pass == Pass::Streaming {
            body.asm.jump(tail);
        }
    }
    body.asm.bind(tail);
    body.asm.compare(RAX, RSI);
    body.asm.jump_if(Condition::AboveEqual, done);
    body.asm.move_immediate(RCX, -1);
    body.asm.subtract(RSI, RAX);
    body.asm.low_bits(RCX, RCX, RSI);
    body.asm.mask_from(TAIL, RCX);
    body.pass(Pass::Tail)?;
    body.asm.bind(done);
    (slots.max(body.registers.slots) <= SLOTS as u32).then_some(())
}

/// Passes of a loop as long as there are elements for a whole one; then, or when there are not enough for one, on to `end`.
fn whole_passes(body: &mut Body<'_>, pass: Pass, end: assembler::Label) -> Option<()> {
    let step = body.work.step as i32;
    body.asm.move_from(RCX, RSI);
    body.asm.add_immediate(RCX, -step);
    body.asm.compare(RAX, RCX);
    body.asm.jump_if(Condition::Greater, end);
    let again = body.asm.label();
    body.asm.align(32);
    body.asm.bind(again);
    body.pass(pass)?;
    body.asm.add_immediate(RAX, step);
    body.asm.compare(RAX, RCX);
    body.asm.jump_if(Condition::LessEqual, again);
    Some(())
}

/// Several passes at once, if they find registers; nothing is written where they do not.
fn repeat(asm: &mut Assembler, several: &Loop, pass: Pass) {
    let before = asm.lengths();
    let end = asm.label();
    let mut body = Body::new(asm, several);
    let written = body.fixed().and_then(|()| whole_passes(&mut body, pass, end));
    let fits = written.is_some() && body.registers.slots == 0;
    if fits {
        asm.bind(end);
    } else {
        asm.rewind(before);
    }
}

/// Sets the mask of a whole pass.
fn all_lanes(asm: &mut Assembler, lanes: usize) {
    asm.move_immediate(RCX, whole_mask(lanes));
    asm.mask_from(TAIL, RCX);
}

/// The elements before the first line of a result, if there are that many.
fn head(body: &mut Body<'_>, output: &Output) -> Option<()> {
    let aligned = body.asm.label();
    body.asm.move_from(RCX, output.base);
    body.asm.negate(RCX);
    body.asm.and_immediate(RCX, 63);
    body.asm.shift_right(RCX, output.size.trailing_zeros() as u8);
    body.asm.jump_if(Condition::Zero, aligned);
    body.asm.compare(RCX, RSI);
    body.asm.jump_if(Condition::Greater, aligned);
    body.asm.store(RBP, HEAD, RCX);
    body.asm.move_immediate(RAX, -1);
    body.asm.low_bits(RCX, RAX, RCX);
    body.asm.mask_from(TAIL, RCX);
    body.asm.clear(RAX);
    body.pass(Pass::Tail)?;
    body.asm.load(RAX, RBP, HEAD);
    all_lanes(body.asm, body.work.lanes);
    body.asm.bind(aligned);
    Some(())
}

/// Which instructions are needed, which of them once for all passes, and how many elements a pass has. `None` where
/// results would have to change places.
fn arrange(
    insts: Vec<select::Inst>,
    inputs: Vec<Input>,
    mut outputs: Vec<Output>,
    folded: Option<u32>,
) -> Option<Loop> {
    let mut used = vec![false; insts.len()];
    let results = outputs.iter().map(|o| o.value).chain(folded);
    results.for_each(|value| used[value as usize] = true);
    for i in (0..insts.len()).rev() {
        if used[i] {
            insts[i].args().iter().for_each(|&a| used[a as usize] = true);
        }
    }
    let live = (0..insts.len()).filter(|&i| used[i]);
    let widest = live.clone().map(|i| insts[i].ty.size()).max().unwrap_or(1).max(1);
    let lanes = 64 / widest;
    for output in &mut outputs {
        output.stream &= output.size * lanes == 64;
    }
    let free = |i: usize| match insts[i].code {
        Kind::Primitive(Primitive::Input(n)) => inputs[n as usize].one,
        Kind::Primitive(Primitive::Constant(_)) => insts[i].ty != Type::Mask,
        _ => false,
    };
    let keep = KEPT_VECTORS - if folded.is_some() { fold::registers(lanes) / 2 } else { 0 };
    let mut same = vec![false; insts.len()];
    let (mut vectors, mut masks) = (0, 0);
    let (mut first, mut rest, mut preload) = (Vec::new(), Vec::new(), Vec::new());
    for i in live {
        let is_output = outputs.iter().any(|o| o.value as usize == i);
        let args = insts[i].args();
        if free(i) {
            same[i] = true;
        } else if !args.is_empty() && args.iter().all(|&a| same[a as usize]) && !is_output {
            let kept = if insts[i].result() == Type::Mask { &mut masks } else { &mut vectors };
            let most = if insts[i].result() == Type::Mask { KEPT_MASKS } else { keep };
            same[i] = *kept < most;
            *kept += same[i] as usize;
        }
        if same[i] && !free(i) { first.push(i as u32) } else { rest.push(i as u32) }
    }
    // Short loops have registers to spare for what they would otherwise read from memory in every pass.
    if rest.len() <= 24 {
        let room = keep - vectors;
        preload = rest.iter().copied().filter(|&i| free(i as usize)).take(room).collect();
    }
    let fixed = first.len();
    first.append(&mut rest);
    for output in &mut outputs {
        let before = |&(_, &i): &(usize, &u32)| {
            let reads = |&&a: &&u32| match insts[a as usize].code {
                Kind::Primitive(Primitive::Input(n)) => inputs[n as usize].base == output.base,
                _ => false,
            };
            i == output.value || insts[i as usize].args().iter().any(|a| reads(&a))
        };
        output.after = first.iter().enumerate().filter(before).map(|(at, _)| at as u32).max().unwrap_or(0);
    }
    // A result that is an argument unchanged is read when it is stored, so before anything is stored in its place.
    let copies = |o: &Output, base: Gpr| match insts[o.value as usize].code {
        Kind::Primitive(Primitive::Input(n)) => inputs[n as usize].base == base && o.base != base,
        _ => false,
    };
    for _ in 0..outputs.len() {
        for i in 0..outputs.len() {
            for j in 0..outputs.len() {
                if copies(&outputs[j], outputs[i].base) {
                    outputs[i].after = outputs[i].after.max(outputs[j].after);
                    if i < j && outputs[i].after == outputs[j].after {
                        outputs.swap(i, j);
                    }
                }
            }
        }
    }
    let sorted = (0..outputs.len()).all(|j| {
        let early = |o: &Output| o.after <= outputs[j].after && copies(&outputs[j], o.base);
        !outputs[..j].iter().any(early)
    });
    sorted.then_some(Loop { insts, inputs, outputs, lanes, step: lanes, order: first, fixed, preload })
}
