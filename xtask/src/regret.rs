//! `cargo xtask placement`: the chart and the figures of docs/placement.md, from the newest bench/results/regret-*.json.
//!
//! The file is written by `crossover-gpu-test --only regret` on a machine with a GPU.

use std::{fmt::Write as _, fs};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{performance, step::Finding, workspace};

const PAGE: &str = "docs/placement.md";
const CHART: &str = "docs/charts/regret.svg";
const BEGIN: &str = "<!-- regret:begin -->";
const END: &str = "<!-- regret:end -->";

/// Writes the chart and the page.
pub fn run() -> Result<bool> {
    performance::write(pages()?)
}

/// Whether both say what the result file says.
pub fn check() -> Result<Finding> {
    performance::compare(pages()?, "a page and a chart", "cargo xtask placement")
}

fn pages() -> Result<Vec<(String, String)>> {
    let page =
        fs::read_to_string(workspace::root().join(PAGE)).context("could not read docs/placement.md")?;
    let (before, rest) = page.split_once(BEGIN).context("docs/placement.md has no regret:begin mark")?;
    let (_, after) = rest.split_once(END).context("docs/placement.md has no regret:end mark")?;
    let Some((path, document)) = performance::newest("regret-")? else {
        let page = format!("{before}{BEGIN}\nNot measured yet.\n{END}{after}");
        return Ok(vec![(PAGE.to_string(), page)]);
    };
    let page = format!("{before}{BEGIN}\n{}{END}{after}", figures(&path, &document));
    Ok(vec![(PAGE.to_string(), page), (CHART.to_string(), chart(&document))])
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

fn figures(path: &str, document: &Value) -> String {
    let summary = &document["summary"];
    let percent = |key: &str| 100.0 * number(&summary[key]);
    let mut out = String::from("![Regret by workload, size and place of the data](charts/regret.svg)\n\n");
    let _ = writeln!(
        out,
        "{} with {} threads; every number from [{path}](../{path}), made by `{}` at commit {}.\n",
        document["device"].as_str().unwrap_or("?"),
        document["threads"],
        document["command"].as_str().unwrap_or("crossover-gpu-test --only regret"),
        document["commit"].as_str().unwrap_or("unknown"),
    );
    out.push_str("| what | is | bar |\n| --- | --- | --- |\n");
    let mut row = |what: &str, is: String, bar: &str| {
        let _ = writeln!(out, "| {what} | {is} | {bar} |");
    };
    row(
        &format!("mean regret of {} cases, warm", summary["cases"]),
        format!("{:.1}%", percent("mean_regret")),
        "≤ 5%",
    );
    row(
        "largest regret among those beyond 20 µs",
        format!("{:.0}%", percent("worst_regret_beyond_20us")),
        "≤ 25%",
    );
    row(
        "cases slower than the CPU alone by more than 20 µs and 5%",
        summary["slower_than_cpu"].to_string(),
        "0",
    );
    if let Some(strays) = summary["mean_strays"].as_f64() {
        row("timed runs elsewhere than where the plan settled", format!("{:.1}%", 100.0 * strays), "");
    }
    // A run that was ended early has not measured these.
    let times = &document["calibration_ms"];
    if times.is_object() {
        row(
            "short calibration (with its kernels to compile first)",
            format!("{:.0} ms ({:.0} ms)", number(&times["brief"]), number(&times["brief_cold"])),
            "≤ 300 ms",
        );
        if let Some(full) = times["full"].as_f64() {
            row("full calibration", format!("{:.1} s", full / 1e3), "seconds");
        }
    }
    let deciding = &document["deciding_us"];
    if deciding.is_object() {
        row("deciding about a plan seen before", format!("{:.2} µs", number(&deciding["seen"])), "≤ 1 µs");
        let new = number(&deciding["new_of_ten_kernels"]);
        row("deciding about a new plan of ten kernels", format!("{new:.1} µs"), "≤ 20 µs");
    }
    if let Some(xor) = document["xor_of_5_us"].as_f64() {
        row("`a ^ b` of five elements in all", format!("{xor:.2} µs"), "≤ 2 µs");
    }
    let cold = cold(document);
    let _ = writeln!(
        out,
        "\nThe first call of a plan, kernels compiled or not, took {:.1} times as long as the same call when warm in the median, and at \
         most {:.0} ms longer.",
        cold.0, cold.1
    );
    out
}

/// How many times longer a first call takes in the median, and milliseconds that one takes longer at most.
fn cold(document: &Value) -> (f64, f64) {
    let cases = document["cases"].as_array().into_iter().flatten();
    let both: Vec<(f64, f64)> = cases.map(|c| (number(&c["cold_us"]), number(&c["auto_us"]))).collect();
    let mut ratios: Vec<f64> = both.iter().map(|(cold, warm)| cold / warm.max(0.01)).collect();
    ratios.sort_by(f64::total_cmp);
    let most = both.iter().map(|(cold, warm)| (cold - warm) / 1e3).fold(0.0, f64::max);
    (ratios.get(ratios.len() / 2).copied().unwrap_or(0.0), most)
}

/// Pixels of a cell, of the names, and above the cells.
const CELL: (f64, f64) = (46.0, 20.0);
const LEFT: f64 = 140.0;
const TOP: f64 = 64.0;
/// Sizes: powers of ten.
const SIZES: usize = 9;

/// One row per workload, one cell per size, data on the host at the left and on the GPU at the right. The colour says where it ran, the
/// number by how many percent the better device would have been faster.
fn chart(document: &Value) -> String {
    let cases: Vec<&Value> = document["cases"].as_array().into_iter().flatten().collect();
    let mut names: Vec<&str> = Vec::new();
    for case in &cases {
        let name = case["workload"].as_str().unwrap_or("?");
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let panel = CELL.0 * SIZES as f64;
    let (width, height) = (LEFT + 2.0 * panel + 40.0, TOP + CELL.1 * names.len() as f64 + 44.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <title>Regret of placement by workload, size and place of the data</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    let mut text = |x: f64, y: f64, anchor: &str, fill: &str, words: &str| {
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"{fill}\">{words}</text>"
        );
    };
    for (at, title) in ["data on the host", "data on the GPU"].into_iter().enumerate() {
        let left = LEFT + at as f64 * (panel + 20.0);
        text(left + panel / 2.0, 20.0, "middle", "#222222", title);
        for size in 0..SIZES {
            let label = format!("10<tspan baseline-shift=\"super\" font-size=\"8\">{size}</tspan>");
            text(left + (size as f64 + 0.5) * CELL.0, TOP - 10.0, "middle", "#555555", &label);
        }
    }
    for (row, name) in names.iter().enumerate() {
        text(LEFT - 8.0, TOP + (row as f64 + 0.68) * CELL.1, "end", "#222222", name);
    }
    for case in &cases {
        let Some(row) = names.iter().position(|name| case["workload"].as_str() == Some(name)) else {
            continue;
        };
        let size = number(&case["elements"]).max(1.0).log10().round();
        let left = if case["data"] == "gpu" { LEFT + panel + 20.0 } else { LEFT };
        let best = number(&case["cpu_us"]).min(number(&case["gpu_us"])).max(0.01);
        let over = (number(&case["auto_us"]) - best).max(0.0);
        let fill = match case["device"].as_str() {
            Some("gpu") => "#e07b39",
            Some("both") => "#9b6bb3",
            _ => "#3b78b5",
        };
        // What is within the bars is pale.
        let opacity = if over > 20.0 && over > 0.25 * best { 1.0 } else { 0.42 };
        let (x, y) = (left + size * CELL.0, TOP + row as f64 * CELL.1);
        let _ = writeln!(
            out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{fill}\" fill-opacity=\"{opacity}\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#222222\" font-size=\"9\">{:.0}</text>",
            x + 1.0,
            y + 1.0,
            CELL.0 - 2.0,
            CELL.1 - 2.0,
            x + CELL.0 / 2.0,
            y + CELL.1 * 0.66,
            100.0 * over / best
        );
    }
    let y = height - 16.0;
    for (at, (fill, words)) in
        [("#3b78b5", "ran on the CPU"), ("#e07b39", "ran on the GPU"), ("#9b6bb3", "on both")]
            .into_iter()
            .enumerate()
    {
        let x = LEFT + 130.0 * at as f64;
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{:.1}\" width=\"12\" height=\"12\" fill=\"{fill}\" fill-opacity=\"0.42\"/>\n\
             <text x=\"{:.1}\" y=\"{y}\" fill=\"#222222\">{words}</text>",
            y - 10.0,
            x + 18.0
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{y}\" text-anchor=\"end\" fill=\"#222222\">numbers: percent slower than the better device; full colour: beyond 25% and 20 µs</text>\n</svg>",
        width - 20.0
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document() -> Value {
        let case = |data: &str, auto: f64, device: &str| {
            json!({"workload": "gelu f32", "elements": 1000, "data": data, "cpu_us": 100.0, "gpu_us": 200.0,
                   "auto_us": auto, "cold_us": 300.0, "device": device})
        };
        json!({"device": "A GPU", "threads": 2, "summary": {"cases": 2, "mean_regret": 0.25,
               "worst_regret_beyond_20us": 0.5, "slower_than_cpu": 1, "mean_strays": 0.02},
               "cases": [case("host", 100.0, "cpu"), case("gpu", 150.0, "gpu")]})
    }

    #[test]
    fn cells_show_where_it_ran_and_by_how_much_it_was_late() {
        let chart = chart(&document());
        assert!(chart.contains(">50</text>") && chart.contains(">0</text>"), "{chart}");
        assert!(chart.contains("fill=\"#e07b39\" fill-opacity=\"1\""), "beyond the bars is full colour");
        assert_eq!(chart.matches("<svg").count(), 1);
        assert!(chart.ends_with("</svg>\n"));
    }

    #[test]
    fn figures_are_those_of_the_file() {
        let text = figures("bench/results/regret-x.json", &document());
        assert!(text.contains("| mean regret of 2 cases, warm | 25.0% | ≤ 5% |"), "{text}");
        assert!(text.contains("where the plan settled | 2.0% |"), "{text}");
        assert!(text.contains("took 3.0 times as long"), "{text}");
    }
}
