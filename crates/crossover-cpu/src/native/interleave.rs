//! Several passes of a loop at once, their instructions taking turns.
//!
//! In one pass of a long body almost every instruction waits for the one before it, and a processor looks only so far ahead for others: the passes
//! that follow begin late. When neighbouring passes take turns, the next instruction is one that need not wait.
//!
//! Nothing is computed otherwise than before: each copy has its own elements, what all positions share is there once, and a result is stored only after
//! every copy has read what lies in its place.

use crossover_core::lane::{Primitive, Type};

use super::{
    arrange,
    body::{Input, Loop, Output, VECTORS},
    select::Code,
};

/// Copies beyond which nothing is left to hide.
const MOST: usize = 4;
/// Instructions from which a pass is long enough to wait for itself. Shorter ones wait for memory.
const LONG: usize = 12;
/// Instructions of all copies; more code is not kept decoded.
const LONGEST: usize = 640;
/// Registers for constants that an instruction wants there.
const SPARE: usize = 2;

/// As many passes of `work` as registers allow; `None` where that is one, or one is short.
pub fn interleave(work: &Loop) -> Option<Loop> {
    let pass = &work.order[work.fixed..];
    let made = |&&i: &&u32| {
        !matches!(work.insts[i as usize].code, Code::Primitive(Primitive::Input(_) | Primitive::Constant(_)))
    };
    let length = pass.iter().filter(made).count();
    let free = VECTORS.saturating_sub(work.fixed + work.preload.len() + SPARE);
    let copies = MOST.min(free / most_live(work).max(1)).min(LONGEST / length.max(1));
    (length >= LONG && copies > 1).then(|| copied(work, copies)).flatten()
}

/// The most values of one pass that are in registers at a time.
fn most_live(work: &Loop) -> usize {
    let mut last = vec![0; work.insts.len()];
    let mut first = vec![usize::MAX; work.insts.len()];
    for (at, &i) in work.order.iter().enumerate() {
        for &value in work.insts[i as usize].args().iter().chain([&i]) {
            first[value as usize] = first[value as usize].min(at);
            last[value as usize] = at;
        }
    }
    for output in &work.outputs {
        last[output.value as usize] = last[output.value as usize].max(output.after as usize);
    }
    let varies = varying(work);
    let spans: Vec<_> = (0..work.insts.len())
        .filter(|&i| varies[i] && first[i] != usize::MAX && work.insts[i].result() != Type::Mask)
        .map(|i| first[i]..last[i])
        .collect();
    (0..work.order.len()).map(|at| spans.iter().filter(|span| span.contains(&at)).count()).max().unwrap_or(0)
}

/// Which values differ from position to position.
fn varying(work: &Loop) -> Vec<bool> {
    let mut varies: Vec<bool> = Vec::with_capacity(work.insts.len());
    for inst in &work.insts {
        varies.push(match inst.code {
            Code::Primitive(Primitive::Input(n)) => !work.inputs[n as usize].one,
            _ => inst.args().iter().any(|&arg| varies[arg as usize]),
        });
    }
    varies
}

fn copied(work: &Loop, copies: usize) -> Option<Loop> {
    let varies = varying(work);
    let mut insts = Vec::with_capacity(copies * work.insts.len());
    let mut places: Vec<[u32; MOST]> = Vec::with_capacity(work.insts.len());
    for (inst, &varies) in work.insts.iter().zip(&varies) {
        let mut place = [insts.len() as u32; MOST];
        for (copy, place) in place.iter_mut().enumerate().take(if varies { copies } else { 1 }) {
            let mut inst = inst.with_args(|arg| places[arg as usize][copy]);
            if let Code::Primitive(Primitive::Input(n)) = inst.code {
                inst.code = Code::Primitive(Primitive::Input(n + (copy * work.inputs.len()) as u32));
            }
            *place = insts.len() as u32;
            insts.push(inst);
        }
        places.push(place);
    }
    let shifts = || (0..copies).map(|copy| copy * work.lanes);
    let inputs = shifts().flat_map(|shift| work.inputs.iter().map(move |&input| Input { shift, ..input }));
    let outputs = shifts().enumerate().flat_map(|(copy, shift)| {
        let places = &places;
        work.outputs.iter().map(move |&output| {
            let value = places[output.value as usize][copy];
            Output { value, shift, ..output }
        })
    });
    let all = arrange(insts, inputs.collect(), outputs.collect(), None)?;
    (all.lanes == work.lanes).then_some(Loop { step: copies * all.lanes, ..all })
}

#[cfg(test)]
mod tests {
    use crossover_core::{DType, lane::Recorder, ops::MapOp};

    use super::*;
    use crate::native::{assembler::Gpr, select};

    /// The loop of one function, whose result goes to `to`; its argument comes from register 2.
    fn function(op: MapOp, dtype: DType, ty: Type, to: Gpr) -> Loop {
        let mut recorder = Recorder::default();
        let x = recorder.input(ty);
        let y = recorder.map(op, dtype, &[x]).unwrap();
        let (insts, values) = select::lower(recorder.nodes());
        let input = Input { base: Gpr(2), one: false, ahead: 0, shift: 0 };
        let value = values[y as usize];
        let output = Output { value, base: to, size: dtype.size(), after: 0, stream: false, shift: 0 };
        arrange(insts, vec![input], vec![output], None).unwrap()
    }

    #[test]
    fn long_bodies_have_neighbours_and_short_ones_none() {
        let long = interleave(&function(MapOp::Gelu, DType::F32, Type::F32, Gpr(8))).unwrap();
        assert!(long.step >= 2 * long.lanes && long.step.is_multiple_of(long.lanes), "{}", long.step);
        let shifts: Vec<usize> = long.outputs.iter().map(|output| output.shift).collect();
        assert_eq!(shifts, (0..long.step).step_by(long.lanes).collect::<Vec<_>>());
        assert!(interleave(&function(MapOp::Square, DType::F32, Type::F32, Gpr(8))).is_none());
    }

    #[test]
    fn results_wait_until_every_copy_has_read_their_place() {
        let long = interleave(&function(MapOp::Gelu, DType::F32, Type::F32, Gpr(2))).unwrap();
        let reads = |i: u32| matches!(long.insts[i as usize].code, Code::Primitive(Primitive::Input(_)));
        let last = long.order.iter().rposition(|&i| long.insts[i as usize].args().iter().any(|&a| reads(a)));
        assert!(long.outputs.iter().all(|output| output.after as usize >= last.unwrap()));
    }
}
