//! `crossover config`: every setting, its value, and who set it.

use std::fmt::Write as _;

use anyhow::Result;
use console::style;
use crossover::{Origin, Runtime, Setting};
use serde::Serialize;

use crate::report;

/// Show every setting, its value and where that comes from.
///
/// A program's own builder comes first, then the environment, then crossover.toml in the current directory, then
/// crossover/config.toml in the user's configuration directory. CROSSOVER_CONFIG names another file instead of both; `off` means none.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Say what each setting does and which values it takes
    #[arg(long)]
    long: bool,
}

const EXAMPLES: &str = "\
Examples:
  crossover config                                what is in effect, and why
  crossover config --long                         and what it means
  CROSSOVER_THREADS=4 crossover config            the environment comes before files
  echo 'memory_limit = \"80%\"' >> crossover.toml   for programs started in this folder
  crossover config --json | jq '.settings[] | select(.origin != \"default\")'";

/// The JSON shape; see docs/json.md.
#[derive(Serialize)]
struct Configuration {
    settings: Vec<Entry>,
    files: Vec<File>,
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    value: String,
    origin: &'static str,
    place: Option<String>,
    variable: &'static str,
    values: &'static str,
    about: &'static str,
}

#[derive(Serialize)]
struct File {
    path: String,
    exists: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<bool> {
    // A runtime of its own, so that what is wrong with the settings is an error here.
    let settings = Runtime::builder().build().map_err(|error| error.kind().clone())?.settings();
    let files = crossover::config_files().into_iter();
    let files = files.map(|path| File { exists: path.exists(), path: path.display().to_string() }).collect();
    let configuration = Configuration { settings: settings.into_iter().map(entry).collect(), files };
    if arguments.json {
        report::json(&configuration)?;
    } else {
        report::text(&text(&configuration, arguments.long))?;
    }
    Ok(true)
}

fn entry(setting: Setting) -> Entry {
    let (origin, place) = match &setting.origin {
        Origin::Default => ("default", None),
        Origin::Builder => ("program", None),
        Origin::Environment(variable) => ("environment", Some((*variable).to_owned())),
        Origin::File(..) => ("file", Some(setting.origin.to_string())),
        other => ("other", Some(other.to_string())),
    };
    Entry {
        name: setting.name,
        value: setting.value,
        origin,
        place,
        variable: setting.variable,
        values: setting.values,
        about: setting.about,
    }
}

fn text(configuration: &Configuration, long: bool) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", style(format!("{:<18} {:<12} from", "setting", "value")).bold());
    for entry in &configuration.settings {
        let from = entry.place.as_deref().unwrap_or(entry.origin);
        let line = format!("{:<18} {:<12} {from}", entry.name, entry.value);
        // What nobody set is background.
        let line = if entry.origin == "default" { style(line).dim() } else { style(line) };
        let _ = writeln!(out, "{line}");
        if long {
            let _ = writeln!(out, "    {}", entry.about);
            let _ = writeln!(out, "    {}; {}", entry.values, entry.variable);
        }
    }
    out.push('\n');
    match configuration.files.as_slice() {
        [] => out.push_str("no file is read: CROSSOVER_CONFIG is off\n"),
        files => {
            for file in files {
                let state = if file.exists { "is read" } else { "does not exist" };
                let _ = writeln!(out, "{} {state}", file.path);
            }
        }
    }
    out
}
