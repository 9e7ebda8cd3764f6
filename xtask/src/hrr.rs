//! `cargo xtask hrr`: the tables of docs/hrr.md, from the newest bench/results/hrr-*.json.
//!
//! Those of the GPU are written by `bench/hrr_gpu.py` on a machine with one, those of two cores by `bench/hrr.py`.

use std::{fmt::Write as _, fs};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{performance, step::Finding, workspace};

const PAGE: &str = "docs/hrr.md";
const BEGIN: &str = "<!-- hrr:begin -->";
const END: &str = "<!-- hrr:end -->";
/// Forms of other libraries; the best of them is what a time is compared with.
const PEERS: [&str; 5] = ["torch", "graph", "compile", "compile sum", "cupy"];
/// Name, and the most that its time may be of the best peer's.
const BARS: [(&str, f64); 5] = [
    ("bind d=512 rows=100000", 0.33),
    ("bind d=1024 rows=100000", 0.33),
    ("bind and normalise d=512 rows=100000", 0.28),
    ("bind and normalise d=1024 rows=100000", 0.28),
    ("weighted superpose of 1000 sets, 1000x1000x512", 1.02),
];

/// Writes the page.
pub fn run() -> Result<bool> {
    performance::write(pages()?)
}

/// Whether it says what the result files say.
pub fn check() -> Result<Finding> {
    performance::compare(pages()?, "a page", "cargo xtask hrr")
}

fn pages() -> Result<Vec<(String, String)>> {
    let page = fs::read_to_string(workspace::root().join(PAGE)).context("could not read docs/hrr.md")?;
    let (before, rest) = page.split_once(BEGIN).context("docs/hrr.md has no hrr:begin mark")?;
    let (_, after) = rest.split_once(END).context("docs/hrr.md has no hrr:end mark")?;
    let mut text = String::new();
    if let Some((path, document)) = performance::newest("hrr-h200-")? {
        text.push_str(&gpu(&path, &document));
    }
    if let Some((path, document)) = performance::newest("hrr-cpu-")? {
        text.push_str(&cpu(&path, &document));
    }
    Ok(vec![(PAGE.to_string(), format!("{before}{BEGIN}\n{text}{END}{after}"))])
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("unknown")
}

fn origin(path: &str, document: &Value) -> String {
    let [command, commit] = ["command", "commit"].map(|key| text(&document[key]));
    format!("Every number from [{path}](../{path}): `{command}` at commit {commit}.\n\n")
}

/// A figure of the library through its runtime: the mean of the one before and the one after the other libraries.
fn through(document: &Value, name: &str, key: &str) -> Option<f64> {
    let pair = document["runtime"].as_array()?.iter().find(|pair| pair["before"]["name"] == name)?;
    let (before, after) = (pair["before"][key].as_f64()?, pair["after"][key].as_f64()?);
    Some((before + after) / 2.0)
}

/// The quickest other library.
fn best(row: &Value) -> Option<(&'static str, f64)> {
    let times = PEERS.iter().filter_map(|&peer| Some((peer, row["ms"][peer].as_f64()?)));
    times.min_by(|a, b| a.1.total_cmp(&b.1))
}

fn met(bar: Option<f64>, ratio: Option<f64>) -> (String, &'static str) {
    match (bar, ratio) {
        (Some(bar), Some(ratio)) => (format!("≤ {bar}"), if ratio <= bar { "yes" } else { "no" }),
        (Some(bar), None) => (format!("≤ {bar}"), "not measured"),
        _ => ("-".to_string(), "-"),
    }
}

fn shown(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_string(), |value| format!("{value:.digits$}"))
}

fn gpu(path: &str, document: &Value) -> String {
    let rows = || document["rows"].as_array().into_iter().flatten();
    let find = |name: &str| rows().find(|row| row["name"] == name);
    let mut out = format!(
        "### On an {}\n\n{}f32, operands and results on the GPU, times in milliseconds by the device's clock. *Runtime* is the library as it is called, before and after \
         all others in the same run, the mean; *kernel* its kernel launched without it, in turns with the peers. *Floor*: each operand read once and the result written once at the {:.2} TB/s of a large copy. \
         The peer is the quickest of PyTorch {}, the same replayed as a CUDA graph, `torch.compile` and CuPy {}.\n\n\
         | work | runtime | kernel | floor | of the floor | best peer | runtime / peer | bar | met |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        text(&document["device"]),
        origin(path, document),
        document["copy_TB_s"].as_f64().unwrap_or(0.0),
        text(&document["torch"]),
        text(&document["cupy"]),
    );
    for row in rows() {
        let name = text(&row["name"]);
        if !(name.ends_with("rows=100000") || name.starts_with("weighted")) {
            continue;
        }
        let (ours, kernel, floor) =
            (through(document, name, "ms"), row["ms"]["kernel"].as_f64(), row["floor_ms"].as_f64());
        let (time, peer) = (ours.or(kernel), best(row));
        let ratio = time.zip(peer).map(|(time, (_, peer))| time / peer);
        let (bar, met) = met(BARS.iter().find(|(bar, _)| *bar == name).map(|(_, most)| *most), ratio);
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {} | {} | {} | {} | {bar} | {met} |",
            shown(ours, 4),
            shown(kernel, 4),
            shown(floor, 4),
            shown(time.zip(floor).map(|(time, floor)| floor / time), 2),
            peer.map_or("-".to_string(), |(name, time)| format!("{name} {time:.4}")),
            shown(ratio, 2),
        );
    }
    out.push_str(&batches(document, &find));
    out.push_str(&cleanups(document, &find));
    out
}

/// Where time is launch and where it is bytes.
fn batches<'a>(document: &Value, find: &dyn Fn(&str) -> Option<&'a Value>) -> String {
    let mut out = String::from(
        "\nBinding by batch, d=512, in microseconds: on the GPU one call after another, and from a call until its result is there; what the host spends \
         on a call; the kernel and PyTorch replayed as CUDA graphs; the CPU of the same machine; and what moving the bytes takes. Where the time of a \
         call is far from the floor it is launch.\n\n\
         | rows | GPU | waited for | host's part | kernel | PyTorch | GPU / PyTorch | CPU | floor | of the floor |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for batch in [1, 10, 100, 1000, 10_000] {
        let name = format!("bind d=512 rows={batch}");
        let row = find(&name);
        let field = |key: &str| row.and_then(|row| row["ms"][key].as_f64()).map(|ms| ms * 1e3);
        let (ours, graph) = (through(document, &name, "ms").map(|ms| ms * 1e3), field("graph"));
        let floor = row.and_then(floor_us);
        let _ = writeln!(
            out,
            "| {batch} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            shown(ours, 1),
            shown(through(document, &format!("bind, waited for, d=512 rows={batch}"), "us"), 1),
            shown(through(document, &name, "host_us"), 1),
            shown(field("kernel"), 1),
            shown(graph, 1),
            shown(ours.zip(graph).map(|(ours, graph)| ours / graph), 2),
            shown(through(document, &format!("CPU {name}"), "us"), 1),
            shown(floor, 4),
            share(floor, ours),
        );
    }
    let pair = through(document, "bind and unbind, waited for, d=512 rows=1", "us");
    // Two operands and a result, twice.
    let floor = find("bind d=512 rows=1").and_then(floor_us).map(|floor| 2.0 * floor);
    let _ = writeln!(
        out,
        "\nBars: a batch of 1000 at most 0.45 of PyTorch replayed. Binding and unbinding one pair, from the call until the result is there: {} µs \
         (bar: 20); moving the bytes of both takes {} µs, {} of that: the rest is two launches and waiting for them.",
        shown(pair, 1),
        shown(floor, 4),
        share(floor, pair),
    );
    out
}

/// What moving the bytes of a row takes, in microseconds.
fn floor_us(row: &Value) -> Option<f64> {
    row["floor_ms"].as_f64().map(|ms| ms * 1e3)
}

/// The fraction of a time that its floor is, to two digits that say something.
fn share(floor: Option<f64>, time: Option<f64>) -> String {
    let Some(share) = floor.zip(time).map(|(floor, time)| floor / time) else { return "-".to_string() };
    let digits = if share >= 0.01 { 2 } else { 4 };
    format!("{share:.digits$}")
}

fn cleanups<'a>(document: &Value, find: &dyn Fn(&str) -> Option<&'a Value>) -> String {
    let mut out = String::from(
        "\nCleanup, d=1024, in milliseconds. *Runtime* is `ItemMemory::query` with its answers on the host: it rounds both operands from f32 and scores the groups in \
         doubt again. *Exact* is its kernels alone; *f16* has operands that are f16 already, as PyTorch's f16 product has them, and the winners of these. *Floor*: operands read once and answers written.\n\n\
         | queries x items | runtime | exact | floor | of the floor | PyTorch f32 | runtime / f32 | bar | f16 | of the floor | PyTorch f16 | f16 / f16 | bar | runtime / f16 |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let mut said = String::new();
    for (queries, bars) in [(1000, Some((0.3, 0.9))), (1, None)] {
        let Some(row) = find(&format!("cleanup {queries} x 100000 d=1024")) else { continue };
        // What `ItemMemory::compact` launches has a row of its own; before there was one, its product was timed with the others.
        let compact = find(&format!("cleanup in f16 {queries} x 100000 d=1024"));
        let field = |key: &str| match compact {
            Some(compact) if key.ends_with("f16") => compact["ms"][key].as_f64(),
            _ => row["ms"][key].as_f64(),
        };
        let ours = through(document, &format!("cleanup, exact, {queries} x 100000 d=1024"), "whole_ms");
        let against = |time: Option<f64>, peer: &str| time.zip(field(peer)).map(|(time, peer)| time / peer);
        let floor = row["floor_ms"].as_f64();
        // Operands of f16 are half the bytes.
        let half = floor.map(|floor| floor / 2.0);
        let _ = writeln!(
            out,
            "| {queries} x 100,000 | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            shown(ours, 3),
            shown(field("kernel exact"), 3),
            shown(floor, 3),
            share(floor, ours),
            shown(field("torch f32"), 3),
            shown(against(ours, "torch f32"), 2),
            bars.map_or("-".to_string(), |(bar, _)| format!("≤ {bar}")),
            shown(field("kernel f16"), 3),
            share(half, field("kernel f16")),
            shown(field("torch f16"), 3),
            shown(against(field("kernel f16"), "torch f16"), 2),
            bars.map_or("-".to_string(), |(_, bar)| format!("≤ {bar}")),
            shown(against(ours, "torch f16"), 2),
        );
        if let (Some(ours), Some(kernel), Some((_, bar))) = (ours, field("kernel f16"), bars) {
            let name = format!("cleanup, compact f16, on the device, {queries} x 100000 d=1024");
            let offered = match through(document, &name, "ms") {
                Some(ms) => format!(
                    "`ItemMemory::compact` in f16 takes {ms:.3} ms through the runtime with its answers on the device, {} of PyTorch's f16 product (bar: {bar}); its kernels alone \
                     {kernel:.3} ms.",
                    shown(against(Some(ms), "torch f16"), 3),
                ),
                None => format!(
                    "The bar of {bar} against PyTorch's f16 product is reached by the product with operands that are f16 already and the largest entry of every row after it \
                     ({} of its time), which this run launched itself. The library's own way to it, `ItemMemory::compact` in f16, has the same product and scores the groups in \
                     doubt again; it is not measured on a GPU yet.",
                    shown(against(Some(kernel), "torch f16"), 3),
                ),
            };
            let _ = writeln!(
                said,
                "\n{offered} A memory in f32 has the winners of f32 and takes {ours:.3} ms, {} times PyTorch's f16 product and {} of its f32 product.",
                shown(against(Some(ours), "torch f16"), 2),
                shown(against(Some(ours), "torch f32"), 3),
            );
        }
    }
    out + &said
}

fn cpu(path: &str, document: &Value) -> String {
    let mut out = format!(
        "\n### On two cores\n\n{}{}, medians in microseconds, in turns with PyTorch {}.\n\n\
         | work | ours | PyTorch | times its speed | bar | met |\n| --- | --- | --- | --- | --- | --- |\n",
        origin(path, document),
        text(&document["machine"]),
        text(&document["torch"]),
    );
    for row in document["rows"].as_array().into_iter().flatten() {
        let (ours, peer) = (row["ours_us"].as_f64().unwrap_or(0.0), row["torch_us"].as_f64().unwrap_or(0.0));
        let (bar, is_met) = match (row["least_speed"].as_f64(), row["most_us"].as_f64()) {
            (Some(least), _) => (format!("≥ {least} times"), peer / ours >= least),
            (_, Some(most)) => (format!("≤ {most} µs"), ours <= most),
            _ => ("-".to_string(), true),
        };
        let met = if is_met { "yes" } else { "no" };
        let name = text(&row["name"]);
        let _ = writeln!(out, "| {name} | {ours:.1} | {peer:.1} | {:.2} | {bar} | {met} |", peer / ours);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rows_are_compared_with_the_best_peer() {
        let name = "bind d=512 rows=100000";
        let figure = |ms: f64| json!({"name": name, "ms": ms, "host_us": 1.0});
        let document = json!({
            "device": "A GPU", "command": "c", "commit": "x", "torch": "2", "cupy": "3", "copy_TB_s": 4.0,
            "rows": [{"name": name, "floor_ms": 0.1, "ms": {"torch": 1.0, "cupy": 0.8, "kernel": 0.19}}],
            "runtime": [{"before": figure(0.1), "after": figure(0.3)}],
        });
        let text = gpu("bench/results/hrr-h200-x.json", &document);
        let row = format!("| {name} | 0.2000 | 0.1900 | 0.1000 | 0.50 | cupy 0.8000 | 0.25 | ≤ 0.33 | yes |");
        assert!(text.contains(&row), "{text}");
    }

    #[test]
    fn floors_are_stated_of_batches_pairs_and_cleanups() {
        let both = |name: &str, figure: Value| {
            let mut figure = figure;
            figure["name"] = json!(name);
            json!({"before": figure, "after": figure})
        };
        let document = json!({
            "device": "A GPU", "command": "c", "commit": "x", "torch": "2", "cupy": "3", "copy_TB_s": 4.0,
            "rows": [
                {"name": "bind d=512 rows=1", "floor_ms": 0.000001, "ms": {"graph": 0.01}},
                {"name": "bind d=512 rows=1000", "floor_ms": 0.001, "ms": {"graph": 0.01}},
                {"name": "cleanup 1000 x 100000 d=1024", "floor_ms": 0.1,
                 "ms": {"torch f32": 4.0, "torch f16": 0.4, "kernel exact": 0.6, "kernel f16": 0.25}},
            ],
            "runtime": [
                both("bind d=512 rows=1000", json!({"ms": 0.004})),
                both("bind and unbind, waited for, d=512 rows=1", json!({"us": 16.0})),
                both("cleanup, exact, 1000 x 100000 d=1024", json!({"whole_ms": 0.8})),
            ],
        });
        let text = gpu("bench/results/hrr-h200-x.json", &document);
        assert!(text.contains("| 1000 | 4.0 | - | - | - | 10.0 | 0.40 | - | 1.0000 | 0.25 |"), "{text}");
        assert!(
            text.contains("16.0 µs (bar: 20); moving the bytes of both takes 0.0020 µs, 0.0001 of that"),
            "{text}"
        );
        let row = "| 1000 x 100,000 | 0.800 | 0.600 | 0.100 | 0.12 | 4.000 | 0.20 | ≤ 0.3 | 0.250 | 0.20 | 0.400 | 0.62 | ≤ 0.9 | 2.00 |";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("(0.625 of its time)") && text.contains("0.800 ms, 2.00 times"), "{text}");
        assert!(text.contains("not measured on a GPU yet"), "{text}");
        // A run that has the library's own way to f16.
        let mut document = document;
        let row = json!({"name": "cleanup in f16 1000 x 100000 d=1024", "ms": {"torch f16": 0.4, "kernel f16": 0.3}});
        document["rows"].as_array_mut().unwrap().push(row);
        let figure = both("cleanup, compact f16, on the device, 1000 x 100000 d=1024", json!({"ms": 0.34}));
        document["runtime"].as_array_mut().unwrap().push(figure);
        let text = gpu("bench/results/hrr-h200-x.json", &document);
        assert!(text.contains("takes 0.340 ms") && text.contains("0.850 of PyTorch's f16 product"), "{text}");
        assert!(text.contains("| 0.300 | 0.17 | 0.400 | 0.75 |") && !text.contains("not measured"), "{text}");
    }

    #[test]
    fn a_bar_that_is_missed_says_so() {
        let row = json!({"name": "bind", "ours_us": 6.0, "torch_us": 12.0, "most_us": 5.0});
        let text = cpu("p", &json!({"machine": "m", "rows": [row]}));
        assert!(text.contains("| bind | 6.0 | 12.0 | 2.00 | ≤ 5 µs | no |"), "{text}");
    }
}
