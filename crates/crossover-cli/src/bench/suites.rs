//! Which workloads are measured at which sizes: `core`, `nn`, `seeds`, and grids of the user's.

use anyhow::{Result, anyhow, bail};
use crossover::profile::bench::Claim;

use super::{
    calls::{self, Call},
    workloads::{self, Params, Workload},
};

/// One row of a table.
pub struct Case {
    /// No other of the suite has it.
    pub name: String,
    pub work: Kind,
    pub params: Params,
    /// Takes seconds; `--quick` leaves it out.
    pub heavy: bool,
    /// What somebody else states about it.
    pub claim: Option<Claim>,
    /// Whether the claim is about fusing, so that the same without fusion is measured too.
    pub unfused: bool,
}

/// What is measured.
#[derive(Clone, Copy)]
pub enum Kind {
    Array(&'static Workload),
    /// How long placement takes to decide about a plan of ten kernels seen before.
    Decision,
    /// Calls that are no expression of arrays.
    Call(&'static Call),
}

impl Case {
    fn new(work: &'static Workload, given: Params) -> Case {
        let params = work.params(&given);
        // In the order in which the workload lists them.
        let numbers = work.params.iter().map(|(name, _)| format!(" {name}={}", params[*name]));
        let name = format!("{}{}", work.name, numbers.collect::<String>());
        Case { name, work: Kind::Array(work), params, heavy: false, claim: None, unfused: false }
    }
}

/// A spread of everything: elements, fused expressions, reductions, rows, products, transforms, order, random numbers, tiny work.
pub fn core() -> Vec<Case> {
    const LEFT_OUT: [&str; 7] =
        ["sinusoid", "bind", "bind_unbind", "superpose", "xor", "flash_attention", "transformer_layer"];
    let works = workloads::ALL.iter().filter(|work| !LEFT_OUT.contains(&work.name));
    works.map(|work| Case::new(work, Params::new())).collect()
}

/// Neural networks: activations, norms, attention as one kernel and spelled out, a transformer layer.
pub fn nn() -> Result<Vec<Case>> {
    const SIZES: &[(&str, &[(&str, u64)])] = &[
        ("gelu", &[("batch", 4096), ("d", 1024)]),
        ("linear_gelu", &[("batch", 1024), ("d", 512), ("out", 768)]),
        ("layer_norm", &[("batch", 1024), ("d", 768)]),
        ("softmax", &[("batch", 4096), ("d", 1024)]),
        ("attention", &[("batch", 1), ("heads", 12), ("n", 1024), ("d", 64)]),
        ("flash_attention", &[("batch", 1), ("heads", 12), ("n", 1024), ("d", 64)]),
        ("flash_attention", &[("batch", 1), ("heads", 8), ("n", 1024), ("d", 128)]),
        ("flash_attention", &[("batch", 8), ("heads", 12), ("n", 2048), ("d", 64)]),
        ("transformer_layer", &[("batch", 4), ("n", 128), ("d", 768), ("heads", 12)]),
        ("transformer_layer", &[("batch", 32), ("n", 128), ("d", 768), ("heads", 12)]),
    ];
    let mut cases = Vec::new();
    for (name, given) in SIZES {
        let given: Params = given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        // Seconds each on a few cores.
        let heavy = given.get("batch") == Some(&8) || given.get("batch") == Some(&32);
        cases.push(Case { heavy, ..Case::new(find(name)?, given) });
    }
    Ok(cases)
}

/// A headline of a seed: workload, numbers, who states it, seconds before and after, times faster, what these are, fusion, heavy.
type Headline = (
    &'static str,
    &'static [(&'static str, u64)],
    &'static str,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    &'static str,
    bool,
    bool,
);

const GPU: &str = "CPU to GPU target";
const FUSED: &str = "separate operations to one kernel";

/// What the seeds state about expressions of arrays.
const HEADLINES: &[Headline] = &[
    (
        "sinusoid",
        &[("batch", 10_000), ("d", 256)],
        "000",
        None,
        None,
        Some(1.19),
        "CPU to vectorised, on a CPU",
        true,
        false,
    ),
    ("bind", &[("batch", 1), ("d", 512)], "001", Some(1e-3), Some(1e-4), Some(10.0), GPU, false, false),
    ("bind", &[("batch", 10), ("d", 512)], "001", Some(10e-3), Some(1e-3), Some(10.0), GPU, false, false),
    ("bind", &[("batch", 100), ("d", 512)], "001", Some(100e-3), Some(2e-3), Some(50.0), GPU, false, false),
    ("bind", &[("batch", 1000), ("d", 512)], "001", Some(1.0), Some(10e-3), Some(100.0), GPU, false, false),
    (
        "bind_unbind",
        &[("batch", 1), ("d", 512)],
        "001",
        None,
        Some(1e-3),
        None,
        "bind and unbind, less than",
        false,
        false,
    ),
    (
        "superpose",
        &[("batch", 1000), ("d", 512)],
        "001",
        Some(50e-3),
        Some(1e-3),
        Some(50.0),
        GPU,
        false,
        false,
    ),
    (
        "xor",
        &[("n", 5)],
        "002",
        Some(35.91e-3),
        Some(0.2e-3),
        Some(180.0),
        "on the GPU to routed to the CPU",
        false,
        false,
    ),
    ("matmul", &[("n", 1024)], "002", Some(210e-3), Some(10e-3), Some(21.0), "CPU to GPU", false, false),
    (
        "batch_matmul",
        &[("batch", 10), ("n", 256)],
        "002",
        Some(117e-3),
        Some(60e-3),
        Some(1.95),
        "one by one to a batch",
        false,
        false,
    ),
    (
        "gelu",
        &[("batch", 4096), ("d", 1024)],
        "003",
        Some(4.5e-3),
        Some(0.8e-3),
        Some(5.63),
        FUSED,
        true,
        false,
    ),
    (
        "linear_gelu",
        &[("batch", 1024), ("d", 512), ("out", 768)],
        "003",
        None,
        None,
        Some(3.97),
        FUSED,
        true,
        false,
    ),
    ("layer_norm", &[("batch", 1024), ("d", 768)], "003", None, None, Some(3.78), FUSED, true, false),
    (
        "flash_attention",
        &[("batch", 8), ("heads", 12), ("n", 2048), ("d", 64)],
        "003",
        None,
        None,
        Some(4.0),
        "all scores in memory to one kernel",
        false,
        true,
    ),
    ("gram_f64", &[("n", 5000)], "004", None, None, None, "asks for the ratio, states none", false, true),
];

/// What they state about calls: name, who states it, seconds before and after, times faster, what these are, heavy.
type Told = (&'static str, &'static str, Option<f64>, Option<f64>, Option<f64>, &'static str, bool);

const CALLS: &[Told] = &[
    (
        "shortest_path",
        "002",
        Some(9.019),
        Some(71.87e-3),
        Some(125.0),
        "on the GPU to routed to the CPU",
        false,
    ),
    ("lattice_pipeline", "002", Some(35.0), Some(1.1), Some(32.0), "one by one to batches", false),
    ("mixed", "002", Some(2.296), Some(0.51), Some(4.5), "all on the GPU to routed", true),
    ("items_in_turn", "002", None, None, None, "what batches are compared with", false),
    ("items_batched", "002", None, None, Some(2.0), "items per second, one by one to a batch: 2 to 5", false),
];

/// What is not measured here, and why, or by what.
pub const NOT_YET: &[(&str, &str)] = &[
    ("001 memory transfer, 10 ms to 1 ms", "states no size"),
    (
        "001 a batch of one, 1 ms to 0.5 ms",
        "the same work as `bind batch=1 d=512`, of which another table of theirs says 0.1 ms",
    ),
    (
        "001 transfers, less than a tenth of the time of computing",
        "a share of a program's own time: the breakdown of its profile tells it, docs/profiling.md",
    ),
    (
        "001 memory in fragments, less than a fifth",
        "a figure of memory: `crossover bench memory`, column \"idle\", docs/memory.md",
    ),
    (
        "002 a third of allocations reused, the pool's hit rate",
        "a figure of memory: `crossover bench memory`, column \"reused\", docs/memory.md",
    ),
    (
        "002 profiling, less than 0.1 ms",
        "needs the same work with and without: `crossover profile-check costs --suite seeds`, figures in docs/profiling.md",
    ),
    (
        "002 two to three times larger data sets",
        "a figure of memory: `crossover bench memory`, docs/memory.md",
    ),
    (
        "003 a step of a model of 1.3 billion parameters, 194.7 ms to 50.7 ms",
        "needs a GPU and PyTorch beside it: `python bench/nn_gpu.py`, figures in docs/nn.md",
    ),
    (
        "003 attention in 210 MB instead of 2.1 GB, 512 MB saved",
        "figures of memory: `crossover bench memory`, and `python bench/nn_gpu.py` beside PyTorch",
    ),
];

/// The headline figures of the seeds.
pub fn seeds() -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for &(name, given, seed, before, after, speedup, about, unfused, heavy) in HEADLINES {
        let work = find(name)?;
        let given = given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let claim = claim(seed, before, after, speedup, about);
        cases.push(Case { claim: Some(claim), unfused, heavy, ..Case::new(work, given) });
    }
    for &(name, seed, before, after, speedup, about, heavy) in CALLS {
        let call = calls::ALL.iter().find(|call| call.name == name);
        let call = call.ok_or_else(|| anyhow!("there is no call {name:?}"))?;
        let numbers: String = call.params.iter().map(|(name, value)| format!(" {name}={value}")).collect();
        cases.push(Case {
            name: format!("{name}{numbers}"),
            work: Kind::Call(call),
            params: call.params.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            heavy,
            claim: Some(claim(seed, before, after, speedup, about)),
            unfused: false,
        });
    }
    cases.push(Case {
        name: "decide kernels=10".to_owned(),
        work: Kind::Decision,
        params: Params::from([("kernels".to_owned(), 10)]),
        heavy: false,
        claim: Some(claim("002", None, Some(0.03e-3), None, "routing, less than")),
        unfused: false,
    });
    Ok(cases)
}

fn claim(seed: &str, before: Option<f64>, after: Option<f64>, speedup: Option<f64>, about: &str) -> Claim {
    let (by, about) = (format!("seed {seed}"), about.to_owned());
    Claim { by, before, after, speedup, about }
}

fn find(name: &str) -> Result<&'static Workload> {
    workloads::find(name).ok_or_else(|| {
        let names: Vec<&str> = workloads::ALL.iter().map(|work| work.name).collect();
        anyhow!("there is no workload {name:?}; there are {}", names.join(", "))
    })
}

/// Every combination of the numbers given.
pub fn grid(names: &[String], params: &[Range]) -> Result<Vec<Case>> {
    if names.is_empty() {
        bail!("a grid needs a workload: --workload gelu; `crossover bench --list` shows them");
    }
    let mut cases = Vec::new();
    for name in names {
        let work = find(name)?;
        for range in params {
            if !work.params.iter().any(|(known, _)| *known == range.name) {
                let known: Vec<String> =
                    work.params.iter().map(|(name, usual)| format!("{name} ({usual})")).collect();
                bail!("{name} has no number {:?}; it has {}", range.name, known.join(", "));
            }
        }
        let mut combinations = vec![Params::new()];
        for range in params {
            combinations = combinations
                .iter()
                .flat_map(|others| {
                    range.values.iter().map(|value| {
                        let mut one = others.clone();
                        one.insert(range.name.clone(), *value);
                        one
                    })
                })
                .collect();
        }
        cases.extend(combinations.into_iter().map(|given| Case::new(work, given)));
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| a.params.cmp(&b.params)));
    cases.dedup_by(|a, b| a.name == b.name);
    cases.sort_by_key(|case| {
        let Kind::Array(work) = case.work else { return (0, Vec::new()) };
        (
            names.iter().position(|name| name == work.name).unwrap_or(0),
            work.params.iter().map(|(name, _)| case.params[*name]).collect::<Vec<_>>(),
        )
    });
    Ok(cases)
}

/// Numbers of workloads are at most this, so that a few of them together can be counted.
pub const LARGEST: u64 = 1 << 60;

/// A number and the values it takes: `d=512,1024`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    pub name: String,
    pub values: Vec<u64>,
}

impl std::str::FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Range, String> {
        let form = || format!("{text:?} is not of the form name=1,2,3");
        let (name, list) = text.split_once('=').ok_or_else(form)?;
        let value = |part: &str| part.trim().parse::<u64>().ok().filter(|&value| value > 0);
        let values: Option<Vec<u64>> = list.split(',').map(value).collect();
        match values {
            Some(values) if values.iter().any(|&value| value > LARGEST) => {
                Err(format!("{text:?} has a number above {LARGEST}, the largest there can be"))
            }
            Some(values) if !name.trim().is_empty() => Ok(Range { name: name.trim().to_owned(), values }),
            _ => Err(form()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_suite_are_there_once() {
        for cases in [core(), nn().unwrap(), seeds().unwrap()] {
            let mut names: Vec<_> = cases.iter().map(|case| case.name.clone()).collect();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), cases.len());
        }
    }

    #[test]
    fn a_grid_is_every_combination_in_order() {
        let params: Vec<Range> = ["d=512,1024", "batch=100,1,10"].map(|text| text.parse().unwrap()).into();
        let cases = grid(&["bind".to_owned()], &params).unwrap();
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names.len(), 6);
        assert_eq!(names[..3], ["bind batch=1 d=512", "bind batch=1 d=1024", "bind batch=10 d=512"]);
    }

    #[test]
    fn mistakes_in_grids_name_what_there_is() {
        let told = |names: &[&str], params: &[Range]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            grid(&names, params).err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert!(told(&[], &[]).contains("--workload"));
        assert!(told(&["gleu"], &[]).contains("gelu"));
        let wrong: Range = "depth=1".parse().unwrap();
        assert!(told(&["gelu"], &[wrong]).contains("batch (1024), d (1024)"));
        for text in ["d", "d=", "=1", "d=0", "d=1,x", "d=-1", "d=18446744073709551615"] {
            assert!(text.parse::<Range>().is_err(), "{text}");
        }
    }
}
