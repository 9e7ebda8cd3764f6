//! From what the runtime recorded to a trace.

use std::{
    panic::Location,
    sync::OnceLock,
    time::{SystemTime, UNIX_EPOCH},
};

use crossover_array::{DType, Runtime};
use crossover_plan::{Class, Width};
use crossover_runtime::{
    Device, DeviceProfile,
    trace::{Seen, Span, Track as Recorded, Work},
};
use rustc_hash::FxHashMap;

use crate::{
    Breakdown, Kernels, Launches, Machine, MachineDevice, Spans, Trace, Track, TrackKind, Transfers, advice,
    distinct,
    trace::{FORMAT, VERSION},
};

/// The trace of a recording on a runtime.
pub(crate) fn trace(name: &str, seen: &Seen, runtime: &Runtime) -> Trace {
    let mut rows = Rows::of(seen);
    for span in seen.spans() {
        rows.add(&span);
    }
    let mut trace = Trace {
        format: FORMAT.to_string(),
        version: VERSION,
        name: name.to_string(),
        created: timestamp(seen.began),
        crossover: env!("CARGO_PKG_VERSION").to_string(),
        command: std::env::args().collect::<Vec<_>>().join(" "),
        wall_ns: seen.wall,
        dropped: seen.dropped,
        estimated: rows.estimated,
        machine: machine(runtime),
        breakdown: Breakdown::default(),
        strings: Vec::new(),
        tracks: seen.tracks.iter().map(|track| described(track, runtime)).collect(),
        spans: rows.spans,
        kernels: rows.kernels,
        launches: rows.launches,
        transfers: rows.transfers,
        memory: Default::default(),
        events: Default::default(),
        advice: Vec::new(),
    };
    // Threads that look at the same time may note it in the other order.
    let mut samples: Vec<_> = seen.samples.iter().collect();
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
    let mut strings = rows.strings;
    for note in &seen.notes {
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

/// Names by number.
#[derive(Default)]
struct Strings {
    list: Vec<String>,
    known: FxHashMap<String, u32>,
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

/// Numbers of what lies where it lies as long as a recording is looked at: most spans are like the one before, and asking by address is quicker than by
/// letters.
struct Near<K> {
    last: Option<(K, u32)>,
    known: FxHashMap<K, u32>,
}

impl<K> Default for Near<K> {
    fn default() -> Near<K> {
        Near { last: None, known: FxHashMap::default() }
    }
}

impl<K: Copy + Eq + std::hash::Hash> Near<K> {
    #[inline]
    fn number(&mut self, key: K, find: impl FnOnce() -> u32) -> u32 {
        match self.last {
            Some((last, number)) if last == key => number,
            _ => {
                let number = *self.known.entry(key).or_insert_with(find);
                self.last = Some((key, number));
                number
            }
        }
    }
}

/// What makes launches those of the same kernel: name, what it computes, form, type, and how much.
type Key<'a> = (&'a str, &'a str, &'static str, &'static str, [u64; 4]);

/// Columns in the making.
struct Rows<'a> {
    strings: Strings,
    names: Near<(*const u8, usize)>,
    places: Near<*const Location<'static>>,
    /// The kernel and the plan of a whole launch, by the number that its kernel has in the recording.
    numbered: Vec<Option<(u32, i64)>>,
    known: FxHashMap<Key<'a>, u32>,
    plans: FxHashMap<u64, i64>,
    /// The number of no reason at all.
    unreasoned: Option<u32>,
    estimated: Vec<u32>,
    spans: Spans,
    kernels: Kernels,
    launches: Launches,
    transfers: Transfers,
}

impl<'a> Rows<'a> {
    fn of(seen: &'a Seen) -> Rows<'a> {
        let (mut spans, mut launches) = (Spans::default(), Launches::default());
        spans.reserve(seen.len());
        launches.reserve(seen.launches());
        Rows {
            strings: Strings::default(),
            names: Near::default(),
            places: Near::default(),
            numbered: vec![None; seen.kernels()],
            known: FxHashMap::default(),
            plans: FxHashMap::default(),
            unreasoned: None,
            estimated: Vec::new(),
            spans,
            kernels: Kernels::default(),
            launches,
            transfers: Transfers::default(),
        }
    }

    #[inline]
    fn add(&mut self, span: &Span<'a>) {
        let row = self.spans.len() as u32;
        let (kernel, launch, name) = match &span.work {
            Some(work) => {
                let (kernel, plan) = self.kernel(span.name, work);
                (
                    i64::from(kernel),
                    self.launched((kernel, plan), span, work),
                    self.kernels.name[kernel as usize],
                )
            }
            None => {
                let near = (span.name.as_ptr(), span.name.len());
                (-1, -1, self.names.number(near, || self.strings.number(span.name)))
            }
        };
        let place = span.place.map_or(-1, |place| {
            let line = || self.strings.number(&format!("{}:{}", place.file(), place.line()));
            i64::from(self.places.number(std::ptr::from_ref(place), line))
        });
        let spans = &mut self.spans;
        spans.track.push(span.track as u32);
        spans.kind.push(span.kind.into());
        spans.name.push(name);
        spans.start.push(span.start);
        spans.duration.push(span.duration);
        spans.parent.push(span.parent.map_or(-1, |parent| parent as i64));
        spans.kernel.push(kernel);
        spans.launch.push(launch);
        spans.bytes.push(span.bytes);
        spans.place.push(place);
        if span.estimated {
            self.estimated.push(row);
        }
        if let Some((from, to)) = span.way {
            self.transfers.span.push(row);
            self.transfers.from.push(from.0 as u32);
            self.transfers.to.push(to.0 as u32);
        }
    }

    /// The row of a kernel, and the number of its plan.
    #[inline]
    fn kernel(&mut self, name: &'a str, work: &Work<'a>) -> (u32, i64) {
        let number = work.number as usize;
        match self.numbered[number] {
            Some(known) if work.parts == 1 => known,
            _ => {
                let count = self.plans.len() as i64;
                let plan = *self.plans.entry(work.kernel.plan).or_insert(count);
                let known = (self.kernel_like(name, work), plan);
                if work.parts == 1 {
                    self.numbered[number] = Some(known);
                }
                known
            }
        }
    }

    /// The row of a kernel that is met for the first time, under its number or in so many parts.
    fn kernel_like(&mut self, name: &'a str, work: &Work<'a>) -> u32 {
        let (kernel, amounts) = (work.kernel, [work.read(), work.written(), work.flops(), work.products()]);
        let key = (name, &*kernel.text, kernel.form, kernel.dtype, amounts);
        let (kernels, strings) = (&mut self.kernels, &mut self.strings);
        *self.known.entry(key).or_insert_with(|| {
            let [read, written, flops, products] = amounts;
            kernels.name.push(strings.number(name));
            kernels.form.push(strings.number(kernel.form));
            kernels.text.push(strings.number(&kernel.text));
            kernels.read.push(read);
            kernels.written.push(written);
            kernels.flops.push(flops);
            kernels.dtype.push(strings.number(kernel.dtype));
            kernels.products.push(products);
            kernels.roof.push(kernel.has_roof.into());
            kernels.len() as u32 - 1
        })
    }

    #[inline]
    fn launched(&mut self, (kernel, plan): (u32, i64), span: &Span<'a>, work: &Work<'a>) -> i64 {
        let whole = |times: &[f64]| -> Vec<u64> {
            times.iter().map(|&time| if time.is_finite() { time as u64 } else { 0 }).collect()
        };
        let (reason, predicted, moving) = match work.decision {
            Some((decision, at)) => (
                self.strings.number(&decision.why(at).to_string()),
                whole(decision.times_ns(at)),
                whole(decision.moving_ns(at)),
            ),
            None => {
                let reason = *self.unreasoned.get_or_insert_with(|| self.strings.number(""));
                (reason, Vec::new(), Vec::new())
            }
        };
        let launches = &mut self.launches;
        launches.kernel.push(kernel);
        launches.device.push(work.device.0 as u32);
        launches.queued.push(span.queued);
        launches.reason.push(reason);
        launches.predicted.push(predicted);
        launches.moved.push(work.moved);
        launches.live.push(work.live);
        launches.peak.push(work.peak);
        launches.plan.push(plan);
        launches.step.push(work.kernel.at as u32);
        launches.moving.push(moving);
        launches.len() as i64 - 1
    }
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

/// The processor's name, where the system tells it: asked once, since the system writes a page about every core for it.
pub(crate) fn processor() -> String {
    static NAME: OnceLock<String> = OnceLock::new();
    let ask = || {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        name.map_or_else(|| std::env::consts::ARCH.to_string(), |(_, name)| name.trim().to_string())
    };
    NAME.get_or_init(ask).clone()
}

/// Bytes of host memory, where the system tells; asked once.
pub(crate) fn memory() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    let ask = || {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
        total
            .and_then(|kilobytes| kilobytes.trim().parse::<u64>().ok())
            .map_or(0, |kilobytes| kilobytes << 10)
    };
    *BYTES.get_or_init(ask)
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
