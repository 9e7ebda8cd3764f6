//! Paths where entering a vertex has a price of its own: Dijkstra's algorithm, and A* with the smallest price as its guide.

use std::{cmp::Ordering, collections::BinaryHeap};

use crate::{Error, Lattice, Result, Route, steps::Steps};

/// A vertex that waits, cheapest first; of equals the one with the smaller number.
struct Waiting {
    estimate: f64,
    cost: f64,
    vertex: u32,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> Ordering {
        // The heap gives the largest.
        other.estimate.total_cmp(&self.estimate).then(other.vertex.cmp(&self.vertex))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Waiting {}

pub(crate) fn check(lattice: &Lattice, weights: &[f64]) -> Result<()> {
    if weights.len() != lattice.len() {
        return Err(Error::Length {
            what: "the list of weights",
            given: weights.len(),
            vertices: lattice.len(),
        });
    }
    // No path enters a vertex twice, and no promise of what is left counts one twice, so that no sum is infinite.
    let most = f64::MAX / 4.0 / lattice.len() as f64;
    match weights.iter().position(|weight| !(0.0..=most).contains(weight)) {
        Some(vertex) => Err(Error::Weight { weight: weights[vertex], vertex }),
        None => Ok(()),
    }
}

pub(crate) fn path(
    steps: &Steps,
    free: Vec<u64>,
    weights: &[f64],
    start: u32,
    goal: u32,
    hasty: bool,
) -> Option<Route> {
    let least = if hasty { weights.iter().copied().fold(f64::INFINITY, f64::min) } else { 0.0 };
    let target = steps.coordinates(goal);
    // A rounded product may exceed the true one; slightly less never promises too much.
    let ahead = |vertex| {
        if least > 0.0 { f64::from(steps.distance(vertex, &target)) * least * (1.0 - 1e-12) } else { 0.0 }
    };
    let mut costs = vec![f64::INFINITY; weights.len()];
    let mut before = vec![u32::MAX; weights.len()];
    let mut heap = BinaryHeap::new();
    costs[start as usize] = 0.0;
    heap.push(Waiting { estimate: ahead(start), cost: 0.0, vertex: start });
    let mut visited = 0;
    while let Some(Waiting { cost, vertex, .. }) = heap.pop() {
        if cost > costs[vertex as usize] {
            continue;
        }
        visited += 1;
        if vertex == goal {
            return Some(Route { vertices: walk_back(&before, start, goal), cost, visited });
        }
        steps.each(vertex, |next| {
            let to = next as usize;
            let total = cost + weights[to];
            if total < costs[to] && free[to / 64] >> (to % 64) & 1 == 1 {
                costs[to] = total;
                before[to] = vertex;
                heap.push(Waiting { estimate: total + ahead(next), cost: total, vertex: next });
            }
        });
    }
    None
}

fn walk_back(before: &[u32], start: u32, goal: u32) -> Vec<usize> {
    let mut path = vec![goal as usize];
    let mut now = goal;
    while now != start {
        now = before[now as usize];
        path.push(now as usize);
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_that_no_path_can_add_up_are_refused() {
        let line = Lattice::new([4]).unwrap();
        for weight in [-1.0, f64::NAN, f64::INFINITY, f64::MAX, f64::MAX / 4.0] {
            let error = line.search().weights(&[1.0, weight, 1.0, 1.0]).path(0, 3).unwrap_err();
            assert!(matches!(error, Error::Weight { vertex: 1, .. }), "{error}");
        }
        // Their sums would be infinite, and a way that exists not be found.
        let large = [f64::MAX / 17.0; 4];
        let route = line.search().weights(&large).path(0, 3).unwrap().unwrap();
        assert_eq!((route.vertices.len(), route.cost.is_finite()), (4, true));
        let free = line.search().weights(&[-0.0, 0.0, 0.0, 0.0]).path(0, 3).unwrap().unwrap();
        assert_eq!((free.vertices.as_slice(), free.cost), (&[0, 1, 2, 3][..], 0.0));
        assert_eq!(line.search().weights(&[1.0; 4]).path(2, 2).unwrap().unwrap().vertices, [2]);
    }
}
