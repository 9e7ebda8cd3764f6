//! The settings there are: what each is called, which values it takes, and what it is where nobody says anything.

use std::{fmt, str::FromStr};

use crossover_cpu::Simd;
use crossover_runtime::memory::{Growth, Limit};

use crate::Device;

/// How exactly products of `f32` matrices are computed on a GPU.
///
/// ```
/// use crossover_array::Precision;
/// assert_eq!("tf32".parse(), Ok(Precision::Tf32));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Precision {
    /// As `f32` is.
    #[default]
    Exact,
    /// Operands may be rounded to TF32, ten bits of significand, which is several times as fast.
    Tf32,
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Precision::Exact => "exact",
            Precision::Tf32 => "tf32",
        })
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Precision, String> {
        match text.trim() {
            "exact" => Ok(Precision::Exact),
            "tf32" => Ok(Precision::Tf32),
            other => Err(format!("{other:?} is no precision; there are exact and tf32")),
        }
    }
}

/// What somebody has set; `None` where nobody has.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Settings {
    pub device: Option<Device>,
    pub threads: Option<usize>,
    pub simd: Option<Simd>,
    pub fusion: Option<bool>,
    pub precision: Option<Precision>,
    pub deterministic: Option<bool>,
    pub memory_limit: Option<Limit>,
    pub memory_growth: Option<Growth>,
    pub host_memory_limit: Option<Limit>,
    pub threshold_small: Option<u64>,
    pub threshold_gain: Option<f64>,
    pub threshold_share: Option<f64>,
    pub threshold_home: Option<f64>,
    pub matmul_trials: Option<bool>,
    pub profiling: Option<bool>,
    pub eager: Option<bool>,
    pub refuse_nan: Option<bool>,
}

/// One setting.
pub(crate) struct Key {
    /// As in files and in `crossover config`.
    pub name: &'static str,
    /// The variable of the environment.
    pub variable: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Which values it takes.
    pub values: &'static str,
    /// Reads a value into its place.
    pub read: fn(&mut Settings, &str) -> Result<(), String>,
    /// Copies a value that is set to where none is; whether it did.
    pub fill: fn(&Settings, &mut Settings) -> bool,
    /// The value as it is written.
    pub show: fn(&Settings) -> Option<String>,
}

macro_rules! key {
    ($field:ident, $variable:literal, $values:literal, $about:literal, $read:expr, $show:expr) => {
        Key {
            name: stringify!($field),
            variable: $variable,
            about: $about,
            values: $values,
            read: |settings, text| {
                settings.$field = Some($read(text)?);
                Ok(())
            },
            fill: |from, to| {
                let fills = to.$field.is_none() && from.$field.is_some();
                if fills {
                    to.$field = from.$field;
                }
                fills
            },
            show: |settings| settings.$field.map($show),
        }
    };
    ($field:ident, $variable:literal, $values:literal, $about:literal, $read:expr) => {
        key!($field, $variable, $values, $about, $read, |value| value.to_string())
    };
}

/// All settings, in the order in which they are shown.
pub(crate) const KEYS: [Key; 17] = [
    key!(
        device,
        "CROSSOVER_DEVICE",
        "auto, cpu, cuda or cuda:N",
        "where to compute; cpu leaves GPUs alone altogether",
        str::parse::<Device>
    ),
    key!(threads, "CROSSOVER_THREADS", "a whole number from 1 on", "threads of the CPU", threads),
    key!(
        simd,
        "CROSSOVER_SIMD",
        "scalar, avx2, avx512 or neon",
        "vector instructions, at most what the processor has; bits do not change",
        simd,
        |simd: Simd| spelled(simd).to_string()
    ),
    key!(
        fusion,
        "CROSSOVER_FUSION",
        "true or false",
        "whether operations share kernels; bits do not change",
        switch
    ),
    key!(
        precision,
        "CROSSOVER_PRECISION",
        "exact or tf32",
        "products of f32 matrices on a GPU",
        str::parse::<Precision>
    ),
    key!(
        deterministic,
        "CROSSOVER_DETERMINISTIC",
        "true or false",
        "the same bits in every run: calls are placed by a rule and products tried out nowhere",
        switch
    ),
    key!(
        memory_limit,
        "CROSSOVER_MEMORY_LIMIT",
        "a share such as 80%, or bytes such as 2GiB",
        "how much of a GPU's memory may be used",
        str::parse::<Limit>
    ),
    key!(
        memory_growth,
        "CROSSOVER_MEMORY_GROWTH",
        "on_demand or reserved",
        "whether GPU memory is taken as it is needed",
        str::parse::<Growth>,
        |growth: Growth| if growth == Growth::Reserved { "reserved" } else { "on_demand" }.to_string()
    ),
    key!(
        host_memory_limit,
        "CROSSOVER_HOST_MEMORY_LIMIT",
        "a share such as 80%, or bytes such as 2GiB",
        "how much of the host's memory arrays may take",
        str::parse::<Limit>
    ),
    key!(
        threshold_small,
        "CROSSOVER_THRESHOLD_SMALL",
        "a number of bytes, and of operations",
        "plans up to this size stay on the host unexamined",
        whole
    ),
    key!(
        threshold_gain,
        "CROSSOVER_THRESHOLD_GAIN",
        "microseconds from 0 on",
        "what a plan must gain to move to another device",
        positive
    ),
    key!(
        threshold_share,
        "CROSSOVER_THRESHOLD_SHARE",
        "a share from 0 to 1",
        "the share of its time that it must gain as well",
        share
    ),
    key!(
        threshold_home,
        "CROSSOVER_THRESHOLD_HOME",
        "a share from 0 to 1",
        "the same for going back to the host altogether",
        share
    ),
    key!(
        matmul_trials,
        "CROSSOVER_MATMUL_TRIALS",
        "true or false",
        "whether a GPU tries out ways to multiply; never in deterministic mode",
        switch
    ),
    key!(
        profiling,
        "CROSSOVER_PROFILING",
        "true or false",
        "whether kernels are recorded and `crossover top` sees this process",
        switch
    ),
    key!(
        eager,
        "CROSSOVER_EAGER",
        "true or false",
        "whether every operation is computed where it is written",
        switch
    ),
    key!(
        refuse_nan,
        "CROSSOVER_NAN",
        "true or false",
        "whether a NaN made of operands without one is an error; implies eager",
        switch
    ),
];

/// Other names of settings: (key, variable, setting, what its values mean there).
pub(crate) const ALIASES: [Alias; 2] = [
    Alias {
        name: "gpu",
        variable: "CROSSOVER_GPU",
        setting: "device",
        // A number or a device may follow too, as in `gpu = "cuda:1"`.
        translate: |text| {
            Ok(match switch(text) {
                Ok(true) => "auto".to_string(),
                Ok(false) => "cpu".to_string(),
                Err(_) => text.to_string(),
            })
        },
    },
    Alias {
        name: "tf32",
        variable: "CROSSOVER_TF32",
        setting: "precision",
        translate: |text| Ok(if switch(text)? { "tf32" } else { "exact" }.to_string()),
    },
];

/// Another name of a setting.
pub(crate) struct Alias {
    pub name: &'static str,
    pub variable: &'static str,
    pub setting: &'static str,
    /// The value as the setting itself has it.
    pub translate: fn(&str) -> Result<String, String>,
}

fn threads(text: &str) -> Result<usize, String> {
    let read = text.trim().parse::<usize>().ok().filter(|&n| n >= 1);
    read.ok_or_else(|| format!("{text:?} is no number of threads"))
}

fn whole(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| format!("{text:?} is no whole number"))
}

fn positive(text: &str) -> Result<f64, String> {
    let read = text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    read.ok_or_else(|| format!("{text:?} is no number from 0 on"))
}

fn share(text: &str) -> Result<f64, String> {
    positive(text).ok().filter(|n| *n <= 1.0).ok_or_else(|| format!("{text:?} is no share from 0 to 1"))
}

fn switch(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" => Ok(true),
        "0" | "false" | "off" | "no" => Ok(false),
        _ => Err(format!("{text:?} is neither true nor false")),
    }
}

fn spelled(simd: Simd) -> &'static str {
    match simd {
        Simd::Scalar => "scalar",
        Simd::Avx2 => "avx2",
        Simd::Avx512 => "avx512",
        Simd::Neon => "neon",
    }
}

fn simd(text: &str) -> Result<Simd, String> {
    let wanted = text.trim().to_ascii_lowercase().replace('-', "");
    let all = [Simd::Scalar, Simd::Avx2, Simd::Avx512, Simd::Neon];
    all.into_iter().find(|&s| spelled(s) == wanted).ok_or_else(|| format!("{text:?} is no instruction set"))
}

/// The setting whose name is most like this one, if any is at all alike.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    let names = KEYS.iter().map(|k| k.name).chain(ALIASES.iter().map(|a| a.name));
    let close = |other: &&'static str| distance(name, other) <= name.len().max(other.len()) / 2;
    names.filter(close).min_by_key(|other| distance(name, other))
}

/// Letters to change, leave out or put in between two words.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_reads_what_it_shows() {
        let samples = [
            "cuda:1", "3", "avx2", "false", "tf32", "true", "80%", "reserved", "2GiB", "4096", "12.5", "0.2",
            "0.1", "false", "true", "true", "false",
        ];
        assert_eq!(samples.len(), KEYS.len());
        for (key, sample) in KEYS.iter().zip(samples) {
            let mut settings = Settings::default();
            assert_eq!((key.show)(&settings), None, "{}", key.name);
            (key.read)(&mut settings, sample).unwrap_or_else(|e| panic!("{}: {e}", key.name));
            let shown = (key.show)(&settings).unwrap();
            let mut again = Settings::default();
            (key.read)(&mut again, &shown).unwrap_or_else(|e| panic!("{}: {e}", key.name));
            assert_eq!(again, settings, "{}", key.name);
            let mut filled = Settings::default();
            assert!((key.fill)(&settings, &mut filled) && filled == settings, "{}", key.name);
            assert!(!(key.fill)(&settings, &mut filled), "{} is set already", key.name);
            assert!((key.read)(&mut settings, "certainly not").is_err(), "{}", key.name);
        }
    }

    #[test]
    fn misspelt_names_find_their_neighbour() {
        assert_eq!(nearest("thread"), Some("threads"));
        assert_eq!(nearest("memory-limit"), Some("memory_limit"));
        assert_eq!(nearest("determinstic"), Some("deterministic"));
        assert_eq!(nearest("GPU"), Some("gpu").filter(|_| distance("GPU", "gpu") <= 1));
        assert_eq!(nearest("xyzzyxyzzy"), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
