//! `cargo xtask page`: the report page in a headless browser.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::pytest;
use crate::tally::Tally;
use crate::venv::Venv;
use crate::workspace;

/// Where the driver of the browser is installed; git ignores it.
const FOLDER: &str = ".venv-page";
/// The tests, their generator of traces and their requirements.
const TESTS: &str = "crates/crossover-profile/page/tests";
/// Names under which systems install a Chromium.
const BROWSERS: [&str; 5] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

/// Test the report page in a headless browser.
///
/// Zoom, hover, sorting, search, keys, dropped and damaged files, comparison, colours and contrast, print, and a
/// report of 100,000 spans, whose size and time until it takes input are printed.
///
/// Needs a Chromium, from the system (`apt-get install chromium`) or named by CROSSOVER_CHROMIUM. Its driver is
/// installed from PyPI into .venv-page the first time (about 140 MB).
///
/// Examples:
///   cargo xtask page                      all of them
///   cargo xtask page -- -k hover          those whose name contains `hover`
///   cargo xtask page --pictures shots     pictures of the page, light, dark, narrow, printed, to look at
///   cargo xtask page --figures FILE       size and times of the report of 100,000 spans, as JSON
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Take pictures of the page into this folder instead
    #[arg(long, value_name = "FOLDER")]
    pictures: Option<PathBuf>,
    /// Measure a report of 100,000 spans, and write its size and times to this file
    #[arg(long, value_name = "FILE", conflicts_with = "pictures")]
    figures: Option<PathBuf>,
    /// Passed on to pytest
    #[arg(last = true, value_name = "ARGUMENT")]
    rest: Vec<String>,
}

/// Runs the tests, or takes pictures. True when all held.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let mut command = python()?;
    if let Some(folder) = &arguments.pictures {
        // The program runs in the root; the path was meant from where the person stands.
        command.arg(format!("{TESTS}/pictures.py")).arg(std::path::absolute(folder)?);
    } else if let Some(file) = &arguments.figures {
        add_tests(&mut command);
        command.args(["-k", "hundred"]).env("CROSSOVER_PAGE_FIGURES", std::path::absolute(file)?);
    } else {
        add_tests(&mut command);
        command.args(&arguments.rest);
    }
    Ok(command.status().context("could not start the environment's python")?.success())
}

/// Runs the tests and counts them. An error says what the machine lacks.
pub fn count() -> Result<Tally> {
    let mut command = python()?;
    add_tests(&mut command);
    pytest::counted(&mut command, "the report page in a browser")
}

/// The environment's interpreter, with the browser it is to use.
fn python() -> Result<Command> {
    let browser = browser()?;
    let venv = Venv::with(FOLDER, &["-r", &format!("{TESTS}/requirements.txt")])?;
    let mut command = workspace::command(venv.python());
    command.env("CROSSOVER_CHROMIUM", browser).env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(command)
}

fn add_tests(command: &mut Command) {
    command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS]);
}

/// The one named by `CROSSOVER_CHROMIUM`, else the first on the path.
fn browser() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os("CROSSOVER_CHROMIUM") {
        return Ok(named.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    BROWSERS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|file| file.is_file())
        .with_context(|| {
            format!(
                "no Chromium is installed (looked for {}): install one, or set CROSSOVER_CHROMIUM",
                BROWSERS.join(", ")
            )
        })
}
