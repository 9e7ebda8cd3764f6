//! Kernels by number: what is known about a kernel before it runs is told to sessions once, so that each of its runs is a few numbers.

use std::{
    ops::Range,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;

use super::{
    event::{Described, Number},
    lane,
};

/// Kernels told at most: as many as there is room for events. What comes after is counted as dropped.
const MOST: usize = lane::CAPACITY;

/// Lists of kernels, in the order of their numbers.
#[derive(Clone, Default)]
pub(super) struct List {
    lists: Vec<(Number, Arc<[Described]>)>,
    count: usize,
}

static LIST: Mutex<List> = Mutex::new(List { lists: Vec::new(), count: 0 });

impl List {
    /// The kernels told so far.
    pub(super) fn now() -> List {
        LIST.lock().clone()
    }

    /// Forgets all of them; numbers begin anew. `say` is called while nobody can be told a number.
    pub(super) fn clear(say: impl FnOnce()) {
        let mut list = LIST.lock();
        say();
        let old = std::mem::take(&mut *list);
        drop(list);
        drop(old);
    }

    /// The kernels told so far, to be found by their numbers.
    pub(super) fn numbered(self) -> Numbered {
        let lists = self.lists.iter().zip(0u32..);
        let places = lists.flat_map(|((_, list), at)| (0..list.len() as u32).map(move |within| (at, within)));
        Numbered { places: places.collect(), lists: self.lists }
    }

    fn add(&mut self, kernels: Arc<[Described]>) -> Option<Number> {
        if self.count + kernels.len() > MOST {
            return None;
        }
        let first = self.count as Number;
        self.count += kernels.len();
        self.lists.push((first, kernels));
        Some(first)
    }
}

/// Kernels by their numbers, as far as they were told at a moment.
#[derive(Default)]
pub(super) struct Numbered {
    /// For each number the list, and the place there.
    places: Vec<(u32, u32)>,
    lists: Vec<(Number, Arc<[Described]>)>,
}

impl Numbered {
    /// How many there are; numbers are below.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// A kernel.
    #[inline]
    pub(super) fn get(&self, number: Number) -> Option<&Described> {
        let &(list, within) = self.places.get(number as usize)?;
        self.lists[list as usize].1.get(within as usize)
    }

    /// The numbers of a kernel and of those that were told with it and come after.
    pub(super) fn told_with(&self, number: Number) -> Option<Range<Number>> {
        let &(list, _) = self.places.get(number as usize)?;
        let (first, list) = &self.lists[list as usize];
        Some(number..first + list.len() as Number)
    }
}

/// Tells sessions about a kernel that will not come again as it is.
pub(crate) fn once(kernel: Described) -> Option<Number> {
    LIST.lock().add([kernel].into())
}

/// Kernels that are told together, again for every session that meets them.
#[derive(Default)]
pub(crate) struct Told {
    kernels: OnceLock<Arc<[Described]>>,
    /// The number of the first, below the number that [`lane::forgotten`] had then.
    known: AtomicU64,
}

impl Told {
    /// The number of the first; those of the others follow. `None` if there is no more room.
    #[inline]
    pub(crate) fn number(&self, describe: impl FnOnce() -> Vec<Described>) -> Option<Number> {
        let known = self.known.load(Ordering::Acquire);
        if known >> 32 == lane::forgotten() { Some(known as Number) } else { self.tell(describe) }
    }

    #[cold]
    fn tell(&self, describe: impl FnOnce() -> Vec<Described>) -> Option<Number> {
        let kernels = self.kernels.get_or_init(|| describe().into()).clone();
        let mut list = LIST.lock();
        // Nobody forgets the list meanwhile: that takes the lock.
        let now = lane::forgotten();
        let known = self.known.load(Ordering::Acquire);
        if known >> 32 == now {
            return Some(known as Number);
        }
        let first = list.add(kernels)?;
        self.known.store(now << 32 | u64::from(first), Ordering::Release);
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(name: &str) -> Described {
        Described {
            name: name.into(),
            text: "exp(x0)".into(),
            plan: 1,
            at: 0,
            form: "map",
            dtype: "f32",
            read: 8,
            written: 4,
            flops: 1,
            products: 0,
            has_roof: true,
        }
    }

    #[test]
    fn numbers_find_their_kernels() {
        let mut list = List::default();
        let three = ["a", "b", "c"].map(described);
        assert_eq!(list.add(Arc::new(three)), Some(0));
        assert_eq!(list.add(Arc::new([described("d")])), Some(3));
        let list = list.numbered();
        let names = |number| -> Option<Vec<&str>> {
            list.told_with(number)?.map(|number| list.get(number).map(|kernel| &*kernel.name)).collect()
        };
        assert_eq!((list.len(), list.get(1).map(|kernel| &*kernel.name)), (4, Some("b")));
        assert_eq!(names(0), Some(vec!["a", "b", "c"]));
        assert_eq!((names(2), names(3)), (Some(vec!["c"]), Some(vec!["d"])));
        assert_eq!(names(4), None);
    }

    #[test]
    fn there_is_an_end_to_what_is_kept() {
        let mut list = List { lists: Vec::new(), count: MOST - 1 };
        assert!(list.add(Arc::new(["a", "b"].map(described))).is_none());
        assert!(list.add(Arc::new([described("a")])).is_some());
        assert!(list.add(Arc::new([described("a")])).is_none());
    }
}
