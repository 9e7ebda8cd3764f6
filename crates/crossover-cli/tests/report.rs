//! `crossover report` with files as people have them: the same under two names, damaged, recorded twice.

use std::{
    path::Path,
    process::{Command, Output},
};

use crossover::{
    Array,
    profile::{Trace, profile, scope},
};
use tempfile::{TempDir, tempdir};

fn report(folder: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossover"));
    command.arg("report").args(arguments).current_dir(folder.path()).output().expect("the program starts")
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("messages are UTF-8")
}

/// A folder with a recording in it.
fn recorded() -> (TempDir, Trace) {
    let folder = tempdir().expect("a folder");
    let (_, trace) = profile("sample", || {
        let _span = scope("outer");
        Array::linspace(0.0, 1.0, 50_000).exp().eval().map(drop)
    });
    trace.save(folder.path().join("trace.json")).expect("it is written");
    (folder, trace)
}

#[test]
fn a_trace_is_never_written_over() {
    let (folder, trace) = recorded();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("sub")).expect("a folder");
    std::fs::hard_link(at("trace.json"), at("hard.html")).expect("a link");
    let mut names = vec!["trace.json", "./trace.json", "sub/../trace.json", "hard.html"];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("trace.json", at("soft.html")).expect("a link");
        std::os::unix::fs::symlink("soft.html", at("softer.html")).expect("a link");
        names.extend(["soft.html", "softer.html"]);
    }
    for target in names {
        for format in ["html", "chrome", "text"] {
            let output = report(&folder, &["trace.json", "-o", target, "--format", format]);
            assert!(!output.status.success(), "{target}");
            assert!(said(&output).contains("name another file to write to"), "{}", said(&output));
            assert_eq!(Trace::load(at("trace.json")), Ok(trace.clone()), "{target}");
        }
    }
    // The second of two, and the name that is chosen when none is given.
    std::fs::copy(at("trace.json"), at("b.html")).expect("a copy");
    assert!(!report(&folder, &["trace.json", "b.html", "-o", "b.html"]).status.success());
    assert!(!report(&folder, &["b.html"]).status.success());
    assert_eq!(Trace::load(at("b.html")), Ok(trace));
    // Anything else is replaced.
    for _ in 0..2 {
        let output = report(&folder, &["trace.json", "-o", "page.html"]);
        assert!(output.status.success(), "{}", said(&output));
        assert!(is_page(&at("page.html")));
    }
}

fn is_page(path: &Path) -> bool {
    std::fs::read_to_string(path).is_ok_and(|text| text.starts_with("<!doctype html>"))
}
