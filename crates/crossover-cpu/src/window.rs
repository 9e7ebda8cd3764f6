//! Strided views over a run of axes, with neighbours merged, and walks along them.

use smallvec::SmallVec;

/// One merged axis: length and stride in elements.
pub type Axis = (usize, isize);

/// What a view looks like from inside a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The same element everywhere.
    Uniform,
    /// Neighbours side by side, everywhere.
    Contiguous,
    /// Anything else: gathered or scattered.
    Strided,
}

/// A view over flattened positions: axes outermost first, none of length 1, none that could merge with the next.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct View {
    axes: SmallVec<[Axis; 4]>,
}

impl View {
    /// Merges axes wherever stepping over one equals a step of the next outer one.
    pub fn new(dims: &[usize], strides: &[isize]) -> View {
        let mut axes: SmallVec<[Axis; 4]> = SmallVec::new();
        for (&n, &stride) in dims.iter().zip(strides) {
            if n == 1 {
                continue;
            }
            match axes.last_mut() {
                Some(last) if last.1 == stride * n as isize => *last = (last.0 * n, stride),
                _ => axes.push((n, stride)),
            }
        }
        View { axes }
    }

    /// How tiles see it.
    pub fn form(&self) -> Form {
        match self.axes.as_slice() {
            [] | [(_, 0)] => Form::Uniform,
            [(_, 1)] => Form::Contiguous,
            _ => Form::Strided,
        }
    }

    /// Whether the same `n` elements, side by side, come again and again.
    pub fn repeats(&self, n: usize) -> bool {
        matches!(*self.axes.as_slice(), [(_, 0), (length, 1)] if length == n)
    }

    /// After how many positions it comes again, from the first on; `None` when it does not.
    pub fn period(&self) -> Option<usize> {
        match self.axes.split_first() {
            Some((&(_, 0), inner)) if !inner.is_empty() => Some(inner.iter().map(|&(n, _)| n).product()),
            _ => None,
        }
    }

    /// Whether its runs take every second element.
    pub fn skips_one(&self) -> bool {
        self.axes.last().is_some_and(|&(_, stride)| stride == 2)
    }

    /// Calls `f(position, stride, length)` for runs that cover `count` flattened positions from `start`.
    #[inline]
    pub fn runs(&self, start: usize, count: usize, mut f: impl FnMut(isize, isize, usize)) {
        if count == 0 {
            return;
        }
        let (&(n, stride), outer) = match self.axes.split_last() {
            None => return f(0, 0, count),
            Some(split) => split,
        };
        if outer.is_empty() {
            return f(start as isize * stride, stride, count);
        }
        let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, outer.len());
        let mut inside = start % n;
        let mut rest = start / n;
        let mut base = 0isize;
        for (axis, &(length, step)) in outer.iter().enumerate().rev() {
            index[axis] = rest % length;
            rest /= length;
            base += index[axis] as isize * step;
        }
        let mut left = count;
        loop {
            let run = left.min(n - inside);
            f(base + inside as isize * stride, stride, run);
            left -= run;
            if left == 0 {
                return;
            }
            inside = 0;
            for (axis, &(length, step)) in outer.iter().enumerate().rev() {
                index[axis] += 1;
                base += step;
                if index[axis] < length {
                    break;
                }
                base -= step * length as isize;
                index[axis] = 0;
            }
        }
    }
}

/// Merges axes that every one of several windows can merge; `strides[w]` belongs to window `w`.
pub fn merge(dims: &mut SmallVec<[usize; 4]>, strides: &mut [SmallVec<[isize; 4]>]) {
    let mut kept = 0;
    for axis in 0..dims.len() {
        let n = dims[axis];
        if n == 1 {
            continue;
        }
        if kept > 0 && strides.iter().all(|s| s[kept - 1] == s[axis] * n as isize) {
            dims[kept - 1] *= n;
            strides.iter_mut().for_each(|s| s[kept - 1] = s[axis]);
        } else {
            dims[kept] = n;
            strides.iter_mut().for_each(|s| s[kept] = s[axis]);
            kept += 1;
        }
    }
    dims.truncate(kept);
    strides.iter_mut().for_each(|s| s.truncate(kept));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(view: &View, start: usize, count: usize) -> Vec<isize> {
        let mut out = Vec::new();
        view.runs(start, count, |at, stride, n| out.extend((0..n as isize).map(|i| at + i * stride)));
        out
    }

    #[test]
    fn runs_visit_every_position_in_order() {
        let (dims, strides) = ([3, 4, 5], [1isize, -15, 3]);
        let view = View::new(&dims, &strides);
        let all: Vec<isize> =
            (0..3).flat_map(|i| (0..4).flat_map(move |j| (0..5).map(move |k| i - 15 * j + 3 * k))).collect();
        for start in 0..60 {
            assert_eq!(positions(&view, start, 60 - start), all[start..]);
        }
    }

    #[test]
    fn views_that_repeat_say_after_how_many() {
        let view = View::new(&[4, 2, 3], &[0, 6, -1]);
        let period = view.period().unwrap();
        let all = positions(&view, 0, 24);
        assert_eq!(period, 6);
        assert!((period..24).all(|i| all[i] == all[i - period]));
        assert_eq!(View::new(&[4, 3], &[0, 0]).period(), None);
        assert_eq!(View::new(&[4, 3], &[1, 4]).period(), None);
    }

    #[test]
    fn views_merge_to_the_simplest_form() {
        assert_eq!(View::new(&[2, 3, 4], &[12, 4, 1]).form(), Form::Contiguous);
        assert_eq!(View::new(&[2, 1, 4], &[4, 99, 1]).form(), Form::Contiguous);
        assert_eq!(View::new(&[2, 3], &[0, 0]).form(), Form::Uniform);
        assert_eq!(View::new(&[1, 1], &[7, 7]).form(), Form::Uniform);
        assert_eq!(View::new(&[2, 3], &[0, 1]).form(), Form::Strided);
        assert_eq!(View::new(&[6], &[-1]).form(), Form::Strided);
    }
}
