//! `cargo xtask modules`: iterators, lattices and embeddings on this CPU beside Rayon, SciPy and copies of memory; and the tables of its newest
//! result in the pages about them, which `cargo xtask performance` writes.

use std::{fmt::Write as _, path::PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{
    performance::{duration, newest, text},
    venv::Venv,
    workspace::{self, Metadata},
};

/// Crates and the examples in them that time what they have.
const PROGRAMS: [(&str, &str); 3] =
    [("crossover-array", "par_bars"), ("crossover-lattice", "bars"), ("crossover-embed", "embed_bars")];

const BEGIN: &str = "<!-- modules:begin -->";
const END: &str = "<!-- modules:end -->";
/// Pages, and how the names of the work begin whose figures they show.
const PAGES: [(&str, &[&str]); 3] = [
    ("docs/parallel.md", &["par", "scope", "gpu_map", "10 products"]),
    ("docs/lattice.md", &["path", "distances", "xor", "walsh"]),
    ("docs/embedding.md", &["lookup", "encoding", "embedding"]),
];
/// Figures of ours; what stands beside them is of others, or of another way.
const OURS: [&str; 5] = ["ours_us", "gpu_map_us", "batched_us", "mapped_us", "exact_us"];

/// Time par_iter, tasks, gpu_map, lattices, XOR transforms and tables in files, and write bench/results/modules-cpu-….json.
///
/// Builds three examples in release mode and runs them in turns with SciPy, on two threads. Run it where nothing else runs. True when
/// every bar is met. The first run installs NumPy and SciPy into .venv-modules.
///
/// Examples:
///   cargo xtask modules
///   cargo xtask modules --rounds 1 --out /tmp/modules.json      for a first impression
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// How often each program runs
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: u32,
    /// Where to write the results instead of bench/results/
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs the programs and the script. True when every bar is met.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let venv = Venv::with(".venv-modules", &["-r", "bench/requirements-modules.txt"])?;
    let folder = Metadata::read()?.target_directory.join("release/examples");
    let mut script = workspace::command(venv.python());
    script.arg("bench/modules.py");
    for (package, example) in PROGRAMS {
        let mut build = workspace::cargo();
        build.args(["build", "--release", "--quiet", "--package", package, "--example", example]);
        workspace::must_succeed(&mut build)?;
        script.arg(folder.join(example));
    }
    script.args(["--rounds", &arguments.rounds.to_string()]);
    if let Some(file) = &arguments.out {
        // The script runs in the root; the path was meant from where the person stands.
        script.arg("--out").arg(std::path::absolute(file)?);
    }
    let line = std::env::args().skip(1).fold("cargo xtask".to_owned(), |line, word| line + " " + &word);
    script.arg("--command").arg(line);
    Ok(script.status().context("could not start bench/modules.py")?.success())
}

/// The pages with the tables of the newest result; none before there is one.
pub fn pages() -> Result<Vec<(String, String)>> {
    let Some((path, document)) = newest("modules-cpu-")? else { return Ok(Vec::new()) };
    let made = PAGES.iter().map(|(page, names)| {
        let old = std::fs::read_to_string(workspace::root().join(page))
            .with_context(|| format!("could not read {page}"))?;
        let (before, rest) =
            old.split_once(BEGIN).with_context(|| format!("{page} has no modules:begin mark"))?;
        let (_, after) = rest.split_once(END).with_context(|| format!("{page} has no modules:end mark"))?;
        let table = table(&path, &document, names);
        Ok(((*page).to_string(), format!("{before}{BEGIN}\n{table}{END}{after}")))
    });
    made.collect()
}

fn table(path: &str, document: &Value, names: &[&str]) -> String {
    let mut out = format!(
        "On {} threads of an {}, from [{path}](../{path}): `{}`, SciPy {}. Medians of {} runs.\n\n\
         | work | ours | beside it | ratio | bar | met |\n| --- | --- | --- | --- | --- | --- |\n",
        document["threads"],
        text(&document["processor"]),
        text(&document["command"]),
        text(&document["versions"]["scipy"]),
        document["rounds"],
    );
    let rows = document["figures"].as_array().into_iter().flatten();
    for row in rows.filter(|row| names.iter().any(|name| text(&row["name"]).starts_with(name))) {
        let name = text(&row["name"]);
        let figures: Vec<(&str, f64)> = row
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.as_str(), value.as_f64()?)))
            .collect();
        let Some(&(_, ours)) = figures.iter().find(|figure| OURS.contains(&figure.0)) else { continue };
        let other = figures.iter().find(|figure| !OURS.contains(&figure.0));
        let beside = other.map(|(key, us)| {
            format!("{} {}", key.trim_end_matches("_us").replace('_', " "), duration(us / 1e6))
        });
        let ratio = other.map(|(_, us)| format!("{:.2}", ours / us));
        let bars = document["bars"].as_array().into_iter().flatten();
        let mut bar = bars.filter(|bar| text(&bar["name"]) == name).map(|bar| {
            let met = if bar["met"] == true { "yes" } else { "no" };
            (format!("≤ {} {}", bar["most"], text(&bar["of"])), met)
        });
        let (bar, met) = bar.next_back().unwrap_or(("-".to_string(), "-"));
        let or = |text: Option<String>| text.unwrap_or_else(|| "-".to_string());
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {} | {bar} | {met} |",
            duration(ours / 1e6),
            or(beside),
            or(ratio)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_beside_what_they_are_compared_with() {
        let document = serde_json::json!({
            "threads": 2, "processor": "EPYC", "command": "c", "versions": {"scipy": "1"}, "rounds": 5,
            "bars": [{"name": "xor of much", "most": 1.1, "of": "copy", "is": 1.25, "met": false}],
            "figures": [
                {"name": "xor of much", "copy_us": 4000.0, "ours_us": 5000.0, "rounds": {"ours_us": [5000.0]}},
                {"name": "path", "ours_us": 0.25, "rounds": {}},
                {"name": "lookup", "mapped_us": 1.0, "memory_us": 1.0},
            ],
        });
        let text = table("bench/results/modules-cpu-x.json", &document, &["xor", "path"]);
        assert!(text.contains("| xor of much | 5.00 ms | copy 4.00 ms | 1.25 | ≤ 1.1 copy | no |"), "{text}");
        assert!(text.contains("| path |") && text.contains("| - | - | - | - |"), "{text}");
        assert!(!text.contains("lookup"), "{text}");
    }
}
