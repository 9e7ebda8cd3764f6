//! Factoring a bound vector: which items, one of each codebook, were bound?
//!
//! Each factor is estimated from the others, x̂ ← g(X Xᵀ (s ⊘ ŷ ⊘ ẑ)), all at once, until the winners agree with the vector. The search is
//! over all combinations in superposition; it can fail, and says so.

use crossover_array::{Array, DType};

use crate::{Error, Model, Result, Space};

/// What a resonator found.
#[derive(Debug, Clone, PartialEq)]
pub struct Factors {
    /// For each codebook, the row that was found.
    pub indices: Vec<usize>,
    /// How alike the vector and the product of these items are.
    pub similarity: f64,
    /// Rounds that were made.
    pub rounds: usize,
    /// Whether the product of the items is the vector (to `similarity` ≥ 0.5), or the rounds ran out.
    pub is_found: bool,
}

impl Space {
    /// Finds the items, one of each codebook `[n, d]`, whose binding is the vector.
    ///
    /// For HRR (with [unitary](Space::unitary) codebooks), FHRR and MAP. `rounds` bounds the search.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// use crossover_array::Key;
    /// let space = Space::new(Model::Fhrr, 1000)?;
    /// let books: Vec<_> = (0..3).map(|i| space.random(&Key::new(i), 10)).collect();
    /// let bound = space.multi_bind(&[&books[0].index(4), &books[1].index(9), &books[2].index(0)])?;
    /// let found = space.factor(&bound, &[&books[0], &books[1], &books[2]], 100)?;
    /// assert!(found.is_found);
    /// assert_eq!(found.indices, [4, 9, 0]);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn factor(&self, bound: &Array, codebooks: &[&Array], rounds: usize) -> Result<Factors> {
        const OP: &str = "factor";
        if !matches!(self.model(), Model::Hrr | Model::Fhrr | Model::Map) {
            let why = "its estimates do not superpose and unbind; use hrr, fhrr or map";
            return Err(Error::Model { op: OP, model: self.model(), why });
        }
        self.check(OP, bound)?;
        if bound.ndim() != 1 || codebooks.len() < 2 {
            let what = format!(
                "wants one vector and at least two codebooks, not {} and {}",
                bound.shape(),
                codebooks.len()
            );
            return Err(Error::value(OP, what));
        }
        for book in codebooks {
            self.rows(OP, book)?;
            if book.ndim() != 2 || book.shape().dims()[0] == 0 {
                return Err(Error::value(OP, format!("wants codebooks as [n, d], not {}", book.shape())));
            }
        }
        let mut estimates: Vec<Array> =
            codebooks.iter().map(|book| self.superpose(book)).collect::<Result<_>>()?;
        let mut best: Option<Factors> = None;
        for round in 1..=rounds.max(1) {
            let mut indices = Vec::with_capacity(codebooks.len());
            for (i, book) in codebooks.iter().enumerate() {
                let others: Vec<&Array> =
                    estimates.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, e)| e).collect();
                let left = self.unbind(bound, &self.multi_bind(&others)?)?;
                let alike = self.similarities(&left.reshape([1, self.d()]), book)?;
                let next = self.projected(&alike, book)?;
                crossover_array::eval_all(&[&next, &alike])?;
                // Two estimates of opposite sign make the same product, so signs do not count here.
                indices.push(alike.abs().argmax(-1).to_vec::<i64>()?[0] as usize);
                estimates[i] = next;
            }
            let items: Vec<Array> =
                indices.iter().zip(codebooks).map(|(&at, book)| book.index(at as i64)).collect();
            let product = self.multi_bind(&items.iter().collect::<Vec<_>>())?;
            let similarity = self.similarity(&product, bound)?.astype(DType::F64).item::<f64>()?;
            let is_found = similarity >= 0.5;
            if best.as_ref().is_none_or(|b| similarity > b.similarity) {
                best = Some(Factors { indices, similarity, rounds: round, is_found });
            }
            if is_found {
                break;
            }
            if let Some(best) = &mut best {
                best.rounds = round;
            }
        }
        best.ok_or_else(|| Error::value(OP, "no round was made"))
    }

    /// The codebook's items weighted by how alike they are, as an estimate.
    fn projected(&self, alike: &Array, book: &Array) -> Result<Array> {
        let book = self.widened(book);
        let sum = alike.astype(book.dtype()).matmul(&book).reshape([self.d()]);
        match self.model() {
            // Estimates stay among the vectors that can be unbound exactly.
            Model::Hrr => self.unitary(&self.narrowed(&sum)),
            _ => self.normalise(&self.narrowed(&sum)),
        }
    }
}
