//! An operation and the canonical NaNs of its result, joined into one loop.
//!
//! Results that anybody can see have canonical NaNs, which is an instruction of its own: it goes over a tile that the operation before it has just
//! written. Cheap operations have loops that do both. Machine code has joined them already, so a list that has some is left as it is.

use crossover_core::ops::MapOp;

use crate::{
    program::{Instr, Reg, Stage, What},
    tile::{Form, TileFn, Tiles},
};

/// Joins what can be in the body of a stage. `is_local` says whether a register lives no longer than the tile.
pub fn stage(stage: &mut Stage, tiles: &Tiles, is_local: &dyn Fn(Reg) -> bool) {
    let body = &mut stage.body;
    if body.iter().any(|instr| matches!(instr, Instr::Native { .. } | Instr::NativeRows { .. })) {
        return;
    }
    let mut at = 0;
    while at < body.len() {
        let joined = joined(body, at, tiles).filter(|joined| {
            let needed = stage.reductions.iter().any(|reduction| reduction.from == joined.between);
            is_local(joined.between) && !needed
        });
        match joined {
            Some(joined) => {
                body[joined.first] = joined.instr;
                body.remove(at);
            }
            None => at += 1,
        }
    }
}

/// Two instructions as one.
struct Joined {
    instr: Instr,
    /// Where the first of them is, in whose place it goes.
    first: usize,
    /// The register that went from the first to the second.
    between: Reg,
}

/// The instruction at a place, if it makes NaNs canonical, with the operation whose result it reads.
fn joined(body: &[Instr], at: usize, tiles: &Tiles) -> Option<Joined> {
    let Instr::Apply { what: What::Canonical(_), a: between, out, count, .. } = body[at] else { return None };
    let first = body[..at].iter().rposition(|instr| instr.writes() == Some(between))?;
    let Instr::Apply { what: What::Map { op, dtype, ones }, a, b, c, count: same, .. } = body[first] else {
        return None;
    };
    // Slots are free again after their last reader: that of the result may have been in use up to here.
    let is_free = |instr: &Instr| instr.writes() != Some(out) && !instr.reads().contains(&out);
    let is_ours = !body[first + 1..at].iter().any(|instr| instr.reads().contains(&between))
        && !is_read(&body[at + 1..], between)
        && body[first..at].iter().all(is_free);
    if same != count || !is_ours {
        return None;
    }
    let f: TileFn = match (op, ones) {
        (MapOp::Divide, 2) => (tiles.divide_by)(dtype, true),
        (_, 0) => (tiles.visible)(op, dtype, Form::Vectors),
        (_, 1) => (tiles.visible)(op, dtype, Form::ScalarLeft),
        (_, 2) => (tiles.visible)(op, dtype, Form::ScalarRight),
        _ => None,
    }?;
    Some(Joined { instr: Instr::Apply { f, what: What::Other, a, b, c, out, count }, first, between })
}

/// Whether some instruction reads a register before another writes it.
fn is_read(rest: &[Instr], reg: Reg) -> bool {
    let next = rest.iter().find(|instr| instr.reads().contains(&reg) || instr.writes() == Some(reg));
    next.is_some_and(|instr| instr.reads().contains(&reg))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crossover_core::{Graph, reference};
    use crossover_plan::{Options as Planning, Plan, kernel::Kernel};
    use crossover_runtime::{Address, Block, Executable, Launch};

    use super::*;
    use crate::{
        Simd,
        backend::Thresholds,
        fused::FusedKernel,
        lower::{Options, lower},
        threads::Threads,
    };

    /// The instructions of a graph of one kernel, whose results are those of the reference, bit for bit, for operands that are NaNs of many kinds.
    fn instructions(text: &str) -> usize {
        let graph = Graph::parse(text).unwrap();
        let plan = Plan::new(&graph, Planning::default()).unwrap();
        let [launch] = plan.launches.as_slice() else { panic!("{} kernels", plan.launches.len()) };
        let Kernel::Fused(fused) = &launch.kernel else { panic!("a call") };
        let mut inputs = reference::random_inputs(&graph, 7);
        for (i, input) in inputs.iter_mut().enumerate() {
            for (at, word) in input.bytes.chunks_exact_mut(8).enumerate().filter(|(at, _)| at % 5 == i) {
                let sign = if at % 2 == 0 { 0x7ff0 } else { 0xfff0 };
                word.copy_from_slice(&((sign << 48) + at as u64 + 1).to_le_bytes());
            }
        }
        let want = reference::evaluate(&graph, &inputs).unwrap();
        let mut counted = 0;
        for simd in [Simd::Scalar, Simd::detect()] {
            let options = Options {
                tiles: Tiles::of(simd),
                threads: 1,
                thresholds: Thresholds::DEFAULT,
                native: false,
            };
            counted = lower(fused, options).unwrap().stages[0].body.len();
            let kernel = FusedKernel::new(fused, Arc::new(Threads::own(1).unwrap()), options).unwrap();
            let aligned = |bytes: &[u8]| -> Vec<u64> {
                bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
            };
            let block =
                |words: &[u64]| Block { address: Address(words.as_ptr() as u64), bytes: 8 * words.len() };
            let from: Vec<Vec<u64>> = inputs.iter().map(|input| aligned(&input.bytes)).collect();
            let to: Vec<Vec<u64>> = want.iter().map(|value| vec![1; value.bytes.len() / 8]).collect();
            let reads: Vec<Block> = from.iter().map(|words| block(words)).collect();
            let writes: Vec<Block> = to.iter().map(|words| block(words)).collect();
            kernel.run(&Launch::new(&launch.kernel, &reads, &writes, &[]).unwrap()).unwrap();
            for (got, want) in to.iter().zip(&want) {
                assert!(*got == aligned(&want.bytes), "{simd:?}");
            }
        }
        counted
    }

    #[test]
    fn an_operation_makes_its_nans_canonical_itself() {
        // The square root has an instruction of its own for that.
        let unary = [("square", 1), ("sqrt", 2)];
        for (op, count) in unary {
            let text = format!("graph {{\n%x = input f64[1100]\n%y = {op} %x\nreturn %y\n}}");
            assert_eq!(instructions(&text), count, "{op}");
        }
        for op in ["add", "subtract", "multiply", "divide"] {
            let text = format!(
                "graph {{\n%x = input f64[1100]\n%y = input f64[1100]\n%z = {op} %x, %y\nreturn %z\n}}"
            );
            assert_eq!(instructions(&text), 1, "{op}");
        }
    }

    #[test]
    fn what_something_else_reads_stays_an_instruction_of_its_own() {
        let text = "graph {
            %x = input f64[1100]
            %y = input f64[1100]
            %s = add %x, %y
            %t = multiply %s, %x
            return %s, %t
        }";
        assert_eq!(instructions(text), 3, "the sum, its canonical form, and the product with its own");
    }
}
