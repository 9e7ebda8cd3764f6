//! `cargo xtask exports`: what we export, read back by the programs it is for.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::paint;
use crate::tally::Tally;
use crate::venv::Venv;
use crate::workspace::{self, Metadata};

/// The environment of the page's tests, which has the driver of the browser already.
const FOLDER: &str = ".venv-page";
/// The program that runs the consumers, and what it needs.
const CHECKS: &str = "crates/crossover-profile/exports";
/// Makes traces as a machine with a GPU would.
const GENERATOR: &str = "crates/crossover-profile/page/tests/generate.py";

/// Runs the consumers. True when all of them took what they were given.
pub fn run() -> Result<bool> {
    let mut notices = Vec::new();
    let tally = count(&mut notices)?;
    for notice in &notices {
        println!("{} {notice}", paint::yellow("notice:"));
    }
    println!("{tally}");
    Ok(tally.failed == 0)
}

/// Runs the consumers and counts their verdicts. Notices say which could not run; an error says why none could.
pub fn count(notices: &mut Vec<String>) -> Result<Tally> {
    let venv = Venv::with(FOLDER, &["-r", &format!("{CHECKS}/requirements.txt")])?;
    let folder = Metadata::read()?.target_directory.join("exports");
    export(&folder, &venv)?;
    let mut check = workspace::command(venv.python());
    check.arg(format!("{CHECKS}/check.py")).arg(&folder).env("PYTHONDONTWRITEBYTECODE", "1");
    match speedscope(&venv) {
        Ok(package) => _ = check.arg(package),
        Err(error) => notices.push(format!("the importers of speedscope were NOT RUN: {error:#}")),
    }
    let output = check.output().context("could not start the environment's python")?;
    let said = String::from_utf8_lossy(&output.stdout);
    println!("\nexports, read by their consumers\n{}", said.trim_end());
    let mut tally = Tally::default();
    for line in said.lines() {
        match line.split_once(" ... ") {
            Some((_, "ok")) => tally.passed += 1,
            Some(_) => tally.failed += 1,
            None if line.contains("NOT RUN") => notices.push(line.to_owned()),
            None => {}
        }
    }
    if !output.status.success() && tally.failed == 0 {
        // A crash of the program itself must show in the totals.
        println!("{}", String::from_utf8_lossy(&output.stderr));
        tally.failed = 1;
    }
    Ok(tally)
}

/// Records a trace, and writes it in every form, with the metrics of a process and the alert rules.
fn export(folder: &Path, venv: &Venv) -> Result<()> {
    let target = Metadata::read()?.target_directory.join("debug");
    let mut build = workspace::cargo();
    build.args(["build", "--quiet", "--workspace", "--all-features", "--bin", "crossover"]);
    build.args(["--example", "profile", "--example", "metrics"]);
    workspace::must_succeed(&mut build)?;
    std::fs::create_dir_all(folder)?;
    let trace = folder.join("trace.json");
    quietly(&target.join("examples/profile"), &[trace.as_os_str()])?;
    quietly(&target.join("examples/metrics"), &[folder.join("metrics.prom").as_os_str()])?;
    // Of a machine with a GPU: most have none.
    let streams = folder.join("gpu.json");
    let mut generate = workspace::command(venv.python());
    generate.args([GENERATOR, "--spans", "2000", "-o"]).arg(&streams).env("PYTHONDONTWRITEBYTECODE", "1");
    workspace::must_succeed(&mut generate)?;
    let program = target.join("crossover");
    let all = ["chrome", "folded", "speedscope", "prometheus"].map(|form| (&trace, form));
    for (trace, form) in all.into_iter().chain([(&streams, "chrome")]) {
        let to = trace.with_extension(form);
        let words = [
            "report".as_ref(),
            trace.as_os_str(),
            "--format".as_ref(),
            form.as_ref(),
            "-o".as_ref(),
            to.as_os_str(),
        ];
        quietly(&program, &words)?;
    }
    let rules = quietly(&program, &["metrics".as_ref(), "--rules".as_ref()])?;
    std::fs::write(folder.join("rules.yml"), rules)?;
    Ok(())
}

/// Runs a program; what it wrote to standard output, or an error with what it said.
fn quietly(program: &Path, words: &[&std::ffi::OsStr]) -> Result<Vec<u8>> {
    let mut command = workspace::command(program);
    let output =
        command.args(words).output().with_context(|| format!("could not start {}", program.display()))?;
    if !output.status.success() {
        bail!("`{}` failed: {}", workspace::spell(&command), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output.stdout)
}

/// The folder of speedscope's package, fetched once and kept beside the environment.
fn speedscope(venv: &Venv) -> Result<PathBuf> {
    let folder = workspace::root().join(FOLDER).join("speedscope");
    let package = folder.join("package");
    if package.join("dist/release/index.html").is_file() {
        return Ok(package);
    }
    let mut fetch = workspace::command(venv.python());
    fetch.arg(format!("{CHECKS}/speedscope.py")).arg(&folder).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = fetch.output().context("could not start the environment's python")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(package)
}
