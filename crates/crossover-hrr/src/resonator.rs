//! Factoring a bound vector: which items, one of each codebook, were bound?
//!
//! Each factor is estimated from the others, x̂ ← g(X Xᵀ (s ⊘ ŷ ⊘ ẑ)), all at once, until the winners agree with the vector. The search is
//! over all combinations in superposition; it can fail, and says so.

use crossover_array::{Array, DType};

use crate::{Error, Model, Result, Space};

/// What a resonator found.
///
/// ```
/// use crossover_array::Key;
/// use crossover_hrr::{Model, Space};
/// let space = Space::new(Model::Fhrr, 500)?;
/// let (colours, shapes) = (space.random(&Key::new(1), 5), space.random(&Key::new(2), 5));
/// let bound = space.bind(&colours.index(3), &shapes.index(0))?;
/// let found = &space.factor(&bound, &[&colours, &shapes], 50)?[0];
/// assert_eq!((found.is_found, found.indices.as_slice()), (true, &[3, 0][..]));
/// assert!(found.similarity > 0.999 && found.rounds <= 50);
/// // A vector that is no product of theirs: the rounds ran out.
/// let other = &space.factor(&space.named("other")?, &[&colours, &shapes], 10)?[0];
/// assert_eq!((other.is_found, other.rounds), (false, 10));
/// # Ok::<(), crossover_hrr::Error>(())
/// ```
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
    /// Finds the items, one of each codebook `[n, d]`, whose binding is the vector: for each of the vectors `[.., d]`, in their order. They are searched
    /// together, each until it is found.
    ///
    /// For HRR (with [unitary](Space::unitary) codebooks), FHRR and MAP. `rounds` bounds the search.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// use crossover_array::{Array, Key};
    /// let space = Space::new(Model::Fhrr, 1000)?;
    /// let books: Vec<_> = (0..3).map(|i| space.random(&Key::new(i), 10)).collect();
    /// let bound = |of: [i64; 3]| space.multi_bind(&[&books[0].index(of[0]), &books[1].index(of[1]), &books[2].index(of[2])]);
    /// let two = Array::stack(&[&bound([4, 9, 0])?, &bound([1, 1, 7])?], 0);
    /// let found = space.factor(&two, &[&books[0], &books[1], &books[2]], 100)?;
    /// assert!(found.iter().all(|found| found.is_found));
    /// assert_eq!((&found[0].indices[..], &found[1].indices[..]), (&[4, 9, 0][..], &[1, 1, 7][..]));
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn factor(&self, bound: &Array, codebooks: &[&Array], rounds: usize) -> Result<Vec<Factors>> {
        const OP: &str = "factor";
        if !matches!(self.model(), Model::Hrr | Model::Fhrr | Model::Map) {
            let why = "its estimates do not superpose and unbind; use hrr, fhrr or map";
            return Err(Error::Model { op: OP, model: self.model(), why });
        }
        self.check(OP, bound)?;
        if codebooks.len() < 2 {
            let what = format!("wants at least two codebooks, not {}", codebooks.len());
            return Err(Error::value(OP, what));
        }
        for book in codebooks {
            self.rows(OP, book)?;
            if book.ndim() != 2 || book.shape().dims()[0] == 0 {
                return Err(Error::value(OP, format!("wants codebooks as [n, d], not {}", book.shape())));
            }
        }
        let count = bound.size() / self.width();
        let mut found: Vec<Option<Factors>> = vec![None; count];
        let mut search = Search::of(self, &bound.reshape([count, self.width()]), codebooks)?;
        for round in 1..=rounds.max(1) {
            if search.rows.is_empty() {
                break;
            }
            let guesses = search.round(self, codebooks)?;
            let mut left = Vec::new();
            for (at, (indices, similarity)) in guesses.into_iter().enumerate() {
                let (row, is_found) = (search.rows[at], similarity >= 0.5);
                let best = &mut found[row];
                if best.as_ref().is_none_or(|best| similarity > best.similarity) {
                    *best = Some(Factors { indices, similarity, rounds: round, is_found });
                } else if let Some(best) = best {
                    best.rounds = round;
                }
                if !is_found {
                    left.push(at);
                }
            }
            search.keep(&left);
        }
        let found: Option<Vec<Factors>> = found.into_iter().collect();
        found.ok_or_else(|| Error::value(OP, "no round was made"))
    }

    /// The codebook's items weighted by how alike they are, as estimates.
    fn projected(&self, alike: &Array, book: &Array) -> Result<Array> {
        let book = self.widened(book);
        let sum = alike.astype(book.dtype()).matmul(&book);
        match self.model() {
            // Estimates stay among the vectors that can be unbound exactly.
            Model::Hrr => self.unitary(&self.narrowed(&sum)),
            _ => self.normalise(&self.narrowed(&sum)),
        }
    }
}

/// Vectors whose factors are not found yet.
struct Search {
    /// Their numbers among all.
    rows: Vec<usize>,
    /// `[q, d]`.
    bound: Array,
    /// For each codebook an estimate of every vector's factor, `[q, d]`.
    estimates: Vec<Array>,
}

impl Search {
    fn of(space: &Space, bound: &Array, codebooks: &[&Array]) -> Result<Search> {
        let count = bound.shape().dims()[0];
        let estimate = |book: &&Array| -> Result<Array> {
            Ok(space.superpose(book)?.broadcast_to([count, space.width()]))
        };
        let estimates = codebooks.iter().map(estimate).collect::<Result<_>>()?;
        Ok(Search { rows: (0..count).collect(), bound: bound.clone(), estimates })
    }

    /// Estimates every factor once from the others: for each vector the nearest items, and how alike their product and the vector are.
    fn round(&mut self, space: &Space, codebooks: &[&Array]) -> Result<Vec<(Vec<usize>, f64)>> {
        let mut nearest = Vec::with_capacity(codebooks.len());
        for (i, book) in codebooks.iter().enumerate() {
            let others: Vec<&Array> =
                self.estimates.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, e)| e).collect();
            let left = space.unbind(&self.bound, &space.multi_bind(&others)?)?;
            let alike = space.similarities(&left, book)?;
            let next = space.projected(&alike, book)?;
            // Two estimates of opposite sign make the same product, so signs do not count here.
            let best = alike.abs().argmax(-1);
            crossover_array::eval_all(&[&next, &best])?;
            nearest.push(best);
            self.estimates[i] = next;
        }
        let items: Vec<Array> = nearest.iter().zip(codebooks).map(|(at, book)| book.take(at, 0)).collect();
        let product = space.multi_bind(&items.iter().collect::<Vec<_>>())?;
        let similarities = space.similarity(&product, &self.bound)?.astype(DType::F64).to_vec::<f64>()?;
        let nearest: Vec<Vec<i64>> =
            nearest.iter().map(|at| Ok(at.to_vec::<i64>()?)).collect::<Result<_>>()?;
        let guess = |(row, similarity)| (nearest.iter().map(|at| at[row] as usize).collect(), similarity);
        Ok(similarities.into_iter().enumerate().map(guess).collect())
    }

    /// Goes on with these of the vectors only.
    fn keep(&mut self, left: &[usize]) {
        if left.len() == self.rows.len() {
            return;
        }
        self.rows = left.iter().map(|&at| self.rows[at]).collect();
        let places = Array::from(left.iter().map(|&at| at as i64).collect::<Vec<_>>());
        self.bound = self.bound.take(&places, 0);
        for estimate in &mut self.estimates {
            *estimate = estimate.take(&places, 0);
        }
    }
}
