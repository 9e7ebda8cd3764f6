//! Traces and saved runs that were damaged on their way: a clear error, or something that can be drawn and compared; never a panic.
//!
//! `CROSSOVER_MUTATIONS=1000000 cargo test --release -p crossover --test damage` does more of it.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use crossover::{
    prelude::*,
    profile::{
        Trace,
        bench::{Entry, Fingerprint, Run, Settings, Timing, files},
        export, profile, scope,
    },
};

#[path = "../../../fuzz/src/mutate.rs"]
#[allow(dead_code)]
mod mutate;

/// Pieces that numbers, names and tables are made of.
const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "null",
    "true",
    "-1",
    "0",
    "1e999",
    "1e-320",
    "9007199254740993",
    "18446744073709551616",
    "\\u0000",
    "\\ud800",
    "\"format\":",
    "\"version\": 2,",
    "\"spans\":",
    "\"samples\":",
    "\"start\":",
    "\"crossover-trace\"",
    "\"crossover-bench\"",
    "\u{feff}",
];

fn count() -> usize {
    std::env::var("CROSSOVER_MUTATIONS").map_or(3_000, |text| text.parse().expect("a number of mutations"))
}

fn trace() -> Trace {
    let (result, trace) = profile("damaged", || {
        let _outer = scope("outer");
        let x = random::normal::<f32>(&Key::new(1), [64, 32]);
        (0..3).try_for_each(|_| {
            let _inner = scope("inner");
            x.exp().sum(()).item::<f32>().map(drop)
        })
    });
    result.unwrap();
    trace
}

fn run() -> Run {
    let mut run = Run::new("damaged", Fingerprint::here(Some("abc")));
    for name in ["one", "two"] {
        let timings = ["cpu", "cuda:0"].map(|who| (who.to_string(), Timing::new([1e-3, 1.1e-3, 0.9e-3])));
        run.results.push(Entry { name: name.into(), timings: timings.into(), ..Entry::default() });
    }
    run
}

/// Hands over damaged copies, and counts the beginnings of what is said of them.
fn damage(
    whole: &str,
    other: &str,
    seed: u64,
    mut read: impl FnMut(&[u8]) -> String,
) -> BTreeMap<String, usize> {
    assert!(whole.len() < mutate::LONGEST, "longer inputs would be cut");
    let mut random = mutate::Random::new(seed);
    let mut said = BTreeMap::new();
    for _ in 0..count() {
        let bytes = mutate::changed(&mut random, whole.as_bytes(), other.as_bytes(), WORDS);
        let words = read(&bytes);
        assert!((4..2_000).contains(&words.len()), "{words:?}");
        let short: String =
            words.split([':', ';', ',']).next().unwrap_or_default().chars().take(40).collect();
        *said.entry(short).or_insert(0) += 1;
    }
    said
}

#[test]
fn traces() {
    let (whole, other) = (trace().to_json(), run().to_json());
    let said = damage(&whole, &other, 20_261_116, |bytes| match Trace::from_bytes(bytes) {
        Err(problem) => problem.to_string(),
        Ok(trace) => {
            // Whatever was read can be shown in every way.
            assert_eq!(Trace::from_json(&trace.to_json()).as_ref(), Ok(&trace));
            let _ = trace.overlap();
            let shown =
                [Trace::summary, export::chrome, export::folded, export::speedscope, export::prometheus];
            shown.iter().for_each(|show| assert!(show(&trace).len() < 1 << 24));
            "read".to_string()
        }
    });
    assert!(said.len() > 4 && said.contains_key("read"), "{said:?}");
}

#[test]
fn saved_runs() {
    let (good, other) = (run(), trace().to_json());
    let said = damage(&good.to_json(), &other, 7, |bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else { return "not text".to_string() };
        match Run::from_json(text) {
            Err(problem) => problem.to_string(),
            Ok(run) => {
                assert_eq!(Run::from_json(&run.to_json()).as_ref(), Ok(&run));
                // What was read can be compared, or it is said why not.
                let settings = Settings { force: true, ..Settings::default() };
                match files(&good, &run, &settings) {
                    Ok(comparison) => assert!(comparison.results.iter().all(|one| one.ratio > 0.0)),
                    Err(error) => assert!(error.to_string().len() > 10),
                }
                "read".to_string()
            }
        }
    });
    assert!(said.len() > 4 && said.contains_key("read"), "{said:?}");
}
