//! Events of the library on standard error, as `CROSSOVER_LOG` asks.

use std::str::FromStr;

use anyhow::{Context, Result};
use tracing_subscriber::{Layer, filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// Writes events if `CROSSOVER_LOG` is set: a level (`warn`, `debug`, `trace`), or levels of targets, such as
/// `crossover::plan=debug,crossover::launch=trace`.
pub fn start() -> Result<()> {
    let Some(wanted) = std::env::var_os("CROSSOVER_LOG").filter(|text| !text.is_empty()) else {
        return Ok(());
    };
    let text = wanted.to_string_lossy();
    let targets = Targets::from_str(&text).with_context(|| {
        format!("CROSSOVER_LOG={text}: give a level (debug), or levels of targets (crossover::launch=trace)")
    })?;
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(console::colors_enabled_stderr());
    tracing_subscriber::registry().with(lines.with_filter(targets)).init();
    Ok(())
}
