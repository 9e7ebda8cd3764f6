//! `crossover bench memory`: what arrays take as a function of their size, and what expressions take with and without fusion.
//!
//! Every figure is taken on a runtime of its own, so that nothing is left over from the one before; it is the runtime's own account
//! of the device, not a guess from the operating system.

use std::{fmt::Write as _, path::Path};

use anyhow::{Result, anyhow};
use console::style;
use crossover::{
    Array, Device, DeviceMemory, Runtime, keepdims, nn,
    profile::bench::{
        Fingerprint,
        sheet::{Cell, Series, Sheet},
    },
    random::{self, Key},
    with_device,
};
use serde::Serialize;

use super::workloads::{attention, gelu};
use crate::{compare, expressions, report, units};

/// The JSON shape; see docs/json.md.
#[derive(Serialize)]
struct Memory {
    machine: Fingerprint,
    quick: bool,
    sizes: Vec<Sized>,
    expressions: Vec<Expression>,
}

/// Arrays of one size: made, every other one dropped, and others made, of the same size and larger.
#[derive(Serialize)]
struct Sized {
    device: String,
    /// Of one array; there are [`ARRAYS`] of them.
    array_bytes: u64,
    arrays: usize,
    made: Stage,
    halved: Stage,
    reused: Stage,
    /// Allocations that took no fresh memory, as a share.
    hit_rate: f64,
}

/// A moment.
#[derive(Serialize)]
struct Stage {
    live: u64,
    cached: u64,
    reserved: u64,
    /// The share of what is reserved that is not live: [`DeviceMemory::fragmentation`].
    fragmentation: f64,
}

impl Stage {
    fn of(memory: &DeviceMemory) -> Stage {
        let DeviceMemory { live, cached, reserved, .. } = *memory;
        Stage { live, cached, reserved, fragmentation: memory.fragmentation() }
    }
}

/// An expression, fused and not.
#[derive(Serialize)]
struct Expression {
    device: String,
    name: &'static str,
    size: String,
    /// What lies there before.
    operand_bytes: u64,
    /// Most that is live beyond that, the result included.
    fused_peak_bytes: u64,
    unfused_peak_bytes: u64,
}

const ARRAYS: usize = 8;

/// Runs the command.
pub fn run(quick: bool, json: bool, html: Option<&Path>) -> Result<bool> {
    let gpu = Runtime::current().is_available(Device::Cuda(0));
    let devices = [Device::Cpu, Device::Cuda(0)].into_iter().take(1 + usize::from(gpu));
    let exponents = (14..=if quick { 22 } else { 26 }).step_by(2);
    let mut memory = Memory {
        machine: Fingerprint::here(Some(env!("CROSSOVER_COMMIT"))),
        quick,
        sizes: Vec::new(),
        expressions: Vec::new(),
    };
    let bar = super::progress(devices.clone().count() * (exponents.clone().count() + shapes(quick).len()));
    for device in devices {
        for exponent in exponents.clone() {
            bar.set_message(format!("arrays of {} on {device}", units::bytes(1 << exponent)));
            memory.sizes.push(sized(device, 1 << exponent)?);
            bar.inc(1);
        }
        for shape in shapes(quick) {
            bar.set_message(format!("{} on {device}", shape.name));
            memory.expressions.push(expression(device, &shape)?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    if let Some(path) = html {
        super::write(path, &page(&memory))?;
    }
    if json {
        report::json(&memory)?
    } else {
        report::text(&text(&memory))?
    }
    Ok(true)
}

/// The device's account.
fn account(runtime: &Runtime, device: Device) -> Result<DeviceMemory> {
    let all = runtime.memory_stats();
    let found = all.into_iter().find(|(found, _)| *found == device);
    found.map(|(_, memory)| memory).ok_or_else(|| anyhow!("{device} keeps no account of its memory"))
}

fn sized(device: Device, bytes: u64) -> Result<Sized> {
    let runtime = Runtime::builder().build()?;
    runtime.scope(|| {
        with_device(device, || {
            let elements = (bytes / 4) as usize;
            let made = |count: usize, elements: usize, seed: u64| -> Result<Vec<Array>> {
                (0..count)
                    .map(|at| {
                        let array = random::uniform::<f32>(&Key::new(seed + at as u64), [elements]);
                        Ok(array.eval()?.clone())
                    })
                    .collect()
            };
            let mut arrays = made(ARRAYS, elements, 1)?;
            let first = Stage::of(&account(&runtime, device)?);
            let mut number = 0;
            arrays.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            let halved = Stage::of(&account(&runtime, device)?);
            // Half of what was dropped fits, and half does not.
            arrays.extend(made(ARRAYS / 4, elements, 100)?);
            arrays.extend(made(ARRAYS / 4, elements + elements / 2, 200)?);
            let last = account(&runtime, device)?;
            drop(arrays);
            Ok(Sized {
                device: device.to_string(),
                array_bytes: bytes,
                arrays: ARRAYS,
                made: first,
                halved,
                reused: Stage::of(&last),
                hit_rate: last.hit_rate(),
            })
        })
    })
}

/// An expression at a size.
struct Shape {
    name: &'static str,
    dims: Vec<usize>,
    operands: usize,
    work: fn(&[Array]) -> Array,
    /// How it is written where it is not fused, if otherwise.
    apart: Option<fn(&[Array]) -> Array>,
}

fn shapes(quick: bool) -> Vec<Shape> {
    let (rows, columns) = if quick { (256, 1024) } else { (2048, 1024) };
    let shape = |name, operands, work| Shape { name, dims: vec![rows, columns], operands, work, apart: None };
    let mut all = vec![
        shape("a*b + sqrt(a) - b/2", 2, |x| expressions::expression(&x[0], &x[1])),
        shape("GELU in array operations", 1, |x| gelu(&x[0])),
        shape("layer norm", 1, |x| {
            let distance = &x[0] - x[0].mean(keepdims(-1));
            let variance = distance.square().mean(keepdims(-1));
            distance / (variance + 1e-5).sqrt()
        }),
        shape("softmax", 1, |x| expressions::softmax(&x[0])),
        shape("standardise columns", 1, |x| expressions::standardise(&x[0])),
        shape("ten operations", 3, |x| expressions::ten_dependent(&x[0], &x[1], &x[2])),
    ];
    let lengths: &[usize] = if quick { &[128, 256, 512] } else { &[256, 512, 1024, 2048] };
    all.extend(lengths.iter().map(|&length| Shape {
        name: "attention, 4 heads of 64",
        dims: vec![4, length, 64],
        operands: 3,
        work: |x| nn::attention(&x[0], &x[1], &x[2]),
        // Products and a softmax, with all scores in memory.
        apart: Some(|x| attention(&x[0], &x[1], &x[2])),
    }));
    all
}

fn expression(device: Device, shape: &Shape) -> Result<Expression> {
    let peak = |fusion: bool| -> Result<(u64, u64)> {
        let runtime = Runtime::builder().fusion(fusion).build()?;
        runtime.scope(|| {
            with_device(device, || {
                let operand = |seed: usize| -> Result<Array> {
                    let array = random::uniform::<f32>(&Key::new(seed as u64), shape.dims.clone());
                    Ok(array.eval()?.clone())
                };
                let operands: Vec<Array> = (1..=shape.operands).map(operand).collect::<Result<_>>()?;
                let before = account(&runtime, device)?;
                let work = if fusion { shape.work } else { shape.apart.unwrap_or(shape.work) };
                let result = work(&operands);
                result.eval()?;
                let after = account(&runtime, device)?;
                Ok((before.live, after.peak.saturating_sub(before.live)))
            })
        })
    };
    let ((operand_bytes, fused), (_, unfused)) = (peak(true)?, peak(false)?);
    Ok(Expression {
        device: device.to_string(),
        name: shape.name,
        size: shape.dims.iter().map(usize::to_string).collect::<Vec<_>>().join("×"),
        operand_bytes,
        fused_peak_bytes: fused,
        unfused_peak_bytes: unfused,
    })
}

/// Characters of the longest bar.
const BAR: usize = 24;

fn bar(value: u64, most: u64, sign: &str) -> String {
    let length = (value as f64 / most.max(1) as f64 * BAR as f64).round() as usize;
    sign.repeat(length.clamp(usize::from(value > 0), BAR))
}

fn text(memory: &Memory) -> String {
    let (mut out, blocks) = (String::new(), console::Term::stdout().is_term());
    let _ = writeln!(out, "{} on {}", style("Memory").bold(), memory.machine.cpu);
    let _ = writeln!(
        out,
        "\n{ARRAYS} arrays are made, every other one is dropped, {} of the same size and as many half as large again are made.\n",
        ARRAYS / 4
    );
    let heading = format!(
        "{:<7} {:>9} {:>10} {:>10} {:>12} {:>10} {:>10} {:>8} {:>7}",
        "device", "each", "live", "reserved", "half: cached", "end: live", "reserved", "idle", "reused"
    );
    let _ = writeln!(out, "{}", style(heading).bold());
    for row in &memory.sizes {
        let _ = writeln!(
            out,
            "{:<7} {:>9} {:>10} {:>10} {:>12} {:>10} {:>10} {:>7.0}% {:>6.0}%",
            row.device,
            units::bytes(row.array_bytes),
            units::bytes(row.made.live),
            units::bytes(row.made.reserved),
            units::bytes(row.halved.cached),
            units::bytes(row.reused.live),
            units::bytes(row.reused.reserved),
            100.0 * row.reused.fragmentation,
            100.0 * row.hit_rate,
        );
    }
    out.push_str("\n\"idle\" is the share of what is reserved at the end that is not live: fragmentation. \"reused\" is the share of allocations\nthat took no fresh memory.\n");
    let _ = writeln!(out, "\n{}\n", style("Most that is live beyond the operands, fused and not").bold());
    let (fused_sign, unfused_sign) = if blocks { ("█", "░") } else { ("#", "-") };
    let mut device = "";
    for row in &memory.expressions {
        if row.device != device {
            device = &row.device;
            let _ = writeln!(out, "{}", style(device).bold());
        }
        let most = row.fused_peak_bytes.max(row.unfused_peak_bytes);
        let ratio = row.unfused_peak_bytes as f64 / row.fused_peak_bytes.max(1) as f64;
        let _ = writeln!(
            out,
            "  {:<25} {:>11}  fused   {:>9} {}",
            row.name,
            row.size,
            units::bytes(row.fused_peak_bytes),
            style(bar(row.fused_peak_bytes, most, fused_sign)).cyan()
        );
        let _ = writeln!(
            out,
            "  {:<25} {:>11}  unfused {:>9} {} {}×",
            "",
            "",
            units::bytes(row.unfused_peak_bytes),
            bar(row.unfused_peak_bytes, most, unfused_sign),
            units::three(ratio)
        );
    }
    out
}

fn page(memory: &Memory) -> String {
    let mut sheet = Sheet::new("Memory", "What arrays and expressions take, by the runtime's own account.");
    compare::facts(&mut sheet, &memory.machine);
    let bytes = |value: u64| Cell::number(units::bytes(value));
    let mut devices: Vec<&str> = memory.sizes.iter().map(|row| row.device.as_str()).collect();
    devices.dedup();
    for device in devices {
        let of = || memory.sizes.iter().filter(move |row| row.device == device);
        let line = |name: &str, value: fn(&Sized) -> u64| Series {
            name: name.to_owned(),
            points: of().map(|row| (row.array_bytes as f64, value(row) as f64)).collect(),
        };
        let series = [
            line("live", |row| row.made.live),
            line("reserved", |row| row.made.reserved),
            line("cached, half dropped", |row| row.halved.cached),
            line("reserved at the end", |row| row.reused.reserved),
        ];
        let label: fn(f64) -> String = |value| units::bytes(value as u64);
        sheet.chart(
            &format!("Memory by size of the array, {device}"),
            "Eight arrays are made, every other one is dropped, and two of the same size and two half as large again are made.",
            &series,
            label,
            label,
        );
        let rows = of().map(|row| {
            vec![
                bytes(row.array_bytes),
                bytes(row.made.live),
                bytes(row.made.reserved),
                bytes(row.halved.cached),
                bytes(row.reused.live),
                bytes(row.reused.reserved),
                Cell::number(format!("{:.0}%", 100.0 * row.reused.fragmentation)),
                Cell::number(format!("{:.0}%", 100.0 * row.hit_rate)),
            ]
        });
        let columns = [
            "each",
            "live",
            "reserved",
            "cached, half dropped",
            "live at the end",
            "reserved",
            "fragmentation",
            "allocations reused",
        ];
        sheet.table(
            &format!("Figures, {device}"),
            "Fragmentation is the share of what is reserved at the end that is not live.",
            &columns,
            rows.collect(),
        );
    }
    let rows = memory.expressions.iter().map(|row| {
        let share = row.fused_peak_bytes as f64 / row.unfused_peak_bytes.max(1) as f64;
        vec![
            Cell::text(row.name),
            Cell::text(&row.size),
            Cell::text(&row.device),
            bytes(row.operand_bytes),
            Cell::Bar(units::bytes(row.fused_peak_bytes), share),
            Cell::Bar(units::bytes(row.unfused_peak_bytes), 1.0),
            Cell::number(format!("{}×", units::three(1.0 / share.max(1e-9)))),
        ]
    });
    let columns = ["expression", "size", "device", "operands", "fused", "unfused", "less"];
    sheet.table(
        "Peaks of expressions",
        "Most that is live beyond the operands, the result included.",
        &columns,
        rows.collect(),
    );
    sheet.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_take_what_they_hold_and_dropped_ones_are_kept() {
        let row = sized(Device::Cpu, 1 << 16).unwrap();
        assert!(row.made.live >= 8 << 16 && row.made.reserved >= row.made.live);
        assert!(row.halved.live < row.made.live);
        assert!(row.halved.live + row.halved.cached <= row.halved.reserved);
        assert!((0.0..=1.0).contains(&row.hit_rate));
    }

    #[test]
    fn fusion_saves_memory_and_its_peak_holds_the_result() {
        let shape = &shapes(true)[1];
        let row = expression(Device::Cpu, shape).unwrap();
        assert!(row.fused_peak_bytes >= row.operand_bytes, "the result is as large as the operand");
        assert!(
            row.fused_peak_bytes < row.unfused_peak_bytes,
            "{} {}",
            row.fused_peak_bytes,
            row.unfused_peak_bytes
        );
    }

    #[test]
    fn bars_are_as_long_as_their_share() {
        assert_eq!(bar(10, 10, "#").len(), BAR);
        assert_eq!(bar(5, 10, "#").len(), BAR / 2);
        assert_eq!((bar(1, 1000, "#").as_str(), bar(0, 10, "#").as_str()), ("#", ""));
    }
}
