//! Work that is no expression of arrays, or several of them: paths in lattices, and what the seeds call pipelines.

use std::hint::black_box;

use anyhow::{Result, ensure};
use crossover::{
    Array, Batch, DType,
    lattice::{Lattice, Obstacles},
    par_iter,
    random::{self, Key},
};

use crate::maze;

/// A kind of work.
pub struct Call {
    pub name: &'static str,
    /// What it does, in a few words.
    pub about: &'static str,
    /// Its numbers.
    pub params: &'static [(&'static str, u64)],
    /// Whether arrays are part of it, so that a device matters.
    pub has_arrays: bool,
    /// Gets everything ready; what it returns is one run.
    pub make: fn() -> Result<Run>,
}

/// One run of some work.
pub type Run = Box<dyn FnMut() -> Result<()>>;

pub const ALL: &[Call] = &[
    Call {
        name: "shortest_path",
        about: "a path across 100 × 100 vertices, a quarter of the inner ones blocked",
        params: &[("n", 10_000)],
        has_arrays: false,
        make: path,
    },
    Call {
        name: "lattice_pipeline",
        about: "100 lattices of 10⁴ vertices: structure, a path around obstacles, XOR of as many numbers",
        params: &[("lattices", 100), ("n", 10_000)],
        has_arrays: true,
        make: pipeline,
    },
    Call {
        name: "mixed",
        about: "50 XORs of 5 numbers and 50 products of 1024 × 1024",
        params: &[("xor", 50), ("matmul", 50)],
        has_arrays: true,
        make: mixed,
    },
    Call {
        name: "items_in_turn",
        about: "100 vectors of 1000, each by itself: x ^ 7, x + 1 and x / |x|",
        params: &[("items", 100), ("n", 1000)],
        has_arrays: true,
        make: in_turn,
    },
    Call {
        name: "items_batched",
        about: "the same by `Batch`",
        params: &[("items", 100), ("n", 1000)],
        has_arrays: true,
        make: batched,
    },
];

/// Whole numbers and others.
fn vectors() -> Result<[Vec<Array>; 2]> {
    let real: Vec<Array> =
        (0..100).map(|seed| random::uniform::<f32>(&Key::new(seed), [1000]) + 0.5).collect();
    let whole: Vec<Array> = real.iter().map(|x| (x * 1e6).astype(DType::I64)).collect();
    real.iter().chain(&whole).try_for_each(|array| array.eval().map(drop))?;
    Ok([real, whole])
}

fn in_turn() -> Result<Run> {
    let [real, whole] = vectors()?;
    Ok(Box::new(move || {
        for (x, n) in real.iter().zip(&whole) {
            black_box((n ^ 7).eval()?);
            black_box((x + 1.0).eval()?);
            black_box((x / x.square().sum(()).sqrt()).eval()?);
        }
        Ok(())
    }))
}

fn batched() -> Result<Run> {
    let [real, whole] = vectors()?;
    Ok(Box::new(move || {
        black_box(Batch::new(whole.clone()).map(|n| n ^ 7)?);
        let real = Batch::new(real.clone());
        black_box(real.map(|x| x + 1.0)?);
        black_box(real.map(|x| &x / x.square().sum(()).sqrt())?);
        Ok(())
    }))
}

fn path() -> Result<Run> {
    let grid = Lattice::new([100, 100])?;
    let wall = maze::wall(&grid)?;
    Ok(Box::new(move || {
        let found = grid.search().obstacles(&wall).path(0, 9_999)?;
        ensure!(
            black_box(found).is_some_and(|route| route.vertices.len() == 199),
            "no shortest path along the edge"
        );
        Ok(())
    }))
}

fn pipeline() -> Result<Run> {
    let lattices = (0..100).map(|_| Ok(Lattice::cube(4, 10)?)).collect::<Result<Vec<_>>>()?;
    let walls = lattices.iter().map(maze::wall).collect::<Result<Vec<_>>>()?;
    let numbers: Vec<Array> = (0..100)
        .map(|seed| (random::uniform::<f32>(&Key::new(seed), [10_000]) * 1e6).astype(DType::I64))
        .collect();
    for array in &numbers {
        array.eval()?;
    }
    let key = Array::arange(10_000i64);
    Ok(Box::new(move || {
        let pairs: Vec<(&Lattice, &Obstacles)> = lattices.iter().zip(&walls).collect();
        let searched: Vec<bool> = par_iter(pairs)
            .map(|(lattice, wall)| {
                let structure = lattice.analyze_structure();
                let path = lattice.search().obstacles(wall).path(0, 9_999);
                structure.edges == 36_000
                    && path.is_ok_and(|path| path.is_some_and(|path| path.vertices.len() == 37))
            })
            .collect();
        ensure!(searched.iter().all(|&right| right), "a lattice has another structure or path");
        black_box(Batch::new(numbers.clone()).xor(&key)?);
        Ok(())
    }))
}

fn mixed() -> Result<Run> {
    let (five, key) = (Array::from([1i64, 2, 3, 4, 5]), Array::from([7i64, 7, 7, 7, 7]));
    let matrix = random::normal::<f32>(&Key::new(1), [1024, 1024]);
    matrix.eval()?;
    Ok(Box::new(move || {
        for _ in 0..50 {
            black_box((&five ^ &key).to_vec::<i64>()?);
        }
        for _ in 0..50 {
            black_box(matrix.matmul(&matrix).eval()?);
        }
        // The last product is there, and so are those before it.
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_structures_are_those_expected() {
        path().unwrap()().unwrap();
        pipeline().unwrap()().unwrap();
        in_turn().unwrap()().unwrap();
        batched().unwrap()().unwrap();
    }
}
