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
mod memory;
mod select;

use std::sync::OnceLock;

use crossover_core::lane::{Primitive, Recorder, Type};

use assembler::{Assembler, Condition, Gpr, RAX, RBP, RCX, RDI, RSI, RSP};
use body::{Body, Input, Loop, Output, Pass, TAIL, whole_mask};
use fold::Fold;
pub use group::{Context, replace};
pub use memory::Code;
use select::Code as Kind;

use crate::program::Reg;

/// Whether code for this kind of machine can be made executable here; hardened systems refuse.
pub fn is_available() -> bool {
    const RETURN: [u8; 1] = [0xc3];
    static PROBE: OnceLock<bool> = OnceLock::new();
    cfg!(target_arch = "x86_64") && *PROBE.get_or_init(|| Code::new(&RETURN).is_some())
}

/// A loop: the table of register pointers, the number of elements.
#[cfg(target_arch = "x86_64")]
pub type NativeFn = unsafe extern "sysv64" fn(*const *mut u8, usize);
/// Never called.
#[cfg(not(target_arch = "x86_64"))]
pub type NativeFn = unsafe extern "C" fn(*const *mut u8, usize);

/// What a loop reads: a register, and whether it holds one element for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    pub reg: Reg,
    pub one: bool,
    /// How many bytes ahead lines are fetched; 0 for none.
    pub ahead: usize,
}

/// What a loop writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The recorded value.
    pub value: u32,
    pub reg: Reg,
    pub stream: bool,
}

/// Registers for pointers; the last one held the table they came from.
const POINTERS: [Gpr; 11] =
    [Gpr(2), Gpr(8), Gpr(9), Gpr(10), Gpr(11), Gpr(3), Gpr(12), Gpr(13), Gpr(14), Gpr(15), RDI];
/// Those of them that belong to the caller.
const SAVED: [Gpr; 5] = [Gpr(3), Gpr(12), Gpr(13), Gpr(14), Gpr(15)];
/// Pointers that a loop can follow.
pub const PORTS: usize = POINTERS.len();
/// Vectors of stack for values that find no register.
const SLOTS: i32 = 64;
/// Values kept in registers for all passes, so that the rest has enough.
const KEPT_VECTORS: usize = 12;
const KEPT_MASKS: usize = 3;

/// Writes the loop of a recording; `None` where it needs more than there is.
fn write(
    asm: &mut Assembler,
    recorder: &Recorder,
    sources: &[Source],
    targets: &[Target],
    fold: Option<&Fold>,
) -> Option<usize> {
    let mut bases: Vec<Reg> = Vec::new();
    let mut base = |reg: Reg| {
        let at = bases.iter().position(|&r| r == reg).unwrap_or_else(|| {
            bases.push(reg);
            bases.len() - 1
        });
        POINTERS.get(at).copied()
    };
    let (insts, value) = select::lower(recorder.nodes());
    let mut inputs = Vec::new();
    for source in sources {
        inputs.push(Input { base: base(source.reg)?, one: source.one, ahead: source.ahead as i32 });
    }
    let mut outputs = Vec::new();
    for target in targets {
        let size = recorder.nodes()[target.value as usize].result().size();
        let value = value[target.value as usize];
        outputs.push(Output { value, base: base(target.reg)?, size, after: 0, stream: target.stream });
    }
    let folding = match fold {
        Some(fold) => Some(fold::Folding::new(fold, &value, base(fold.out)?)?),
        None => None,
    };
    let work = arrange(insts, inputs, outputs, folding.as_ref().map(|f| f.value))?;
    asm.align(64);
    let start = asm.position();
    let saved: Vec<Gpr> = SAVED.iter().copied().filter(|r| POINTERS[..bases.len()].contains(r)).collect();
    saved.iter().for_each(|&reg| asm.push(reg));
    asm.push(RBP);
    asm.move_from(RBP, RSP);
    asm.add_immediate(RSP, -64 * (SLOTS + 1));
    asm.and_immediate(RSP, -64);
    for (i, &reg) in bases.iter().enumerate() {
        asm.load(POINTERS[i], RDI, 8 * reg as i32);
    }
    match &folding {
        Some(folding) => folding.write(asm, &work)?,
        None => loops(asm, &work)?,
    }
    asm.move_from(RSP, RBP);
    asm.pop(RBP);
    saved.iter().rev().for_each(|&reg| asm.pop(reg));
    asm.return_();
    Some(start)
}

/// All lanes as long as there are enough elements, then the rest.
fn loops(asm: &mut Assembler, work: &Loop) -> Option<()> {
    let lanes = work.lanes as i32;
    let (whole, tail, done) = (asm.label(), asm.label(), asm.label());
    asm.move_immediate(RCX, whole_mask(work.lanes));
    asm.mask_from(TAIL, RCX);
    let mut body = Body::new(asm, work);
    body.fixed()?;
    body.asm.clear(RAX);
    body.asm.move_from(RCX, RSI);
    body.asm.add_immediate(RCX, -lanes);
    body.asm.compare(RAX, RCX);
    body.asm.jump_if(Condition::Greater, tail);
    let streams = work.outputs.iter().filter(|o| o.stream && o.size * work.lanes == 64);
    let mut passes = vec![Pass::Whole];
    for output in streams {
        passes = vec![Pass::Streaming, Pass::Whole];
        body.asm.test_immediate(output.base, 63);
        body.asm.jump_if(Condition::NotZero, whole);
    }
    for pass in passes {
        if pass == Pass::Whole {
            body.asm.bind(whole);
        }
        let again = body.asm.label();
        body.asm.align(32);
        body.asm.bind(again);
        body.pass(pass)?;
        body.asm.add_immediate(RAX, lanes);
        body.asm.compare(RAX, RCX);
        body.asm.jump_if(Condition::LessEqual, again);
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
    (body.registers.slots <= SLOTS as u32).then_some(())
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
    sorted.then_some(Loop { insts, inputs, outputs, lanes, order: first, fixed, preload })
}
