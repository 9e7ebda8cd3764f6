//! Events of the library on standard error, as `CROSSOVER_LOG` asks; for programs without a `tracing` subscriber of their own.
//!
//! Needs the feature `log`. The command line does the same.

use std::io::IsTerminal;

use tracing_subscriber::{Layer, filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt};

use crate::{Error, Result};

/// Shows events from now on if `CROSSOVER_LOG` is set: a level (`warn`, `debug`, `trace`), or levels of targets, such as
/// `crossover::plan=debug,crossover::launch=trace`. Does nothing without it. In colour on a terminal, unless `NO_COLOR` is set.
///
/// A value that says neither is an error, as is a program that has a subscriber already.
///
/// ```
/// crossover::log::init()?;
/// crossover::Array::arange(10).exp().eval()?; // with CROSSOVER_LOG=debug, its plan is shown
/// # Ok::<(), crossover::Error>(())
/// ```
#[track_caller]
pub fn init() -> Result<()> {
    init_with(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
}

/// As [`init`], for programs that decide about colours themselves.
///
/// ```
/// crossover::log::init_with(false)?;
/// # Ok::<(), crossover::Error>(())
/// ```
#[track_caller]
pub fn init_with(colours: bool) -> Result<()> {
    let Some(wanted) = std::env::var_os("CROSSOVER_LOG").filter(|text| !text.is_empty()) else {
        return Ok(());
    };
    let targets = targets(&wanted.to_string_lossy())?;
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(colours);
    let subscriber = tracing_subscriber::registry().with(lines.with_filter(targets));
    if subscriber.try_init().is_err() {
        return Err(refused("the program has a `tracing` subscriber already".to_string()));
    }
    Ok(())
}

/// Which events are shown.
#[track_caller]
fn targets(text: &str) -> Result<Targets> {
    let Ok(targets) = text.parse() else {
        let what = format!(
            "CROSSOVER_LOG={text}: give a level (debug), or levels of targets (crossover::launch=trace)"
        );
        return Err(refused(what));
    };
    Ok(targets)
}

#[track_caller]
fn refused(what: String) -> Error {
    Error::from(crossover_core::Error::Value { op: "log", what })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_targets_are_read_and_anything_else_is_refused() {
        assert!(targets("debug").is_ok());
        assert!(targets("crossover::plan=debug,crossover::launch=trace").is_ok());
        let error = targets("launch=loud").unwrap_err().to_string();
        assert!(error.starts_with("log: CROSSOVER_LOG=launch=loud: give a level"), "{error}");
    }
}
