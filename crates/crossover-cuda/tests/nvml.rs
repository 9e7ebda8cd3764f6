//! The driver's management library, played by a shared object: what it says, and what is said where it is missing.
//!
//! Needs a C compiler; without it the test says that it was not run. Every case runs in a process of its own, because a process loads one.
#![allow(clippy::unwrap_used)]

use std::{path::PathBuf, process::Command};

/// Played in processes of its own by the test below.
#[test]
fn child() {
    if std::env::var_os("NVML_SCENE").is_none() {
        return;
    }
    match crossover_cuda::gpu_loads() {
        Ok(gpus) => gpus.iter().for_each(|gpu| println!("saw {gpu:?}")),
        Err(error) => println!("refused: {error}"),
    }
}

fn play(library: &str) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env("NVML_SCENE", "1")
        .env("CROSSOVER_NVML", library)
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn cards_say_what_they_do_and_a_missing_library_is_a_reason() {
    let missing = play("/nowhere/libnvidia-ml.so.1");
    assert!(
        missing.contains("refused: libnvidia-ml is not to be had: the NVIDIA driver brings it"),
        "{missing}"
    );
    let library = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("libfake-nvml.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fake_nvml.c");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-w", source, "-o"]).arg(&library).status();
    let Ok(status) = built else {
        println!("not run: cc could not be started");
        if let Ok(log) = std::env::var("CROSSOVER_NOT_RUN") {
            use std::io::Write;
            let mut file = std::fs::File::options().append(true).create(true).open(log).unwrap();
            writeln!(file, "fake NVML: cc could not be started").unwrap();
        }
        return;
    };
    assert!(status.success(), "cc refused {source}");
    let said = play(library.to_str().unwrap());
    let one = "saw GpuLoad { name: \"Fake One\", busy: 0.37, memory_busy: 0.05, used: 250, total: 1000, celsius: Some(61), \
               watts: Some(123.5) }";
    assert!(said.contains(one), "{said}");
    let two = "saw GpuLoad { name: \"Fake Two\", busy: 0.0, memory_busy: 0.0, used: 0, total: 1000, celsius: None, watts: None }";
    assert!(said.contains(two), "{said}");
}
