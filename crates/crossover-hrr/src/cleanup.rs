//! From a noisy vector to the item that is meant.

use crossover_array::{Array, DType};

use crate::{Error, Model, Result, Space, kernel, ranked};

/// An item that resembles a query.
///
/// ```
/// use crossover_hrr::{Match, Model, Space};
/// let space = Space::new(Model::Map, 256)?;
/// let items = space.named_all(&["red", "green", "blue"])?;
/// // A third of the signs of "blue" turned over leaves a third of the similarity: 172 - 84 of 256.
/// let noise: Vec<f32> = (0..256).map(|i| if i % 3 == 2 && i < 252 { -1.0 } else { 1.0 }).collect();
/// let noisy = space.named("blue")? * crossover_array::Array::from(noise);
/// assert_eq!(space.cleanup(&noisy, &items, 0.2)?, [Some(Match { index: 2, similarity: 0.34375 })]);
/// # Ok::<(), crossover_hrr::Error>(())
/// ```
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
        self.cleanup_prepared(&queries, &self.prepared(items, None), threshold)
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
        self.nearest_prepared(&queries, &self.prepared(items, None))
    }

    /// As [`nearest`](Space::nearest), of items that have been prepared.
    pub(crate) fn nearest_prepared(&self, queries: &Array, items: &Array) -> Result<Array> {
        Ok(kernel::indices(&kernel::winners(&self.asked_of(queries, items), items)?))
    }

    /// Queries as their items are prepared.
    fn asked_of(&self, queries: &Array, items: &Array) -> Array {
        self.prepared(queries, (items.dtype() != DType::F32).then_some(items.dtype()))
    }

    /// Numbers of a row of [`prepared`](Space::prepared) vectors.
    pub(crate) fn comparable_width(&self) -> usize {
        let parts = if self.model() == Model::Fhrr { 2 } else { 1 };
        (parts * self.d()).next_multiple_of(kernel::MULTIPLE)
    }

    /// Vectors as [`cleanup_prepared`](Space::cleanup_prepared) wants them, in f32 or in a dtype of 16 bits.
    pub(crate) fn prepared(&self, vectors: &Array, kept: Option<DType>) -> Array {
        let prepared = kernel::prepared(&self.comparable(vectors));
        kept.map_or(prepared.clone(), |dtype| prepared.astype(dtype))
    }

    /// As [`cleanup`](Space::cleanup), of items that have been prepared.
    pub(crate) fn cleanup_prepared(
        &self,
        queries: &Array,
        items: &Array,
        threshold: f64,
    ) -> Result<Vec<Option<Match>>> {
        let (indices, similarities) = kernel::nearest(&self.asked_of(queries, items), items)?;
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
        self.top_k_prepared(&queries, &self.prepared(items, None), k)
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
                let queries = self.asked_of(queries, items);
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
            let what =
                format!("wants items as [n, {}] with at least one, not {}", self.width(), items.shape());
            return Err(Error::value(op, what));
        }
        let rows = queries.size() / self.width();
        Ok((queries.reshape([rows, self.width()]), n))
    }
}

#[cfg(test)]
mod tests {
    use crossover_array::Key;

    use super::*;
    use crate::ItemMemory;

    /// By float64 on the operands as they were rounded, the winner of each query, the first among equals, and its score.
    fn defined(queries: &Array, items: &Array) -> Vec<(i64, f64)> {
        let wide = |x: &Array| x.astype(DType::F64).to_vec::<f64>().unwrap();
        let k = items.shape().dims()[1];
        let (queries, items) = (wide(queries), wide(items));
        let winner = |query: &[f64]| {
            let mut best = (-1, f64::NEG_INFINITY);
            for (i, item) in items.chunks(k).enumerate() {
                let score: f64 = query.iter().zip(item).map(|(a, b)| a * b).sum();
                if score > best.1 + 1e-15 {
                    best = (i as i64, score);
                }
            }
            best
        };
        queries.chunks(k).map(winner).collect()
    }

    #[test]
    fn a_compact_memory_finds_what_rounded_vectors_say() {
        for model in Model::ALL {
            for dtype in [DType::F16, DType::BF16] {
                let space = Space::new(model, 100).unwrap();
                let mut memory = ItemMemory::compact(10, space.clone(), dtype).unwrap();
                let names: Vec<String> = (0..700).map(|i| i.to_string()).collect();
                let vectors = space.random(&Key::new(1), 700);
                for first in [0, 300] {
                    let (last, some) = if first == 0 { (300, &names[..300]) } else { (700, &names[300..]) };
                    let rows = vectors.slice(crossover_array::s![first..last]);
                    memory.add_vectors(some, &rows).unwrap();
                    // What was prepared stays, what is new comes behind it.
                    memory.nearest(&vectors.index(0)).unwrap().eval().unwrap();
                }
                // The same item twice.
                memory.add_vector("again", &vectors.index(5)).unwrap();
                let queries = Array::concat(
                    &[
                        &vectors.slice(crossover_array::s![0..9]),
                        &space.random(&Key::new(2), 31),
                        &space.superpose(&Array::stack(&[&vectors, &vectors.flip(0)], 1)).unwrap(),
                    ],
                    0,
                );
                let kept = space.expand(&space.compact_as(&vectors, dtype).unwrap()).unwrap();
                let kept = Array::concat(&[&kept, &kept.slice(crossover_array::s![5..6])], 0);
                let items = space.prepared(&kept, Some(dtype));
                assert_eq!(items.dtype(), dtype);
                let want = defined(&space.prepared(&queries, Some(dtype)), &items);
                let found = memory.nearest(&queries).unwrap().to_vec::<i64>().unwrap();
                assert_eq!(found, want.iter().map(|want| want.0).collect::<Vec<_>>(), "{model} {dtype}");
                assert_eq!(found[5], 5);
                let named = memory.query(&queries, -2.0).unwrap();
                let top = memory.top_k(&queries, 3).unwrap();
                for ((named, top), want) in named.iter().zip(&top).zip(&want) {
                    let named = named.as_ref().unwrap();
                    assert_eq!(named.name, memory.names()[want.0 as usize]);
                    assert!((named.similarity - want.1.min(1.0)).abs() < 1e-7, "{model} {dtype}");
                    assert_eq!(&top[0], named);
                }
                assert_eq!((top[5][0].name.as_str(), top[5][1].name.as_str()), ("5", "again"));
            }
        }
    }

    #[test]
    fn compact_similarities_are_as_near_as_is_said() {
        for model in Model::ALL {
            for (dtype, most) in [(DType::F16, 2f64.powi(-9)), (DType::BF16, 2f64.powi(-6))] {
                let space = Space::new(model, 512).unwrap();
                let vectors = space.random(&Key::new(3), 50);
                let rounded = space.expand(&space.compact_as(&vectors, dtype).unwrap()).unwrap();
                let (q, x) = (space.prepared(&vectors, Some(dtype)), space.prepared(&rounded, Some(dtype)));
                let wide = |x: &Array| x.astype(DType::F64);
                let got = wide(&q).matmul(&wide(&x).swap_axes(-1, -2));
                let want = wide(&space.similarities(&vectors, &vectors).unwrap());
                let off = (got - want).abs().max(()).item::<f64>().unwrap();
                assert!(off < most, "{model} {dtype}: {off}");
            }
        }
    }

    #[test]
    fn a_memory_without_items_and_other_dtypes_say_so() {
        let space = Space::new(Model::Hrr, 64).unwrap();
        let memory = ItemMemory::compact(0, space.clone(), DType::BF16).unwrap();
        let asked = space.random(&Key::new(1), 3);
        assert_eq!(memory.nearest(&asked).unwrap().to_vec::<i64>().unwrap(), [-1, -1, -1]);
        assert_eq!(memory.query(&asked, 0.0).unwrap(), [None, None, None]);
        let error = ItemMemory::compact(0, space, DType::F32).unwrap_err().to_string();
        assert_eq!(error, "item memory: vectors are kept in f16 or bf16, not f32");
    }
}
