//! `crossover top`: what the machine and the processes that compute on it do, live.
//!
//! Processes show themselves with the setting `profiling` ([`crossover::processes`]); the cards answer through the driver's management library.
//! A frame is a pure function of what was seen, so that a test can look at one.

use std::{
    fmt::Write as _,
    io::Write as _,
    sync::mpsc::{RecvTimeoutError, channel},
    time::Duration,
};

use anyhow::Result;
use console::{Key, Term, style};
use crossover::{GpuLoad, ProcessMemory, ProcessStats, Runtime};
use serde::Serialize;
use serde_json::Value;

use crate::{report, units};

/// Watch memory, load, kernels and decisions of this machine, live.
///
/// Shows the processor, every NVIDIA GPU and the processes of this user's that have the setting `profiling`
/// (CROSSOVER_PROFILING=1, or profiling = true in a file). q leaves. Where standard output is no terminal, one frame is printed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Print one frame and end
    #[arg(long)]
    once: bool,
    /// Seconds between two frames
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    interval: f64,
    /// Print one JSON object and end
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  CROSSOVER_PROFILING=1 python3 train.py &
  crossover top                      live, q leaves
  crossover top --once               one frame
  crossover top --json | jq '.processes[].memory'";

/// What was seen at one moment.
struct View {
    cpu: Option<f64>,
    /// Bytes of the host in use, and all.
    memory: Option<(u64, u64)>,
    gpus: Result<Vec<Card>, String>,
    processes: Vec<ProcessStats>,
}

/// A GPU, for people and as JSON; see docs/json.md.
#[derive(Debug, Clone, Serialize)]
struct Card {
    name: String,
    busy: f64,
    memory_busy: f64,
    used: u64,
    total: u64,
    celsius: Option<u32>,
    watts: Option<f64>,
}

impl From<GpuLoad> for Card {
    fn from(gpu: GpuLoad) -> Card {
        Card {
            name: gpu.name,
            busy: gpu.busy,
            memory_busy: gpu.memory_busy,
            used: gpu.used,
            total: gpu.total,
            celsius: gpu.celsius,
            watts: gpu.watts,
        }
    }
}

/// The JSON shape; see docs/json.md.
#[derive(Serialize)]
struct Seen {
    cpu: Option<f64>,
    memory_used: Option<u64>,
    memory_total: Option<u64>,
    gpus: Vec<Card>,
    no_gpu: Option<String>,
    processes: Vec<Value>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let term = Term::stdout();
    if arguments.json {
        let view = look();
        let processes = view.processes.iter().map(|p| serde_json::from_str(&p.to_json()));
        report::json(&Seen {
            cpu: view.cpu,
            memory_used: view.memory.map(|m| m.0),
            memory_total: view.memory.map(|m| m.1),
            no_gpu: view.gpus.as_ref().err().cloned(),
            gpus: view.gpus.unwrap_or_default(),
            processes: processes.collect::<Result<_, _>>()?,
        })?;
        return Ok(true);
    }
    if arguments.once || !term.is_term() {
        let width = if term.is_term() { usize::from(term.size().1) } else { 100 };
        report::text(&frame(&look(), width))?;
        return Ok(true);
    }
    live(&term, Duration::from_secs_f64(arguments.interval.clamp(0.1, 3600.0)))?;
    Ok(true)
}

/// The other screen of a terminal, until it is dropped.
struct Screen<'a>(&'a Term);

impl Drop for Screen<'_> {
    fn drop(&mut self) {
        let _ = write!(&mut &*self.0, "\x1b[?25h\x1b[?1049l");
        let _ = self.0.flush();
    }
}

fn live(term: &Term, interval: Duration) -> Result<()> {
    write!(&mut &*term, "\x1b[?1049h\x1b[?25l")?;
    let _screen = Screen(term);
    let (sender, keys) = channel();
    let reader = term.clone();
    // Ends with the process: a terminal's keys cannot be waited for with a limit.
    std::thread::spawn(move || {
        while let Ok(key) = reader.read_key_raw() {
            if sender.send(key).is_err() {
                return;
            }
        }
    });
    loop {
        let (rows, columns) = term.size();
        let text = frame(&look(), usize::from(columns));
        let mut out = String::from("\x1b[H");
        // The last line stays empty, so that nothing scrolls.
        for line in text.lines().take(usize::from(rows).saturating_sub(1)) {
            let _ = write!(out, "{line}\x1b[K\r\n");
        }
        out.push_str("\x1b[J");
        write!(&mut &*term, "{out}")?;
        term.flush()?;
        match keys.recv_timeout(interval) {
            Ok(Key::Char('q' | 'Q') | Key::Escape | Key::CtrlC) => return Ok(()),
            // Somebody who types wants to see something new.
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(interval),
        }
    }
}

fn look() -> View {
    let now = Runtime::current().utilization();
    View {
        cpu: now.cpu,
        memory: std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| host_memory(&text)),
        gpus: now
            .gpus
            .map(|gpus| gpus.into_iter().map(Card::from).collect())
            .map_err(|error| error.to_string()),
        processes: crossover::processes(),
    }
}

/// Bytes in use and all, from `/proc/meminfo`.
fn host_memory(text: &str) -> Option<(u64, u64)> {
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
    };
    let total = of("MemTotal")?;
    Some((total.saturating_sub(of("MemAvailable")?), total))
}

/// A share as a bar.
fn bar(share: f64, cells: usize) -> String {
    let full = (share.clamp(0.0, 1.0) * cells as f64).round() as usize;
    let text = format!("{}{}", "█".repeat(full), "░".repeat(cells - full));
    match share {
        s if s >= 0.95 => style(text).red().to_string(),
        s if s >= 0.70 => style(text).yellow().to_string(),
        _ => style(text).green().to_string(),
    }
}

/// How full memory is, in the words of the runtime's levels.
fn pressure(share: f64) -> &'static str {
    match share {
        s if s >= 0.95 => "critical",
        s if s >= 0.85 => "high",
        s if s >= 0.70 => "elevated",
        _ => "normal",
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Cells of a bar.
const BAR: usize = 16;
/// Kernels shown of each process.
const KERNELS: usize = 8;

/// What one moment looks like, at most so wide.
fn frame(view: &View, width: usize) -> String {
    let mut out = String::new();
    let count = match view.processes.len() {
        0 => "nobody computes in view".to_owned(),
        1 => "1 process".to_owned(),
        n => format!("{n} processes"),
    };
    let _ = writeln!(out, "{}  {count}", style("crossover top").bold());
    out.push('\n');
    let cpu = view
        .cpu
        .map_or_else(|| "unknown".to_owned(), |busy| format!("{} {:>3.0}%", bar(busy, BAR), 100.0 * busy));
    let _ = write!(out, "CPU    busy {cpu}");
    if let Some((used, total)) = view.memory {
        let full = share(used, total);
        let _ = write!(
            out,
            "   memory {} {} of {}, {}",
            bar(full, BAR),
            units::bytes(used),
            units::bytes(total),
            pressure(full)
        );
    }
    out.push('\n');
    match &view.gpus {
        Ok(gpus) if gpus.is_empty() => out.push_str("GPU    none\n"),
        Ok(gpus) => gpus.iter().enumerate().for_each(|(number, gpu)| card(&mut out, number, gpu)),
        Err(reason) => {
            let _ = writeln!(out, "GPU    {}", cut(reason, width.saturating_sub(7)));
        }
    }
    for process in &view.processes {
        out.push('\n');
        program(&mut out, process, width);
    }
    if view.processes.is_empty() {
        out.push_str("\nProcesses show themselves with CROSSOVER_PROFILING=1, or profiling = true in crossover.toml.\n");
    }
    out
}

fn card(out: &mut String, number: usize, gpu: &Card) {
    let full = share(gpu.used, gpu.total);
    let _ = write!(
        out,
        "GPU {number}  busy {} {:>3.0}%   memory {} {} of {}, {}",
        bar(gpu.busy, BAR),
        100.0 * gpu.busy,
        bar(full, BAR),
        units::bytes(gpu.used),
        units::bytes(gpu.total),
        pressure(full)
    );
    if let Some(celsius) = gpu.celsius {
        let _ = write!(out, "   {celsius} °C");
    }
    if let Some(watts) = gpu.watts {
        let _ = write!(out, "   {watts:.0} W");
    }
    let _ = writeln!(out, "   {}", style(&gpu.name).dim());
}

fn program(out: &mut String, process: &ProcessStats, width: usize) {
    let name = process.program.rsplit('/').next().unwrap_or(&process.program);
    let _ = write!(out, "{}", style(format!("{} {name}", process.pid)).bold());
    if let Some(cores) = process.cores {
        let _ = write!(out, "   {cores:.1} cores");
    }
    let _ = writeln!(
        out,
        "   {} kernels   {} copies, {}   {} fallbacks   {} waited for a compiler",
        process.launches,
        process.transfers,
        units::bytes(process.transferred),
        process.fallbacks,
        process.postponed
    );
    for alert in &process.alerts {
        let line = format!("{}: {}", alert.kind.replace('_', " "), alert.text);
        let _ =
            writeln!(out, "  {}    {}", style("alert").red().bold(), cut(&line, width.saturating_sub(11)));
    }
    for device in &process.lost {
        let _ = writeln!(out, "  {device:<8} {}", style("lost").red().bold());
    }
    for memory in &process.memory {
        held(out, memory);
    }
    let decided: Vec<String> =
        process.decisions.iter().map(|d| format!("{} {} {}", d.device, d.reason, d.kernels)).collect();
    if !decided.is_empty() {
        let _ = writeln!(out, "  decided  {}", cut(&decided.join(", "), width.saturating_sub(11)));
    }
    for kernel in process.kernels.iter().rev().take(KERNELS) {
        let _ = writeln!(
            out,
            "  {:<8} {:<9} {:>9} {:>10} {:>7} ago  {}",
            kernel.device,
            if kernel.reason.is_empty() { "-" } else { &kernel.reason },
            units::seconds(kernel.micros / 1e6),
            units::bytes(kernel.bytes),
            units::seconds(kernel.age as f64 / 1e3),
            cut(&kernel.name, width.saturating_sub(55))
        );
    }
}

/// Memory of one device by kind.
fn held(out: &mut String, memory: &ProcessMemory) {
    let _ = writeln!(
        out,
        "  {:<8} {} {:>3.0}% {:<8}  arrays {}, kept {}, others {}, free {} of {}",
        memory.device,
        bar(memory.usage, BAR),
        100.0 * memory.usage,
        memory.level,
        units::bytes(memory.live),
        units::bytes(memory.cached),
        units::bytes(memory.others),
        units::bytes(memory.free),
        units::bytes(memory.budget)
    );
}

/// At most so many characters.
fn cut(text: &str, most: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= most {
        return line.to_owned();
    }
    let mut short: String = line.chars().take(most.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossover::{ProcessAlert, ProcessDecision, ProcessKernel};

    fn view() -> View {
        let kernel = |name: &str, device: &str, reason: &str, micros: f64, age: u64| ProcessKernel {
            name: name.to_owned(),
            device: device.to_owned(),
            reason: reason.to_owned(),
            micros,
            age,
            bytes: 8_000_000,
        };
        let decision = |device: &str, reason: &str, kernels: u64| ProcessDecision {
            device: device.to_owned(),
            reason: reason.to_owned(),
            kernels,
        };
        let memory = |device: &str, live: u64, total: u64| ProcessMemory {
            device: device.to_owned(),
            live,
            cached: total / 10,
            others: total / 5,
            free: total / 4,
            budget: total / 10 * 9,
            total,
            usage: 0.72,
            level: "elevated".to_owned(),
            severity: 1,
            peak: live,
            leak: 0.0,
        };
        let alert = |kind: &str, device: &str, text: &str| ProcessAlert {
            kind: kind.to_owned(),
            device: device.to_owned(),
            text: text.to_owned(),
        };
        let process = ProcessStats {
            version: 2,
            pid: 4242,
            runtime: 0,
            program: "/usr/bin/python3.11".to_owned(),
            written: 0,
            cores: Some(1.5),
            launches: 1204,
            transfers: 12,
            transferred: 1_200_000_000,
            fallbacks: 1,
            postponed: 3,
            judged: 0,
            regret: 0,
            lost: vec!["cuda:1".to_owned()],
            alerts: vec![alert("device_lost", "cuda:1", "cuda:1 was lost with everything on it")],
            memory: vec![memory("cpu", 2_000_000_000, 64_000_000_000), memory("cuda:0", 9 << 30, 140 << 30)],
            decisions: vec![decision("cpu", "small", 120), decision("cuda:0", "faster", 1084)],
            kernels: vec![
                kernel("exp+sum", "cpu", "small", 12.25, 2300),
                kernel("a very long chain of operations ".repeat(4).trim(), "cuda:0", "faster", 4.5, 150),
            ],
        };
        let card = Card {
            name: "NVIDIA H200".to_owned(),
            busy: 0.37,
            memory_busy: 0.05,
            used: 140 << 30,
            total: 144 << 30,
            celsius: Some(61),
            watts: Some(412.0),
        };
        View {
            cpu: Some(0.41),
            memory: Some((48_000_000_000, 64_000_000_000)),
            gpus: Ok(vec![card]),
            processes: vec![process],
        }
    }

    #[test]
    fn a_frame_looks_like_this() {
        console::set_colors_enabled(false);
        insta::assert_snapshot!(frame(&view(), 110));
        let alone = View {
            cpu: None,
            memory: None,
            gpus: Err("there is no device cuda: libnvidia-ml is not to be had".to_owned()),
            processes: Vec::new(),
        };
        insta::assert_snapshot!(frame(&alone, 60));
    }

    #[test]
    fn lines_of_kernels_fit() {
        console::set_colors_enabled(false);
        for width in [80, 110, 140] {
            let frame = frame(&view(), width);
            let long = frame.lines().find(|line| line.contains("a very")).unwrap();
            assert!(long.chars().count() <= width && long.ends_with('…'), "{width}: {long}");
        }
    }

    #[test]
    fn memory_of_the_host_is_read() {
        let text = "MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:    400 kB\n";
        assert_eq!(host_memory(text), Some((600 * 1024, 1000 * 1024)));
        assert_eq!(host_memory("nothing"), None);
    }
}
