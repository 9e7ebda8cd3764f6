//! `crossover calibrate`: measures this machine, keeps the profile and shows from which sizes on the GPU wins.

use std::{fmt::Write as _, time::Instant};

use anyhow::Result;
use console::style;
use crossover::{
    Effort, Profile, Runtime,
    runtime::{
        Device, calibrate,
        workloads::{self, Workload},
    },
};
use crossover_plan::{Class, Options, Plan, Width};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::{report, units};

/// Measure this machine, and show from which sizes on the GPU wins.
///
/// Latencies, bandwidth over working sets, rates per kind of work and element type, and transfers both ways, of the CPU and of every
/// GPU. The profile is kept in the user's cache directory, and placement uses it from then on. Nobody has to run this: the first use of a
/// GPU measures in a short form.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Measure in the short form of the first use
    #[arg(long)]
    brief: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  crossover calibrate                measure everything, in seconds
  crossover calibrate --brief        what the first use of a GPU measures
  crossover calibrate --json | jq '.crossovers[] | {workload, host}'";

/// The JSON shape; see docs/json.md.
#[derive(Serialize)]
struct Calibration {
    machine: String,
    file: Option<String>,
    seconds: f64,
    gpu: bool,
    devices: Vec<Measured>,
    crossovers: Vec<Crossover>,
}

#[derive(Serialize)]
struct Measured {
    name: String,
    launch_seconds: f64,
    sync_seconds: f64,
    bandwidth: Vec<(f64, f64)>,
    rates: Vec<Rate>,
    upload_bytes_per_second: Option<f64>,
    download_bytes_per_second: Option<f64>,
    upload_pinned_bytes_per_second: Option<f64>,
    download_pinned_bytes_per_second: Option<f64>,
}

#[derive(Serialize)]
struct Rate {
    class: &'static str,
    element: &'static str,
    per_second: f64,
    /// Whether it was measured now; otherwise it follows from what is assumed and from those that were.
    measured: bool,
}

/// From how many elements on the GPU is faster, with operands on the host and on the GPU; `null` where it never is.
#[derive(Serialize)]
struct Crossover {
    workload: &'static str,
    host: Option<usize>,
    gpu: Option<usize>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let start = Instant::now();
    let bar = ProgressBar::new(1000).with_style(
        ProgressStyle::with_template("{bar:30} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    let effort = if arguments.brief { Effort::Brief } else { Effort::Full };
    let (profile, file) = Runtime::current().calibrate(effort, &mut |what, share| {
        bar.set_position((1000.0 * share) as u64);
        bar.set_message(what.to_owned());
    })?;
    bar.finish_and_clear();
    let seconds = start.elapsed().as_secs_f64();
    let calibration = Calibration {
        machine: profile.machine.clone(),
        file: file.map(|file| file.display().to_string()),
        seconds,
        gpu: profile.devices.len() > 1,
        devices: profile.devices.iter().map(measured).collect(),
        crossovers: crossovers(&profile),
    };
    if arguments.json {
        report::json(&calibration)?;
    } else {
        report::text(&text(&calibration, &profile))?;
    }
    Ok(true)
}

fn measured(device: &crossover::runtime::DeviceProfile) -> Measured {
    const ELEMENTS: [Width; 3] = [Width::Byte, Width::Single, Width::Double];
    let rates = Class::ALL.into_iter().flat_map(|class| {
        ELEMENTS.map(|width| Rate {
            class: class.name(),
            element: width.name(),
            per_second: 1e9 * device.rates.get(class, width),
            measured: device.rates.is_measured(class, width),
        })
    });
    let links = device.links.as_ref();
    let far = |link: &crossover::runtime::Link| 1e9 * link.bandwidth.at(6.4e7);
    Measured {
        name: device.name.clone(),
        launch_seconds: 1e-9 * device.launch_ns,
        sync_seconds: 1e-9 * device.sync_ns,
        bandwidth: device.bandwidth.points().iter().map(|&(bytes, rate)| (bytes, 1e9 * rate)).collect(),
        rates: rates.collect(),
        upload_bytes_per_second: links.map(|l| far(&l.up)),
        download_bytes_per_second: links.map(|l| far(&l.down)),
        upload_pinned_bytes_per_second: links.and_then(|l| l.up_pinned.as_ref()).map(far),
        download_pinned_bytes_per_second: links.and_then(|l| l.down_pinned.as_ref()).map(far),
    }
}

fn crossovers(profile: &Profile) -> Vec<Crossover> {
    if profile.devices.len() < 2 {
        return Vec::new();
    }
    let size = |work: &Workload, resident| {
        calibrate::crossover_size(profile, Device(1), resident, |graph, n| work.build(graph, n))
    };
    let one =
        |work: &Workload| Crossover { workload: work.name, host: size(work, false), gpu: size(work, true) };
    workloads::ALL.iter().map(one).collect()
}

/// Columns of the chart: one for each power of four up to 2^30.
const COLUMNS: u32 = 16;

fn chart(from: Option<usize>) -> String {
    let wins = |column: u32| from.is_some_and(|from| 4usize.pow(column) >= from);
    (0..COLUMNS).map(|column| if wins(column) { '█' } else { '·' }).collect()
}

fn text(calibration: &Calibration, profile: &Profile) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", style(&calibration.machine).bold());
    for device in &calibration.devices {
        let _ = writeln!(out, "\n{}", style(&device.name).bold());
        let launch = units::seconds(device.launch_seconds);
        let _ = writeln!(
            out,
            "  starting a kernel  {launch}, its end is known {} later",
            units::seconds(device.sync_seconds)
        );
        for &(bytes, rate) in &device.bandwidth {
            let _ = writeln!(out, "  memory {:>10}  {}", units::bytes(bytes as u64), units::rate(rate, "B"));
        }
        for rate in device.rates.iter().filter(|rate| rate.element == "f32") {
            let mark = if rate.measured { "" } else { "   carried over" };
            let _ = writeln!(out, "  {:<10} f32     {}{mark}", rate.class, units::rate(rate.per_second, " "));
        }
        let ways = [
            ("to it", device.upload_bytes_per_second),
            ("from it", device.download_bytes_per_second),
            ("to it, page-locked", device.upload_pinned_bytes_per_second),
            ("from it, page-locked", device.download_pinned_bytes_per_second),
        ];
        for (way, rate) in ways {
            if let Some(rate) = rate {
                let _ = writeln!(out, "  {way:<21} {}", units::rate(rate, "B"));
            }
        }
    }
    if calibration.devices.iter().flat_map(|d| &d.rates).any(|rate| rate.element == "f32" && !rate.measured) {
        out.push_str("\nCarried over: assumed, and as much faster or slower as what was measured. ");
        out.push_str("`crossover calibrate` measures everything.\n");
    }
    out.push('\n');
    if calibration.crossovers.is_empty() {
        out.push_str("No GPU can be used here, so there is nothing to choose: everything runs on the CPU. ");
        out.push_str("`crossover doctor` says why.\n\npredicted on this CPU:\n");
        for work in &workloads::ALL {
            let _ = write!(out, "  {:<19}", work.name);
            for exponent in [10u32, 16, 22] {
                let time = predicted(profile, work, 1 << exponent);
                let _ = write!(out, "  2^{exponent}: {:>8}", time.map_or("-".to_owned(), units::seconds));
            }
            out.push('\n');
        }
    } else {
        out.push_str(
            "From how many elements on the GPU is faster; · CPU, █ GPU, from 1 to 4^15 elements\n\n",
        );
        let _ = writeln!(out, "{:<19} {:>24} {:>30}", "", "operands on the host", "operands on the GPU");
        for c in &calibration.crossovers {
            let size = |n: Option<usize>| n.map_or("never".to_owned(), |n| n.to_string());
            let (host, gpu) = (size(c.host), size(c.gpu));
            let _ = writeln!(
                out,
                "{:<19} {:>10} {}  {:>10} {}",
                c.workload,
                host,
                chart(c.host),
                gpu,
                chart(c.gpu)
            );
        }
    }
    let _ = match &calibration.file {
        Some(file) => writeln!(out, "\nmeasured in {}, kept in {file}", units::seconds(calibration.seconds)),
        None => writeln!(
            out,
            "\nmeasured in {}, kept nowhere: CROSSOVER_CACHE is off",
            units::seconds(calibration.seconds)
        ),
    };
    out
}

/// Seconds of a workload on the host.
fn predicted(profile: &Profile, work: &Workload, n: usize) -> Option<f64> {
    let graph = work.graph(n).ok()?;
    let plan = Plan::new(&graph, Options::default()).ok()?;
    Some(1e-9 * calibrate::alone(profile, &plan, Device::HOST, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assumed_machines_have_crossovers_and_charts() {
        let profile = Profile::assumed(8, 1);
        let found = crossovers(&profile);
        assert_eq!(found.len(), workloads::ALL.len());
        let product = found.iter().find(|c| c.workload == "matmul f32").unwrap();
        let (host, gpu) = (product.host.unwrap(), product.gpu.unwrap());
        assert!(gpu <= host, "operands that are there already make the GPU worth it earlier");
        assert_eq!(chart(None), "·".repeat(COLUMNS as usize));
        assert_eq!(chart(Some(17)).chars().filter(|&c| c == '█').count(), COLUMNS as usize - 3);
        assert!(crossovers(&Profile::assumed(8, 0)).is_empty());
    }
}
