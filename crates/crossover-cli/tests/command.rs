//! The `crossover` program as its users meet it: what it prints, and how it ends.

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use crossover::Simd;
use serde_json::Value;
use tempfile::{TempDir, tempdir};

fn crossover(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the program starts")
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossover"));
    // From the root, so that the commands of the documentation work as they are written.
    command.args(arguments).current_dir(root()).env_remove("CLICOLOR_FORCE");
    command
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

fn json(arguments: &[&str]) -> Value {
    let output = crossover(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("standard output is one JSON object")
}

fn with_input(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = command(arguments);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("a pipe").write_all(input).expect("it reads its input");
    child.wait_with_output().expect("it ends")
}

#[test]
fn the_log_shows_plans_and_launches_and_refuses_nonsense() {
    let logged = |value| {
        command(&["tour", "--quick", "--only", "softmax"])
            .env("CROSSOVER_LOG", value)
            .output()
            .expect("it starts")
    };
    let said = text(&logged("crossover::plan=debug,crossover::launch=trace").stderr);
    assert!(said.contains("crossover::plan: planned") && said.contains("crossover::launch: ran"), "{said}");
    let refused = logged("launch=loud");
    assert!(!refused.status.success());
    assert!(text(&refused.stderr).contains("CROSSOVER_LOG=launch=loud"));
}

#[test]
fn a_quick_tour_checks_every_result() {
    let tour = json(&["tour", "--quick", "--json"]);
    let results = tour["results"].as_array().expect("results");
    assert_eq!(results.len(), 22);
    for result in results {
        assert_eq!(result["checked"]["ok"], true, "{result}");
        assert!(result["checked"]["compared"].as_u64() > Some(0), "{result}");
        assert!(result["seconds"].as_f64() > Some(0.0), "{result}");
        let fraction = result["roof_fraction"].as_f64();
        assert!(fraction > Some(0.0) && fraction <= Some(1.0), "{result}");
        assert_ne!(result["limit"], "", "{result}");
        assert!(result["kernels"].as_array().is_some_and(|kernels| !kernels.is_empty()), "{result}");
    }
    assert_eq!(tour["all_checked"], true);
}

#[test]
fn compositions_become_one_kernel_of_their_kind() {
    let tour =
        json(&["tour", "--quick", "--json", "--only", "norm", "--only", "softmax", "--only", "standardise"]);
    let kinds = |name: &str| {
        let results = tour["results"].as_array().expect("results");
        results.iter().find(|r| r["workload"] == name).map(|r| r["kernels"].clone())
    };
    assert_eq!(kinds("layer_norm"), Some(serde_json::json!(["Row"])));
    assert_eq!(kinds("softmax"), Some(serde_json::json!(["Row"])));
    assert_eq!(kinds("standardise"), Some(serde_json::json!(["Column"])));
    assert_eq!(kinds("gelu"), None);
}

#[test]
fn a_tour_in_a_pipe_is_plain_text_of_at_most_a_hundred_columns() {
    let output = crossover(&["tour", "--quick", "--only", "sum", "--only", "embedding"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(output.stderr.is_empty(), "no progress where nobody watches: {}", text(&output.stderr));
    let report = text(&output.stdout);
    assert!(!report.contains('\x1b'), "{report}");
    assert!(!report.contains('█'), "{report}");
    assert!(report.contains("All right: 2 results equal the reference bit for bit"), "{report}");
    assert!(report.lines().all(|line| line.chars().count() <= 100), "{report}");
    let (_, next) = report.split_once("\nNext:\n").expect("what to do next");
    assert!(next.lines().all(|line| line.starts_with("  ")), "it is the last: {report}");
    assert!(next.lines().all(|line| line.contains("crossover ") || line.contains("cargo ")), "{report}");
}

#[test]
fn an_unknown_name_of_work_lists_those_there_are() {
    let output = crossover(&["tour", "--only", "fft"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("gelu, expression, layer_norm"));
}

#[test]
fn doctor_says_what_is_missing_and_what_to_do() {
    // No processor has both.
    let both = crossover(&["doctor", "--require", "avx2,neon"]);
    assert_eq!(both.status.code(), Some(1));
    let said = text(&both.stdout);
    let missing: Vec<&str> = said.lines().filter(|line| line.starts_with("MISSING")).collect();
    assert!(
        !missing.is_empty() && missing.iter().all(|line| line.contains("choose another machine")),
        "{said}"
    );

    let nowhere = command(&["doctor", "--json", "--require", "nvrtc", "--require", "gpu"])
        .env("CROSSOVER_NVRTC", "/nowhere/libnvrtc.so")
        .env("CROSSOVER_DEVICE", "cpu")
        .output()
        .expect("it starts");
    assert_eq!(nowhere.status.code(), Some(1));
    let diagnosis: Value = serde_json::from_slice(&nowhere.stdout).expect("one JSON object");
    let answers = diagnosis["requirements"].as_array().expect("requirements");
    assert_eq!(answers.len(), 2);
    assert_eq!((&answers[0]["name"], &answers[0]["ok"]), (&"nvrtc".into(), &false.into()));
    assert!(answers[0]["detail"].as_str().is_some_and(|d| d.contains("CROSSOVER_NVRTC")), "{answers:?}");
    assert_eq!((&answers[1]["name"], &answers[1]["ok"]), (&"gpu".into(), &false.into()));

    let vectors = if cfg!(target_arch = "aarch64") { "neon" } else { "avx2" };
    let met = command(&["doctor", "--require", vectors]).output().expect("it starts");
    let has = Simd::available().any(|level| level.name().to_lowercase() == vectors);
    assert_eq!(met.status.success(), has, "{}", text(&met.stdout));
}

#[test]
fn doctor_lists_what_can_be_required() {
    let output = crossover(&["doctor", "--require", "gpu,quantum"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.contains("'quantum'") && said.contains("gpu, nvrtc, avx2, avx512, neon, code, cache"),
        "{said}"
    );
}

#[test]
fn doctor_describes_the_machine_and_its_checks_hold() {
    let diagnosis = json(&["doctor", "--json"]);
    assert!(diagnosis["cpu"]["threads"].as_u64() > Some(0));
    assert_eq!(diagnosis["cpu"]["simd_available"][0], "scalar");
    assert!(diagnosis["gpu"]["used"].is_boolean());
    assert!(diagnosis["gpu"]["reason"].as_str().is_some_and(|r| r.contains("on the CPU")));
    assert_eq!(diagnosis["version"], env!("CARGO_PKG_VERSION"));
    let checks = diagnosis["checks"].as_array().expect("checks");
    assert!(checks.len() >= 2 && checks.iter().all(|c| c["ok"] == true), "{checks:?}");
    let report = text(&crossover(&["doctor"]).stdout);
    assert!(report.contains("processor") && report.contains("denormals are kept"), "{report}");
}

/// A machine that nobody has measured, with two threads and no GPU: what is predicted for it is always the same.
const ASSUMED: [(&str, &str); 4] = [
    ("CROSSOVER_CACHE", "off"),
    ("CROSSOVER_THREADS", "2"),
    ("CROSSOVER_DEVICE", "cpu"),
    ("CROSSOVER_CONFIG", "off"),
];

#[test]
fn doctor_shows_what_is_in_effect() {
    let with = |variables: &[(&str, &str)]| {
        let output =
            command(&["doctor", "--json"]).envs(variables.iter().copied()).output().expect("it starts");
        serde_json::from_slice::<Value>(&output.stdout).expect("one JSON object")
    };
    let set = with(&[("CROSSOVER_CACHE", "/x"), ("CROSSOVER_THREADS", "1"), ("CROSSOVER_SIMD", "scalar")]);
    assert_eq!(set["cache_directory"], "/x");
    assert_eq!((&set["cpu"]["threads"], &set["cpu"]["simd"]), (&1.into(), &"scalar".into()));
    assert_eq!(set["cpu"]["machine_code"], false);
    assert!(set["cpu"]["processors"].as_u64() > Some(0));
    assert_eq!(with(&[("CROSSOVER_CACHE", "off")])["cache_directory"], Value::Null);
    let wrong = with(&[("CROSSOVER_THREADS", "abc")]);
    let check = &wrong["checks"][0];
    assert_eq!((&check["name"], &check["ok"]), (&"denormals are kept".into(), &false.into()));
    let detail = check["detail"].as_str().expect("text");
    assert!(detail.contains("CROSSOVER_THREADS") && !detail.contains("flushes"), "{detail}");
}

#[test]
fn plans_of_the_example_graphs() {
    for name in ["layer_norm", "softmax", "standardise", "linear_gelu"] {
        let file = format!("docs/graphs/{name}.graph");
        let output = command(&["explain", &file]).envs(ASSUMED).output().expect("it starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        insta::assert_snapshot!(name, text(&output.stdout));
    }
}

#[test]
fn every_kernel_has_a_shape_and_a_predicted_time() {
    let output = command(&["explain", "docs/graphs/linear_gelu.graph", "--json"]).envs(ASSUMED).output();
    let explained: Value =
        serde_json::from_slice(&output.expect("it starts").stdout).expect("one JSON object");
    assert_eq!(explained["profile"], "assumed");
    let kernels = explained["kernels"].as_array().expect("kernels");
    let seconds = |value: &Value| value["predicted_seconds"].as_f64().expect("a number");
    let total: f64 = kernels.iter().map(seconds).sum();
    assert!(total > 0.0 && (total - seconds(&explained)).abs() < 1e-9 * total);
    for kernel in kernels {
        assert!(seconds(kernel) > 0.0 && kernel["predicted_on"].is_string(), "{kernel}");
        assert!(kernel["shape"].as_array().is_some_and(|shape| !shape.is_empty()), "{kernel}");
    }
    assert!(explained["text"].as_str().is_some_and(|text| text.contains("on CPU: about")));
}

#[test]
fn damaged_text_does_not_control_the_terminal() {
    let output = with_input(&["explain", "-"], b"graph {\n  %a = \x1b[31mred\x07\n  return %a\n}\n");
    let said = text(&output.stderr);
    assert!(!said.contains('\x1b') && !said.contains('\x07'), "{said:?}");
    assert!(said.contains("%a = \\u{1b}[31mred\\u{7}") && said.contains("found `\\u{1b}`"), "{said}");
    let named = crossover(&["explain", "no\x1b[31mfile"]);
    assert!(!text(&named.stderr).contains('\x1b'), "{}", text(&named.stderr));
}

#[test]
fn without_fusion_every_operation_is_a_kernel() {
    let count = |more: &[&str]| {
        let arguments = [&["explain", "docs/graphs/softmax.graph", "--json"], more].concat();
        json(&arguments)["kernels"].as_array().map(Vec::len)
    };
    assert_eq!(count(&[]), Some(1));
    assert_eq!(count(&["--no-fusion"]), Some(5));
}

#[test]
fn the_graph_in_json_reads_back() {
    let first = json(&["explain", "docs/graphs/layer_norm.graph", "--json"]);
    let again = with_input(&["explain", "-", "--json"], first["graph"].as_str().expect("text").as_bytes());
    let again: Value = serde_json::from_slice(&again.stdout).expect("JSON");
    assert_eq!(first, again);
}

#[test]
fn cuda_is_printed_for_fused_kernels_and_calls_say_that_there_is_none() {
    let report = text(&crossover(&["explain", "docs/graphs/linear_gelu.graph", "--cuda"]).stdout);
    assert!(report.contains("extern \"C\" __global__") && report.contains("xo_gelu_f32"), "{report}");
    assert!(report.contains("a call to a library; nothing is generated"), "{report}");
}

#[test]
fn a_bad_line_is_shown_with_its_number_and_a_remedy() {
    let output = with_input(
        &["explain", "-"],
        b"graph {\n  %x = input f32[2]\n  %y = mutliply %x, %x\n  return %y\n}\n",
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    insta::assert_snapshot!("a_bad_line", text(&output.stderr));
}

#[test]
fn files_that_are_no_graphs_are_refused_in_words() {
    let bytes = concat!(env!("CARGO_TARGET_TMPDIR"), "/no-text.graph");
    std::fs::write(bytes, [0xff, 0xfe, 0x00, 0x80]).unwrap();
    for (arguments, says) in [
        (["explain", "no/such/file.graph"], "could not open no/such/file.graph"),
        (["explain", "docs"], "could not read docs"),
        (["explain", "README.md"], "expected `graph`"),
        (["explain", bytes], "is not text"),
    ] {
        let output = crossover(&arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let message = text(&output.stderr);
        assert!(message.starts_with("error: ") && message.contains(says), "{message}");
    }
    let output = with_input(&["explain", "-"], b"");
    assert!(text(&output.stderr).contains("expected `graph`, found the end of the text"));
}

#[test]
fn a_wrong_command_line_ends_with_status_two_and_help_with_zero() {
    assert_eq!(crossover(&["explain"]).status.code(), Some(2));
    assert_eq!(crossover(&["fly"]).status.code(), Some(2));
    assert_eq!(crossover(&["tour", "--quik"]).status.code(), Some(2));
    let help = crossover(&["--help"]);
    assert!(help.status.success());
    assert!(text(&help.stdout).contains("crossover tour --quick"));
    assert!(!text(&help.stdout).contains("bench-worker"));
}

#[test]
fn no_color_turns_colours_off_even_where_they_are_forced() {
    let report = |variables: &[(&str, &str)]| {
        let output = command(&["doctor"]).env_remove("NO_COLOR").envs(variables.iter().copied()).output();
        text(&output.expect("the program starts").stdout)
    };
    assert!(report(&[("CLICOLOR_FORCE", "1")]).contains('\x1b'));
    assert!(!report(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).contains('\x1b'));
    assert!(!report(&[]).contains('\x1b'));
}

#[cfg(unix)]
#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let program = env!("CARGO_BIN_EXE_crossover");
    let script = format!(
        "'{program}' explain docs/graphs/layer_norm.graph --cuda | head -n 1; echo ${{PIPESTATUS[0]}}"
    );
    let output =
        Command::new("bash").args(["-c", &script]).current_dir(root()).output().expect("bash starts");
    assert!(text(&output.stdout).ends_with("\n0\n"), "{}", text(&output.stdout));
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
}

fn write(folder: &TempDir, name: &str, text: &str) {
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

#[test]
fn settings_come_from_the_environment_the_project_and_the_user_in_this_order() {
    let folder = tempdir().expect("a folder");
    write(&folder, "crossover.toml", "threads = 2\nfusion = false\n");
    write(&folder, "user/crossover/config.toml", "threads = 5\nfusion = true\n\ngpu = false\n");
    let output = command(&["config", "--json"])
        .current_dir(folder.path())
        .env_remove("CROSSOVER_CONFIG")
        .env_remove("CROSSOVER_DEVICE")
        .env("XDG_CONFIG_HOME", folder.path().join("user"))
        .env("CROSSOVER_THREADS", "3")
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    let of = |name: &str| {
        let settings = found["settings"].as_array().expect("settings");
        settings.iter().find(|s| s["name"] == name).expect("a setting").clone()
    };
    let (threads, fusion, device) = (of("threads"), of("fusion"), of("device"));
    assert_eq!((&threads["value"], &threads["place"]), (&"3".into(), &"CROSSOVER_THREADS".into()));
    assert_eq!((&fusion["value"], &fusion["place"]), (&"false".into(), &"crossover.toml, line 2".into()));
    assert_eq!((&device["value"], &device["origin"]), (&"cpu".into(), &"file".into()));
    assert!(device["place"].as_str().is_some_and(|p| p.ends_with("config.toml, line 4")), "{device}");
    assert_eq!(of("eager")["origin"], "default");
    let named = command(&["config"])
        .env("CROSSOVER_CONFIG", folder.path().join("crossover.toml"))
        .output()
        .expect("it starts");
    assert!(text(&named.stdout).contains("crossover.toml, line 1"), "{}", text(&named.stdout));
}

#[test]
fn a_wrong_setting_is_an_error_that_names_its_place_and_never_a_panic() {
    let folder = tempdir().expect("a folder");
    write(&folder, "crossover.toml", "# for this project\nmemory-limit = \"80%\"\n");
    let run = |arguments: &[&str]| {
        let output = command(arguments)
            .current_dir(folder.path())
            .env_remove("CROSSOVER_CONFIG")
            .output()
            .expect("it starts");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        text(&output.stderr)
    };
    let want = "crossover.toml, line 2: memory-limit: there is no such setting; did you mean memory_limit?";
    let told = run(&["config"]);
    assert!(told.contains(want), "{told}");
    // The shared runtime of a program tells it where something is computed.
    let told = run(&["tour", "--quick", "--only", "softmax"]);
    assert!(told.contains(want) && !told.contains("panicked"), "{told}");
    let variable = command(&["config"]).env("CROSSOVER_SIMD", "mmx").output().expect("it starts");
    let told = text(&variable.stderr);
    assert!(told.contains("CROSSOVER_SIMD") && told.contains("avx512"), "{told}");
}

#[test]
fn top_sees_processes_that_show_themselves() {
    let folder = tempdir().expect("a folder");
    let top = |arguments: &[&str]| {
        let output = command(arguments).env("CROSSOVER_CACHE", folder.path()).output().expect("it starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let alone = top(&["top"]);
    assert!(alone.contains("nobody computes in view") && !alone.contains('\x1b'), "{alone}");
    let mut worker = command(&["bench-worker", "--threads", "1"])
        .env("CROSSOVER_CACHE", folder.path())
        .env("CROSSOVER_PROFILING", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = worker.stdin.take().expect("a pipe");
    input.write_all(b"prepare pi .\nrun pi 1\n").expect("it reads");
    let pid = worker.id().to_string();
    let mut seen = Value::Null;
    for _ in 0..100 {
        std::thread::sleep(std::time::Duration::from_millis(100));
        let found: Value = serde_json::from_str(&top(&["top", "--json"])).expect("one JSON object");
        seen = found["processes"][0].clone();
        if seen["kernels"].as_array().is_some_and(|kernels| !kernels.is_empty()) {
            break;
        }
    }
    assert_eq!(seen["pid"].to_string(), pid, "{seen}");
    assert!(seen["launches"].as_u64() >= Some(1) && seen["memory"][0]["device"] == "cpu", "{seen}");
    let frame = top(&["top", "--once"]);
    assert!(frame.contains(&pid) && frame.contains("1 process"), "{frame}");
    let metrics = top(&["metrics"]);
    let sample = format!("crossover_kernels_total{{pid=\"{pid}\",runtime=\"0\",program=\"crossover\"}} ");
    assert!(metrics.contains(&sample), "{metrics}");
    let values: Value = serde_json::from_str(&top(&["metrics", "--json"])).expect("one JSON object");
    let families = values["metrics"].as_array().expect("a list");
    let kernels = families.iter().find(|one| one["name"] == "crossover_kernels_total").expect("a counter");
    assert_eq!(
        (kernels["kind"].as_str(), kernels["samples"][0]["labels"]["pid"].as_str()),
        (Some("counter"), Some(&*pid))
    );
    assert!(kernels["samples"][0]["value"].as_f64() >= Some(1.0), "{kernels}");
    drop(input);
    worker.wait().expect("it ends");
    // Who has ended is not shown, however fresh the file.
    let after: Value = serde_json::from_str(&top(&["top", "--json"])).expect("one JSON object");
    assert_eq!(after["processes"].as_array().map(Vec::len), Some(0), "{after}");
}

#[test]
fn metrics_are_served_to_this_machine_alone() {
    let refused = command(&["metrics", "--listen", "0.0.0.0:0"]).output().expect("it starts");
    assert_eq!(refused.status.code(), Some(1));
    let told = text(&refused.stderr);
    assert!(
        told.contains("other machines") && told.ends_with("allow remote access with --allow-remote\n"),
        "{told}"
    );
    let folder = tempdir().expect("a folder");
    let mut server = command(&["metrics", "--listen", "127.0.0.1:0"])
        .env("CROSSOVER_CACHE", folder.path())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let mut said = BufReader::new(server.stderr.take().expect("a pipe"));
    said.read_line(&mut line).expect("it says where");
    let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address");
    let ask = |path: &str| {
        let mut stream = std::net::TcpStream::connect(address).expect("it listens");
        stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    };
    let (metrics, health) = (ask("/metrics"), ask("/health"));
    server.kill().expect("it can be ended");
    server.wait().expect("it ends");
    assert!(metrics.contains("\n# TYPE crossover_fallbacks_total counter\n"), "{metrics}");
    assert!(health.ends_with("{\"alerts\":[],\"processes\":0,\"status\":\"ok\"}\n"), "{health}");
}

#[test]
fn alert_rules_are_printed() {
    let output = command(&["metrics", "--rules"]).output().expect("it starts");
    let rules = text(&output.stdout);
    assert_eq!(rules.matches("\n  - alert: Crossover").count(), 5, "{rules}");
}

#[test]
fn files_that_are_no_traces_are_told_apart() {
    let folder = tempdir().expect("a folder");
    for (name, bytes, want) in [
        ("packed.json", &b"\x1f\x8b\x08\x00"[..], "packed by gzip: unpack it first"),
        ("chrome.json", b"{\"traceEvents\": []}", "a trace in Chrome's format"),
        ("cut.json", b"{\"format\": \"crossover-trace\", \"version\": 1", "this is not JSON: EOF"),
        ("new.json", b"{\"format\": \"crossover-trace\", \"version\": 2}", "use a newer crossover"),
        ("empty.json", b"", "this is not JSON: EOF"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("it can be written");
        let output = command(&["report", &path.display().to_string()]).output().expect("it starts");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains(name) && told.contains(want) && !told.contains("panicked"), "{name}: {told}");
        assert!(!path.with_extension("html").exists(), "no page of nothing");
    }
}
