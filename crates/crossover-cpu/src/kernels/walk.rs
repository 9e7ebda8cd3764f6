//! Several operands walked together, element by element, in the row-major order of one shape.

use smallvec::SmallVec;

use crate::window::merge;

/// Axes that all operands step along, merged where all of them allow it.
#[derive(Debug, Clone)]
pub struct Walk<const N: usize> {
    /// Outer axes: length, and one stride per operand.
    outer: SmallVec<[(usize, [isize; N]); 4]>,
    length: usize,
    steps: [isize; N],
}

impl<const N: usize> Walk<N> {
    /// A walk over `dims`; `strides[k]` belongs to operand k.
    pub fn new(dims: &[usize], strides: [&[isize]; N]) -> Walk<N> {
        let mut dims: SmallVec<[usize; 4]> = SmallVec::from_slice(dims);
        let mut all: [SmallVec<[isize; 4]>; N] = strides.map(SmallVec::from_slice);
        merge(&mut dims, &mut all);
        let at = |axis: usize| std::array::from_fn(|k| all[k][axis]);
        let Some((&length, outer)) = dims.split_last() else {
            return Walk { outer: SmallVec::new(), length: 1, steps: [0; N] };
        };
        let outer_axes = outer.iter().enumerate().map(|(axis, &n)| (n, at(axis))).collect();
        Walk { outer: outer_axes, length, steps: at(outer.len()) }
    }

    /// Distance between neighbours of a run, per operand.
    pub fn steps(&self) -> [isize; N] {
        self.steps
    }

    /// Calls `f(positions, length)` for runs that cover `count` elements from `start`.
    #[inline]
    pub fn runs(&self, start: usize, count: usize, mut f: impl FnMut([isize; N], usize)) {
        if count == 0 {
            return;
        }
        let along = |i: usize| self.steps.map(|s| s * i as isize);
        if self.outer.is_empty() {
            return f(along(start), count);
        }
        let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, self.outer.len());
        let mut inside = start % self.length;
        let mut rest = start / self.length;
        let mut base = [0isize; N];
        for (at, (n, strides)) in index.iter_mut().zip(&self.outer).rev() {
            *at = rest % n;
            rest /= n;
            (0..N).for_each(|k| base[k] += *at as isize * strides[k]);
        }
        let mut left = count;
        loop {
            let run = left.min(self.length - inside);
            let shift = along(inside);
            f(std::array::from_fn(|k| base[k] + shift[k]), run);
            left -= run;
            if left == 0 {
                return;
            }
            inside = 0;
            for (at, (n, strides)) in index.iter_mut().zip(&self.outer).rev() {
                *at += 1;
                (0..N).for_each(|k| base[k] += strides[k]);
                if *at < *n {
                    break;
                }
                (0..N).for_each(|k| base[k] -= strides[k] * *n as isize);
                *at = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_stay_in_step_from_any_start() {
        let dims = [2, 3, 4];
        let strides: [&[isize]; 2] = [&[12, 4, 1], &[1, 0, -2]];
        let walk = Walk::new(&dims, strides);
        let mut all = Vec::new();
        for i in 0..24isize {
            let (a, b, c) = (i / 12, i / 4 % 3, i % 4);
            all.push([12 * a + 4 * b + c, a - 2 * c]);
        }
        for start in 0..24 {
            let mut seen = Vec::new();
            walk.runs(start, 24 - start, |at, n| {
                let steps = walk.steps();
                seen.extend((0..n as isize).map(|i| [at[0] + i * steps[0], at[1] + i * steps[1]]));
            });
            assert_eq!(seen, all[start..]);
        }
    }

    #[test]
    fn a_walk_without_axes_has_one_element() {
        let mut seen = Vec::new();
        Walk::new(&[1, 1], [&[5, 5]]).runs(0, 1, |at, n| seen.push((at, n)));
        assert_eq!(seen, [([0], 1)]);
    }
}
