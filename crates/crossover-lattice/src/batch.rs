//! Many questions at once, shared by threads; answers come in the order of the questions.

use rayon::prelude::*;

use crate::{Field, Lattice, Obstacles, Result, Route, Search};

/// Questions from which threads share them.
const MANY: usize = 16;

impl Lattice {
    /// [`shortest_path`](Lattice::shortest_path) of many pairs.
    ///
    /// ```
    /// use crossover_lattice::Lattice;
    /// let grid = Lattice::new([3, 3])?;
    /// let paths = grid.shortest_paths(&[(0, 2), (8, 7)])?;
    /// assert_eq!(paths, [vec![0, 1, 2], vec![8, 7]]);
    /// assert!(grid.shortest_paths(&[(0, 2), (0, 9)]).is_err());
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn shortest_paths(&self, pairs: &[(usize, usize)]) -> Result<Vec<Vec<usize>>> {
        many(pairs, 1024, |&(from, to)| self.shortest_path(from, to))
    }

    /// [`distance`](Lattice::distance) of many pairs.
    ///
    /// ```
    /// use crossover_lattice::Lattice;
    /// let grid = Lattice::new([100, 100])?;
    /// assert_eq!(grid.distances(&[(0, 99), (0, 9_999), (5, 5)])?, [99, 198, 0]);
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn distances(&self, pairs: &[(usize, usize)]) -> Result<Vec<usize>> {
        many(pairs, 4096, |&(from, to)| self.distance(from, to))
    }

    /// [`distance_field`](Lattice::distance_field) of each source, one field each.
    ///
    /// ```
    /// use crossover_lattice::Lattice;
    /// let line = Lattice::new([4])?;
    /// let fields = line.distance_fields(&[0, 3], None)?;
    /// assert_eq!(fields[1].as_slice(), [3, 2, 1, 0]);
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn distance_fields(&self, sources: &[usize], obstacles: Option<&Obstacles>) -> Result<Vec<Field>> {
        many(sources, 2, |&source| self.distance_field(&[source], obstacles))
    }
}

impl Search<'_> {
    /// [`path`](Search::path) of many pairs.
    ///
    /// ```
    /// use crossover_lattice::{Lattice, Obstacles};
    /// let grid = Lattice::new([2, 3])?;
    /// let mut wall = Obstacles::none(&grid);
    /// wall.block(1)?;
    /// wall.block(4)?;
    /// // The wall cuts the grid in two: one pair lies on the same side, one does not.
    /// let routes = grid.search().obstacles(&wall).paths(&[(0, 3), (0, 2)])?;
    /// assert_eq!(routes[0].as_ref().map(|route| route.cost), Some(1.0));
    /// assert_eq!(routes[1], None);
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn paths(&self, pairs: &[(usize, usize)]) -> Result<Vec<Option<Route>>> {
        many(pairs, MANY, |&(from, to)| self.path(from, to))
    }
}

/// The first error in order, or all answers.
fn many<Q: Sync, A: Send>(
    questions: &[Q],
    from: usize,
    answer: impl Fn(&Q) -> Result<A> + Send + Sync,
) -> Result<Vec<A>> {
    if questions.len() < from {
        return questions.iter().map(answer).collect();
    }
    let answers: Vec<Result<A>> = questions.par_iter().map(answer).collect();
    answers.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_those_of_single_questions() {
        let grid = Lattice::new([12, 12]).unwrap().periodic();
        let pairs: Vec<(usize, usize)> = (0..5000).map(|i| (i * 7 % 144, i * 13 % 144)).collect();
        let distances = grid.distances(&pairs).unwrap();
        let paths = grid.shortest_paths(&pairs).unwrap();
        let routes = grid.search().paths(&pairs[..200]).unwrap();
        for (i, &(from, to)) in pairs.iter().enumerate() {
            assert_eq!(distances[i], grid.distance(from, to).unwrap());
            assert_eq!(paths[i], grid.shortest_path(from, to).unwrap());
            if let Some(route) = routes.get(i) {
                assert_eq!(route.as_ref().unwrap().cost, distances[i] as f64);
            }
        }
    }
}
