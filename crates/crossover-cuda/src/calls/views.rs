//! Strided operands as kernels walk them: flattened positions over merged axes.

use crossover_plan::kernel::Call;

/// Elements from which positions are counted in 64 bits.
const WIDE: usize = 1 << 30;

/// N strided arrays of one shape, neighbouring axes merged where all of them allow it. Never without an axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Views<const N: usize> {
    /// Outermost first.
    pub(super) dims: Vec<usize>,
    pub(super) strides: [Vec<isize>; N],
}

impl<const N: usize> Views<N> {
    pub(super) fn new(dims: &[usize], strides: [&[isize]; N]) -> Views<N> {
        let (dims, merged) = merge(dims, &strides);
        let mut merged = merged.into_iter();
        Views { dims, strides: std::array::from_fn(|_| merged.next().unwrap_or_default()) }
    }

    pub(super) fn rank(&self) -> usize {
        self.dims.len()
    }

    pub(super) fn size(&self) -> usize {
        self.dims.iter().product()
    }

    /// The members of `xo_views`, in order.
    pub(super) fn values(&self) -> impl Iterator<Item = isize> + '_ {
        self.dims.iter().map(|&n| n as isize).chain(self.strides.iter().flatten().copied())
    }
}

impl Views<1> {
    /// Neighbours that can be moved as one: a power of two of at most 16 bytes that divides rows, strides and `others`.
    pub(super) fn together(&self, size: usize, others: &[isize]) -> usize {
        let (Some((&row, _)), Some((&1, strides))) = (self.dims.split_last(), self.strides[0].split_last())
        else {
            return 1;
        };
        let numbers = strides.iter().chain(others).map(|s| s.unsigned_abs()).chain([row]);
        numbers
            .fold(16 / size, |most, n| if n == 0 { most } else { most.min(1 << n.trailing_zeros().min(8)) })
    }

    /// The same with elements of `factor` neighbours.
    pub(super) fn widened(mut self, factor: usize) -> Views<1> {
        if factor > 1 {
            let last = self.dims.len() - 1;
            self.dims[last] /= factor;
            self.strides[0][..last].iter_mut().for_each(|s| *s /= factor as isize);
        }
        self
    }
}

/// Dims and the strides of any number of arrays, neighbouring axes merged where all allow it; never without an axis.
pub(super) fn merge(dims: &[usize], strides: &[&[isize]]) -> (Vec<usize>, Vec<Vec<isize>>) {
    let (mut kept, mut steps): (Vec<usize>, Vec<Vec<isize>>) = (Vec::new(), vec![Vec::new(); strides.len()]);
    for (axis, &n) in dims.iter().enumerate().filter(|&(_, &n)| n != 1) {
        let follows = |(s, all): (&Vec<isize>, &&[isize])| s.last() == Some(&(all[axis] * n as isize));
        match kept.last_mut() {
            Some(last) if steps.iter().zip(strides).all(follows) => *last *= n,
            _ => {
                kept.push(n);
                steps.iter_mut().for_each(|s| s.push(0));
            }
        }
        for (s, all) in steps.iter_mut().zip(strides) {
            if let Some(last) = s.last_mut() {
                *last = all[axis];
            }
        }
    }
    if kept.is_empty() {
        kept.push(1);
        steps.iter_mut().for_each(|s| s.push(0));
    }
    (kept, steps)
}

/// All entries but one.
pub(super) fn without<T: Copy>(all: &[T], axis: usize) -> Vec<T> {
    all.iter().enumerate().filter(|&(i, _)| i != axis).map(|(_, &x)| x).collect()
}

/// Whether positions of a call need 64 bits.
pub(super) fn is_wide(call: &Call) -> bool {
    let extents = call.operands.iter().map(|o| o.layout.extent().1.max(o.layout.shape.size()));
    extents.chain([call.layout.shape.size()]).any(|n| n >= WIDE)
}

/// The C++ type of an element that is only moved.
pub(super) fn moved(bytes: usize) -> &'static str {
    match bytes {
        1 => "unsigned char",
        2 => "unsigned short",
        4 => "unsigned",
        8 => "unsigned long long",
        _ => "xo_sixteen",
    }
}

/// The C++ type of positions.
pub(super) fn index_type(wide: bool) -> &'static str {
    if wide { "long long" } else { "int" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_merge_only_where_all_arrays_allow_it() {
        let one = Views::new(&[2, 3, 4], [&[12, 4, 1]]);
        assert_eq!((one.dims.as_slice(), one.strides[0].as_slice()), (&[24][..], &[1][..]));
        let two = Views::new(&[2, 1, 3, 4], [&[12, 99, 4, 1], &[0, 7, 4, 1]]);
        assert_eq!(two.dims, [2, 12]);
        assert_eq!(two.strides, [vec![12, 1], vec![0, 1]]);
        assert_eq!(Views::new(&[], [&[]]).dims, [1]);
        assert_eq!(two.values().collect::<Vec<_>>(), [2, 12, 12, 1, 0, 1]);
    }

    #[test]
    fn neighbours_move_together_as_far_as_everything_divides() {
        let rows = Views::new(&[5, 12], [&[16, 1]]);
        assert_eq!(rows.together(4, &[]), 4);
        assert_eq!(rows.together(4, &[6]), 2);
        assert_eq!(rows.together(16, &[]), 1);
        assert_eq!(Views::new(&[5, 12], [&[16, 2]]).together(4, &[]), 1);
        let wide = rows.widened(4);
        assert_eq!((wide.dims, wide.strides), (vec![5, 3], [vec![4, 1]]));
    }
}
