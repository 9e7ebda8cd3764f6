//! The verifier. A graph that passes can be planned, executed and interpreted without further checks:
//!
//! 1. operands come before their users;
//! 2. the type of every node is the one inferred from its operands and attributes;
//! 3. inputs are numbered 0, 1, … in order of appearance;
//! 4. every scalar node names a host scalar of its dtype;
//! 5. outputs are nodes of the graph, and there is at least one;
//! 6. no size overflows, and views stay inside their operand (part of inference).

use smallvec::SmallVec;

use super::{Graph, Op};
use crate::{Error, Result};

pub(super) fn graph(graph: &Graph) -> Result<()> {
    let mut inputs = 0;
    for (at, node) in graph.nodes().iter().enumerate() {
        let wrong = |what: String| Error::Graph { node: at, what };
        if let Some(late) = node.args.iter().find(|a| a.index() >= at) {
            return Err(wrong(format!("operand %{} is not an earlier node", late.0)));
        }
        let types: SmallVec<[_; 3]> = node.args.iter().map(|a| &graph.node(*a).ty).collect();
        let inferred = node.op.infer(&types).map_err(|e| wrong(e.to_string()))?;
        if inferred != node.ty {
            return Err(wrong(format!("is declared {} but its operands give {inferred}", node.ty)));
        }
        match &node.op {
            Op::Input { index, .. } => {
                if *index != inputs {
                    return Err(wrong(format!("is input {index}, expected {inputs}")));
                }
                inputs += 1;
            }
            Op::Scalar { slot, dtype } => match graph.scalars().get(*slot as usize) {
                Some(value) if value.dtype() == *dtype => {}
                Some(value) => return Err(wrong(format!("names a {} scalar as {dtype}", value.dtype()))),
                None => return Err(wrong(format!("names scalar {slot}, which does not exist"))),
            },
            _ => {}
        }
    }
    let last = graph.nodes().len();
    if graph.outputs().is_empty() {
        return Err(Error::Graph { node: last, what: "the graph returns nothing".to_string() });
    }
    match graph.outputs().iter().find(|o| o.index() >= last) {
        Some(o) => Err(Error::Graph { node: o.index(), what: "is returned but does not exist".to_string() }),
        None => Ok(()),
    }
}
