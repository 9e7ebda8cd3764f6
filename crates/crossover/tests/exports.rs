//! What others read of our traces, read back: every span, where it was, for as long as it took.
//!
//! Flame graphs are drawn by `inferno`, spans for OpenTelemetry are in `opentelemetry.rs`; consumers that are no crates are run by
//! `cargo xtask exports`. Here are the forms themselves, as their documents say.
#![allow(clippy::unwrap_used)]

use std::{collections::HashMap, sync::Arc};

use crossover::{
    Array, Runtime,
    profile::{Trace, TrackKind, export, profile, scope},
    runtime::{
        Device, Executor, Machine, Placement,
        sim::{SimDevice, SimOptions},
    },
};
use crossover_cpu::CpuBackend;
use crossover_plan::Options;
use parking_lot::Mutex;
use serde_json::Value;

/// A session records what the whole process does: tests that compute at the same time would be in each other's traces.
static ALONE: Mutex<()> = Mutex::new(());

/// A trace with scopes that have odd names, kernels, copies both ways, a thread and two queues.
fn sample() -> Trace {
    let _alone = ALONE.lock();
    let cpu = || Arc::new(CpuBackend::builder().threads(1).build().unwrap());
    let machine = Machine::new(cpu(), vec![Arc::new(SimDevice::new(cpu(), SimOptions::default()))]).unwrap();
    let runtime =
        Runtime::from_executor(Executor::new(machine, Options::default(), Placement::On(Device(1))));
    runtime.scope(|| {
        profile("a \"session\"\nwith; odd \\ names", || {
            let x = Array::linspace(0.0, 1.0, 20_000);
            for name in ["first", "a;b\nc \"d\" \\e", "ünï<c>&ode 7"] {
                let _outer = scope(name);
                let _inner = scope("inner");
                (&x * 2.0).sin().to_vec::<f64>().unwrap();
            }
        })
        .1
    })
}

#[test]
fn chrome_events_are_those_of_the_format() {
    let trace = sample();
    let root: Value = serde_json::from_str(&export::chrome(&trace)).unwrap();
    let events = root["traceEvents"].as_array().unwrap();
    let (mut complete, mut named) = (Vec::new(), HashMap::new());
    for event in events {
        let number = |name: &str| event[name].as_f64().unwrap_or_else(|| panic!("{name} of {event}"));
        assert!(event["name"].is_string() && number("pid") >= 0.0, "{event}");
        match event["ph"].as_str().unwrap() {
            "X" => {
                assert!(number("ts") >= 0.0 && number("dur") >= 0.0 && number("tid") >= 0.0, "{event}");
                assert!(event["cat"].is_string(), "{event}");
                complete.push(event);
            }
            "M" => {
                assert!(
                    ["process_name", "thread_name"].contains(&event["name"].as_str().unwrap()),
                    "{event}"
                );
                named.insert(
                    (event["pid"].as_u64().unwrap(), event["tid"].as_u64()),
                    event["args"]["name"].as_str().unwrap(),
                );
            }
            "C" => assert!(event["args"].as_object().unwrap().values().all(Value::is_number), "{event}"),
            other => panic!("a phase that nobody writes: {other}"),
        }
    }
    assert_eq!(complete.len(), trace.spans.len(), "every span is an event");
    let nanoseconds = |event: &Value, name: &str| (event[name].as_f64().unwrap() * 1e3).round() as u64;
    for (row, event) in complete.iter().enumerate() {
        assert_eq!(event["name"], trace.name_of(row));
        assert_eq!(nanoseconds(event, "ts"), trace.spans.start[row]);
        assert_eq!(nanoseconds(event, "dur"), trace.spans.duration[row]);
        let track = &trace.tracks[trace.spans.track[row] as usize];
        let (pid, tid) = (event["pid"].as_u64().unwrap(), event["tid"].as_u64());
        assert_eq!(named[&(pid, tid)], track.name, "threads and queues have their names");
        assert_eq!(pid == 0, track.kind == TrackKind::Thread, "devices are processes of their own");
        assert!(named.contains_key(&(pid, None)), "processes have names");
    }
    // On one thread of a viewer, events must nest. In whole nanoseconds: one that ends where the next begins is not around it.
    for tid in 0..trace.tracks.len() as u64 {
        let mut open: Vec<u64> = Vec::new();
        for event in complete.iter().filter(|event| event["tid"] == tid) {
            let start = nanoseconds(event, "ts");
            let end = start + nanoseconds(event, "dur");
            while open.last().is_some_and(|&around| around <= start) {
                open.pop();
            }
            assert!(open.last().is_none_or(|&around| end <= around), "{event} outlasts what is around it");
            open.push(end);
        }
    }
}

#[test]
fn inferno_draws_folded_stacks() {
    let trace = sample();
    let folded = export::folded(&trace);
    let mut svg = Vec::new();
    let mut options = inferno::flamegraph::Options::default();
    inferno::flamegraph::from_lines(&mut options, folded.lines(), &mut svg).unwrap();
    let svg = String::from_utf8(svg).unwrap();
    for name in ["first", "inner", "a,b c"] {
        assert!(svg.contains(name), "{name} is not drawn");
    }
    assert!(svg.contains("simulated compute"), "queues are drawn");
    // Nothing is lost or counted twice: what lies on a thread adds up to its outermost spans.
    let threads = |line: &&str| !line.starts_with("simulated");
    let total: u64 = folded
        .lines()
        .filter(threads)
        .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
        .sum();
    let outermost: u64 = (0..trace.spans.len())
        .filter(|&row| {
            trace.spans.parent[row] < 0
                && trace.tracks[trace.spans.track[row] as usize].kind == TrackKind::Thread
        })
        .map(|row| trace.spans.duration[row])
        .sum();
    assert!(total.abs_diff(outermost) <= trace.spans.len() as u64, "{total} against {outermost} ns");
}

#[test]
fn speedscope_events_open_and_close_in_order() {
    let trace = sample();
    let root: Value = serde_json::from_str(&export::speedscope(&trace)).unwrap();
    assert_eq!(root["$schema"], "https://www.speedscope.app/file-format-schema.json");
    let frames = root["shared"]["frames"].as_array().unwrap();
    let mut opened = 0;
    for profile in root["profiles"].as_array().unwrap() {
        assert_eq!(
            (profile["type"].as_str(), profile["unit"].as_str()),
            (Some("evented"), Some("nanoseconds"))
        );
        let (mut open, mut before) = (Vec::new(), profile["startValue"].as_u64().unwrap());
        for event in profile["events"].as_array().unwrap() {
            let (frame, at) = (event["frame"].as_u64().unwrap(), event["at"].as_u64().unwrap());
            assert!((frame as usize) < frames.len() && at >= before, "{event}");
            before = at;
            match event["type"].as_str().unwrap() {
                "O" => {
                    open.push(frame);
                    opened += 1;
                }
                _ => assert_eq!(open.pop(), Some(frame), "{event} closes another frame"),
            }
        }
        assert!(open.is_empty() && before <= profile["endValue"].as_u64().unwrap());
    }
    assert_eq!(opened, trace.spans.len());
}

/// A sample of Prometheus' text format: name, labels, value.
fn parsed(line: &str) -> (String, Vec<(String, String)>, f64) {
    let (name, rest) = line.split_once('{').unwrap_or_else(|| panic!("{line} has no labels"));
    assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b':'), "{line}");
    let (mut labels, mut letters) = (Vec::new(), rest.chars());
    loop {
        let label: String = letters.by_ref().take_while(|&c| c != '=').collect();
        assert!(label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{line}");
        assert_eq!(letters.next(), Some('"'), "{line}");
        let mut value = String::new();
        loop {
            match letters.next().unwrap() {
                '"' => break,
                '\\' => value.push(match letters.next().unwrap() {
                    'n' => '\n',
                    same @ ('"' | '\\') => same,
                    other => panic!("\\{other} in {line}"),
                }),
                other => value.push(other),
            }
        }
        labels.push((label, value));
        match letters.next() {
            Some(',') => {}
            Some('}') => break,
            other => panic!("{other:?} in {line}"),
        }
    }
    (name.to_string(), labels, letters.as_str().trim().parse().unwrap())
}

#[test]
fn prometheus_samples_say_what_the_trace_does() {
    let trace = sample();
    let text = export::prometheus(&trace);
    let samples: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).map(parsed).collect();
    let wall: f64 = samples.iter().filter(|s| s.0 == "crossover_trace_seconds").map(|s| s.2).sum();
    assert!((wall * 1e9 - trace.wall_ns as f64).abs() < 10.0);
    let launches: f64 = samples.iter().filter(|s| s.0 == "crossover_kernel_launches").map(|s| s.2).sum();
    assert_eq!(launches as usize, trace.spans.kind.iter().filter(|kind| kind.as_str() == "k").count());
    assert!(
        samples.iter().all(|s| s.1.iter().any(|(label, value)| label == "session" && *value == trace.name))
    );
}

/// A recursion of so many scopes.
fn descend(depth: usize) {
    let _span = scope("descend");
    if depth > 1 {
        descend(depth - 1);
    } else {
        Array::linspace(0.0, 1.0, 1000).exp().eval().unwrap();
    }
}

#[test]
fn recursions_of_thousands_are_exported_whole_and_soon() {
    const DEEP: usize = 5000;
    let _alone = ALONE.lock();
    let body = || profile("deep", || descend(DEEP)).1;
    let trace = std::thread::Builder::new().stack_size(64 << 20).spawn(body).unwrap().join().unwrap();
    let scopes = trace.spans.name.iter().filter(|&&name| trace.string(name) == "descend").count();
    assert!(scopes >= DEEP, "{scopes}");
    let trace = Trace::from_json(&trace.to_json()).unwrap();
    let began = std::time::Instant::now();
    let folded = export::folded(&trace);
    let total = |text: &str| -> u64 {
        text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
    };
    let whole = (0..trace.spans.len()).filter(|&row| trace.spans.parent[row] < 0);
    let whole: u64 = whole.map(|row| trace.spans.duration[row]).sum();
    // Spans may end a tick after the one around them.
    assert!(total(&folded).abs_diff(whole) <= whole / 100, "{} of {whole}", total(&folded));
    assert!(folded.contains(";descend;deeper ") && folded.len() < 20_000_000, "{} bytes", folded.len());
    let root: Value = serde_json::from_str(&export::chrome(&trace)).unwrap();
    let complete = root["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X").count();
    assert_eq!(complete, trace.spans.len());
    let root: Value = serde_json::from_str(&export::speedscope(&trace)).unwrap();
    let events = |kind: &str| -> usize {
        let profiles = root["profiles"].as_array().unwrap().iter();
        profiles
            .flat_map(|one| one["events"].as_array().unwrap())
            .filter(|event| event["type"] == kind)
            .count()
    };
    assert_eq!((events("O"), events("C")), (trace.spans.len(), trace.spans.len()));
    assert!(export::prometheus(&trace).contains("session=\"deep\"") && !trace.summary().is_empty());
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}

#[test]
fn devices_of_one_name_are_told_apart_in_every_form() {
    let text = include_str!("../../crossover-profile/src/check/sample.json");
    let mut file: Value = serde_json::from_str(text).unwrap();
    // A second GPU that is called like the first, and did the same.
    let push = |file: &mut Value, at: &str, value: Value| {
        file.pointer_mut(at).unwrap().as_array_mut().unwrap().push(value);
    };
    let gpu = file["machine"]["devices"][1].clone();
    push(&mut file, "/machine/devices", gpu);
    push(&mut file, "/tracks", serde_json::json!({"name": "GPU compute", "kind": "stream", "device": 2}));
    for (table, changes) in [("spans", &[("track", 2), ("launch", 1)][..]), ("launches", &[("device", 2)])] {
        for (column, values) in file[table].as_object_mut().unwrap() {
            let values = values.as_array_mut().unwrap();
            let new = changes.iter().find(|(name, _)| name == column);
            values.push(new.map_or_else(|| values.last().unwrap().clone(), |(_, value)| Value::from(*value)));
        }
    }
    let trace = Trace::from_json(&file.to_string()).unwrap();
    let prometheus = export::prometheus(&trace);
    let mut series: Vec<&str> = prometheus
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|l| l.rsplit_once(' ').unwrap().0)
        .collect();
    let all = series.len();
    series.sort_unstable();
    series.dedup();
    assert_eq!(series.len(), all, "a series is there once:\n{prometheus}");
    for text in [
        prometheus,
        export::folded(&trace),
        export::chrome(&trace),
        export::speedscope(&trace),
        trace.summary(),
    ] {
        assert!(text.contains("GPU (cuda:0)") && text.contains("GPU (cuda:1)"), "{text}");
    }
}
