//! From a noisy vector to the item that is meant.

use crossover_array::Array;

use crate::{Error, Model, Result, Space, kernel, ranked};

/// An item that resembles a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Match {
    /// Row of the item.
    pub index: usize,
    /// How alike they are, at most 1.
    pub similarity: f64,
}

impl Space {
    /// The nearest item of each query, or `None` where the nearest is less alike than `threshold`: "unknown".
    ///
    /// Queries are `[d]` or `[q, d]`, items `[n, d]`. They are compared in `f32`, vectors of `f64` too; winners are those of exact arithmetic with these
    /// numbers on either device; among equal similarities the first item wins; a NaN never does. Scores are never written as a whole.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Hrr, 512)?;
    /// let items = space.named_all(&["red", "green", "blue"])?;
    /// let noisy = space.superpose(&space.named_all(&["green", "noise"])?)?;
    /// assert_eq!(space.cleanup(&noisy, &items, 0.3)?[0].unwrap().index, 1);
    /// assert_eq!(space.cleanup(&space.named("yellow")?, &items, 0.3)?[0], None);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn cleanup(&self, queries: &Array, items: &Array, threshold: f64) -> Result<Vec<Option<Match>>> {
        let (queries, _) = self.asked("cleanup", queries, items)?;
        self.cleanup_prepared(&queries, &self.prepared(items), threshold)
    }

    /// The rows of the nearest items, one for each query, as `i64`; -1 where a query is NaN. Lazy, as arrays are: where [`cleanup`](Space::cleanup) answers
    /// on the host, this stays where it was computed.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Hrr, 512)?;
    /// let items = space.named_all(&["red", "green", "blue"])?;
    /// let rows = space.nearest(&space.named_all(&["blue", "red"])?, &items)?;
    /// assert_eq!(rows.to_vec::<i64>()?, [2, 0]);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn nearest(&self, queries: &Array, items: &Array) -> Result<Array> {
        let (queries, _) = self.asked("nearest", queries, items)?;
        if queries.shape().dims()[0] == 0 {
            return Ok(Array::zeros::<i64>([0]));
        }
        Ok(kernel::indices(&kernel::winners(&self.prepared(&queries), &self.prepared(items))?))
    }

    /// Numbers of a row of [`prepared`](Space::prepared) vectors.
    pub(crate) fn comparable_width(&self) -> usize {
        let parts = if self.model() == Model::Fhrr { 2 } else { 1 };
        (parts * self.d()).next_multiple_of(kernel::MULTIPLE)
    }

    /// Vectors as [`cleanup_prepared`](Space::cleanup_prepared) wants them.
    pub(crate) fn prepared(&self, vectors: &Array) -> Array {
        kernel::prepared(&self.comparable(vectors))
    }

    /// As [`cleanup`](Space::cleanup), of items that have been prepared.
    pub(crate) fn cleanup_prepared(
        &self,
        queries: &Array,
        items: &Array,
        threshold: f64,
    ) -> Result<Vec<Option<Match>>> {
        let (indices, similarities) = kernel::nearest(&self.prepared(queries), items)?;
        let found = indices.into_iter().zip(similarities);
        // A comparison with NaN is false.
        let known = |(index, similarity): (u32, f32)| {
            let similarity = f64::from(similarity);
            // No item is the nearest of a query that is NaN, however low the threshold.
            let is_known = similarity >= threshold && index != u32::MAX;
            is_known.then_some(Match { index: index as usize, similarity: similarity.min(1.0) })
        };
        Ok(found.map(known).collect())
    }

    /// The `k` nearest items of each query, nearest first; fewer where there are no more, or where a similarity is NaN. They are compared as
    /// [`cleanup`](Space::cleanup) compares them, whose answer is the first; of the scores a part of bounded size is there at a time.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Bsc, 1000)?;
    /// let items = space.named_all(&["a", "b", "c", "d"])?;
    /// let mixed = space.superpose(&space.named_all(&["b", "d", "x"])?)?;
    /// let mut best: Vec<usize> = space.top_k(&mixed, &items, 2)?[0].iter().map(|m| m.index).collect();
    /// best.sort();
    /// assert_eq!(best, [1, 3]);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn top_k(&self, queries: &Array, items: &Array, k: usize) -> Result<Vec<Vec<Match>>> {
        let (queries, _) = self.asked("top_k", queries, items)?;
        self.top_k_prepared(&queries, &self.prepared(items), k)
    }

    /// As [`top_k`](Space::top_k), of items that have been prepared.
    pub(crate) fn top_k_prepared(&self, queries: &Array, items: &Array, k: usize) -> Result<Vec<Vec<Match>>> {
        match k.min(items.shape().dims()[0]) {
            0 => Ok(vec![Vec::new(); queries.shape().dims()[0]]),
            1 => {
                let found = self.cleanup_prepared(queries, items, f64::NEG_INFINITY)?;
                Ok(found.into_iter().map(|found| found.into_iter().collect()).collect())
            }
            k => {
                let queries = self.prepared(queries);
                crossover_array::eval_all(&[&queries, items])?;
                ranked::ranked(&queries, items, k)
            }
        }
    }

    /// Queries as `[q, d]`, and the number of items.
    fn asked(&self, op: &'static str, queries: &Array, items: &Array) -> Result<(Array, usize)> {
        self.check(op, queries)?;
        self.rows(op, items)?;
        let n = items.shape().dims()[0];
        if items.ndim() != 2 || n == 0 || n >= u32::MAX as usize {
            let what = format!("wants items as [n, {}] with at least one, not {}", self.d(), items.shape());
            return Err(Error::value(op, what));
        }
        let rows = queries.size() / self.d();
        Ok((queries.reshape([rows, self.d()]), n))
    }
}
