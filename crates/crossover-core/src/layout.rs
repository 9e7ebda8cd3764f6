//! Where the elements of a view lie inside a buffer: offset and strides, in elements.
//!
//! Strides may be zero (broadcast) or negative (flip). Every view operation is a function from one layout to
//! another, or `None` where strides cannot express it and the caller has to copy.

use smallvec::SmallVec;

use crate::{Error, Result, Shape};

/// A strided window onto a buffer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Lengths of the axes.
    pub shape: Shape,
    /// Distance between neighbours along each axis, in elements.
    pub strides: SmallVec<[isize; 4]>,
    /// Position of the element with index zero, in elements.
    pub offset: usize,
}

/// One axis of a slice: `start`, `start + step`, …, `length` elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// First index taken.
    pub start: usize,
    /// Distance between taken indices; negative walks backwards.
    pub step: isize,
    /// How many are taken.
    pub length: usize,
}

impl Layout {
    /// Row-major without gaps.
    pub fn contiguous(shape: Shape) -> Layout {
        let strides = shape.strides();
        Layout { shape, strides, offset: 0 }
    }

    /// Whether the elements lie row-major without gaps, wherever they start.
    ///
    /// Axes of length 1 may have any stride, since nothing ever steps along them.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1isize;
        for (&n, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if n == 0 {
                return true;
            }
            if n != 1 {
                if stride != expected {
                    return false;
                }
                expected *= n as isize;
            }
        }
        true
    }

    /// Whether every element is the same one.
    pub fn is_uniform(&self) -> bool {
        self.shape.iter().zip(&self.strides).all(|(&n, &stride)| n <= 1 || stride == 0)
    }

    /// Position of an element in the buffer.
    pub fn position(&self, index: &[usize]) -> usize {
        let shift: isize = index.iter().zip(&self.strides).map(|(&i, &stride)| i as isize * stride).sum();
        self.offset.wrapping_add_signed(shift)
    }

    /// Positions of all elements in row-major order of the index.
    ///
    /// ```
    /// use crossover_core::{Layout, Shape};
    /// let flipped = Layout::contiguous(Shape::from([3])).flip(&[0]);
    /// assert_eq!(flipped.positions().collect::<Vec<_>>(), [2, 1, 0]);
    /// ```
    pub fn positions(&self) -> Positions<'_> {
        Positions {
            layout: self,
            index: SmallVec::from_elem(0, self.shape.rank()),
            at: self.offset as isize,
            left: self.shape.size(),
        }
    }

    /// The half-open range of buffer positions the view can touch.
    pub fn extent(&self) -> (usize, usize) {
        if self.shape.size() == 0 {
            return (self.offset, self.offset);
        }
        let (mut low, mut high) = (self.offset as isize, self.offset as isize);
        for (&n, &stride) in self.shape.iter().zip(&self.strides) {
            let reach = (n as isize - 1) * stride;
            if reach < 0 {
                low += reach;
            } else {
                high += reach;
            }
        }
        (low as usize, high as usize + 1)
    }

    /// Axes reordered: axis `i` of the result is axis `axes[i]` of this.
    pub fn permute(&self, axes: &[usize]) -> Layout {
        Layout {
            shape: axes.iter().map(|&a| self.shape[a]).collect(),
            strides: axes.iter().map(|&a| self.strides[a]).collect(),
            offset: self.offset,
        }
    }

    /// The given axes reversed; each is given once.
    pub fn flip(&self, axes: &[usize]) -> Layout {
        let mut out = self.clone();
        // The offset of an empty view stays where it is, so that it never points outside the buffer.
        let empty = self.shape.size() == 0;
        for &axis in axes {
            let last = self.shape[axis].saturating_sub(1) as isize;
            if !empty {
                out.offset = out.offset.wrapping_add_signed(last * self.strides[axis]);
            }
            // Axes of length 1 may have any stride, the most negative one included.
            out.strides[axis] = self.strides[axis].wrapping_neg();
        }
        out
    }

    /// One span per axis; the caller has checked that they lie inside.
    pub fn slice(&self, spans: &[Span]) -> Layout {
        let mut out = self.clone();
        let empty = self.shape.size() == 0 || spans.iter().any(|span| span.length == 0);
        for (axis, span) in spans.iter().enumerate() {
            if !empty {
                out.offset = out.offset.wrapping_add_signed(span.start as isize * self.strides[axis]);
            }
            out.shape.dims_mut()[axis] = span.length;
            // A product that overflows belongs to a span of at most one entry, along which nothing ever steps.
            out.strides[axis] = self.strides[axis].checked_mul(span.step).unwrap_or(0);
        }
        out
    }

    /// Repeats axes of length 1 and new leading axes until the shape is `shape`.
    pub fn expand(&self, shape: &Shape) -> Result<Layout> {
        let wrong = || Error::Shape {
            op: "expand",
            left: self.shape.clone(),
            right: shape.clone(),
            why: "only axes of length 1 and new leading axes can be repeated",
        };
        let lead = shape.rank().checked_sub(self.shape.rank()).ok_or_else(wrong)?;
        let mut strides: SmallVec<[isize; 4]> = SmallVec::from_elem(0, shape.rank());
        for (axis, (&n, &stride)) in self.shape.iter().zip(&self.strides).enumerate() {
            if n == shape[lead + axis] {
                strides[lead + axis] = stride;
            } else if n != 1 {
                return Err(wrong());
            }
        }
        Ok(Layout { shape: shape.clone(), strides, offset: self.offset })
    }

    /// The same elements in row-major order under another shape of equal size, if strides can say so.
    pub fn reshape(&self, shape: &Shape) -> Option<Layout> {
        if self.shape.size() == 0 {
            return Some(Layout { strides: shape.strides(), shape: shape.clone(), offset: self.offset });
        }
        let old: SmallVec<[(usize, isize); 4]> =
            self.shape.iter().copied().zip(self.strides.iter().copied()).filter(|&(n, _)| n != 1).collect();
        let mut strides: SmallVec<[isize; 4]> = SmallVec::from_elem(0, shape.rank());
        let (mut i, mut j) = (0, 0);
        while i < old.len() {
            // Grow a run of old axes and a run of new axes until both hold the same number of elements.
            let (from, mut to) = (i, j);
            let mut have = old[i].0;
            let mut want = 1;
            while have != want {
                if want < have {
                    want *= *shape.dims().get(to)?;
                    to += 1;
                } else {
                    i += 1;
                    have *= old[i].0;
                }
            }
            if old[from..=i].windows(2).any(|w| w[0].1 != w[1].1 * w[1].0 as isize) {
                return None;
            }
            let mut step = old[i].1;
            for axis in (j..to).rev() {
                strides[axis] = step;
                step *= shape[axis] as isize;
            }
            i += 1;
            j = to;
        }
        Some(Layout { shape: shape.clone(), strides, offset: self.offset })
    }

    /// This layout seen through another: `inner` indexes the row-major elements of this view.
    ///
    /// Possible when this is contiguous; otherwise the caller composes view by view.
    pub fn then(&self, inner: &Layout) -> Option<Layout> {
        self.is_contiguous().then(|| Layout {
            shape: inner.shape.clone(),
            strides: inner.strides.clone(),
            offset: self.offset.wrapping_add(inner.offset),
        })
    }
}

/// Iterator of [`Layout::positions`].
#[derive(Debug, Clone)]
pub struct Positions<'a> {
    layout: &'a Layout,
    index: SmallVec<[usize; 4]>,
    at: isize,
    left: usize,
}

impl Iterator for Positions<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let here = self.at as usize;
        for axis in (0..self.index.len()).rev() {
            self.index[axis] += 1;
            // Axes of length 1 may have any stride: stepping over their end and back wraps.
            self.at = self.at.wrapping_add(self.layout.strides[axis]);
            if self.index[axis] < self.layout.shape[axis] {
                break;
            }
            let walked = self.layout.strides[axis].wrapping_mul(self.layout.shape[axis] as isize);
            self.at = self.at.wrapping_sub(walked);
            self.index[axis] = 0;
        }
        Some(here)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(layout: &Layout) -> Vec<usize> {
        layout.positions().collect()
    }

    #[test]
    fn views_compose_through_negative_strides() {
        let base = Layout::contiguous(Shape::from([2, 3]));
        assert_eq!(positions(&base.flip(&[1])), [2, 1, 0, 5, 4, 3]);
        assert_eq!(positions(&base.permute(&[1, 0])), [0, 3, 1, 4, 2, 5]);
        let spans = [Span { start: 1, step: 1, length: 1 }, Span { start: 2, step: -2, length: 2 }];
        assert_eq!(positions(&base.slice(&spans)), [5, 3]);
        assert_eq!(base.flip(&[0, 1]).extent(), (0, 6));
    }

    #[test]
    fn reshape_splits_and_merges_where_strides_allow() {
        let base = Layout::contiguous(Shape::from([4, 6]));
        assert!(base.permute(&[1, 0]).reshape(&Shape::from([24])).is_none());
        let split = base.permute(&[1, 0]).reshape(&Shape::from([2, 3, 4])).unwrap();
        assert_eq!(split.strides.as_slice(), &[3, 1, 6]);
        let flipped = base.flip(&[0, 1]).reshape(&Shape::from([24])).unwrap();
        assert_eq!(flipped.strides.as_slice(), &[-1]);
        assert!(base.expand(&Shape::from([2, 4, 6])).unwrap().reshape(&Shape::from([8, 6])).is_none());
    }

    #[test]
    fn reshape_keeps_axes_of_length_one_anywhere() {
        let base = Layout::contiguous(Shape::from([1, 6]));
        let shaped = base.reshape(&Shape::from([1, 2, 1, 3, 1])).unwrap();
        assert_eq!(positions(&shaped), [0, 1, 2, 3, 4, 5]);
        assert_eq!(
            positions(&Layout::contiguous(Shape::scalar()).reshape(&Shape::from([1, 1])).unwrap()),
            [0]
        );
    }

    #[test]
    fn empty_and_scalar_layouts_have_zero_and_one_position() {
        assert_eq!(positions(&Layout::contiguous(Shape::from([0, 3]))), []);
        assert_eq!(positions(&Layout::contiguous(Shape::scalar())), [0]);
        assert_eq!(Layout::contiguous(Shape::from([0])).flip(&[0]).extent(), (0, 0));
    }

    #[test]
    fn empty_views_never_point_outside_their_buffer() {
        let empty = Layout::contiguous(Shape::from([3, 0]));
        assert_eq!(empty.flip(&[0, 1]).extent(), (0, 0));
        let spans = [Span { start: 2, step: 1, length: 1 }, Span { start: 0, step: 1, length: 0 }];
        assert_eq!(Layout::contiguous(Shape::from([3, 4])).slice(&spans).extent(), (0, 0));
        assert_eq!(empty.slice(&spans).extent(), (0, 0));
    }

    #[test]
    fn axes_of_length_one_may_have_any_stride() {
        let base = Layout::contiguous(Shape::from([2, 3]));
        let spans = [Span { start: 1, step: isize::MIN, length: 1 }, Span { start: 2, step: -1, length: 3 }];
        let far = base.slice(&spans);
        assert_eq!(positions(&far), [5, 4, 3]);
        let wild =
            Layout { shape: Shape::from([1, 2]), strides: [isize::MIN, 1].as_slice().into(), offset: 1 };
        assert_eq!(positions(&wild.flip(&[0])), [1, 2]);
        assert_eq!(wild.flip(&[0, 1]).extent(), (1, 3));
    }
}
