//! The tables of docs/nn.md, from the newest `bench/results/cores-nn-*.json` and `bench/results/nn-*.json`.
//!
//! `cargo xtask bench --peers --only attention --only transformer_layer --json FILE` writes the first; rows of the same names in the newest
//! `bench/results/cpu-*.json`, of a processor with wider vectors, stand beside it. `bench/nn_gpu.py` writes the second: our figures,
//! those of other libraries, and the kernels of attention, of one session on one device.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::performance::{cpu_table, newest, text};

const PAGE: &str = "docs/nn.md";
const BEGIN: &str = "<!-- nn:begin -->";
const END: &str = "<!-- nn:end -->";
/// Work that the seeds state something about, and the model.
const SEED: [&str; 4] = [
    "gelu 4096x1024 f32",
    "linear+bias+gelu 1024x512x768 f32",
    "layer norm 1024x768 f32",
    "attention f32 8x12x2048x64",
];
const LAYERS: [&str; 2] = ["layer bf16 32x2048x768", "layer bf16 32x128x768"];
const MODEL: &str = "model of 1.3e9 parameters bf16 32x2048";
const MEMORY: &str = "memory of attention bf16 2x16x16384x128 causal";

/// The page with its tables, if there is a result to make them of.
pub fn page() -> Result<Option<(String, String)>> {
    let mut tables = String::new();
    if let Some((path, document)) = newest("cores-nn-")? {
        tables += &cores(&path, &document);
    }
    if let Some((path, document)) = newest("cpu-")? {
        tables += &cores(&path, &with_layers_alone(document));
    }
    if let Some((path, document)) = newest("nn-")? {
        tables += &device(&path, &document);
    }
    if tables.is_empty() {
        return Ok(None);
    }
    let page =
        std::fs::read_to_string(crate::workspace::root().join(PAGE)).context("could not read docs/nn.md")?;
    let (before, rest) = page.split_once(BEGIN).context("docs/nn.md has no nn:begin mark")?;
    let (_, after) = rest.split_once(END).context("docs/nn.md has no nn:end mark")?;
    Ok(Some((PAGE.to_string(), format!("{before}{BEGIN}\n{tables}{END}{after}"))))
}

/// A result file with nothing but the work of this page.
fn with_layers_alone(mut document: Value) -> Value {
    if let Some(results) = document["results"].as_array_mut() {
        results.retain(|entry| ["attention", "transformer_layer"].contains(&text(&entry["workload"])));
    }
    document
}

/// On the host, beside PyTorch.
fn cores(path: &str, document: &Value) -> String {
    format!(
        "On {} cores of an {} ({}), from [{path}](../{path}): `{}`, PyTorch {}.\n\n{}\n",
        document["threads"],
        text(&document["processor"]),
        text(&document["versions"]["crossover"]).rsplit(' ').next().unwrap_or_default(),
        text(&document["command"]),
        text(&document["versions"]["torch"]),
        cpu_table(document),
    )
}

/// On a GPU.
fn device(path: &str, document: &Value) -> String {
    let mut out = format!(
        "From [{path}](../{path}), {} at commit {}, PyTorch {}.\n\n",
        text(&document["device"]),
        text(&document["commit"]),
        text(&document["versions"]["torch"]),
    );
    out += &attention(document);
    out += &functions(document);
    out += &model(document);
    out
}

/// Our figure of this name.
fn ours<'a>(document: &'a Value, name: &str) -> &'a Value {
    let all = document["ours"]["figures"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().find(|figure| figure["name"] == name).unwrap_or(&Value::Null)
}

/// The fastest of some times by name.
fn best<'a>(times: &'a Value, out: &[&str]) -> Option<(&'a str, f64)> {
    let all = times.as_object()?.iter().filter(|(name, _)| !out.contains(&name.as_str()));
    all.filter_map(|(name, ms)| Some((name.as_str(), ms.as_f64()?))).min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Kernels of attention beside PyTorch's backends, launched the same way, and the same call through the runtime.
fn attention(document: &Value) -> String {
    let mut out = String::from(
        "Attention beside the best of PyTorch's backends (flash, cuDNN, efficient); the ratio is their time over ours, so more is faster for us. The kernel alone, \
         and the call through arrays:\n\n\
         | batch × heads × length × head size | kernel | TFLOP/s | best of PyTorch | ratio | by arrays | error, ours and theirs |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for row in document["attention"]["rows"].as_array().into_iter().flatten() {
        let (name, Some(ms)) = (text(&row["name"]), row["ms"]["ours"].as_f64()) else { continue };
        let Some((peer, theirs)) = best(&row["ms"], &["ours"]) else { continue };
        let rate = row["TFLOP"].as_f64().map_or("-".to_string(), |work| format!("{:.0}", work / ms * 1e3));
        let arrays = ours(document, &format!("attention {name}"))["ms"].as_f64();
        let arrays = arrays.map_or("-".to_string(), |ms| format!("{ms:.3} ms"));
        let error = |who: &str| row["error"][who].as_f64().map_or("-".to_string(), |e| format!("{e:.1e}"));
        let _ = writeln!(
            out,
            "| {} | {ms:.3} ms | {rate} | {peer} {theirs:.3} ms | {:.2} | {arrays} | {}, {} |",
            name.replace('x', "×"),
            theirs / ms,
            error("ours"),
            error(peer)
        );
    }
    out + "\n"
}

/// Functions as seed 003 compares them, and a layer.
fn functions(document: &Value) -> String {
    let mut out = String::from(
        "Functions of seed 003, with the CuPy versions that it compares with, and a transformer layer; `graph` replays PyTorch's calls as one CUDA graph:\n\n\
         | work | Crossover | CuPy | times faster | best of PyTorch | ratio |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for name in SEED.into_iter().chain(LAYERS) {
        let (Some(ms), peers) = (ours(document, name)["ms"].as_f64(), &document["peers"][name]) else {
            continue;
        };
        let cupy = peers["cupy"].as_f64();
        let (theirs, ratio) = best(peers, &["cupy"])
            .map_or(("-".to_string(), "-".to_string()), |(who, t)| {
                (format!("{who} {t:.4} ms"), format!("{:.2}", t / ms))
            });
        let _ = writeln!(
            out,
            "| {} | {ms:.4} ms | {} | {} | {theirs} | {ratio} |",
            name.replace('x', "×"),
            cupy.map_or("-".to_string(), |t| format!("{t:.4} ms")),
            cupy.map_or("-".to_string(), |t| format!("{:.1}×", t / ms)),
        );
    }
    out + "\n"
}

/// A forward pass of a large model, and the memory of long attention.
fn model(document: &Value) -> String {
    let (own, peers) = (ours(document, MODEL), &document["peers"][MODEL]);
    let mut out = String::from(
        "A language model of GPT-3 XL's sizes (24 layers of 2048, heads of 128, a shared vocabulary of 50304), bf16, causal, logits of all of 32 × 2048 tokens in one forward pass:\n\n\
         | | ms per step | tokens/s | peak memory |\n| --- | --- | --- | --- |\n",
    );
    let mut row = |name: &str, figures: &Value| {
        let (Some(ms), Some(rate), Some(peak)) =
            (figures["ms"].as_f64(), figures["tokens_per_s"].as_f64(), figures["peak_GB"].as_f64())
        else {
            return;
        };
        let _ = writeln!(out, "| {name} | {ms:.1} | {rate:.0} | {peak:.2} GB |");
    };
    row(&format!("Crossover, {:.3e} parameters", own["parameters"].as_f64().unwrap_or(f64::NAN)), own);
    for (who, name) in
        [("torch", "PyTorch"), ("cudnn", "PyTorch, cuDNN attention"), ("compile", "PyTorch, compiled blocks")]
    {
        row(name, &peers[who]);
    }
    let (own, theirs) = (ours(document, MEMORY), &document["peers"][MEMORY]);
    if let (Some(peak), Some(least)) = (own["peak_MB"].as_f64(), own["operands_MB"].as_f64()) {
        let theirs = theirs["peak_MB"].as_f64().map_or(String::new(), |t| format!("; PyTorch {t:.1} MB"));
        let _ = writeln!(
            out,
            "\nAttention over 16384 keys (bf16 2×16×16384×128, causal) holds {peak:.1} MB at most for {least:.1} MB of operands and result{theirs}.",
        );
    }
    out
}
