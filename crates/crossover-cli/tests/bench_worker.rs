//! The benchmark worker by its line protocol (`bench/README.md`).

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use tempfile::{TempDir, tempdir};

struct Worker {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Worker {
    fn start() -> Worker {
        let mut child = Command::new(env!("CARGO_BIN_EXE_crossover"))
            .args(["bench-worker", "--threads", "2"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the worker starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Worker { child, input, output }
    }

    fn ask(&mut self, request: &str) -> String {
        writeln!(self.input, "{request}").expect("the worker reads");
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("the worker answers");
        answer.trim_end().to_owned()
    }

    fn ok(&mut self, request: &str) -> String {
        let answer = self.ask(request);
        let rest = answer.strip_prefix("ok").unwrap_or_else(|| panic!("{request}: {answer}"));
        rest.trim_start().to_owned()
    }
}

fn write(folder: &TempDir, name: &str, bytes: &[u8]) {
    std::fs::write(folder.path().join(name), bytes).expect("a file");
}

#[test]
fn a_workload_is_prepared_run_written_and_dropped() {
    let folder = tempdir().expect("a folder");
    let x: Vec<u8> = [0.0f32, 100.0, -100.0, 1.0, 2.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    write(&folder, "x.bin", &x);
    write(&folder, "inputs.json", br#"{"x": {"dtype": "float32", "shape": [5]}}"#);
    let mut worker = Worker::start();
    assert!(worker.ok("hello").starts_with(concat!("crossover ", env!("CARGO_PKG_VERSION"))));
    assert!(worker.ok("list").split(' ').any(|name| name == "gelu_5"));
    assert!(!worker.ok(&format!("prepare gelu_5 {}", folder.path().display())).is_empty());
    assert!(worker.ok("run gelu_5 10").parse::<f64>().is_ok_and(|seconds| seconds > 0.0));
    let file = folder.path().join("output.bin");
    assert_eq!(worker.ok(&format!("output gelu_5 {}", file.display())), "float32");
    let bytes = std::fs::read(&file).expect("the output");
    let values: Vec<f32> =
        bytes.chunks_exact(4).map(|c| f32::from_le_bytes(c.try_into().expect("4 bytes"))).collect();
    assert_eq!((values.len(), values[0], values[1]), (5, 0.0, 100.0));
    assert_eq!(worker.ok("drop gelu_5"), "");
    assert!(worker.ask("run gelu_5 1").starts_with("error `gelu_5` is not prepared"));
    writeln!(worker.input, "quit").expect("the worker reads");
    assert!(worker.child.wait().expect("it ends").success());
}

#[test]
fn planning_and_pi_need_no_inputs() {
    let mut worker = Worker::start();
    worker.ok("prepare plan_100 /nowhere");
    assert!(worker.ok("run plan_100 20").parse::<f64>().is_ok_and(|seconds| seconds < 1.0));
    worker.ok("prepare pi /nowhere");
    let folder = tempdir().expect("a folder");
    let file = folder.path().join("output.bin");
    assert_eq!(worker.ok(&format!("output pi {}", file.display())), "float64");
    let bytes: [u8; 8] = std::fs::read(&file).expect("the output").try_into().expect("one number");
    assert!((f64::from_le_bytes(bytes) - std::f64::consts::PI).abs() < 0.0026);
}

#[test]
fn bad_requests_are_answered_and_leave_the_worker_usable() {
    let folder = tempdir().expect("a folder");
    write(&folder, "inputs.json", br#"{"x": {"dtype": "float32", "shape": [3]}}"#);
    write(&folder, "x.bin", &[0; 8]);
    let mut worker = Worker::start();
    for (request, says) in [
        ("fly", "unknown request"),
        ("run", "unknown request"),
        ("run gelu zero", "above 0"),
        ("run nothing 1", "no workload `nothing`"),
        ("prepare gelu /nowhere", "inputs.json"),
        (&format!("prepare gelu {}", folder.path().display()), "operand `x`"),
    ] {
        let answer = worker.ask(request);
        assert!(answer.starts_with("error ") && answer.contains(says), "{request}: {answer}");
    }
    assert!(worker.ok("hello").starts_with("crossover"));
}
