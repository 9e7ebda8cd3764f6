//! Structures out of vectors: sequences, n-grams, records. What is made of the rows is made for every leading axis.

use crossover_array::{Array, Index, s};

use crate::{Error, Result, Space};

impl Space {
    /// A sequence: the superposition of the rows, each permuted once more than the one before. Order matters. Rows `[.., k, d]` make sequences `[.., d]`.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Hrr, 2048)?;
    /// let letters = space.named_all(&["c", "a", "t"])?;
    /// let cat = space.sequence(&letters)?;
    /// let second = space.sequence_item(&cat, 1)?;
    /// assert_eq!(space.cleanup(&second, &letters, 0.3)?[0].unwrap().index, 1);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn sequence(&self, vectors: &Array) -> Result<Array> {
        self.some_rows("sequence", vectors)?;
        self.superpose(&self.permute_each(vectors, false)?)
    }

    /// What stands at a place of a [sequence](Space::sequence), with the noise of the other places.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Hrr, 2048)?;
    /// let letters = space.named_all(&["c", "a", "t"])?;
    /// let cat = space.sequence(&letters)?;
    /// for place in 0..3 {
    ///     let letter = space.cleanup(&space.sequence_item(&cat, place)?, &letters, 0.3)?[0];
    ///     assert_eq!(letter.map(|found| found.index), Some(place));
    /// }
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn sequence_item(&self, sequence: &Array, place: usize) -> Result<Array> {
        let times = i64::try_from(place)
            .map_err(|_| Error::value("sequence_item", format!("{place} is no place of a sequence")))?;
        self.permute(sequence, -times)
    }

    /// One n-gram: the rows bound together, each permuted by its distance from the end. "abc" and "cba" are unrelated. Rows `[.., n, d]` make n-grams
    /// `[.., d]`.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Hrr, 1024)?;
    /// let abc = space.ngram(&space.named_all(&["a", "b", "c"])?)?;
    /// let cba = space.ngram(&space.named_all(&["c", "b", "a"])?)?;
    /// assert!(space.similarity(&abc, &cba)?.item::<f32>()?.abs() < 0.2);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn ngram(&self, vectors: &Array) -> Result<Array> {
        let n = self.some_rows("ngram", vectors)?;
        let moved = self.permute_each(vectors, true)?;
        let rows: Vec<Array> = (0..n).map(|i| moved.slice(s![Index::Ellipsis, i, ..])).collect();
        self.multi_bind(&rows.iter().collect::<Vec<_>>())
    }

    /// All n-grams of a text, superposed: what the text is about, and in which order neighbours stand. Rows `[.., count, d]` make `[.., d]`.
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Map, 4096)?;
    /// let text = |t: &str| space.named_all(&t.chars().map(String::from).collect::<Vec<_>>());
    /// let one = space.ngrams(&text("the cat sat on the mat")?, 3)?;
    /// let near = space.ngrams(&text("the cat sat on a mat")?, 3)?;
    /// let far = space.ngrams(&text("tam eht no tas tac eht")?, 3)?;
    /// let alike = |x| -> Result<f32, crossover_hrr::Error> { Ok(space.similarity(&one, x)?.item::<f32>()?) };
    /// assert!(alike(&near)? > alike(&far)? + 0.2);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn ngrams(&self, vectors: &Array, n: usize) -> Result<Array> {
        const OP: &str = "ngrams";
        self.rows(OP, vectors)?;
        let count = vectors.shape().dims()[vectors.ndim() - 2];
        if n == 0 || count < n {
            let what = format!(
                "{n}-grams of vectors of shape {}; wants [.., count, d] with 1 <= n <= count",
                vectors.shape()
            );
            return Err(Error::value(OP, what));
        }
        // Every place at once: rows i.. of the text, permuted and bound.
        let places = count - n + 1;
        let parts: Vec<Array> = (0..n)
            .map(|i| {
                let some = vectors.slice(s![Index::Ellipsis, i..i + places, ..]);
                self.permute(&some, (n - 1 - i) as i64)
            })
            .collect::<Result<_>>()?;
        self.superpose(&self.multi_bind(&parts.iter().collect::<Vec<_>>())?)
    }

    /// A record of role and filler vectors: their pairs superposed. Ask it with [`unbind`](Space::unbind).
    ///
    /// ```
    /// use crossover_hrr::{Model, Space};
    /// let space = Space::new(Model::Hrr, 2048)?;
    /// let v = |name: &str| space.named(name);
    /// let mexico = space.record(&[(&v("capital")?, &v("Mexico City")?), (&v("money")?, &v("peso")?)])?;
    /// let usa = space.record(&[(&v("capital")?, &v("Washington")?), (&v("money")?, &v("dollar")?)])?;
    /// // What is to Mexico as the dollar is to the USA?
    /// let role = space.unbind(&usa, &v("dollar")?)?;
    /// let answer = space.unbind(&mexico, &role)?;
    /// let items = space.named_all(&["Mexico City", "peso", "Washington", "dollar"])?;
    /// assert_eq!(space.cleanup(&answer, &items, 0.05)?[0].unwrap().index, 1);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn record(&self, pairs: &[(&Array, &Array)]) -> Result<Array> {
        if pairs.is_empty() {
            return Err(Error::value("record", "no pairs; give at least one role and its filler"));
        }
        let (roles, fillers): (Vec<&Array>, Vec<&Array>) = pairs.iter().copied().unzip();
        for vector in roles.iter().chain(&fillers) {
            self.check("record", vector)?;
        }
        self.bind_superpose(&Array::stack(&roles, -2), &Array::stack(&fillers, -2))
    }

    /// How many rows vectors `[.., k, d]` are; at least one.
    fn some_rows(&self, op: &'static str, vectors: &Array) -> Result<usize> {
        self.rows(op, vectors)?;
        match vectors.shape().dims()[vectors.ndim() - 2] {
            0 => {
                let what = format!(
                    "wants at least one vector, as [.., k, {}], not {}",
                    self.width(),
                    vectors.shape()
                );
                Err(Error::value(op, what))
            }
            k => Ok(k),
        }
    }
}
