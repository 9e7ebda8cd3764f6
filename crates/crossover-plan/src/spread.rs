//! Casts of inputs that are repeated along an axis, such as the weights of a norm in 16 bits: the kernel that repeats them casts as it
//! reads, and no kernel is launched for the cast alone.

use crossover_core::graph::Op;
use smallvec::smallvec;

use crate::draft::{Arg, Draft, Item, ItemId, Work};

/// Puts such casts where they are used, and leaves out those that nobody else reads.
pub(crate) fn casts(draft: Draft) -> Draft {
    let spreads = |item: &Item, arg: &Arg| item.is_map() && is_repeated(arg) && is_cast(&draft, arg.item);
    if !draft.items.iter().any(|item| item.args.iter().any(|arg| spreads(item, arg))) {
        return draft;
    }
    let mut read = vec![false; draft.items.len()];
    draft.outputs.iter().for_each(|&id| read[id] = true);
    for item in &draft.items {
        for arg in item.args.iter().filter(|arg| !spreads(item, arg)) {
            read[arg.item] = true;
        }
    }
    let mut out = Draft::default();
    // Where items are now; those that are left out are not asked for.
    let mut places: Vec<ItemId> = Vec::with_capacity(draft.items.len());
    for (id, item) in draft.items.iter().enumerate() {
        if !read[id] && is_cast(&draft, id) {
            places.push(usize::MAX);
            continue;
        }
        let mut item = item.clone();
        let is_map = item.is_map();
        for arg in &mut item.args {
            if !(is_map && is_repeated(arg) && is_cast(&draft, arg.item)) {
                arg.item = places[arg.item];
                continue;
            }
            let cast = &draft.items[arg.item];
            let mut ty = cast.ty.clone();
            ty.shape = arg.layout.shape.clone();
            // The input lies as its cast would, so the layout is that of both.
            let input = Arg { item: places[cast.args[0].item], layout: arg.layout.clone() };
            let spread = Item { work: cast.work.clone(), args: smallvec![input], ty };
            *arg = Arg { item: out.items.len(), layout: spread.stored_layout() };
            out.items.push(spread);
        }
        places.push(out.items.len());
        out.items.push(item);
    }
    out.outputs = draft.outputs.iter().map(|&id| places[id]).collect();
    out
}

/// Whether elements are read more than once, and more than one is.
fn is_repeated(arg: &Arg) -> bool {
    let axes = || arg.layout.shape.iter().zip(&arg.layout.strides).filter(|&(&n, _)| n > 1);
    axes().any(|(_, &stride)| stride == 0) && axes().any(|(_, &stride)| stride != 0)
}

/// Whether an item casts a whole input to a dtype that is no smaller.
fn is_cast(draft: &Draft, id: ItemId) -> bool {
    let item = &draft.items[id];
    let Work::Op(Op::Cast(to)) = item.work else { return false };
    let arg = &item.args[0];
    let input = &draft.items[arg.item];
    matches!(input.work, Work::Op(Op::Input { .. }))
        && to.size() >= input.ty.dtype.size()
        && arg.layout.offset == 0
        && arg.layout.is_contiguous()
}
