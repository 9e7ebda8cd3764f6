//! `crossover report`: a trace as a page, as text, or in the forms of other programs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use crossover::profile::{Trace, export, page};

use crate::{report, units};

/// Turn a recorded trace into a page that explains it, or into other programs' formats.
///
/// A trace is what `crossover::profile::profile(…)` recorded and `Trace::save` wrote. The page is one file
/// without any other: it opens in a browser, also without a network. With two traces it compares them.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The trace, and another one to compare it with
    #[arg(value_name = "TRACE.json", num_args = 1..=2, required = true)]
    traces: Vec<PathBuf>,

    /// Where to write; the trace's name with another ending when not given, `-` for standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// What to write
    #[arg(long, value_enum, default_value = "html")]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  crossover report trace.json                       writes trace.html
  crossover report before.json after.json -o d.html both beside each other
  crossover report trace.json --format text         a summary in the terminal
  crossover report trace.json --format chrome       for ui.perfetto.dev
  crossover report trace.json --format folded -o - | inferno-flamegraph > flame.svg";

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// One self-contained page
    Html,
    /// A summary for people
    Text,
    /// Chrome's trace events: Perfetto, chrome://tracing
    Chrome,
    /// Folded stacks: flame graphs
    Folded,
    /// The file format of speedscope
    Speedscope,
    /// Metrics in Prometheus' text format
    Prometheus,
}

impl Format {
    fn ending(self) -> &'static str {
        match self {
            Format::Html => "html",
            Format::Text => "txt",
            // Some programs take a name that ends in chrome.json for another format.
            Format::Chrome => "perfetto.json",
            Format::Folded => "folded",
            Format::Speedscope => "speedscope.json",
            Format::Prometheus => "prom",
        }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let target = target(arguments);
    if target != Path::new("-") {
        report::check_target(&target, &arguments.traces)?;
    }
    let traces: Vec<Trace> = arguments.traces.iter().map(|path| read(path)).collect::<Result<_>>()?;
    let first = &traces[0];
    if traces.len() > 1 && arguments.format != Format::Html {
        anyhow::bail!("only the page compares two traces: leave out --format, or one of the files");
    }
    let text = match arguments.format {
        Format::Html => {
            let texts: Vec<String> = traces.iter().map(Trace::to_json).collect();
            page::render(&texts.iter().map(String::as_str).collect::<Vec<_>>())
        }
        Format::Text => first.summary(),
        Format::Chrome => export::chrome(first),
        Format::Folded => export::folded(first),
        Format::Speedscope => export::speedscope(first),
        Format::Prometheus => export::prometheus(first),
    };
    if target == Path::new("-") {
        report::text(&text)?;
        return Ok(true);
    }
    std::fs::write(&target, &text).with_context(|| format!("could not write {}", target.display()))?;
    eprintln!("wrote {}, {}", target.display(), units::bytes(text.len() as u64));
    Ok(true)
}

/// Where to write.
fn target(arguments: &Arguments) -> PathBuf {
    match &arguments.output {
        Some(path) => path.clone(),
        None if arguments.format == Format::Text => PathBuf::from("-"),
        None => arguments.traces[0].with_extension(arguments.format.ending()),
    }
}

fn read(path: &Path) -> Result<Trace> {
    Trace::load(path).with_context(|| format!("{} cannot be drawn", path.display()))
}
