//! `crossover bench` and `crossover compare`, run as a user runs them.

use std::{
    path::Path,
    process::{Command, Output},
};

use crossover::profile::bench::Run;
use serde_json::Value;
use tempfile::{TempDir, tempdir};

const PROGRAM: &str = env!("CARGO_BIN_EXE_crossover");

fn crossover(arguments: &[&str]) -> Output {
    // Without a GPU, so that the same is measured everywhere.
    Command::new(PROGRAM)
        .args(arguments)
        .env("CROSSOVER_DEVICE", "cpu")
        .env_remove("CROSSOVER_CONFIG")
        .env_remove("CLICOLOR_FORCE")
        .output()
        .expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr)))
}

fn path(folder: &TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

fn write(folder: &TempDir, name: &str, text: &str) -> String {
    let path = path(folder, name);
    std::fs::write(&path, text).expect("a file");
    path
}

/// A saved run with every sample so many times as long.
fn scaled(path: &str, factor: f64, to: &str) {
    let mut run = Run::from_json(&std::fs::read_to_string(path).expect("a file")).expect("a run");
    for timing in run.results.iter_mut().flat_map(|entry| entry.timings.values_mut()) {
        timing.samples.iter_mut().for_each(|sample| *sample *= factor);
    }
    run.save(to).expect("it is written");
}

#[test]
fn a_run_is_measured_kept_and_compared() {
    let folder = tempdir().expect("a folder");
    let saved = path(&folder, "before.json");
    let output = crossover(&["bench", "--quick", "--only", "tiny", "--only", "column", "--save", &saved]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(output.stderr.is_empty(), "no progress where nobody watches: {}", text(&output.stderr));
    let report = text(&output.stdout);
    assert!(report.contains("tiny n=5") && report.contains("column_mean batch=4096 d=512"), "{report}");
    assert!(!report.contains('\x1b'), "{report}");
    let run = Run::from_json(&std::fs::read_to_string(&saved).unwrap()).unwrap();
    assert_eq!(run.results.len(), 2);
    for entry in &run.results {
        assert!(entry.median("cpu").unwrap() > 0.0 && entry.timings["cpu"].cold.is_some());
        assert!(entry.max_error.unwrap() < 1e-5, "{entry:?}");
        // Five numbers are no matter of bandwidth.
        assert_eq!(entry.efficiency.contains_key("cpu"), entry.workload != "tiny", "{entry:?}");
    }

    let (slow, fast) = (path(&folder, "slow.json"), path(&folder, "fast.json"));
    // However busy the machine is.
    scaled(&saved, 1e6, &slow);
    scaled(&saved, 1e-6, &fast);
    let only = ["bench", "--quick", "--only", "tiny", "--json", "--against"];
    let against = crossover(&[&only[..], &[&slow]].concat());
    assert_eq!(json(&against)["against"]["results"][0]["verdict"], "FASTER", "{}", text(&against.stderr));
    assert!(against.status.success());
    let against = crossover(&[&only[..], &[&fast]].concat());
    assert_eq!(json(&against)["against"]["results"][0]["verdict"], "SLOWER");
    assert_eq!(against.status.code(), Some(1));

    let compared = crossover(&["compare", &saved, &slow]);
    assert_eq!(compared.status.code(), Some(1));
    assert!(text(&compared.stdout).contains("2 slower, 0 faster"), "{}", text(&compared.stdout));
    let compared = crossover(&["compare", &slow, &saved, "--only", "tiny", "--json"]);
    assert!(compared.status.success());
    let results = json(&compared)["results"].clone();
    assert_eq!((results[0]["verdict"].as_str(), results[1].is_null()), (Some("FASTER"), true));
    let same = json(&crossover(&["compare", &saved, &saved, "--json"]));
    assert!(same["results"].as_array().unwrap().iter().all(|r| r["ratio"] == 1.0), "{same}");
}

#[test]
fn saved_runs_of_other_machines_and_damaged_ones_are_refused() {
    let folder = tempdir().expect("a folder");
    let saved = path(&folder, "here.json");
    assert!(crossover(&["bench", "--quick", "--times", "--only", "tiny", "--save", &saved]).status.success());
    let there = std::fs::read_to_string(&saved).unwrap().replace("\"threads\": ", "\"threads\": 9");
    let there = write(&folder, "there.json", &there);
    let told = |arguments: &[&str]| {
        let output = crossover(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        text(&output.stderr)
    };
    let refused = told(&["compare", &saved, &there]);
    assert!(refused.contains("not measured under the same conditions (threads: "), "{refused}");
    let forced = crossover(&["compare", &saved, &there, "--force"]);
    assert!(text(&forced.stdout).contains("not the same, threads: "), "{}", text(&forced.stdout));
    let cut = write(&folder, "cut.json", &there[..there.len() / 2]);
    assert!(told(&["compare", &saved, &cut]).contains("cut.json: this is not JSON"));
    let foreign = write(&folder, "foreign.json", "{\"traceEvents\": []}");
    assert!(told(&["bench", "--against", &foreign]).contains("Chrome's format"));
    assert!(told(&["compare", &saved, "/no/such/file.json"]).contains("could not read"));
    assert!(told(&["compare", &saved, PROGRAM]).contains("two of a kind"));
}

#[test]
fn runs_with_other_settings_are_of_another_machine() {
    let folder = tempdir().expect("a folder");
    let run = |name: &str, threads: &str, simd: &str| {
        let saved = path(&folder, name);
        let output = Command::new(PROGRAM)
            .args(["bench", "--quick", "--times", "--only", "tiny", "--save", &saved])
            .envs([("CROSSOVER_DEVICE", "cpu"), ("CROSSOVER_THREADS", threads), ("CROSSOVER_SIMD", simd)])
            .output()
            .expect("the program starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        saved
    };
    let (one, three) = (run("one.json", "1", "scalar"), run("three.json", "3", "scalar"));
    let machine = Run::from_json(&std::fs::read_to_string(&one).unwrap()).unwrap().machine;
    assert_eq!((machine.threads, machine.simd.as_str()), (1, "scalar"));
    let refused = crossover(&["compare", &one, &three]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("threads: 1 and 3"), "{}", text(&refused.stderr));
    assert!(
        crossover(&["compare", &one, &run("again.json", "1", "scalar"), "--tolerance", "99"])
            .status
            .success()
    );
}

#[test]
fn sizes_that_fit_nowhere_are_refused() {
    for (work, param) in [
        ("sinusoid", "batch=1000000000000000"),
        ("sinusoid", "d=1000000000000000"),
        ("add", "n=1000000000000000"),
    ] {
        let output = crossover(&["bench", "grid", "--quick", "--workload", work, "--param", param]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{work} {param}: {said}");
        assert!(said.contains("could not measure") && said.contains("memory"), "{said}");
    }
    let output = crossover(&["bench", "grid", "--workload", "add", "--param", "n=18446744073709551615"]);
    assert!(text(&output.stderr).contains("the largest there can be"), "{}", text(&output.stderr));
}

#[cfg(unix)]
#[test]
fn libraries_that_fail_say_why() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempdir().expect("a folder");
    // Stands for a Python with a library that has no memory, then for one that dies.
    let python = |name: &str, answer: &str| {
        let script = format!(
            "#!/bin/sh\necho '{{\"found\": {{\"numpy\": \"9\"}}, \"missing\": {{}}}}'\nread line\n{answer}\n"
        );
        let file = write(&folder, name, &script);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("it may run");
        file
    };
    let bench = |python: &str| {
        crossover(&["bench", "--quick", "--times", "--only", "tiny", "--peers", "--python", python])
    };
    let fails = python(
        "fails",
        "echo '{\"timings\": {}, \"failed\": {\"numpy\": \"no room for 5 numbers\"}}'\nread line",
    );
    let output = bench(&fails);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).contains("numpy could not do tiny n=5: no room for 5 numbers"),
        "{}",
        text(&output.stdout)
    );
    let dies = python("dies", "echo 'first line' >&2\necho 'Segmentation fault' >&2\nexit 139");
    let output = bench(&dies);
    assert!(!output.status.success());
    assert!(
        text(&output.stderr).contains("ended without an answer: Segmentation fault"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn floors_decide_the_status() {
    let folder = tempdir().expect("a folder");
    let floors = |name: &str, text: &str| write(&folder, name, text);
    let run = |file: &str| crossover(&["bench", "--quick", "--only", "tiny", "--require", file]);
    let met = run(&floors("met.toml", "[[floor]]\nwork = \"tiny\"\ncpu_ms = 1000\nmax_error = 1e-3\n"));
    assert!(met.status.success(), "{}{}", text(&met.stdout), text(&met.stderr));
    let missed = run(&floors("missed.toml", "[[floor]]\nwork = \"tiny\"\ncpu_ms = 1e-9\n"));
    assert_eq!(missed.status.code(), Some(1));
    assert!(text(&missed.stdout).contains("MISSED"), "{}", text(&missed.stdout));
    let unknown = run(&floors("gpu.toml", "[[floor]]\nwork = \"tiny\"\nspeedup = 1.0\n"));
    assert_eq!(unknown.status.code(), Some(3), "{}", text(&unknown.stderr));
    assert!(text(&unknown.stdout).contains("not checked: there is no GPU"), "{}", text(&unknown.stdout));
    let wrong = run(&floors("wrong.toml", "[[floor]]\nwork = \"tiny\"\nspeed = 1.0\n"));
    assert!(text(&wrong.stderr).contains("unknown field `speed`"), "{}", text(&wrong.stderr));
}

#[test]
fn grids_and_lists_and_mistakes() {
    let grid = ["bench", "grid", "--quick", "--times", "--workload", "bind", "--param"];
    let output = crossover(&[&grid[..], &["d=16,32", "--param", "batch=1,2", "--json"]].concat());
    let names: Vec<Value> =
        json(&output)["results"].as_array().unwrap().iter().map(|entry| entry["name"].clone()).collect();
    assert_eq!(names, ["bind batch=1 d=16", "bind batch=1 d=32", "bind batch=2 d=16", "bind batch=2 d=32"]);
    let list = text(&crossover(&["bench", "--list"]).stdout);
    assert!(list.contains("softmax batch=1024 d=1024") && list.contains("softmax of rows"), "{list}");
    assert!(text(&crossover(&["bench", "grid", "--list"]).stdout).contains("vocabulary=50000"));
    for (arguments, status, says) in [
        (&["bench", "grid"][..], 1, "--workload gelu"),
        (&["bench", "grid", "--workload", "gleu"], 1, "there are add, gelu"),
        (&["bench", "grid", "--workload", "gelu", "--param", "depth=3"], 1, "batch (1024), d (1024)"),
        (&["bench", "grid", "--workload", "gelu", "--param", "d=0"], 2, "name=1,2,3"),
        (&["bench", "--workload", "gelu"], 1, "belong to a grid"),
        (&["bench", "--only", "poetry"], 1, "no workload is named like that"),
        (&["bench", "memory", "--peers"], 1, "has no times"),
        (&["bench", "everything"], 2, "core, nn, seeds, grid, memory"),
    ] {
        let output = crossover(arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}");
        assert!(text(&output.stderr).contains(says), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn claims_of_seeds_stand_beside_our_figures() {
    let only = ["--only", "bind batch=1 ", "--only", "decide", "--only", "shortest_path"];
    let output = crossover(&[&["bench", "seeds", "--quick", "--times"][..], &only].concat());
    let report = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(report.contains("seed 001") && report.contains("1.00 ms → 100 µs, 10.0×"), "{report}");
    assert!(report.contains("decide kernels=10") && report.contains("nobody measured them here"), "{report}");
    assert!(report.contains("shortest_path n=10000") && report.contains("9.02 s → 71.9 ms"), "{report}");
    assert!(report.contains("Not measured:") && report.contains("states no size"), "{report}");
}

#[cfg(unix)]
#[test]
fn peers_are_asked_and_what_is_missing_is_said() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempdir().expect("a folder");
    let python = write(
        &folder,
        "python",
        "#!/bin/sh\necho '{\"found\": {\"numpy\": \"9.9\"}, \"missing\": {\"torch\": \"No module\"}}'\nwhile read line; do echo '{\"timings\": {\"numpy\": {\"calls\": 1, \"samples\": [1000.0]}}, \"failed\": {\"jax\": \"no room\"}}'; done\n",
    );
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    let floors = write(&folder, "floors.toml", "[[floor]]\nwork = \"tiny\"\nover = { numpy = 2.0 }\n");
    let arguments = ["bench", "--quick", "--times", "--only", "tiny", "--peers", "--python", &python];
    let output = crossover(&[&arguments[..], &["--require", &floors]].concat());
    let report = text(&output.stdout);
    assert!(output.status.success(), "{report}{}", text(&output.stderr));
    assert!(report.contains("Found: numpy 9.9. Not found: torch."), "{report}");
    assert!(report.contains("jax could not do tiny") && report.contains(": no room"), "{report}");
    let missing = crossover(&["bench", "--quick", "--peers", "--python", "/no/such/python"]);
    assert!(text(&missing.stderr).contains("--peers needs a Python"), "{}", text(&missing.stderr));
}

#[test]
fn programs_and_commands_take_turns() {
    let arguments =
        ["compare", PROGRAM, PROGRAM, "--only", "tiny", "--tolerance", "90", "--rounds", "2", "--json"];
    let output = crossover(&arguments);
    let comparison = json(&output);
    assert!(output.status.success(), "{comparison}");
    assert_eq!(comparison["results"][0]["name"], "tiny n=5");
    assert!(comparison["rounds"].as_u64() >= Some(8), "as many as the risk asks for: {comparison}");
    let folder = tempdir().expect("a folder");
    let page = path(&folder, "page.html");
    let slower = crossover(&["compare", "--command", "true", "sleep 0.1", "--rounds", "2", "--html", &page]);
    assert_eq!(slower.status.code(), Some(1), "{}", text(&slower.stdout));
    assert!(text(&slower.stdout).contains("SLOWER"), "{}", text(&slower.stdout));
    assert!(std::fs::read_to_string(page).unwrap().contains("SLOWER"));
    let failing = crossover(&["compare", PROGRAM, PROGRAM, "--arguments", "explain"]);
    assert_eq!(failing.status.code(), Some(1));
    assert!(text(&failing.stderr).contains("ended with exit status: 2"), "{}", text(&failing.stderr));
}

#[test]
fn memory_is_told_by_size_and_by_expression() {
    let folder = tempdir().expect("a folder");
    let page = path(&folder, "memory.html");
    let output = crossover(&["bench", "memory", "--quick", "--json", "--html", &page]);
    let memory = json(&output);
    let sizes = memory["sizes"].as_array().unwrap();
    assert!(sizes.len() >= 5);
    for size in sizes {
        let (live, each) = (size["made"]["live"].as_u64().unwrap(), size["array_bytes"].as_u64().unwrap());
        assert!(live >= 8 * each && size["halved"]["live"].as_u64().unwrap() < live, "{size}");
    }
    let expressions = memory["expressions"].as_array().unwrap();
    let peaks = |name: &str| {
        let row = expressions.iter().find(|row| row["name"] == name).unwrap();
        (row["fused_peak_bytes"].as_u64().unwrap(), row["unfused_peak_bytes"].as_u64().unwrap())
    };
    let (fused, unfused) = peaks("softmax");
    assert!(fused < unfused, "{fused} {unfused}");
    let (fused, unfused) = peaks("attention, 4 heads of 64");
    assert!(2 * fused < unfused, "one kernel keeps no scores: {fused} {unfused}");
    assert!(Path::new(&page).metadata().unwrap().len() > 10_000);
    let shown = text(&crossover(&["bench", "memory", "--quick"]).stdout);
    assert!(shown.contains("attention, 4 heads of 64") && shown.contains("fused"), "{shown}");
}

#[test]
fn what_can_be_refused_is_refused_before_anything_is_measured() {
    let folder = tempdir().expect("a folder");
    let saved = path(&folder, "before.json");
    assert!(crossover(&["bench", "--quick", "--only", "tiny", "--times", "--save", &saved]).status.success());
    let mut run = Run::from_json(&std::fs::read_to_string(&saved).expect("a file")).expect("a run");
    run.machine.cpu = "another processor".into();
    let other = path(&folder, "other.json");
    run.save(&other).expect("it is written");
    let floors = |text: &str| write(&folder, &format!("{}.toml", text.len()), text);
    let (unknown, none) =
        (floors("[[floor]]\nwork = \"gleu\"\nspeedup = 2"), floors("[[floor]]\nwork = \"gelu\""));
    let (not, torn) = (floors("[[floor]]\nwork = \"gelu\"\nspeedup = nan"), floors("[[floor"));
    let nowhere = path(&folder, "nowhere/page.html");
    let into = folder.path().display().to_string();
    // The whole suite, which takes minutes.
    for (arguments, want) in [
        (["--against", &other], "another processor"),
        (["--against", &torn], "not JSON"),
        (["--require", &unknown], "called \"gleu\""),
        (["--require", &none], "asks for anything"),
        (["--require", &not], "not negative"),
        (["--require", &torn], "says no floors"),
        (["--require", &saved], "says no floors"),
        (["--require", &into], "could not read"),
        (["--html", &nowhere], "there is no folder"),
        (["--save", &nowhere], "there is no folder"),
        (["--save", &into], "is a folder"),
    ] {
        let began = std::time::Instant::now();
        let output = crossover(&[&["bench"], &arguments[..]].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains(want) && !said.contains("panicked"), "{arguments:?}: {said}");
        assert!(began.elapsed().as_secs() < 30, "{arguments:?}: {:?}", began.elapsed());
    }
    // Nothing that is read is written over.
    let kept = std::fs::read(&saved).expect("a file");
    for arguments in [
        vec!["bench", "--quick", "--only", "tiny", "--against", &saved, "--html", &saved],
        vec!["compare", &saved, &other, "--force", "--html", &saved],
        vec!["compare", &other, &saved, "--force", "--html", &saved],
    ] {
        let output = crossover(&arguments);
        assert!(text(&output.stderr).contains("written over"), "{arguments:?}: {}", text(&output.stderr));
        assert_eq!(std::fs::read(&saved).expect("a file"), kept);
    }
}
