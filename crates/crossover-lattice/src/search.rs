//! Shortest paths with something in the way.

use crate::{Error, Lattice, Obstacles, Result, steps::Steps, weighted};

/// How a path is searched for. All of them find one of the shortest.
///
/// ```
/// use crossover_lattice::{Lattice, Method};
/// let grid = Lattice::new([9, 9])?;
/// let look = |method| grid.search().method(method).path(40, 44);
/// let (towards, around) = (look(Method::AStar)?, look(Method::BreadthFirst)?);
/// let (towards, around) = (towards.expect("it is free"), around.expect("it is free"));
/// assert_eq!(towards.vertices, around.vertices);
/// assert!(towards.visited < around.visited);
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// Towards the goal first, by the distance that is left when nothing is in the way (A*).
    #[default]
    AStar,
    /// In all directions alike: breadth-first, or Dijkstra's with weights.
    BreadthFirst,
}

/// A path and what it costs.
///
/// ```
/// use crossover_lattice::Lattice;
/// let line = Lattice::new([4])?;
/// let toll = [5.0, 1.0, 2.5, 1.0];
/// let route = line.search().weights(&toll).path(0, 3)?.expect("nothing is blocked");
/// assert_eq!(route.vertices, [0, 1, 2, 3]);
/// assert_eq!(route.cost, 4.5); // what is entered counts, so the start does not
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// The vertices, both ends included.
    pub vertices: Vec<usize>,
    /// Steps, or the sum of the weights of the vertices that are entered.
    pub cost: f64,
    /// How many vertices the search looked around from.
    pub visited: usize,
}

/// A search in a lattice; made by [`Lattice::search`].
///
/// ```
/// use crossover_lattice::{Lattice, Method, Obstacles};
/// let grid = Lattice::new([3, 3])?;
/// let mut obstacles = Obstacles::none(&grid);
/// obstacles.block(1)?;
/// obstacles.block(4)?;
/// let route = grid.search().obstacles(&obstacles).path(0, 2)?.expect("around the wall");
/// assert_eq!(route.vertices, [0, 3, 6, 7, 8, 5, 2]);
/// obstacles.block(7)?;
/// assert!(grid.search().obstacles(&obstacles).path(0, 2)?.is_none());
/// # Ok::<(), crossover_lattice::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    lattice: &'a Lattice,
    obstacles: Option<&'a Obstacles>,
    weights: Option<&'a [f64]>,
    method: Method,
}

impl<'a> Search<'a> {
    pub(crate) fn new(lattice: &'a Lattice) -> Search<'a> {
        Search { lattice, obstacles: None, weights: None, method: Method::default() }
    }

    /// Vertices that cannot be entered.
    pub fn obstacles(mut self, obstacles: &'a Obstacles) -> Search<'a> {
        self.obstacles = Some(obstacles);
        self
    }

    /// What entering each vertex costs; 1 without this.
    ///
    /// ```
    /// use crossover_lattice::Lattice;
    /// let grid = Lattice::new([2, 3])?;
    /// let swamp = [1.0, 9.0, 1.0, 1.0, 1.0, 1.0];
    /// let route = grid.search().weights(&swamp).path(0, 2)?.expect("nothing is blocked");
    /// assert_eq!((route.vertices.as_slice(), route.cost), (&[0, 3, 4, 5, 2][..], 4.0));
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn weights(mut self, weights: &'a [f64]) -> Search<'a> {
        self.weights = Some(weights);
        self
    }

    /// How to search; towards the goal without this.
    ///
    /// ```
    /// use crossover_lattice::{Lattice, Method};
    /// let ring = Lattice::new([8])?.periodic();
    /// let route = ring.search().method(Method::BreadthFirst).path(1, 6)?.expect("nothing is blocked");
    /// assert_eq!(route.vertices, [1, 0, 7, 6]);
    /// # Ok::<(), crossover_lattice::Error>(())
    /// ```
    pub fn method(mut self, method: Method) -> Search<'a> {
        self.method = method;
        self
    }

    /// A shortest path, or `None` where there is no way.
    pub fn path(&self, from: usize, to: usize) -> Result<Option<Route>> {
        self.check(from)?;
        self.check(to)?;
        let steps = self.lattice.steps("a search")?;
        let free = Obstacles::free(self.lattice, self.obstacles);
        let (start, goal) = (from as u32, to as u32);
        if let Some(weights) = self.weights {
            weighted::check(self.lattice, weights)?;
            let hasty = self.method == Method::AStar;
            return Ok(weighted::path(&steps, free, weights, start, goal, hasty));
        }
        let mut distances = vec![u32::MAX; self.lattice.len()];
        let visited = match self.method {
            Method::AStar => towards(&steps, free, &mut distances, start, goal),
            Method::BreadthFirst => around(&steps, free, &mut distances, start, goal),
        };
        let length = distances[to];
        if length == u32::MAX {
            return Ok(None);
        }
        let vertices = walk_back(&steps, &distances, goal);
        Ok(Some(Route { vertices, cost: f64::from(length), visited }))
    }

    fn check(&self, vertex: usize) -> Result<()> {
        self.lattice.check(vertex)?;
        if let Some(obstacles) = self.obstacles {
            obstacles.check(self.lattice)?;
            if obstacles.is_blocked(vertex) {
                return Err(Error::Blocked { vertex });
            }
        }
        Ok(())
    }
}

/// Takes a bit out of a set; whether it was there.
#[inline(always)]
pub(crate) fn take(set: &mut [u64], vertex: u32) -> bool {
    let (word, bit) = (&mut set[vertex as usize / 64], 1u64 << (vertex % 64));
    let was = *word & bit != 0;
    *word &= !bit;
    was
}

/// Breadth-first until the goal is reached.
fn around(steps: &Steps, mut free: Vec<u64>, distances: &mut [u32], start: u32, goal: u32) -> usize {
    let mut queue = vec![start];
    take(&mut free, start);
    distances[start as usize] = 0;
    let mut next = 0;
    while next < queue.len() && distances[goal as usize] == u32::MAX {
        let vertex = queue[next];
        next += 1;
        let distance = distances[vertex as usize] + 1;
        steps.each(vertex, |neighbour| {
            if take(&mut free, neighbour) {
                distances[neighbour as usize] = distance;
                queue.push(neighbour);
            }
        });
    }
    next
}

/// A*: a step changes the length of the whole way by 0, 1 (on rings of odd length) or 2, so three stacks are the queue.
///
/// Distances are final where a vertex has left `free`; others are those of some path, never too small.
fn towards(steps: &Steps, mut free: Vec<u64>, distances: &mut [u32], start: u32, goal: u32) -> usize {
    let target = steps.coordinates(goal);
    let mut stacks: [Vec<(u32, u32)>; 3] = Default::default();
    stacks[0].push((start, steps.distance(start, &target)));
    distances[start as usize] = 0;
    let (mut now, mut empty, mut visited) = (0, 0, 0);
    while empty < 3 {
        let Some((vertex, left)) = stacks[now].pop() else {
            now = (now + 1) % 3;
            empty += 1;
            continue;
        };
        empty = 0;
        if !take(&mut free, vertex) {
            continue;
        }
        visited += 1;
        if vertex == goal {
            break;
        }
        let distance = distances[vertex as usize] + 1;
        steps.moves(vertex, |axis, from, to, neighbour| {
            let is_free = free[neighbour as usize / 64] >> (neighbour % 64) & 1 == 1;
            if is_free && distance < distances[neighbour as usize] {
                distances[neighbour as usize] = distance;
                let goal = target[axis];
                let ahead = left + steps.apart(axis, to, goal) - steps.apart(axis, from, goal);
                stacks[(now + (1 + ahead - left) as usize) % 3].push((neighbour, ahead));
            }
        });
    }
    visited
}

/// From the goal to the start, always to the first neighbour that is one step nearer; then turned round.
fn walk_back(steps: &Steps, distances: &[u32], goal: u32) -> Vec<usize> {
    let mut now = goal;
    let mut path = vec![goal as usize];
    while distances[now as usize] > 0 {
        let wanted = distances[now as usize] - 1;
        let mut nearer = now;
        steps.each(now, |neighbour| {
            if nearer == now && distances[neighbour as usize] == wanted {
                nearer = neighbour;
            }
        });
        debug_assert_ne!(nearer, now, "every distance but 0 was given by a neighbour");
        if nearer == now {
            break;
        }
        now = nearer;
        path.push(now as usize);
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocked_ends_and_foreign_obstacles_are_refused() {
        let grid = Lattice::new([4, 4]).unwrap();
        let mut obstacles = Obstacles::none(&grid);
        obstacles.block(5).unwrap();
        let search = grid.search().obstacles(&obstacles);
        assert!(matches!(search.path(5, 0), Err(Error::Blocked { vertex: 5 })));
        assert!(matches!(search.path(0, 16), Err(Error::Vertex { vertex: 16, .. })));
        let other = Obstacles::none(&Lattice::new([5]).unwrap());
        assert!(matches!(grid.search().obstacles(&other).path(0, 1), Err(Error::Length { given: 5, .. })));
    }

    #[test]
    fn a_star_looks_at_little_where_the_way_is_free() {
        let grid = Lattice::new([100, 100]).unwrap();
        let route = grid.search().path(0, 9_999).unwrap().unwrap();
        assert_eq!((route.vertices.len(), route.visited), (199, 199));
        let slow = grid.search().method(Method::BreadthFirst).path(0, 9_999).unwrap().unwrap();
        assert_eq!(slow.cost, route.cost);
        assert!(slow.visited > 9_000);
    }
}
