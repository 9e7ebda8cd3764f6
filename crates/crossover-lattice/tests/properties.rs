//! Random lattices with random obstacles and weights: every way of searching finds paths of the same length, which are paths.

#![allow(clippy::unwrap_used)]

use std::collections::VecDeque;

use crossover_lattice::{Lattice, Method, Obstacles, Route};
use proptest::prelude::*;

/// Distances by the plainest search there is.
fn plain(lattice: &Lattice, obstacles: &Obstacles, from: usize) -> Vec<Option<u32>> {
    let mut distances = vec![None; lattice.len()];
    distances[from] = Some(0);
    let mut queue = VecDeque::from([from]);
    while let Some(vertex) = queue.pop_front() {
        for next in lattice.neighbours(vertex).unwrap() {
            if distances[next].is_none() && !obstacles.is_blocked(next) {
                distances[next] = distances[vertex].map(|distance| distance + 1);
                queue.push_back(next);
            }
        }
    }
    distances
}

fn assert_path(lattice: &Lattice, obstacles: &Obstacles, route: &Route, from: usize, to: usize) {
    assert_eq!((route.vertices.first(), route.vertices.last()), (Some(&from), Some(&to)));
    for step in route.vertices.windows(2) {
        assert!(lattice.neighbours(step[0]).unwrap().contains(&step[1]), "{step:?}");
        assert!(!obstacles.is_blocked(step[1]));
    }
}

fn lattices() -> impl Strategy<Value = Lattice> {
    let sizes = prop_oneof![
        prop::collection::vec(1usize..40, 1..=2),
        prop::collection::vec(1usize..9, 3..=4),
        prop::collection::vec(2usize..4, 5..=6),
    ];
    (sizes, any::<bool>()).prop_map(|(sizes, periodic)| {
        let lattice = Lattice::new(sizes).unwrap();
        if periodic { lattice.periodic() } else { lattice }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, rng_seed: proptest::test_runner::RngSeed::Fixed(10), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn searches_agree(lattice in lattices(), seed in any::<u64>(), share in 0u64..60) {
        let noise = |i: u64| (i ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33;
        let mut mask: Vec<bool> = (0..lattice.len() as u64).map(|v| noise(v) % 100 < share).collect();
        let (from, to) = (noise(1 << 40) as usize % lattice.len(), noise(1 << 41) as usize % lattice.len());
        (mask[from], mask[to]) = (false, false);
        let obstacles = Obstacles::from_mask(&lattice, &mask).unwrap();
        let distances = plain(&lattice, &obstacles, from);
        let field = lattice.distance_field(&[from], Some(&obstacles)).unwrap();
        for (vertex, &distance) in distances.iter().enumerate() {
            prop_assert_eq!(field.get(vertex), distance);
        }
        for method in [Method::AStar, Method::BreadthFirst] {
            let search = lattice.search().obstacles(&obstacles).method(method);
            let route = search.path(from, to).unwrap();
            prop_assert_eq!(route.as_ref().map(|route| route.cost), distances[to].map(f64::from));
            if let Some(route) = &route {
                prop_assert_eq!(route.vertices.len() as f64, route.cost + 1.0);
                assert_path(&lattice, &obstacles, route, from, to);
            }
            // Weights of 1 are steps.
            let ones = vec![1.0; lattice.len()];
            let weighted = search.weights(&ones).path(from, to).unwrap();
            prop_assert_eq!(weighted.map(|route| route.cost), route.map(|route| route.cost));
        }
    }

    #[test]
    fn weighted_searches_agree(lattice in lattices(), seed in any::<u64>()) {
        let noise = |i: u64| (i ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33;
        // Whole numbers, so that sums are exact.
        let weights: Vec<f64> = (0..lattice.len() as u64).map(|v| (noise(v) % 20) as f64).collect();
        let obstacles = Obstacles::none(&lattice);
        let (from, to) = (noise(1 << 40) as usize % lattice.len(), noise(1 << 41) as usize % lattice.len());
        let find = |method| lattice.search().weights(&weights).method(method).path(from, to).unwrap().unwrap();
        let (hasty, patient) = (find(Method::AStar), find(Method::BreadthFirst));
        prop_assert_eq!(hasty.cost, patient.cost);
        for route in [&hasty, &patient] {
            assert_path(&lattice, &obstacles, route, from, to);
            prop_assert_eq!(route.vertices[1..].iter().map(|&v| weights[v]).sum::<f64>(), route.cost);
        }
    }

    #[test]
    fn closed_forms_are_those_of_the_search(lattice in lattices(), seed in any::<u64>()) {
        let (from, to) = (seed as usize % lattice.len(), (seed >> 32) as usize % lattice.len());
        let path = lattice.shortest_path(from, to).unwrap();
        prop_assert_eq!(path.len(), lattice.distance(from, to).unwrap() + 1);
        let obstacles = Obstacles::none(&lattice);
        let distances = plain(&lattice, &obstacles, from);
        prop_assert_eq!(distances[to], Some(path.len() as u32 - 1));
        let route = Route { cost: 0.0, visited: 0, vertices: path };
        assert_path(&lattice, &obstacles, &route, from, to);
    }
}
