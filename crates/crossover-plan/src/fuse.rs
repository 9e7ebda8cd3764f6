//! Draft to groups: which items share a kernel.
//!
//! Items are visited in order; an item joins the kernel of an operand when
//!
//! 1. both range over the same domain, and it reads every member of that kernel at its own index (or, for a
//!    reduced value, at the same row or column);
//! 2. the kernel would not come to depend on itself through another one;
//! 3. the kernel stays within [`MAX_STEPS`] steps and [`MAX_OPERANDS`] operands;
//! 4. a reduced value is used along its row again only for rows of at most [`MAX_ROW`] elements: longer ones do not
//!    stay in cache or shared memory.
//!
//! Kernels that do not depend on each other merge when an item reads both, and when they read the same operand.

mod set;

use crossover_core::{Layout, Shape, graph::Op};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use self::set::Set;
use crate::{
    draft::{Arg, Draft, Item, ItemId, Work},
    kernel::{Extent, Kind},
    plan::Options,
    simplify::trailing,
};

/// Most items in one kernel; compile time of generated code grows faster than its length.
pub(crate) const MAX_STEPS: usize = 64;
/// Most items from outside that one kernel reads.
pub(crate) const MAX_OPERANDS: usize = 24;
/// Longest row or column whose reduced value is used along it again.
pub(crate) const MAX_ROW: usize = 32768;

/// The index space of a kernel in logical order: axes longer than one, and reduced axes of any length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Domain {
    pub kind: Kind,
    /// Length of each axis, and whether it is reduced.
    pub axes: SmallVec<[(usize, bool); 4]>,
}

impl Domain {
    fn map(shape: &Shape) -> Domain {
        Domain { kind: Kind::Map, axes: shape.iter().filter(|&&n| n != 1).map(|&n| (n, false)).collect() }
    }

    fn reduce(shape: &Shape, axes: &[usize]) -> Domain {
        let kind = if trailing(axes, shape.rank()) == axes.len() { Kind::Row } else { Kind::Column };
        let all = shape.iter().enumerate().map(|(i, &n)| (n, axes.contains(&i)));
        Domain { kind, axes: all.filter(|&(n, reduced)| n != 1 || reduced).collect() }
    }

    /// Axes longer than one.
    fn long(&self) -> impl Iterator<Item = (usize, bool)> + '_ {
        self.axes.iter().copied().filter(|&(n, _)| n != 1)
    }

    /// Length of a row or column.
    pub fn reduced_size(&self) -> usize {
        self.axes.iter().filter(|a| a.1).map(|a| a.0).product()
    }

    fn is_full(&self, shape: &Shape) -> bool {
        shape.iter().copied().filter(|&n| n != 1).eq(self.long().map(|a| a.0))
    }

    fn is_reduced(&self, shape: &Shape) -> bool {
        self.kind != Kind::Map
            && shape.iter().copied().filter(|&n| n != 1).eq(self.long().filter(|a| !a.1).map(|a| a.0))
    }
}

/// The items of one kernel.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// `None` for a call or a concatenation, which is a group of one.
    pub domain: Option<Domain>,
    /// Members in order, with what each varies over.
    pub members: Vec<(ItemId, Extent)>,
    /// Groups whose results this one needs, directly or not.
    depends: Set,
}

impl Group {
    pub fn extent(&self, item: ItemId) -> Option<Extent> {
        self.members.iter().find(|m| m.0 == item).map(|m| m.1)
    }
}

struct Fuser<'a> {
    draft: &'a Draft,
    groups: Vec<Group>,
    /// Group of each item; `None` for inputs and scalars.
    home: Vec<Option<usize>>,
    /// Groups that others have come to depend on.
    needed: Set,
}

/// Groups in an order in which each one's operands come first.
pub(crate) fn draft(draft: &Draft, options: Options) -> Vec<Group> {
    let home = vec![None; draft.items.len()];
    let mut fuser = Fuser { draft, groups: Vec::new(), home, needed: Set::default() };
    for id in 0..draft.items.len() {
        if !draft.items[id].is_source() {
            let chosen = if options.fusion { fuser.join(id) } else { None };
            match chosen {
                Some(group) => fuser.add(id, group),
                None => fuser.open(id),
            }
        }
    }
    if options.fusion {
        fuser.merge_siblings();
    }
    fuser.ordered()
}

impl Fuser<'_> {
    fn item(&self, id: ItemId) -> &Item {
        &self.draft.items[id]
    }

    /// Groups that the item's operands live in.
    fn operand_groups(&self, id: ItemId) -> SmallVec<[usize; 4]> {
        let mut out = SmallVec::new();
        for arg in &self.item(id).args {
            if let Some(group) = self.home[arg.item]
                && !out.contains(&group)
            {
                out.push(group);
            }
        }
        out
    }

    /// Groups that the item needs, directly or not, beside the one that it is a member of.
    fn depends_of(&mut self, id: ItemId, own: Option<usize>) -> Set {
        let mut depends = Set::default();
        for group in self.operand_groups(id) {
            if Some(group) != own {
                self.needed.insert(group);
                depends.union(&self.groups[group].depends);
                depends.insert(group);
            }
        }
        depends
    }

    /// Opens a group for an item alone.
    fn open(&mut self, id: ItemId) {
        let item = self.item(id);
        let domain = match &item.work {
            Work::Op(Op::Reduce { axes, .. }) => Some(Domain::reduce(item.space_shape(), axes)),
            _ if item.is_map() => Some(Domain::map(item.space_shape())),
            _ => None,
        };
        let extent = if item.is_reduce() { Extent::Reduced } else { Extent::Full };
        let depends = self.depends_of(id, None);
        self.home[id] = Some(self.groups.len());
        self.groups.push(Group { domain, members: vec![(id, extent)], depends });
    }

    /// The group an item joins, after merging whatever it joins together.
    fn join(&mut self, id: ItemId) -> Option<usize> {
        if !self.item(id).is_map() && !self.item(id).is_reduce() {
            return None;
        }
        let candidates = self.operand_groups(id);
        let mut home: Option<usize> = None;
        for &group in &candidates {
            if !self.fits(id, group) {
                continue;
            }
            match home {
                None => home = Some(group),
                Some(first) if self.can_merge(first, group) => self.merge(first, group),
                Some(_) => {}
            }
        }
        let home = home?;
        // Everything still outside becomes an operand; it must not depend on the group.
        let safe =
            self.operand_groups(id).iter().all(|&g| g == home || !self.groups[g].depends.contains(home));
        // Merging may have brought in members that the item reads in another order.
        (safe && self.fits(id, home)).then_some(home)
    }

    /// Whether the item may be a member of the group, its other operands aside.
    fn fits(&self, id: ItemId, group: usize) -> bool {
        let target = &self.groups[group];
        if target.members.len() >= MAX_STEPS || target.domain.is_none() {
            return false;
        }
        self.extent_in(id, group).is_some() && self.outside_operands(&[group], Some(id)) <= MAX_OPERANDS
    }

    /// What the item would vary over as a member of the group, or `None` if it cannot be one.
    fn extent_in(&self, id: ItemId, group: usize) -> Option<Extent> {
        let item = self.item(id);
        let target = &self.groups[group];
        let domain = self.domain_with(id, group)?;
        let inside = || item.args.iter().filter(|a| self.home[a.item] == Some(group));
        let extents = |arg: &Arg| target.extent(arg.item);
        let reads_reduced = || inside().any(|a| extents(a) == Some(Extent::Reduced));
        let extent = if item.is_reduce() || (domain.is_reduced(item.space_shape()) && reads_reduced()) {
            Extent::Reduced
        } else if domain.is_full(item.space_shape()) {
            Extent::Full
        } else {
            return None;
        };
        for arg in inside() {
            let reads = if item.is_reduce() { Extent::Full } else { extent };
            let fits = match (extents(arg)?, reads) {
                (Extent::Full, Extent::Full) => is_identity(&arg.layout),
                (Extent::Reduced, Extent::Reduced) => is_identity(&arg.layout),
                (Extent::Reduced, Extent::Full) => {
                    domain.reduced_size() <= MAX_ROW && is_broadcast(&arg.layout, &domain)
                }
                _ => false,
            };
            if !fits {
                return None;
            }
        }
        Some(extent)
    }

    /// The group's domain once the item is a member: a reduction turns a Map into a Row or Column.
    fn domain_with(&self, id: ItemId, group: usize) -> Option<Domain> {
        let item = self.item(id);
        let current = self.groups[group].domain.clone()?;
        let Work::Op(Op::Reduce { axes, .. }) = &item.work else { return Some(current) };
        let wanted = Domain::reduce(item.space_shape(), axes);
        let turned = current.kind == Kind::Map && current.long().eq(wanted.long().map(|(n, _)| (n, false)));
        (turned || current == wanted).then_some(wanted)
    }

    /// Items from outside that members of these groups and `extra` read.
    fn outside_operands(&self, groups: &[usize], extra: Option<ItemId>) -> usize {
        let mut outside: SmallVec<[ItemId; 32]> = SmallVec::new();
        let members = groups.iter().flat_map(|&g| self.groups[g].members.iter().map(|m| m.0)).chain(extra);
        for arg in members.flat_map(|m| &self.item(m).args) {
            let inside = self.home[arg.item].is_some_and(|g| groups.contains(&g));
            if !inside && !outside.contains(&arg.item) {
                outside.push(arg.item);
            }
        }
        outside.len()
    }

    fn can_merge(&self, a: usize, b: usize) -> bool {
        let (x, y) = (&self.groups[a], &self.groups[b]);
        let (Some(p), Some(q)) = (&x.domain, &y.domain) else { return false };
        // A Map merges into a Row or Column whose points it shares.
        let shares = |map: &Domain, other: &Domain| {
            map.kind == Kind::Map && map.long().eq(other.long().map(|(n, _)| (n, false)))
        };
        let same = p == q || shares(p, q) || shares(q, p);
        same && !x.depends.contains(b)
            && !y.depends.contains(a)
            && x.members.len() + y.members.len() < MAX_STEPS
            && self.outside_operands(&[a, b], None) <= MAX_OPERANDS
    }

    /// Moves the members of `b` into `a`. Neither depends on the other.
    fn merge(&mut self, a: usize, b: usize) {
        let moved = std::mem::take(&mut self.groups[b].members);
        for &(item, _) in &moved {
            self.home[item] = Some(a);
        }
        let other = self.groups[b].depends.clone();
        let domain = self.groups[b].domain.take();
        let target = &mut self.groups[a];
        target.members.extend(moved);
        target.members.sort_unstable();
        target.depends.union(&other);
        if target.domain.as_ref().is_some_and(|d| d.kind == Kind::Map) {
            target.domain = domain;
        }
        let depends = target.depends.clone();
        self.propagate(a, b, &depends);
    }

    /// Whoever depends on `a` or `b` depends on both, and on all that they depend on.
    fn propagate(&mut self, a: usize, b: usize, depends: &Set) {
        if !self.needed.contains(a) && !self.needed.contains(b) {
            return;
        }
        self.needed.insert(a);
        self.needed.insert(b);
        for group in &mut self.groups {
            if group.depends.contains(a) || group.depends.contains(b) {
                group.depends.insert(a);
                group.depends.insert(b);
                group.depends.union(depends);
            }
        }
    }

    fn add(&mut self, id: ItemId, group: usize) {
        let extent = self.extent_in(id, group).expect("join checked that the item fits");
        let domain = self.domain_with(id, group);
        let depends = self.depends_of(id, Some(group));
        let target = &mut self.groups[group];
        target.domain = domain;
        target.members.push((id, extent));
        target.depends.union(&depends);
        self.home[id] = Some(group);
        if self.needed.contains(group) {
            let depends = self.groups[group].depends.clone();
            self.propagate(group, group, &depends);
        }
    }

    /// Merges kernels over one domain that read the same elements of the same operand, so that they are read once.
    fn merge_siblings(&mut self) {
        let mut readers: FxHashMap<(ItemId, &Layout), usize> = FxHashMap::default();
        for id in 0..self.draft.items.len() {
            let Some(home) = self.home[id] else { continue };
            for arg in &self.draft.items[id].args {
                // A host scalar is not worth sharing.
                let is_array = arg.layout.shape.size() > 1;
                if self.home[arg.item] == Some(home) || !is_array {
                    continue;
                }
                let home = self.home[id].unwrap_or(home);
                let first = *readers.entry((arg.item, &arg.layout)).or_insert(home);
                if first != home && !self.groups[first].members.is_empty() && self.can_merge(first, home) {
                    self.merge(first, home);
                }
            }
        }
    }

    /// Groups in execution order.
    fn ordered(mut self) -> Vec<Group> {
        self.groups.iter_mut().for_each(|group| group.depends = Set::default());
        let mut order: Vec<usize> =
            (0..self.groups.len()).filter(|&g| !self.groups[g].members.is_empty()).collect();
        let mut done = Set::default();
        let mut out = Vec::with_capacity(order.len());
        while !order.is_empty() {
            let before = order.len();
            order.retain(|&g| {
                let group = &self.groups[g];
                let ready = group
                    .members
                    .iter()
                    .flat_map(|m| &self.draft.items[m.0].args)
                    .all(|arg| self.home[arg.item].is_none_or(|h| h == g || done.contains(h)));
                if ready {
                    done.insert(g);
                    out.push(group.clone());
                }
                !ready
            });
            assert!(order.len() < before, "kernels depend on each other in a circle");
        }
        out
    }
}

/// Whether a layout walks the row-major elements of a value in order.
fn is_identity(layout: &Layout) -> bool {
    layout.offset == 0 && layout.is_contiguous()
}

/// Whether a layout over the whole domain repeats a reduced value along the reduced axes.
fn is_broadcast(layout: &Layout, domain: &Domain) -> bool {
    let long: SmallVec<[isize; 4]> =
        layout.shape.iter().zip(&layout.strides).filter(|&(&n, _)| n != 1).map(|(_, &s)| s).collect();
    let mut step = 1isize;
    let axes: SmallVec<[(usize, bool); 4]> = domain.long().collect();
    layout.offset == 0
        && long.len() == axes.len()
        && axes.iter().zip(&long).rev().all(|(&(n, reduced), &stride)| {
            let wanted = if reduced { 0 } else { step };
            if !reduced {
                step *= n as isize;
            }
            stride == wanted
        })
}
