//! Work that has piled up is computed without being asked for, so that loops need no `eval`.
//!
//! Such a cut may fall anywhere, in the middle of a layer as well. What arrays still hold below it would be computed anew when they are
//! used again, with everything that it is made of; so values that took more than elementwise work are computed with it and kept.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{
    eval, interrupt,
    node::{Arg, Node, State},
};

/// Pending nodes that may pile up before they are evaluated without being asked for.
const MAX_PENDING: u32 = 512;

/// Evaluates a node whose pending ancestry has grown too large.
pub(crate) fn limit(target: &Arc<Node>) {
    if target.weight() <= MAX_PENDING {
        return;
    }
    // The weight is an upper bound; the true number decides.
    let below = pending(target);
    target.set_weight(below.len() as u32);
    if below.len() as u32 <= MAX_PENDING / 2 {
        return;
    }
    let targets: Vec<Arc<Node>> =
        std::iter::once(target.clone()).chain(worth_keeping(below, target)).collect();
    if let Err(error) = interrupt::unasked(|| eval::nodes(&targets)) {
        // Nobody asked for these bytes, so nobody is told yet: the error stays and surfaces when somebody does.
        target.finish(State::Failed(error));
    }
}

/// A pending node below a target.
struct Below {
    node: Arc<Node>,
    /// Pending operands, by position.
    operands: Vec<usize>,
    /// How often pending nodes use it.
    uses: usize,
    is_view: bool,
    /// Whether it, or something that it is made of, is a reduction or a call.
    is_heavy: bool,
}

/// Everything pending below a node, operands before users.
fn pending(target: &Arc<Node>) -> Vec<Below> {
    let mut order: Vec<Below> = Vec::new();
    let mut places: FxHashMap<*const Node, usize> = FxHashMap::default();
    let mut stack = vec![(target.clone(), false)];
    while let Some((node, is_entered)) = stack.pop() {
        if places.contains_key(&Arc::as_ptr(&node)) {
            continue;
        }
        let state = node.state();
        let State::Pending { op, args } = &*state else { continue };
        let operands = args.iter().filter_map(Arg::node);
        if !is_entered {
            let below: Vec<_> = operands.map(|operand| (operand.clone(), false)).collect();
            drop(state);
            stack.push((node, true));
            stack.extend(below);
            continue;
        }
        let operands: Vec<usize> =
            operands.filter_map(|operand| places.get(&Arc::as_ptr(operand)).copied()).collect();
        operands.iter().for_each(|&at| order[at].uses += 1);
        let is_heavy =
            !(op.is_view() || op.is_elementwise()) || operands.iter().any(|&at| order[at].is_heavy);
        let is_view = op.is_view();
        drop(state);
        places.insert(Arc::as_ptr(&node), order.len());
        order.push(Below { node, operands, uses: 0, is_view, is_heavy });
    }
    order
}

/// What arrays hold of it and would not want to compute again, the target aside.
fn worth_keeping(below: Vec<Below>, target: &Arc<Node>) -> Vec<Arc<Node>> {
    // One count is the list's own.
    let mut held: Vec<bool> = below.iter().map(|b| Arc::strong_count(&b.node) > b.uses + 1).collect();
    for (at, node) in below.iter().enumerate().rev() {
        // A view is as good as what it looks at.
        if held[at] && node.is_view {
            node.operands.iter().for_each(|&operand| held[operand] = true);
        }
    }
    let kept = below.into_iter().zip(held).filter(|(b, held)| *held && b.is_heavy && !b.is_view);
    kept.map(|(b, _)| b.node).filter(|node| !Arc::ptr_eq(node, target)).collect()
}
