//! Random graphs in several processes: NVRTC compiles one source at a time per process, and compiling is most of it.

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use serde_json::Value;

use crate::{Options, Result, bits, report::Report, setup::Setup};

pub fn run(_: &Setup, options: &Options, report: &mut Report) -> Result<()> {
    let start = Instant::now();
    let program = std::env::current_exe()?;
    let share = options.graphs.div_ceil(options.jobs);
    let threads = (bits::cores() / options.jobs as usize).max(2);
    let mut children = Vec::new();
    for job in 0..options.jobs {
        let (first, last) = (job * share, ((job + 1) * share).min(options.graphs));
        if first >= last {
            break;
        }
        let folder = options.folder.join(format!("graphs-{job}"));
        let child = Command::new(&program)
            .arg(&folder)
            .args(["--only", "graphs", "--seed", &(options.seed + first).to_string()])
            .args(["--graphs", &(last - first).to_string(), "--seconds", &options.seconds.to_string()])
            .args(["--threads", &threads.to_string()])
            .stdout(Stdio::null())
            .spawn()?;
        children.push((folder, child));
    }
    let count = children.len();
    let (mut sums, mut wrong) = ([0.0; 6], Vec::new());
    const NAMES: [&str; 6] = ["graphs", "bytes", "launches", "on_host", "compiled", "compile_ms"];
    for (folder, mut child) in children {
        let status = child.wait()?;
        let text = std::fs::read_to_string(folder.join("gpu-test.json")).unwrap_or_default();
        let all: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        let detail = all["checks"][0]["detail"].as_str().unwrap_or("it left no report");
        if !status.success() {
            wrong.push(format!("{status}: {detail}"));
        }
        for (sum, name) in sums.iter_mut().zip(NAMES) {
            *sum += all["figures"][0][name].as_f64().unwrap_or(0.0);
        }
        let _ = std::fs::remove_dir_all(folder);
    }
    let [graphs, bytes, launches, on_host, compiled, compile_ms] = sums;
    let seconds = start.elapsed().as_secs_f64();
    report.figure("random graphs", &[("graphs", graphs), ("seconds", seconds), ("per_s", graphs / seconds)]);
    let verdict = match wrong.first() {
        None => "no bit differs".to_string(),
        Some(first) => format!("{} of {count} processes failed, the first: {first}", wrong.len()),
    };
    let detail = format!(
        "{graphs} graphs from seed {} in {seconds:.0} s by {count} processes, {bytes} result bytes, {launches} launches of \
         which {on_host} on the host, {compiled} sources compiled in {:.0} ms each; {verdict}",
        options.seed,
        compile_ms / compiled.max(1.0)
    );
    report.check("random graphs", wrong.is_empty() && graphs > 0.0, detail);
    Ok(())
}
