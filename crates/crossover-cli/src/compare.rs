//! `crossover compare`: whether something became slower.

use std::{fmt::Write as _, path::PathBuf};

use anyhow::{Context, Result, bail};
use console::style;
use crossover::profile::bench::{
    self, Comparison, Contender, Fingerprint, Race, Settings, Verdict,
    sheet::{Cell, Sheet},
};

use crate::{bench as command, report, units};

/// Compare two programs, or two saved runs of `crossover bench`, and say what became slower.
///
/// Two programs are started in turns, many times, and asked to measure themselves (`PROGRAM bench --json --quick --times`; docs/benchmarking.md describes the
/// protocol, which your own programs can answer). With --command two command lines are timed from start to end. Two files written by `crossover bench --save`
/// are compared as they are; they must come from one machine, and their intervals are wider.
///
/// Each workload is FASTER, SLOWER, SAME (any difference is within the tolerance) or UNSURE (the samples do not decide), from an interval of the ratio
/// of medians by the bootstrap, corrected for the number of workloads: comparing a program with itself flags anything in one of twenty cases at most.
///
/// The exit status is 1 if anything is SLOWER.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The one before: a program, a saved run, or a command line with --command
    a: String,
    /// The one after
    b: String,
    /// Time two command lines of the shell from start to end
    #[arg(long)]
    command: bool,
    /// Only workloads whose name contains this; passed on to programs; may be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// What programs are started with, instead of `bench --json --quick --times`
    #[arg(long, value_name = "ARGUMENTS")]
    arguments: Option<String>,
    /// Rounds at most
    #[arg(long, value_name = "N", default_value_t = 40)]
    rounds: usize,
    /// Seconds after which no round begins and a program that still runs is ended
    #[arg(long, value_name = "SECONDS")]
    limit: Option<f64>,
    /// Differences below this many percent do not matter
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0)]
    tolerance: f64,
    /// Compare saved runs of different machines too
    #[arg(long)]
    force: bool,
    /// Write a page of it
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  crossover compare ./crossover-old ./crossover-new           two builds, in turns
  crossover compare ./old ./new --only softmax --only sum     less work, quicker
  crossover compare before.json after.json                    two saved runs
  crossover compare --command './old in.txt' './new in.txt'   whole processes
  crossover compare ./old ./new --json | jq '.results[] | select(.verdict == \"SLOWER\")'";

/// Runs the command. False when something is slower.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if !(0.0..100.0).contains(&arguments.tolerance) {
        bail!("a tolerance is from 0 to 100 percent, not {}", arguments.tolerance);
    }
    if let Some(path) = &arguments.html {
        report::check_target(path, &[&arguments.a, &arguments.b])?;
    }
    let settings =
        Settings { tolerance: arguments.tolerance / 100.0, force: arguments.force, ..Settings::default() };
    let saved = |path: &str| !arguments.command && path.to_lowercase().ends_with(".json");
    let comparison = match (saved(&arguments.a), saved(&arguments.b)) {
        (true, true) => files(arguments, &settings)?,
        (false, false) => race(arguments, &settings)?,
        _ => bail!("a saved run and a program cannot be compared: give two of a kind"),
    };
    if let Some(path) = &arguments.html {
        command::write(path, &page(&comparison, &arguments.a, &arguments.b))?;
    }
    if arguments.json {
        report::json(&comparison)?;
    } else {
        report::text(&table(&comparison, &arguments.a, &arguments.b))?;
    }
    Ok(comparison.count(Verdict::Slower) == 0)
}

fn files(arguments: &Arguments, settings: &Settings) -> Result<Comparison> {
    let mut runs = Vec::new();
    for path in [&arguments.a, &arguments.b] {
        let mut run = command::read(path.as_ref())?;
        run.results.retain(|entry| {
            arguments.only.is_empty() || arguments.only.iter().any(|part| entry.name.contains(part.as_str()))
        });
        runs.push(run);
    }
    Ok(bench::files(&runs[0], &runs[1], settings)?)
}

fn race(arguments: &Arguments, settings: &Settings) -> Result<Comparison> {
    let limit = arguments.limit.map(std::time::Duration::try_from_secs_f64).transpose();
    let limit = limit.with_context(|| format!("a limit of {:?} seconds", arguments.limit))?;
    let usual = "bench --json --quick --times";
    let words = arguments.arguments.as_deref().unwrap_or(usual).split_whitespace();
    let mut words: Vec<String> = words.map(str::to_owned).collect();
    words.extend(arguments.only.iter().flat_map(|name| ["--only".to_owned(), name.clone()]));
    let contender = |name: &str| -> Result<Contender> {
        match arguments.command {
            true => Ok(Contender::Command(name.to_owned())),
            false => Ok(Contender::Program { path: program(name)?, arguments: words.clone() }),
        }
    };
    let (a, b) = (contender(&arguments.a)?, contender(&arguments.b)?);
    let bar = command::progress(arguments.rounds);
    bar.set_message("rounds at most");
    let fewest = Race::default().fewest.min(arguments.rounds);
    let race = Race { fewest, most: arguments.rounds, limit };
    let outcome = bench::race(&a, &b, &race, settings, &mut |done, most| {
        bar.set_length(most as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    Ok(outcome?)
}

/// A program that is a file here is meant, not one on the path.
fn program(name: &str) -> Result<PathBuf> {
    let path = PathBuf::from(name);
    if path.is_file() {
        return std::path::absolute(&path).with_context(|| format!("where {name} lies"));
    }
    Ok(path)
}

/// The result as a person reads it.
pub fn table(comparison: &Comparison, a: &str, b: &str) -> String {
    let mut out = String::new();
    let width =
        comparison.results.iter().map(|judged| judged.name.chars().count()).max().unwrap_or(0).clamp(16, 44);
    let heading = format!(
        "{:<width$}  {:<14} {:>9} {:>9} {:>7}  {:<15} verdict",
        "work", "device", "A", "B", "B/A", "interval"
    );
    let _ = writeln!(out, "A is {a}, B is {b}\n\n{}", style(heading).bold());
    for judged in &comparison.results {
        let verdict = match judged.verdict {
            Verdict::Slower => style(judged.verdict).red().bold(),
            Verdict::Faster => style(judged.verdict).green(),
            Verdict::Same => style(judged.verdict),
            Verdict::Unsure => style(judged.verdict).yellow(),
        };
        let _ = writeln!(
            out,
            "{:<width$}  {:<14} {:>9} {:>9} {:>7.3}  {:<15} {verdict}",
            judged.name,
            judged.device,
            units::seconds(judged.a),
            units::seconds(judged.b),
            judged.ratio,
            format!("{:.3} to {:.3}", judged.low, judged.high),
        );
    }
    let count = |verdict| comparison.count(verdict);
    let rounds = comparison.rounds.map_or_else(String::new, |rounds| format!(", {rounds} rounds"));
    let _ = writeln!(
        out,
        "\n{} slower, {} faster, {} the same within {}%, {} unsure; {:.0}% sure of all together{rounds}",
        count(Verdict::Slower),
        count(Verdict::Faster),
        count(Verdict::Same),
        units::three(100.0 * comparison.tolerance),
        count(Verdict::Unsure),
        100.0 * comparison.confidence
    );
    for difference in &comparison.differences {
        let _ = writeln!(out, "{}", style(format!("not the same, {difference}")).yellow());
    }
    for (who, names) in [("A", &comparison.only_a), ("B", &comparison.only_b)] {
        if !names.is_empty() {
            let _ = writeln!(out, "only in {who}: {}", names.join(", "));
        }
    }
    out
}

/// The machine at the top of a page.
pub fn facts(sheet: &mut Sheet, machine: &Fingerprint) {
    sheet.fact("processor", format!("{}, {} threads, {}", machine.cpu, machine.threads, machine.simd));
    sheet.fact("GPU", if machine.gpus.is_empty() { "none".to_owned() } else { machine.gpus.join(", ") });
    sheet.fact("system", machine.os.clone());
    let commit = machine.commit.as_deref().map_or_else(String::new, |commit| format!(", commit {commit}"));
    sheet.fact("crossover", format!("{}, {} build{commit}", machine.crossover, machine.build));
}

fn page(comparison: &Comparison, a: &str, b: &str) -> String {
    let mut sheet = Sheet::new("Comparison", format!("A is {a}, B is {b}"));
    if let Some(rounds) = comparison.rounds {
        sheet.fact("rounds", rounds.to_string());
    }
    sheet.fact("confidence", format!("{:.0}% of all together", 100.0 * comparison.confidence));
    sheet.fact("tolerance", format!("{}%", units::three(100.0 * comparison.tolerance)));
    section(&mut sheet, comparison, a, b);
    sheet.finish()
}

/// The result as a section of a page.
pub fn section(sheet: &mut Sheet, comparison: &Comparison, a: &str, b: &str) {
    for difference in &comparison.differences {
        sheet.warning(&format!("Not the same, {difference}."));
    }
    let rows = comparison.results.iter().map(|judged| {
        let good = match judged.verdict {
            Verdict::Faster => Some(true),
            Verdict::Slower => Some(false),
            _ => None,
        };
        vec![
            Cell::text(&judged.name),
            Cell::text(&judged.device),
            Cell::number(units::seconds(judged.a)),
            Cell::number(units::seconds(judged.b)),
            Cell::number(format!("{:.3}", judged.ratio)),
            Cell::Interval(judged.low, judged.ratio, judged.high),
            Cell::text(format!("{:.3} to {:.3}", judged.low, judged.high)),
            Cell::Mark(judged.verdict.to_string(), good),
        ]
    });
    let about =
        format!("A is {a}, B is {b}. Above 1 B takes longer; the picture reaches from half to twice.");
    let columns = ["work", "device", "A", "B", "B/A", "", "interval", "verdict"];
    sheet.table("Comparison", &about, &columns, rows.collect());
}
