//! What the seeds put first, each timed and checked: one line beside the figure that the seed states.

use std::{hint::black_box, time::Duration};

use anyhow::{Context, Result};
use crossover::{
    Array, Batch, DType, Runtime,
    embed::Sinusoid,
    hrr::{Model, Space},
    keepdims,
    lattice::{Lattice, xor_transform},
    nn::{self, Attention},
    par_iter,
    random::{self, Key},
    runtime,
};
use serde::Serialize;

use super::measure;
use crate::{bench::calls, maze, units};

/// The name by which `--only` chooses these.
pub const NAME: &str = "headlines";

/// One line.
#[derive(Serialize)]
pub struct Row {
    work: &'static str,
    /// Who states something about it.
    seed: &'static str,
    /// Median time.
    seconds: f64,
    /// What the seed states, on its machine; nothing where it states only a ratio.
    stated_seconds: Option<f64>,
    /// Largest difference from float64, or from what is known; `None` where the result is exact.
    error: Option<f64>,
    ok: bool,
}

impl Row {
    /// Whether the result is what it should be.
    pub fn is_right(&self) -> bool {
        self.ok
    }
}

/// What a result is away from the true one: `None` if it is that exactly, and whether that is near enough.
type Judged = (Option<f64>, bool);
type Call<'a> = Box<dyn FnMut() -> Result<()> + 'a>;

fn far(found: &Array, wanted: &Array, most: f64) -> Result<Judged> {
    let error = (found.astype(DType::F64) - wanted).abs().max(()).item::<f64>()?;
    Ok((Some(error), error <= most))
}

fn normal(seed: u64, shape: &[usize]) -> Result<Array> {
    Ok(random::normal::<f32>(&Key::new(seed), shape.to_vec()).eval()?.clone())
}

/// Measures all of them.
pub fn rows(budget: Duration) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let current = Runtime::current();
    // What a GPU was given to do is done before the clock is read.
    let finished = || -> Result<()> {
        if current.device_count() > 0 {
            current.executor().machine().backend(runtime::Device(1)).finish()?;
        }
        Ok(())
    };
    let mut add = |work, seed, stated_seconds, judged: Judged, mut call: Call<'_>| -> Result<()> {
        let timed = measure::median(budget, || call().and_then(|()| finished()));
        let seconds = timed.with_context(|| format!("{work} of seed {seed}"))?;
        rows.push(Row { work, seed, seconds, stated_seconds, error: judged.0, ok: judged.1 });
        Ok(())
    };
    let positions = Array::arange(10_000);
    let encoding = Sinusoid::new(256)?;
    let angles = positions.astype(DType::F64).expand_dims(1) * Array::from_vec(encoding.frequencies(), [128]);
    let wanted = Array::stack(&[&angles.sin(), &angles.cos()], -1).reshape([10_000, 256]);
    // Half a unit in the last place of numbers up to 1.
    let judged = far(&encoding.encode(&positions, DType::F32)?, &wanted, 6.0e-8)?;
    add(
        "encode 10,000 positions of 256",
        "000",
        None,
        judged,
        Box::new(|| Ok(encoding.encode(&positions, DType::F32)?.eval().map(drop)?)),
    )?;

    let space = Space::new(Model::Hrr, 512)?;
    let (a, b) = (normal(1, &[100, 512])? / 22.6, normal(2, &[100, 512])? / 22.6);
    crossover::eval_all(&[&a, &b])?;
    let judged = far(&space.bind(&a, &b)?, &bound(&a, &b)?, 1e-6)?;
    add(
        "bind 100 pairs of 512",
        "001",
        Some(2e-3),
        judged,
        Box::new(|| Ok(space.bind(&a, &b)?.eval().map(drop)?)),
    )?;
    let many = normal(3, &[1000, 512])?;
    let sum = many.astype(DType::F64).sum(0);
    let wanted = &sum / sum.square().sum(keepdims(0)).sqrt();
    let judged = far(&space.superpose(&many)?, &wanted, 1e-6)?;
    add(
        "superpose 1000 of 512",
        "001",
        Some(1e-3),
        judged,
        Box::new(|| Ok(space.superpose(&many)?.eval().map(drop)?)),
    )?;

    let (data, key) = ([1u64, 2, 3, 4, 5], [7u64]);
    let right = xor_transform(&data, &key)? == [6, 5, 4, 3, 2];
    let call = || {
        drop(black_box(xor_transform(black_box(&data), &key)?));
        Ok(())
    };
    add("XOR of 5 numbers", "002", Some(0.2e-3), (None, right), Box::new(call))?;
    let grid = Lattice::new([100, 100])?;
    let wall = maze::wall(&grid)?;
    let path = || grid.search().obstacles(&wall).path(0, 9_999);
    let right = path()?.is_some_and(|route| route.vertices.len() == 199);
    add(
        "path among 10,000 vertices",
        "002",
        Some(71.87e-3),
        (None, right),
        Box::new(|| {
            drop(black_box(path()?));
            Ok(())
        }),
    )?;
    let matrices = (0..10).map(|seed| normal(10 + seed, &[256, 256])).collect::<Result<Vec<_>>>()?;
    let batch = Batch::new(matrices.clone());
    let (found, wide) = (batch.matmul(&matrices)?, matrices[3].astype(DType::F64));
    // The bound of a product: so many roundings of so large a sum.
    let judged = far(&found[3], &wide.matmul(&wide), 256.0 * 6e-8 * 256.0)?;
    add(
        "10 products of 256 × 256",
        "002",
        Some(60e-3),
        judged,
        Box::new(|| {
            drop(black_box(batch.matmul(&matrices)?));
            Ok(())
        }),
    )?;

    let pipeline = calls::ALL.iter().find(|call| call.name == "lattice_pipeline");
    let mut pipeline = (pipeline.context("the pipeline of lattices is gone")?.make)()?;
    // It fails where a structure or a path is not that expected.
    pipeline()?;
    add("100 lattices: structure, path, XOR", "002", Some(1.1), (None, true), pipeline)?;

    let items = (0..100).map(|seed| normal(20 + seed, &[64, 64])).collect::<Result<Vec<_>>>()?;
    let diagonal = Array::eye::<f32>(64);
    let traces = || {
        let trace = |m: Array| (m.matmul(&m.t()) * &diagonal).sum(());
        par_iter(items.clone()).gpu_map(trace).to_host().collect()
    };
    let (found, wide) = (traces()?, items[7].astype(DType::F64));
    let judged = far(&found[7], &wide.square().sum(()), 64.0 * 6e-8 * 4096.0)?;
    add(
        "gpu_map of 100 traces, 64 × 64",
        "004",
        None,
        judged,
        Box::new(|| {
            drop(black_box(traces()?));
            Ok(())
        }),
    )?;

    let (x, w, bias) = (normal(4, &[1024, 512])?, normal(5, &[768, 512])?, normal(6, &[768])?);
    let some = || crossover::s![..8];
    let wide =
        x.slice(some()).astype(DType::F64).matmul(&w.astype(DType::F64).t()) + &bias.astype(DType::F64);
    let judged =
        far(&nn::linear_gelu(&x, &w, Some(&bias)).slice(some()), &wide.gelu(), 512.0 * 6e-8 * 100.0)?;
    add(
        "linear with GELU, 1024 × 512 to 768",
        "003",
        None,
        judged,
        Box::new(|| Ok(nn::linear_gelu(&x, &w, Some(&bias)).eval().map(drop)?)),
    )?;
    let shape = [1, 12, 256, 64];
    let (q, k, v) = (normal(7, &shape)?, normal(8, &shape)?, normal(9, &shape)?);
    let wide = |array: &Array| array.astype(DType::F64);
    let scores = wide(&q).matmul(&wide(&k).swap_axes(-1, -2)) / 8.0;
    let judged = far(&nn::attention(&q, &k, &v), &scores.softmax(-1).matmul(&wide(&v)), 1e-5)?;
    let attention = Attention::new();
    add(
        "attention, 12 × 256 × 64",
        "003",
        None,
        judged,
        Box::new(|| Ok(attention.call(&q, &k, &v).eval().map(drop)?)),
    )?;
    Ok(rows)
}

/// The circular convolution of rows in float64, term by term.
fn bound(a: &Array, b: &Array) -> Result<Array> {
    let (a, b) = (a.to_vec::<f32>()?, b.to_vec::<f32>()?);
    let mut out = vec![0.0f64; a.len()];
    for row in 0..a.len() / 512 {
        let (a, b, out) = (&a[row * 512..][..512], &b[row * 512..][..512], &mut out[row * 512..][..512]);
        for (i, &x) in a.iter().enumerate() {
            for (j, &y) in b.iter().enumerate() {
                out[(i + j) % 512] += f64::from(x) * f64::from(y);
            }
        }
    }
    Ok(Array::from_vec(out, [100, 512]))
}

/// A table of the rows; nothing without any.
pub fn text(rows: &[Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut text = String::from("\nwhat others put first, and what they state (on their machines)\n");
    for row in rows {
        let stated = row.stated_seconds.map_or_else(|| "a ratio".to_owned(), units::seconds);
        let error = row.error.map_or_else(|| "exact".to_owned(), |error| format!("error {error:.1e}"));
        let mark = if row.ok { "✓" } else { "WRONG" };
        text += &format!(
            "  {:<36}{:>10}   stated {stated:>9}   seed {}   {mark} {error}\n",
            row.work,
            units::seconds(row.seconds),
            row.seed
        );
    }
    text
}
