//! Single ops over very many points: all 2^32 arguments of `f32` functions, hundreds of millions of random ones
//! elsewhere.

#![allow(unsafe_code)]

use std::{sync::Mutex, time::Instant};

use crossover_codegen::samples;
use crossover_core::{DType, ops::MapOp};

use super::{
    Options, Section,
    host::{Check, Found, Real, check_f32, check_f64},
    random::{mix, real_bits},
    session::{Ready, Session, parallel},
};
use crate::{Memory, Pinned, Result};

/// Arguments per launch of the exhaustive check.
const CHUNK: usize = 1 << 26;
/// Elements a host thread takes at once.
const PIECE: usize = 1 << 17;
/// Differences that are shown per op.
const SHOWN: usize = 4;

/// An op being checked.
struct Subject<T> {
    op: MapOp,
    check: Check<T>,
    ready: Ready,
    section: Section,
}

/// Every unary `f32` op on every `f32`.
pub(super) fn exhaustive(session: &Session, options: &Options) -> Result<Vec<Section>> {
    let total: u64 = if options.quick { 1 << 24 } else { 1 << 32 };
    let chunk = CHUNK.min(total as usize);
    let ops = |op: MapOp| op.supports(DType::F32) && op.arity() == 1;
    let mut subjects = prepare(session, &ops, DType::F32, check_f32, chunk)?;
    println!("    {} functions, {total} arguments each", subjects.len());
    // With fewer points than floats, take them evenly over the whole range.
    let spread = (1u64 << 32) / total;
    let fill = |index: u64| (index * spread + (spread >> 1)) & 0xffff_ffff;
    sweep(session, &mut subjects, total, chunk, 1, &|_, index| fill(index))?;
    Ok(finish(subjects, "all f32"))
}

/// Unary `f64` ops, binary, comparing and ternary ops of both widths, on random bits and edges.
pub(super) fn random_points(session: &Session, options: &Options) -> Result<Vec<Section>> {
    let total: u64 = if options.quick { 1 << 22 } else { 1 << 28 };
    let random =
        |dtype: DType| move |operand: usize, i: u64| real_bits(dtype, mix(i * 4 + operand as u64 + 1), false);
    let mut out = Vec::new();
    for arity in 1..=3 {
        let chunk = (CHUNK / 2).min(total as usize);
        let ops = |op: MapOp| op.supports(DType::F64) && op.arity() == arity;
        let mut subjects = prepare(session, &ops, DType::F64, check_f64, chunk)?;
        sweep(session, &mut subjects, total, chunk, arity, &random(DType::F64))?;
        out.extend(finish(subjects, "random f64"));
        if arity > 1 {
            let ops = |op: MapOp| op.supports(DType::F32) && op.arity() == arity;
            let mut subjects = prepare(session, &ops, DType::F32, check_f32, chunk)?;
            sweep(session, &mut subjects, total, chunk, arity, &random(DType::F32))?;
            out.extend(finish(subjects, "random f32"));
        }
    }
    Ok(out)
}

/// Compiles the kernels of all ops asked for, many at once.
fn prepare<T>(
    session: &Session,
    wanted: &dyn Fn(MapOp) -> bool,
    dtype: DType,
    check: fn(MapOp) -> Option<Check<T>>,
    count: usize,
) -> Result<Vec<Subject<T>>> {
    let list: Vec<(MapOp, Check<T>)> =
        (MapOp::ALL.iter().filter(|&&op| wanted(op))).filter_map(|&op| check(op).map(|c| (op, c))).collect();
    let made = Mutex::new(Vec::new());
    parallel(
        list.len(),
        || false,
        |i| {
            let ready = session.ready(&samples::elementwise(list[i].0, count, dtype));
            if let Ok(mut made) = made.lock() {
                made.push((i, ready));
            }
        },
    );
    let mut made = made.into_inner().unwrap_or_default();
    made.sort_by_key(|(i, _)| *i);
    let subject = |(i, ready): (usize, Result<Ready>)| {
        let (op, check) = list[i];
        Ok(Subject { op, check, ready: ready?, section: Section::default() })
    };
    made.into_iter().map(subject).collect()
}

/// Runs all subjects over all points, a chunk at a time: the device works on one op while the host checks another.
fn sweep<T: Real>(
    session: &Session,
    subjects: &mut [Subject<T>],
    total: u64,
    chunk: usize,
    arity: usize,
    bits: &(dyn Fn(usize, u64) -> u64 + Sync),
) -> Result<()> {
    let gpu = &session.gpu;
    let bytes = chunk * size_of::<T>();
    let mut hosts: Vec<Pinned> = (0..arity).map(|_| gpu.pinned(bytes)).collect::<Result<_>>()?;
    let inputs: Vec<Memory> = (0..arity).map(|_| gpu.allocate(bytes)).collect::<Result<_>>()?;
    let addresses: Vec<u64> = inputs.iter().map(Memory::address).collect();
    let output = gpu.allocate(bytes)?;
    let mut results = [gpu.pinned(bytes)?, gpu.pinned(bytes)?];
    let mut shown = Instant::now();
    for start in (0..total).step_by(chunk) {
        if session.is_over() {
            subjects.iter_mut().for_each(|s| s.section.cut_short = true);
            break;
        }
        for (operand, host) in hosts.iter_mut().enumerate() {
            fill::<T>(host.bytes_mut(), &|i| bits(operand, start + i));
            gpu.upload(host.bytes(), &inputs[operand])?;
        }
        let points: Vec<&[T]> = hosts.iter().map(|h| view::<T>(h.bytes())).collect();
        let fetch = |subject: &Subject<T>, to: &mut Pinned| -> Result<()> {
            gpu.fill(&output, 0xa5)?;
            session.launch(&subject.ready, &addresses, &[output.address()], &[])?;
            gpu.download(&output, to.bytes_mut())
        };
        fetch(&subjects[0], &mut results[0])?;
        for i in 0..subjects.len() {
            let (before, after) = subjects.split_at_mut(i + 1);
            let subject = &mut before[i];
            let [current, next] = &mut results;
            std::thread::scope(|scope| -> Result<()> {
                let checker = scope.spawn(|| examine(subject, &points, current.bytes(), start));
                let fetched = after.first().map_or(Ok(()), |s| fetch(s, next));
                let _ = checker.join();
                fetched
            })?;
            results.swap(0, 1);
        }
        if shown.elapsed().as_secs() >= 5 {
            shown = Instant::now();
            println!("    {:.0}% of the points", (start + chunk as u64) as f64 / total as f64 * 100.0);
        }
    }
    Ok(())
}

/// Compares one chunk of results, on all threads.
fn examine<T: Real>(subject: &mut Subject<T>, points: &[&[T]], got: &[u8], start: u64) {
    let begin = Instant::now();
    let count = points[0].len();
    let size = got_size(subject);
    let found: Mutex<Vec<(usize, Found)>> = Mutex::default();
    parallel(
        count.div_ceil(PIECE),
        || false,
        |piece| {
            let range = piece * PIECE..count.min((piece + 1) * PIECE);
            let inputs: Vec<&[T]> = points.iter().map(|p| &p[range.clone()]).collect();
            let result = (subject.check)(&inputs, &got[range.start * size..range.end * size]);
            if result.count > 0
                && let Ok(mut found) = found.lock()
            {
                found.push((range.start, result));
            }
        },
    );
    let mut found = found.into_inner().unwrap_or_default();
    found.sort_by_key(|(at, _)| *at);
    let section = &mut subject.section;
    section.checked += count as u64;
    for (at, result) in found {
        section.mismatches += result.count;
        if let (Some((i, got, want)), true) = (result.first, section.examples.len() < SHOWN) {
            let arguments: Vec<String> = points.iter().map(|p| format!("{:#x}", p[at + i].word())).collect();
            let place = start + (at + i) as u64;
            section.examples.push(format!(
                "point {place}: arguments {} gave {got:#x}, not {want:#x}",
                arguments.join(", ")
            ));
        }
    }
    section.seconds += begin.elapsed().as_secs_f64();
}

/// Bytes of one result: comparisons give booleans.
fn got_size<T>(subject: &Subject<T>) -> usize {
    subject.ready.kernel.stores[0].dtype.size()
}

fn finish<T>(subjects: Vec<Subject<T>>, what: &str) -> Vec<Section> {
    let mut out = Vec::new();
    for mut subject in subjects {
        subject.section.name = format!("{} {what}", subject.op);
        println!("{}", subject.section.line());
        out.push(subject.section);
    }
    out
}

fn view<T>(bytes: &[u8]) -> &[T] {
    // SAFETY: used with f32 and f64, for which any bits are valid; `align_to` gives only what is aligned.
    unsafe { bytes.align_to::<T>().1 }
}

/// Fills a buffer with values of the given bits, on all threads.
fn fill<T: Real>(bytes: &mut [u8], bits: &(dyn Fn(u64) -> u64 + Sync)) {
    // SAFETY: used with f32 and f64, for which any bits are valid; `align_to` gives only what is aligned.
    let values = unsafe { bytes.align_to_mut::<T>().1 };
    let share = values.len().div_ceil(super::session::threads()).max(1);
    std::thread::scope(|scope| {
        for (part, slice) in values.chunks_mut(share).enumerate() {
            scope.spawn(move || {
                for (i, value) in slice.iter_mut().enumerate() {
                    *value = T::of_word(bits((part * share + i) as u64));
                }
            });
        }
    });
}
