//! `log::init` shows what `CROSSOVER_LOG` asks for, and nothing without it. Runs itself again with another environment.
#![cfg(feature = "log")]
#![allow(clippy::unwrap_used)]

use std::process::Command;

use crossover::prelude::*;

/// What this program says on standard error when it computes something under a value of `CROSSOVER_LOG`.
fn said(value: Option<&str>) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "a_program_that_computes", "--nocapture"]);
    command.env_remove("CROSSOVER_LOG");
    if let Some(value) = value {
        command.env("CROSSOVER_LOG", value);
    }
    let output = command.output().unwrap();
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_program_that_computes() {
    crossover::log::init().unwrap();
    assert_eq!(Array::arange(10).exp().to_vec::<f64>().unwrap()[0], 1.0);
}

#[test]
fn a_program_shows_what_the_environment_asks_for() {
    let (well, text) = said(Some("crossover::plan=debug,crossover::launch=trace"));
    assert!(
        well && text.contains("crossover::plan: planned") && text.contains("crossover::launch: ran"),
        "{text}"
    );
    let (well, text) = said(None);
    assert!(well && !text.contains("crossover::"), "{text}");
    let (well, text) = said(Some("launch=loud"));
    assert!(!well && text.contains("CROSSOVER_LOG=launch=loud"), "{text}");
}
