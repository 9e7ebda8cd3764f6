//! Whose fault a failed evaluation is.
//!
//! Kernels fail for two reasons that the user causes: a matrix without a result, and a kernel of the user's own. The evaluation that hits it may have been
//! asked for far from the call that made it, so the nodes that could have failed are tried one by one, operands first;
//! the first that fails again is the one, and stays failed. Nothing of this runs unless something has failed.

use std::sync::Arc;

use crossover_core::graph::Op;
use crossover_runtime::Wanted;
use rustc_hash::FxHashSet;

use crate::{
    Error,
    eval::evaluate,
    node::{Arg, Node, State},
    runtime::Runtime,
};

/// The error of an evaluation of some nodes, at the place of the call that caused it.
pub(crate) fn locate(error: crossover_runtime::Error, targets: &[&Arc<Node>], runtime: &Runtime) -> Error {
    use crossover_core::Error as Core;
    let is_suspicious = matches!(
        error,
        crossover_runtime::Error::Invalid(Core::Matrix { .. } | Core::Kernel { .. })
            | crossover_runtime::Error::Source { .. }
    );
    if is_suspicious {
        for node in suspects(targets) {
            if let Err(Ok(error)) = evaluate(&[&node], runtime, Wanted::Anywhere) {
                let error = Error::new(error, node.location);
                node.finish(State::Failed(error.clone()));
                return error;
            }
        }
    }
    Error::new(error, targets[0].location)
}

/// Pending nodes below the targets whose kernels may fail, operands before users.
fn suspects(targets: &[&Arc<Node>]) -> Vec<Arc<Node>> {
    let mut found = Vec::new();
    let mut seen: FxHashSet<*const Node> = FxHashSet::default();
    // A node is pushed a second time, to be judged once its operands have been.
    let mut stack: Vec<(Arc<Node>, bool)> = targets.iter().map(|&t| (t.clone(), false)).collect();
    while let Some((node, entered)) = stack.pop() {
        let mut operands = Vec::new();
        let may_fail = match &*node.state() {
            State::Pending { op, args } => {
                operands.extend(args.iter().filter_map(Arg::node).cloned());
                matches!(op, Op::Custom(_)) || matches!(op, Op::Linalg(op) if op.may_fail())
            }
            _ => continue,
        };
        if entered {
            if may_fail {
                found.push(node);
            }
        } else if seen.insert(Arc::as_ptr(&node)) {
            stack.push((node, true));
            stack.extend(operands.into_iter().map(|operand| (operand, false)));
        }
    }
    found
}
