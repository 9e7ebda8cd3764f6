//! The numbers of a call of attention, where its rows lie, and what can be wrong with them.

use crossover_core::Shape;

/// Axes of operands and result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Layout {
    /// `[batch, heads, length, head_size]`.
    Heads,
    /// As a projection leaves them: operands are `[batch, length, parts, heads, head_size]`, the result `[batch, length, heads,
    /// head_size]`. q is the first part of its operand, k and v are these of theirs.
    Rows([usize; 2]),
}

/// Where rows of `head_size` elements lie in an array, counted in rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lines {
    /// The first.
    pub(crate) first: usize,
    /// From one batch, head and place to the next.
    pub(crate) batch: usize,
    pub(crate) head: usize,
    pub(crate) step: usize,
    /// Heads, of all parts.
    pub(crate) heads: usize,
}

impl Lines {
    /// Of `[batch, heads, length, head_size]`.
    fn of_heads(heads: usize, length: usize) -> Lines {
        Lines { first: 0, batch: heads * length, head: length, step: 1, heads }
    }

    /// Of a part of `[batch, length, parts, heads, head_size]`.
    fn of_rows(length: usize, parts: usize, heads: usize, part: usize) -> Lines {
        let all = parts * heads;
        Lines { first: part * heads, batch: length * all, head: 1, step: all, heads: all }
    }

    /// The row of a place.
    pub(crate) fn row(&self, batch: usize, head: usize, place: usize) -> usize {
        self.first + batch * self.batch + head * self.head + place * self.step
    }
}

/// Axes of q, k and v: `[batch, heads, queries, head_size]` and `[batch, heads / group, keys, head_size]`, in whatever order they lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dims {
    pub(crate) batch: usize,
    pub(crate) heads: usize,
    /// Heads of q that share one of k and v.
    pub(crate) group: usize,
    pub(crate) queries: usize,
    pub(crate) keys: usize,
    pub(crate) head_size: usize,
    /// Rows of the operands and of the result.
    pub(crate) q: Lines,
    pub(crate) k: Lines,
    pub(crate) v: Lines,
    pub(crate) out: Lines,
}

/// Batch, heads, length and head size of an operand, and how often a row of heads is followed by rows of other parts.
fn axes(layout: Layout, name: &str, shape: &Shape) -> Result<([usize; 4], usize), String> {
    match (layout, shape.dims()) {
        (Layout::Heads, &[batch, heads, length, size]) => Ok(([batch, heads, length, size], 1)),
        (Layout::Rows(_), &[batch, length, parts, heads, size]) => Ok(([batch, heads, length, size], parts)),
        (Layout::Heads, _) => {
            Err(format!("{name} has the shape {shape}; it takes [batch, heads, length, head size]"))
        }
        (Layout::Rows(_), _) => {
            Err(format!("{name} has the shape {shape}; it takes [batch, length, parts, heads, head size]"))
        }
    }
}

impl Dims {
    /// From shapes, or what does not fit, by the name of the argument.
    pub(crate) fn new(layout: Layout, q: &Shape, k: &Shape, v: &Shape) -> Result<Dims, String> {
        let ([batch, heads, queries, head_size], q_parts) = axes(layout, "q", q)?;
        let ([k_batch, k_heads, keys, k_size], k_parts) = axes(layout, "k", k)?;
        axes(layout, "v", v)?;
        if k_batch != batch {
            return Err(format!("k has the shape {k}; its first axis must be {batch} long, as q's is"));
        }
        if k_size != head_size {
            return Err(format!("k has the shape {k}; its last axis must be {head_size} long, as q's is"));
        }
        if k != v {
            return Err(format!("v has the shape {v}; it must have k's, {k}"));
        }
        if k_heads == 0 || !heads.is_multiple_of(k_heads) {
            return Err(format!("k has {k_heads} heads; their number must divide the {heads} of q"));
        }
        if head_size == 0 {
            return Err(format!("q has the shape {q}; heads must have at least one element"));
        }
        for (name, length) in [("q", queries), ("k", keys)] {
            if length > 1 << 30 {
                return Err(format!("{name} has a length of {length}; {} is the most", 1 << 30));
            }
        }
        let [q_part, k_part, v_part] = match layout {
            Layout::Heads => [0; 3],
            Layout::Rows([k, v]) => [0, k, v],
        };
        for (name, part, parts) in [("q", q_part, q_parts), ("k", k_part, k_parts), ("v", v_part, k_parts)] {
            if part >= parts {
                return Err(format!("{name} has {parts} parts, and is to be part {part} of them"));
            }
        }
        let lines = |length: usize, parts: usize, heads: usize, part: usize| match layout {
            Layout::Heads => Lines::of_heads(heads, length),
            Layout::Rows(_) => Lines::of_rows(length, parts, heads, part),
        };
        Ok(Dims {
            batch,
            heads,
            group: heads / k_heads,
            queries,
            keys,
            head_size,
            q: lines(queries, q_parts, heads, q_part),
            k: lines(keys, k_parts, k_heads, k_part),
            v: lines(keys, k_parts, k_heads, v_part),
            out: lines(queries, 1, heads, 0),
        })
    }

    /// The shape of results whose rows have so many elements.
    pub(crate) fn result(&self, layout: Layout, width: usize) -> Shape {
        match layout {
            Layout::Heads => Shape::from([self.batch, self.heads, self.queries, width]),
            Layout::Rows(_) => Shape::from([self.batch, self.queries, self.heads, width]),
        }
    }

    /// Rows of q and of the result.
    pub(crate) fn rows(&self) -> usize {
        self.batch * self.heads * self.queries
    }

    /// The largest number of keys that a query sees, about, on average.
    pub(crate) fn seen(&self, band: Band) -> usize {
        let all = self.keys;
        match (band.left, band.right) {
            (None, None) => all,
            (None, Some(0)) | (Some(0), None) => all.div_ceil(2),
            (left, right) => {
                all.min(left.unwrap_or(all / 2).saturating_add(right.unwrap_or(all / 2)).saturating_add(1))
            }
        }
    }
}

/// How many keys before and behind its own place a query sees; `None`: all. The last query's place is that of the last key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Band {
    pub(crate) left: Option<usize>,
    pub(crate) right: Option<usize>,
}

impl Band {
    /// The keys that a query sees of so many.
    pub(crate) fn keys(&self, dims: &Dims, query: usize, length: usize) -> std::ops::Range<usize> {
        let place = query as i64 + dims.keys as i64 - dims.queries as i64;
        let low = self.left.map_or(0, |left| (place - left as i64).max(0));
        let high =
            self.right.map_or(length as i64, |right| (place + right as i64 + 1).clamp(0, length as i64));
        low.min(high) as usize..high as usize
    }
}

/// Checks a bias or mask of four axes: each has the length of the scores', or 1.
pub(crate) fn check_bias(name: &str, shape: &Shape, dims: &Dims) -> Result<(), String> {
    let scores = [dims.batch, dims.heads, dims.queries, dims.keys];
    let fits = shape.rank() == 4 && shape.dims().iter().zip(scores).all(|(&n, want)| n == 1 || n == want);
    if fits {
        return Ok(());
    }
    Err(format!("{name} has the shape {shape}; each axis must have the length of {scores:?}, or 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dims(q: &[usize], k: &[usize], v: &[usize]) -> Result<Dims, String> {
        Dims::new(Layout::Heads, &Shape::from(q), &Shape::from(k), &Shape::from(v))
    }

    #[test]
    fn rows_of_parts_lie_where_a_projection_left_them() {
        let (joined, rows) = (Shape::from([2, 5, 3, 4, 8]), Shape::from([2, 5, 1, 4, 8]));
        let made = Dims::new(Layout::Rows([1, 2]), &joined, &joined, &joined).unwrap();
        assert_eq!((made.heads, made.queries, made.keys, made.head_size), (4, 5, 5, 8));
        // Row (batch 1, place 3, part 2, head 1) of `[2, 5, 3, 4]`.
        assert_eq!(made.v.row(1, 1, 3), ((5 + 3) * 3 + 2) * 4 + 1);
        assert_eq!(made.out.row(1, 1, 3), (5 + 3) * 4 + 1);
        assert_eq!(made.result(Layout::Rows([1, 2]), 9).dims(), [2, 5, 4, 9]);
        let plain = dims(&[2, 4, 5, 8], &[2, 2, 5, 8], &[2, 2, 5, 8]).unwrap();
        assert_eq!((plain.q.row(1, 3, 2), plain.k.row(1, 1, 2)), ((4 + 3) * 5 + 2, (2 + 1) * 5 + 2));
        let error = Dims::new(Layout::Rows([0, 1]), &rows, &rows, &rows).unwrap_err();
        assert_eq!(error, "v has 1 parts, and is to be part 1 of them");
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let made = dims(&[2, 6, 5, 8], &[2, 3, 7, 8], &[2, 3, 7, 8]).unwrap();
        assert_eq!((made.group, made.rows()), (2, 60));
        for (q, k, v, message) in [
            (&[2, 5, 8][..], &[2, 3, 7, 8][..], &[2, 3, 7, 8][..], "q has the shape [2, 5, 8]"),
            (&[2, 6, 5, 8], &[1, 3, 7, 8], &[1, 3, 7, 8], "k has the shape [1, 3, 7, 8]; its first axis"),
            (&[2, 6, 5, 8], &[2, 3, 7, 9], &[2, 3, 7, 9], "k has the shape [2, 3, 7, 9]; its last axis"),
            (&[2, 6, 5, 8], &[2, 3, 7, 8], &[2, 3, 6, 8], "v has the shape [2, 3, 6, 8]"),
            (&[2, 6, 5, 8], &[2, 4, 7, 8], &[2, 4, 7, 8], "k has 4 heads"),
        ] {
            let error = dims(q, k, v).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn the_last_query_is_at_the_last_key() {
        let made = dims(&[1, 1, 3, 8], &[1, 1, 5, 8], &[1, 1, 5, 8]).unwrap();
        let causal = Band { left: None, right: Some(0) };
        assert_eq!([0, 1, 2].map(|q| causal.keys(&made, q, 5)), [0..3, 0..4, 0..5]);
        assert_eq!(causal.keys(&made, 2, 2), 0..2);
        let window = Band { left: Some(1), right: Some(0) };
        assert_eq!([0, 2].map(|q| window.keys(&made, q, 5)), [1..3, 3..5]);
        assert_eq!(window.keys(&made, 2, 1), 1..1, "nothing is left");
    }
}
