//! Items of one array or several, and their kinds.

use crossover_core::graph::Type;
use rustc_hash::FxHashMap;

use crate::Array;

/// What [`gpu_map`](super::ParIter::gpu_map) takes: an array, or several that belong together.
///
/// ```
/// use crossover_array::{Array, par_iter};
/// let pairs = vec![(Array::from([1, 2]), Array::from([3, 4]))];
/// let sums = par_iter(pairs).gpu_map(|(a, b)| a + b).collect()?;
/// assert_eq!(sums[0].to_vec::<i32>()?, [4, 6]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
pub trait Pieces: Clone + Send + Sync {
    /// The arrays.
    fn pieces(&self) -> Vec<&Array>;
    /// One of them.
    fn piece(&self, at: usize) -> Option<&Array> {
        self.pieces().get(at).copied()
    }
    /// The same from arrays in the same order; `None` where their number is wrong.
    fn from_pieces(pieces: Vec<Array>) -> Option<Self>;
}

impl Pieces for Array {
    fn pieces(&self) -> Vec<&Array> {
        vec![self]
    }

    fn piece(&self, at: usize) -> Option<&Array> {
        (at == 0).then_some(self)
    }

    fn from_pieces(mut pieces: Vec<Array>) -> Option<Array> {
        pieces.pop()
    }
}

impl Pieces for (Array, Array) {
    fn pieces(&self) -> Vec<&Array> {
        vec![&self.0, &self.1]
    }

    fn piece(&self, at: usize) -> Option<&Array> {
        [&self.0, &self.1].get(at).copied()
    }

    fn from_pieces(pieces: Vec<Array>) -> Option<Self> {
        <[Array; 2]>::try_from(pieces).ok().map(<(Array, Array)>::from)
    }
}

impl Pieces for (Array, Array, Array) {
    fn pieces(&self) -> Vec<&Array> {
        vec![&self.0, &self.1, &self.2]
    }

    fn piece(&self, at: usize) -> Option<&Array> {
        [&self.0, &self.1, &self.2].get(at).copied()
    }

    fn from_pieces(pieces: Vec<Array>) -> Option<Self> {
        <[Array; 3]>::try_from(pieces).ok().map(<(Array, Array, Array)>::from)
    }
}

impl<const N: usize> Pieces for [Array; N] {
    fn pieces(&self) -> Vec<&Array> {
        self.iter().collect()
    }

    fn piece(&self, at: usize) -> Option<&Array> {
        self.get(at)
    }

    fn from_pieces(pieces: Vec<Array>) -> Option<Self> {
        pieces.try_into().ok()
    }
}

/// The pieces of an item, without a list of them.
pub(super) fn pieces<P: Pieces>(item: &P) -> impl Iterator<Item = &Array> {
    (0..).map_while(|at| item.piece(at))
}

/// Whether an item is of these types, found without making a list of its own.
fn is_of<P: Pieces>(item: &P, types: &[Type]) -> bool {
    let same = |(piece, ty): (&Array, &Type)| piece.dtype() == ty.dtype && *piece.shape() == ty.shape;
    item.piece(types.len()).is_none()
        && pieces(item).zip(types).filter(|pair| same(*pair)).count() == types.len()
}

/// Positions of items by the types of their pieces, in the order of first occurrence.
#[derive(Default)]
pub(super) struct Kinds {
    /// Positions of the items of each kind.
    pub(super) members: Vec<Vec<usize>>,
    known: FxHashMap<Vec<Type>, usize>,
    items: usize,
    last: usize,
}

impl Kinds {
    /// The next item, with its kind among `types`.
    pub(super) fn add<P: Pieces>(&mut self, item: &P, types: &mut Vec<Vec<Type>>) {
        let number = self.items;
        self.items += 1;
        // Most are like the one before.
        if !types.get(self.last).is_some_and(|types| is_of(item, types)) {
            let mine: Vec<Type> = pieces(item).map(Array::ty).collect();
            self.last = *self.known.entry(mine).or_insert_with_key(|mine| {
                types.push(mine.clone());
                types.len() - 1
            });
            self.members.resize_with(types.len(), Vec::new);
        }
        self.members[self.last].push(number);
    }
}
