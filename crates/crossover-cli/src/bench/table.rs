//! The report as a person reads it, at most 110 columns wide.

use std::fmt::Write as _;

use console::{Alignment, pad_str, style};
use crossover::profile::bench::{Claim, Entry};

use super::{
    Whole, compared,
    gauge::{CPU, GPU},
    suites::NOT_YET,
};
use crate::units;

/// The whole report.
pub fn write(whole: &Whole, seeds: bool) -> String {
    let run = whole.run;
    let mut out = String::new();
    let machine = &run.machine;
    let gpus = if machine.gpus.is_empty() { "no GPU".to_owned() } else { machine.gpus.join(", ") };
    let title = style(format!("Crossover {} bench {}", machine.crossover, run.name)).bold();
    let _ =
        writeln!(out, "{title} on {}, {} threads, {}; {gpus}", machine.cpu, machine.threads, machine.simd);
    if machine.build == "debug" {
        let _ = writeln!(
            out,
            "{}",
            style("This is a debug build; its times say nothing about a release build.").yellow()
        );
    }
    out.push('\n');
    out.push_str(&if seeds { claims(whole) } else { times(whole) });
    if let Some(found) = whole.found {
        out.push_str(&peers(whole));
        let _ = writeln!(out, "\n{}", found.sentence());
    }
    if let Some(answers) = whole.answers {
        let _ = writeln!(out, "\n{}", style("Floors").bold());
        for answer in answers {
            let found = answer.found.map_or_else(|| "—".to_owned(), figure);
            let outcome = match answer.outcome {
                "met" => style("met").green(),
                "missed" => style("MISSED").red().bold(),
                _ => style("not checked").yellow(),
            };
            let why = answer.why.as_deref().map_or_else(String::new, |why| format!(": {why}"));
            let _ = writeln!(
                out,
                "  {:<34} {:<26} {found:>9} of {:<9} {outcome}{why}",
                answer.work,
                answer.asked,
                figure(answer.required)
            );
        }
    }
    if let Some(comparison) = whole.against {
        let _ = write!(out, "\n{}", compared(comparison));
    }
    if let Some(others) = run.others.filter(|&share| share > 0.05) {
        let warning = format!(
            "\nOther programs used {:.0}% of the processor meanwhile; times are too long.",
            100.0 * others
        );
        let _ = writeln!(out, "{}", style(warning).yellow());
    }
    out
}

/// A number that may be tiny or huge.
fn figure(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.01 { format!("{value:.1e}") } else { units::three(value) }
}

fn line(cells: &[(String, usize, bool)]) -> String {
    let cell = |(text, width, right): &(String, usize, bool)| {
        let alignment = if *right { Alignment::Right } else { Alignment::Left };
        pad_str(text, *width, alignment, None).into_owned()
    };
    cells.iter().map(cell).collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

/// What of an entry goes into the main table, as text: also the page shows it.
pub struct Row {
    pub cpu: String,
    pub gpu: String,
    pub speedup: String,
    pub roof: String,
    pub spread: String,
    pub cold: String,
    pub error: String,
}

impl Row {
    pub fn of(entry: &Entry) -> Row {
        let dash = || "—".to_owned();
        let seconds = |device: &str| entry.median(device).map_or_else(dash, units::seconds);
        // On the GPU where there is one: that is where somebody who has one looks.
        let device = if entry.timings.contains_key(GPU) { GPU } else { CPU };
        let timing = entry.timings.get(device);
        let share = |device: &str| entry.efficiency.get(device).map(|share| format!("{:.0}%", 100.0 * share));
        Row {
            cpu: seconds(CPU),
            gpu: seconds(GPU),
            speedup: entry.speedup().map_or_else(dash, |times| format!("{}×", units::three(times))),
            roof: match (share(CPU), share(GPU)) {
                (None, None) => dash(),
                (Some(cpu), None) if device == CPU => cpu,
                (cpu, gpu) => format!("{}/{}", cpu.unwrap_or_else(dash), gpu.unwrap_or_else(dash)),
            },
            spread: timing.map_or_else(dash, |timing| format!("{:.1}%", 100.0 * timing.spread())),
            cold: timing.and_then(|timing| timing.cold).map_or_else(dash, units::seconds),
            error: entry.max_error.map_or_else(dash, |error| {
                if error == 0.0 { "0".to_owned() } else { format!("{error:.1e}") }
            }),
        }
    }
}

fn times(whole: &Whole) -> String {
    let mut out = String::new();
    let width = longest(whole);
    let roof = if whole.gpu { "CPU/GPU roof" } else { "roof" };
    let row = |name: &str, r: Row| {
        line(&[
            (name.to_owned(), width, false),
            (r.cpu, 8, true),
            (r.gpu, 8, true),
            (r.speedup, 8, true),
            (r.roof, roof.len().max(6), true),
            (r.spread, 7, true),
            (r.cold, 8, true),
            (r.error, 7, true),
        ])
    };
    let titles = Row {
        cpu: "CPU".into(),
        gpu: "GPU".into(),
        speedup: "speed-up".into(),
        roof: roof.into(),
        spread: "spread".into(),
        cold: "cold".into(),
        error: "error".into(),
    };
    let _ = writeln!(out, "{}", style(row("work", titles)).bold());
    for entry in &whole.run.results {
        let _ = writeln!(out, "{}", row(&entry.name, Row::of(entry)));
    }
    out
}

/// What is claimed, in a few words: `1.00 ms → 100 µs, 10×`.
pub fn claimed(claim: &Claim) -> String {
    let time = |seconds: Option<f64>| seconds.map(units::seconds);
    let times = claim.speedup.map(|speedup| format!("{}×", units::three(speedup)));
    let way = match (time(claim.before), time(claim.after)) {
        (Some(before), Some(after)) => Some(format!("{before} → {after}")),
        (None, Some(after)) => Some(format!("< {after}")),
        (before, None) => before,
    };
    let parts: Vec<String> = [way, times].into_iter().flatten().collect();
    if parts.is_empty() { "—".to_owned() } else { parts.join(", ") }
}

/// Our counterpart of a claimed ratio: fused over unfused where the claim is about that, else GPU over CPU.
pub fn ours(entry: &Entry) -> Option<(f64, &'static str)> {
    let fused = [GPU, CPU]
        .iter()
        .find_map(|device| Some(entry.median(&format!("{device} unfused"))? / entry.median(device)?));
    match fused {
        Some(times) => Some((times, "fused")),
        None => entry.speedup().map(|times| (times, "GPU")),
    }
}

fn claims(whole: &Whole) -> String {
    let mut out = String::new();
    let row = |cells: [String; 7]| {
        let widths = [(9, false), (37, false), (24, true), (8, true), (8, true), (12, true), (8, true)];
        line(
            &cells
                .into_iter()
                .zip(widths)
                .map(|(cell, (width, right))| (cell, width, right))
                .collect::<Vec<_>>(),
        )
    };
    let titles = ["stated by", "work", "claimed", "ours CPU", "GPU", "ours ×", "error"].map(str::to_owned);
    let _ = writeln!(out, "{}", style(row(titles)).bold());
    for entry in &whole.run.results {
        let shown = Row::of(entry);
        let claim = entry.claim.as_ref();
        let ratio = ours(entry)
            .map_or_else(|| "—".to_owned(), |(times, what)| format!("{}× {what}", units::three(times)));
        let cells = [
            claim.map_or_else(String::new, |claim| claim.by.clone()),
            entry.name.clone(),
            claim.map_or_else(|| "—".to_owned(), claimed),
            shown.cpu,
            shown.gpu,
            ratio,
            shown.error,
        ];
        let _ = writeln!(out, "{}", row(cells));
    }
    out.push_str("\nClaimed figures are what the seed states, on its machine; nobody measured them here. Ours are medians of this run. \"fused\" is\n");
    out.push_str("the time of separate operations over that of one kernel, on the same device; \"GPU\" is the time on the CPU over that on the GPU.\n");
    out.push_str("\nNot measured:\n");
    for (what, why) in NOT_YET {
        let _ = writeln!(out, "  seed {what}: {why}");
    }
    out
}

fn peers(whole: &Whole) -> String {
    let mut names: Vec<&str> =
        whole.run.results.iter().flat_map(|entry| entry.peers.keys()).map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let mut out = format!("\n{}\n", style("Beside others: their time, and how many times ours it is").bold());
    let width = longest(whole);
    let mut titles = vec![("work".to_owned(), width, false), ("ours".to_owned(), 8, true)];
    titles.extend(names.iter().map(|name| ((*name).to_owned(), 16, true)));
    let _ = writeln!(out, "{}", style(line(&titles)).bold());
    for entry in &whole.run.results {
        let ours = best(entry);
        let mut cells = vec![(entry.name.clone(), width, false), (units::seconds(ours), 8, true)];
        for name in &names {
            let text = entry.peers.get(*name).map_or_else(
                || "—".to_owned(),
                |timing| {
                    format!("{} {}×", units::seconds(timing.median()), units::three(timing.median() / ours))
                },
            );
            cells.push((text, 16, true));
        }
        let _ = writeln!(out, "{}", line(&cells));
    }
    out
}

/// Characters of the longest name.
fn longest(whole: &Whole) -> usize {
    let names = whole.run.results.iter().map(|entry| entry.name.chars().count());
    names.max().unwrap_or(0).clamp(16, 44)
}

/// Our time on the better device.
pub fn best(entry: &Entry) -> f64 {
    [CPU, GPU].iter().filter_map(|device| entry.median(device)).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossover::profile::bench::Timing;

    #[test]
    fn claims_are_short() {
        let claim = |before, after, speedup| Claim { before, after, speedup, ..Claim::default() };
        assert_eq!(claimed(&claim(Some(0.1), Some(2e-3), Some(50.0))), "100 ms → 2.00 ms, 50.0×");
        assert_eq!(claimed(&claim(None, Some(3e-5), None)), "< 30.0 µs");
        assert_eq!(claimed(&claim(None, None, Some(1.19))), "1.19×");
        assert_eq!(claimed(&claim(None, None, None)), "—");
    }

    #[test]
    fn what_was_not_measured_is_a_dash() {
        let mut entry = Entry::default();
        entry.timings.insert(CPU.to_owned(), Timing::new([1e-3]));
        let row = Row::of(&entry);
        assert_eq!(
            (row.cpu.as_str(), row.gpu.as_str(), row.speedup.as_str(), row.error.as_str()),
            ("1.00 ms", "—", "—", "—")
        );
        assert_eq!(ours(&entry), None);
        entry.timings.insert("cpu unfused".to_owned(), Timing::new([3e-3]));
        assert_eq!(ours(&entry), Some((3.0, "fused")));
    }
}
