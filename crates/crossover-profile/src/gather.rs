//! From what the runtime recorded to a trace.

use std::{
    collections::HashMap,
    time::{SystemTime, UNIX_EPOCH},
};

use crossover_array::{DType, Runtime};
use crossover_plan::{Class, Width};
use crossover_runtime::{
    Device, DeviceProfile,
    trace::{Kind, Seen, Span, Track as Recorded, Work},
};

use crate::{
    Breakdown, Machine, MachineDevice, Trace, Track, TrackKind, advice, distinct,
    trace::{FORMAT, VERSION},
};

/// Names by number.
#[derive(Default)]
struct Strings {
    list: Vec<String>,
    known: HashMap<String, u32>,
}

impl Strings {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.known.get(text) {
            return number;
        }
        let number = self.list.len() as u32;
        self.list.push(text.to_string());
        self.known.insert(text.to_string(), number);
        number
    }
}

/// The trace of a recording on a runtime.
pub(crate) fn trace(name: &str, recording: &Seen, runtime: &Runtime) -> Trace {
    let mut trace = Trace {
        format: FORMAT.to_string(),
        version: VERSION,
        name: name.to_string(),
        created: timestamp(recording.began),
        crossover: env!("CARGO_PKG_VERSION").to_string(),
        command: std::env::args().collect::<Vec<_>>().join(" "),
        wall_ns: recording.wall,
        dropped: recording.dropped,
        estimated: (0..recording.spans.len() as u32)
            .filter(|&row| recording.spans[row as usize].estimated)
            .collect(),
        machine: machine(runtime),
        breakdown: Breakdown::default(),
        strings: Vec::new(),
        tracks: recording.tracks.iter().map(|track| described(track, runtime)).collect(),
        spans: Default::default(),
        kernels: Default::default(),
        launches: Default::default(),
        transfers: Default::default(),
        memory: Default::default(),
        events: Default::default(),
        advice: Vec::new(),
    };
    let mut strings = Strings::default();
    let (mut kernels, mut plans) = (Known::default(), HashMap::new());
    for span in &recording.spans {
        let (kernel, launch) = match &span.work {
            Some(work) => {
                let kernel = kernel(&mut trace, &mut strings, &mut kernels, span, work);
                let count = plans.len() as i64;
                let plan = *plans.entry(work.plan.0).or_insert(count);
                (i64::from(kernel), launched(&mut trace, &mut strings, (kernel, plan), span, work))
            }
            None => (-1, -1),
        };
        let spans = &mut trace.spans;
        spans.track.push(span.track as u32);
        spans.kind.push(letter(span.kind).to_string());
        spans.name.push(strings.number(span.name.as_str()));
        spans.start.push(span.start);
        spans.duration.push(span.duration);
        spans.parent.push(span.parent.map_or(-1, |parent| parent as i64));
        spans.kernel.push(kernel);
        spans.launch.push(launch);
        spans.bytes.push(span.bytes);
        let place = span.place.map(|place| strings.number(&format!("{}:{}", place.file(), place.line())));
        spans.place.push(place.map_or(-1, i64::from));
        if let Some((from, to)) = span.way {
            trace.transfers.span.push(trace.spans.len() as u32 - 1);
            trace.transfers.from.push(from.0 as u32);
            trace.transfers.to.push(to.0 as u32);
        }
    }
    // Threads that look at the same time may note it in the other order.
    let mut samples: Vec<_> = recording.samples.iter().collect();
    samples.sort_by_key(|sample| sample.time);
    for sample in samples {
        let (memory, of) = (&mut trace.memory, &sample.memory);
        memory.time.push(sample.time);
        memory.device.push(sample.device.0 as u32);
        memory.live.push(of.live);
        memory.cached.push(of.cached);
        memory.others.push(of.external);
        memory.budget.push(of.budget);
        memory.level.push(of.level as u8);
    }
    for note in &recording.notes {
        trace.events.time.push(note.time);
        trace.events.kind.push(strings.number(note.kind));
        trace.events.text.push(strings.number(&note.text));
    }
    trace.strings = strings.list;
    distinct::name(&mut trace.machine.devices, &mut trace.tracks);
    trace.breakdown = Breakdown::of(&trace.spans, &trace.tracks, trace.wall_ns);
    trace.advice = advice::of(&trace);
    trace
}

/// The letter of a kind of span in the file.
fn letter(kind: Kind) -> &'static str {
    match kind {
        Kind::Scope => "s",
        Kind::Evaluation => "e",
        Kind::Kernel => "k",
        Kind::Transfer => "t",
        Kind::Compile => "c",
        Kind::Plan => "p",
        Kind::Wait => "w",
    }
}

/// Kernels by what makes launches the same: name, what it computes, form, type, and how much; and by where the first two are in memory, which is quicker, and alike
/// for launches of one plan.
#[derive(Default)]
struct Known<'a> {
    all: HashMap<(&'a str, &'a str, &'static str, &'static str, [u64; 4]), u32>,
    near: HashMap<([*const u8; 2], [u64; 4]), u32>,
}

fn kernel<'a>(
    trace: &mut Trace,
    strings: &mut Strings,
    known: &mut Known<'a>,
    span: &'a Span,
    work: &'a Work,
) -> u32 {
    let (name, text) = (span.name.as_str(), &*work.text);
    let amounts = [work.read, work.written, work.flops, work.products];
    let near = ([name.as_ptr(), text.as_ptr()], amounts);
    if let Some(&kernel) = known.near.get(&near) {
        return kernel;
    }
    let key = (name, text, work.form, work.dtype, amounts);
    let kernel = *known.all.entry(key).or_insert_with(|| {
        let kernels = &mut trace.kernels;
        kernels.name.push(strings.number(name));
        kernels.form.push(strings.number(work.form));
        kernels.text.push(strings.number(text));
        kernels.read.push(work.read);
        kernels.written.push(work.written);
        kernels.flops.push(work.flops);
        kernels.dtype.push(strings.number(work.dtype));
        kernels.products.push(work.products);
        kernels.roof.push(work.has_roof.into());
        kernels.len() as u32 - 1
    });
    known.near.insert(near, kernel);
    kernel
}

fn launched(
    trace: &mut Trace,
    strings: &mut Strings,
    (kernel, plan): (u32, i64),
    span: &Span,
    work: &Work,
) -> i64 {
    let whole = |times: &[f64]| -> Vec<u64> {
        times.iter().map(|&time| if time.is_finite() { time as u64 } else { 0 }).collect()
    };
    let (reason, predicted, moving) = match &work.decision {
        Some((decision, at)) => {
            (decision.why(*at).to_string(), whole(decision.times_ns(*at)), whole(decision.moving_ns(*at)))
        }
        None => Default::default(),
    };
    let launches = &mut trace.launches;
    launches.kernel.push(kernel);
    launches.device.push(work.device.0 as u32);
    launches.queued.push(span.queued);
    launches.reason.push(strings.number(&reason));
    launches.predicted.push(predicted);
    launches.moved.push(work.moved);
    launches.live.push(work.live);
    launches.peak.push(work.peak);
    launches.plan.push(plan);
    launches.step.push(work.plan.1 as u32);
    launches.moving.push(moving);
    launches.len() as i64 - 1
}

fn described(track: &Recorded, runtime: &Runtime) -> Track {
    match track {
        Recorded::Thread(name) => Track { name: name.clone(), kind: TrackKind::Thread, device: 0 },
        Recorded::Queue(queue) => {
            let device = runtime.executor().machine().backend(queue.device).name();
            let name = format!("{device} {}", queue.purpose);
            Track { name, kind: TrackKind::Stream, device: queue.device.0 as u32 }
        }
    }
}

fn machine(runtime: &Runtime) -> Machine {
    let executor = runtime.executor();
    let devices = executor.machine().devices().map(|device| {
        let backend = executor.machine().backend(device);
        let kind = match device {
            Device::HOST => "cpu",
            _ if backend.name().starts_with("simulated") => "simulated",
            _ => "cuda",
        };
        let asked =
            device.0.checked_sub(1).map_or(crossover_array::Device::Cpu, crossover_array::Device::Cuda);
        let known = runtime.measured(asked);
        let points = known.iter().flat_map(|known| known.bandwidth.points());
        MachineDevice {
            name: backend.name().to_string(),
            kind: kind.to_string(),
            bandwidth: known.as_ref().map(|known| known.bandwidth.at(1e9) * 1e9),
            bandwidths: points.map(|&(bytes, rate)| (bytes, rate * 1e9)).collect(),
            flops: known.as_ref().map(products).unwrap_or_default(),
        }
    });
    Machine { cpu: processor(), threads: runtime.threads(), memory: memory(), devices: devices.collect() }
}

/// Operations of matrix products per second, by dtype: of all whose rate is known, measured itself or as the measured one of `f32` makes it. Nobody measures those
/// of whole numbers.
fn products(known: &DeviceProfile) -> std::collections::BTreeMap<String, f64> {
    let rate = |dtype: &DType| {
        let width = Width::of(*dtype);
        let is_known =
            known.rates.is_measured(Class::Product, width) || dtype.is_float() || dtype.is_complex();
        is_known.then(|| (dtype.name().to_string(), known.rates.get(Class::Product, width) * 1e9))
    };
    DType::ALL.iter().filter_map(rate).collect()
}

/// The processor's name, where the system tells it.
pub(crate) fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.to_string(), |(_, name)| name.trim().to_string())
}

/// Bytes of host memory, where the system tells.
pub(crate) fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
    total.and_then(|kilobytes| kilobytes.trim().parse::<u64>().ok()).map_or(0, |kilobytes| kilobytes << 10)
}

/// A moment as people and programs write it, in UTC.
pub(crate) fn timestamp(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days since the first of March of year 0, in eras of 400 years.
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let (day, month) =
        (day_of_year - (153 * shifted + 2) / 5 + 1, if shifted < 10 { shifted + 3 } else { shifted - 9 });
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn moments_are_dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_700_000_000, "2023-11-14T22:13:20Z"),
            (4_102_444_799, "2099-12-31T23:59:59Z"),
        ] {
            assert_eq!(timestamp(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
