//! Whole kernels against the interpreter: random ones, every op on every dtype, every conversion.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Mutex,
    time::Instant,
};

use crossover_codegen::samples;
use crossover_core::{
    DType,
    ops::{MapOp, cast},
};
use crossover_plan::kernel::Fused;

use super::{
    Options, Section,
    generate::{Case, Limits, case, reach},
    interpreter,
    planned::{lookup, planned},
    random::fill,
    session::{Session, parallel},
};
use crate::{Error, Result};

/// What unwritten output bytes look like, on both sides.
const POISON: u8 = 0xa5;
/// Differences that are shown.
const SHOWN: usize = 8;

/// Random Map, Row and Column kernels.
pub(super) fn random_kernels(session: &Session, options: &Options) -> Result<Vec<Section>> {
    let count = if options.quick { options.cases / 4 } else { options.cases };
    let make = |i: usize| {
        // A few large ones among many small ones.
        let points = [20_000, 60_000, 200_000, 1_300_000][if i.is_multiple_of(16) { 3 } else { i % 3 }];
        case(1_000_000 + i as u64, Limits { points })
    };
    let random = check(session, "random kernels", count as usize, &make);
    let fixed = everyday(options.quick);
    let everyday = check(session, "everyday kernels", fixed.len(), &|i| fixed[i].clone());
    let lookups = (0..count / 20).filter_map(lookup);
    let planned: Vec<Case> = (0..count / 2)
        .flat_map(|seed| planned(seed, [500, 4096, 40_000][seed as usize % 3]))
        .chain(lookups)
        .collect();
    let planned = check(session, "planned kernels", planned.len(), &|i| planned[i].clone());
    Ok(vec![everyday, random, planned])
}

/// Softmax, layer norm, sums and the like at awkward and at large lengths.
fn everyday(quick: bool) -> Vec<Case> {
    let mut kernels: Vec<(String, Fused)> = Vec::new();
    let lengths = [1, 5, 127, 128, 129, 768, 1000, 1024, 1025, 4096, 8200, 32_768, 33_000, 1_000_000];
    for n in lengths.into_iter().filter(|&n| !quick || n <= 33_000) {
        let rows = (200_000 / n).clamp(1, 67);
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            kernels.push((format!("softmax {rows}x{n} {dtype}"), samples::softmax(rows, n, dtype)));
            kernels.push((format!("layer norm {rows}x{n} {dtype}"), samples::layer_norm(rows, n, dtype)));
        }
        kernels.push((format!("full sum {n}"), samples::full_sum(n)));
        kernels.push((format!("argmax {rows}x{n}"), samples::argmax(rows, n)));
        kernels.push((format!("standardise {n}x{rows}"), samples::standardise(n, rows)));
        kernels.push((format!("column sums {n}x{rows}"), samples::column_sums(n, rows)));
        kernels.push((format!("strided {rows}x{n}"), samples::strided(rows, n)));
        kernels.push((format!("bias {rows}x{n}"), samples::bias(rows, n, DType::BF16)));
        kernels.push((format!("uniform {n}"), samples::uniform(n)));
        kernels.push((format!("expression {n}"), samples::expression(n)));
    }
    kernels
        .into_iter()
        .enumerate()
        .map(|(i, (name, kernel))| with_inputs(name, kernel, i as u64, true))
        .collect()
}

/// Every op on every dtype.
pub(super) fn ops(session: &Session, options: &Options) -> Result<Vec<Section>> {
    let count = if options.quick { 1 << 16 } else { 1 << 18 };
    let list = op_list();
    Ok(vec![check(session, "ops on every dtype", list.len(), &|i| op_case(list[i], count))])
}

/// Every op with every dtype it supports.
pub fn op_list() -> Vec<(MapOp, DType)> {
    let dtypes = |op: MapOp| DType::ALL.into_iter().filter(move |&d| op.supports(d)).map(move |d| (op, d));
    MapOp::ALL.iter().flat_map(|&op| dtypes(op)).collect()
}

/// An op over `count` points: all values or pairs where the dtype is small, edges and random bits otherwise.
pub fn op_case((op, dtype): (MapOp, DType), count: usize) -> Case {
    let kernel = samples::elementwise(op, count, dtype);
    let seed = op as u64 * 16 + dtype as u64;
    let mut case = with_inputs(format!("{op} {dtype}"), kernel, seed, false);
    enumerate(&mut case, dtype);
    case
}

/// Every conversion.
pub(super) fn casts(session: &Session, options: &Options) -> Result<Vec<Section>> {
    let count = if options.quick { 1 << 16 } else { 1 << 20 };
    let list = cast_list();
    Ok(vec![check(session, "conversions", list.len(), &|i| cast_case(list[i], count))])
}

/// Every pair of dtypes with a conversion.
pub fn cast_list() -> Vec<(DType, DType)> {
    let pairs = DType::ALL.into_iter().flat_map(|from| DType::ALL.map(|to| (from, to)));
    pairs.filter(|&(from, to)| cast::check(from, to).is_ok()).collect()
}

/// A conversion of `count` values: all of them where the dtype is small, edges and random bits otherwise.
pub fn cast_case((from, to): (DType, DType), count: usize) -> Case {
    let kernel = samples::convert(from, to, count);
    let mut case = with_inputs(format!("cast {from} to {to}"), kernel, from as u64 * 16 + to as u64, false);
    enumerate(&mut case, from);
    case
}

/// Random inputs and scalars for a kernel whose scalars are the ones of the samples.
fn with_inputs(name: String, kernel: Fused, seed: u64, tame: bool) -> Case {
    use crossover_core::Element;
    let buffer = |i: usize| {
        let load = &kernel.loads[i];
        let mut bytes = vec![0; (reach(&kernel.space, &load.window) + 1) * load.dtype.size()];
        fill(&mut bytes, load.dtype, seed * 31 + i as u64, tame);
        bytes
    };
    let inputs = (0..kernel.loads.len()).map(buffer).collect();
    let outputs = kernel.stores.iter().map(|s| reach(&kernel.space, &s.window) * s.dtype.size()).collect();
    let n = kernel.space.reduce_size().max(1) as f64;
    // Slots as the samples use them: expression (f64), uniform (u32, f32), layer norm and standardise (1/n, epsilon).
    let wanted = kernel.steps.iter().filter_map(|s| match s.op {
        crossover_plan::kernel::StepOp::Scalar(slot) => Some((slot, s.dtype)),
        _ => None,
    });
    let mut scalars = vec![0u32.to_scalar(); 2];
    for (slot, dtype) in wanted {
        scalars[slot as usize] = match (slot, dtype) {
            (0, DType::U32) => 8u32.to_scalar(),
            (1, DType::F32) if name.starts_with("uniform") => 2f32.powi(-24).to_scalar(),
            (0, _) if name.starts_with("expression") => 2f64.to_scalar(),
            (0, _) => (1.0 / n).to_scalar().cast(dtype),
            _ => 1e-5f64.to_scalar().cast(dtype),
        };
    }
    Case { name, kernel, inputs, scalars, outputs }
}

/// Small dtypes get every value (of one operand) or every pair (of two bytes), before the random ones.
fn enumerate(case: &mut Case, dtype: DType) {
    let size = dtype.size();
    if dtype == DType::Bool || size > 2 {
        return;
    }
    let unary = case.inputs.len() == 1;
    for (operand, bytes) in case.inputs.iter_mut().enumerate() {
        for (i, element) in bytes.chunks_exact_mut(size).enumerate().take(1 << 16) {
            match (size, unary) {
                (2, true) => element.copy_from_slice(&(i as u16).to_le_bytes()),
                (1, true) => element[0] = i as u8,
                (1, false) if operand < 2 => element[0] = (i >> (8 * operand)) as u8,
                _ => {}
            }
        }
    }
}

/// Runs cases on the device and in the interpreter, many at once, and compares every output byte.
fn check(session: &Session, name: &str, count: usize, make: &(dyn Fn(usize) -> Case + Sync)) -> Section {
    let begin = Instant::now();
    let section = Mutex::new(Section { name: name.to_string(), ..Section::default() });
    let started = parallel(
        count,
        || session.is_over(),
        |i| {
            let case = make(i);
            // One broken case must not hide the others.
            let found = catch_unwind(AssertUnwindSafe(|| compare(session, &case))).unwrap_or_else(|_| {
                Err(Error::Launch { entry: case.name.clone(), why: "panicked".to_string() })
            });
            let Ok(mut section) = section.lock() else { return };
            match found {
                Ok((checked, wrong, example)) => {
                    section.checked += checked;
                    section.mismatches += wrong;
                    if section.examples.len() < SHOWN {
                        section.examples.extend(example);
                    }
                }
                Err(error) => {
                    section.mismatches += 1;
                    if section.examples.len() < SHOWN {
                        section.examples.push(format!("{}: {error}", case.name));
                    }
                }
            }
        },
    );
    let mut section = section.into_inner().unwrap_or_default();
    section.name = format!("{name} ({started} kernels)");
    section.cut_short = started < count;
    section.seconds = begin.elapsed().as_secs_f64();
    println!("{}", section.line());
    let (median, largest, compiled) = session.compile_times();
    println!("    {compiled} compilations so far: median {median:.0} ms, largest {largest:.0} ms");
    section
}

/// Results compared, results that differ, and the first difference.
fn compare(session: &Session, case: &Case) -> Result<(u64, u64, Option<String>)> {
    let ready = session.ready(&case.kernel)?;
    let got = {
        let _turn = session.turn.lock();
        run(session, &ready, case)?
    };
    let mut want: Vec<Vec<u8>> = case.outputs.iter().map(|&n| vec![POISON; n]).collect();
    interpreter::run(&case.kernel, &case.inputs, &case.scalars, &mut want);
    share(&case.kernel, &mut want);
    let (mut checked, mut wrong, mut example) = (0, 0, None);
    for (store, (got, want)) in got.iter().zip(&want).enumerate() {
        let dtype = case.kernel.stores[store].dtype;
        let size = dtype.size();
        for (i, (g, w)) in got.chunks_exact(size).zip(want.chunks_exact(size)).enumerate() {
            checked += 1;
            if g != w {
                wrong += 1;
                let hex = |b: &[u8]| b.iter().rev().map(|x| format!("{x:02x}")).collect::<String>();
                example.get_or_insert_with(|| {
                    format!(
                        "{}: output {store} ({dtype}) element {i} is {}, not {}",
                        case.name,
                        hex(g),
                        hex(w)
                    )
                });
            }
        }
    }
    Ok((checked, wrong, example))
}

/// The first store into the buffer of a store: kernels may write stores of one buffer together.
fn first_of_buffer(kernel: &Fused, store: usize) -> usize {
    let buffer = kernel.stores[store].buffer;
    kernel.stores.iter().position(|s| s.buffer == buffer).unwrap_or(store)
}

/// Shows every store what the others have written to its buffer.
fn share(kernel: &Fused, outputs: &mut [Vec<u8>]) {
    for store in 0..outputs.len() {
        let first = first_of_buffer(kernel, store);
        if first == store {
            continue;
        }
        let longest = outputs[first].len().max(outputs[store].len());
        outputs[first].resize(longest, POISON);
        let written = outputs[store].clone();
        for (to, from) in outputs[first].iter_mut().zip(written) {
            if from != POISON {
                *to = from;
            }
        }
    }
    for store in 0..outputs.len() {
        outputs[store] = outputs[first_of_buffer(kernel, store)].clone();
    }
}

fn run(session: &Session, ready: &super::session::Ready, case: &Case) -> Result<Vec<Vec<u8>>> {
    let gpu = &session.gpu;
    let mut inputs = Vec::new();
    for bytes in &case.inputs {
        let memory = gpu.allocate(bytes.len())?;
        gpu.upload(bytes, &memory)?;
        inputs.push(memory);
    }
    let home: Vec<usize> = (0..case.outputs.len()).map(|i| first_of_buffer(&case.kernel, i)).collect();
    let mut outputs = Vec::new();
    for store in 0..home.len() {
        let sharing = case.outputs.iter().zip(&home).filter(|(_, h)| **h == home[store]);
        let memory = gpu.allocate(sharing.map(|(bytes, _)| *bytes).max().unwrap_or(0))?;
        gpu.fill(&memory, POISON)?;
        outputs.push(memory);
    }
    let from: Vec<u64> = inputs.iter().map(|m| m.address()).collect();
    let to: Vec<u64> = home.iter().map(|&first| outputs[first].address()).collect();
    session.launch(ready, &from, &to, &case.scalars)?;
    let mut got = Vec::new();
    for &first in &home {
        let mut host = vec![0; outputs[first].bytes()];
        gpu.download(&outputs[first], &mut host)?;
        got.push(host);
    }
    Ok(got)
}
