//! `cargo xtask portability`: the tests that decide bits, on processors that this machine is not, by QEMU's user emulation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::{paint, test, workspace};

/// Run the tests that decide bits on other processors, under QEMU user emulation.
///
/// Unit tests, and every integration test but those that start programs, watch clocks or need a compiler: the corpus, the errors
/// of functions against true values, files, indices, distributions, and random graphs on every SIMD level with 1, 2 and 7
/// threads. Bits must be those of this machine, since they must be the reference's.
///
/// Says what it needs where a tool is missing: QEMU's user emulation, and for another architecture its C linker and the
/// target's standard library.
///
/// Examples:
///   cargo xtask portability                                   both targets
///   cargo xtask portability --target aarch64 --graphs 2000    one, with more random graphs
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The targets; all when none is named
    #[arg(long, value_enum, value_name = "NAME")]
    target: Vec<Target>,
    /// Random graphs, and random kernels of each kind
    #[arg(long, value_name = "N", default_value_t = 200)]
    graphs: u32,
}

/// A processor to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    /// x86-64 as of 2006: SSE3, no AVX, no FMA, no POPCNT
    Baseline,
    /// 64-bit ARM with NEON
    Aarch64,
}

/// Integration tests that are not run, by why. All others are, beside the unit tests of every library.
const LEFT_OUT: [(&str, &[&str]); 5] = [
    (
        "they start programs: the emulator has one, and knows no other of its processor",
        &["bench", "bench_worker", "command", "fork", "hrr", "log", "recording", "report"],
    ),
    (
        "they need a compiler, or libraries of this machine",
        &["driver", "emulated", "emulated_calls", "nvml", "nvrtc"],
    ),
    (
        "they watch clocks, which emulation stretches",
        &["alerts", "exports", "metrics", "opentelemetry", "profiled", "profiling"],
    ),
    ("they watch the memory of the process, which is the emulator's too", &["large_store", "memory"]),
    ("they look at texts of the repository, which are the same everywhere", &["documents"]),
];

/// Unit tests that start programs, and where they are: the emulator has one program, and knows no other of its processor.
const STARTING: [(&str, &str); 2] = [
    ("a_process_that_is_killed_leaves_a_state_that_opens", "crates/crossover-hrr/src/store/tests/killed.rs"),
    ("what_went_wrong_names_the_program", "crates/crossover-profile/src/bench/race.rs"),
];

impl Target {
    fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Aarch64 => "aarch64",
        }
    }

    fn architecture(self) -> &'static str {
        match self {
            Self::Baseline => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    fn triple(self) -> String {
        format!("{}-unknown-linux-gnu", self.architecture())
    }

    /// Whether programs of the target are built as those of this machine are.
    fn is_native(self) -> bool {
        std::env::consts::ARCH == self.architecture()
    }

    /// The emulator and the processor it is to be.
    fn emulator(self) -> Result<String, String> {
        let names = [format!("qemu-{}-static", self.architecture()), format!("qemu-{}", self.architecture())];
        let found = names.iter().find_map(|name| find(name)).ok_or_else(|| {
            format!("{} is not on the PATH (Debian, Ubuntu: apt-get install qemu-user-static)", names[1])
        })?;
        let processor = match self {
            Self::Baseline => " -cpu core2duo",
            Self::Aarch64 => "",
        };
        Ok(format!("{}{processor}", found.display()))
    }

    /// The linker of another architecture.
    fn linker(self) -> Result<Option<PathBuf>, String> {
        if self.is_native() {
            return Ok(None);
        }
        let name = format!("{}-linux-gnu-gcc", self.architecture());
        let package = name.replace('_', "-").replace("-gcc", "");
        let missing = || format!("{name} is not on the PATH (Debian, Ubuntu: apt-get install gcc-{package})");
        find(&name).map(Some).ok_or_else(missing)
    }

    /// Whether the compiler has the target's standard library.
    fn library(self) -> Result<(), String> {
        let printed = Command::new("rustc").args(["--print", "sysroot"]).output();
        let printed = printed.map_err(|error| format!("rustc could not be started: {error}"))?;
        let root = PathBuf::from(String::from_utf8_lossy(&printed.stdout).trim());
        let triple = self.triple();
        if root.join("lib/rustlib").join(&triple).join("lib").is_dir() {
            return Ok(());
        }
        Err(format!("the standard library of {triple} is missing (rustup target add {triple})"))
    }

    /// The command that builds and runs the tests, or everything that it lacks.
    fn command(self, graphs: u32) -> Result<Command, Vec<String>> {
        let (emulator, linker, library) = (self.emulator(), self.linker(), self.library());
        let lacks: Vec<String> =
            [emulator.clone().err(), linker.clone().err(), library.err()].into_iter().flatten().collect();
        let (Ok(emulator), Ok(linker), true) = (emulator, linker, lacks.is_empty()) else {
            return Err(lacks);
        };
        let mut command = workspace::cargo();
        command.args(["test", "--no-fail-fast", "--workspace", "--all-features", "--lib"]);
        // The Python module has no tests of its own, and would want the interpreter of the target.
        command.args(["--exclude", "crossover-py"]);
        let tests = tests().map_err(|error| vec![format!("{error:#}")])?;
        tests.keys().for_each(|name| _ = command.args(["--test", name]));
        let triple = self.triple();
        let setting = |what: &str| format!("CARGO_TARGET_{}_{what}", triple.to_uppercase().replace('-', "_"));
        command.env(setting("RUNNER"), emulator);
        if let Some(linker) = linker {
            // Where Debian's cross compilers keep the C library of the target.
            let libraries = format!("/usr/{}-linux-gnu", self.architecture());
            command
                .args(["--target", &triple])
                .env(setting("LINKER"), linker)
                .env("QEMU_LD_PREFIX", libraries);
        }
        command.env("CROSSOVER_GRAPHS", graphs.to_string()).env("CROSSOVER_CASES", graphs.to_string());
        command.arg("--");
        STARTING.iter().for_each(|(name, _)| _ = command.args(["--skip", name]));
        Ok(command)
    }
}

/// The integration tests that are run, and the files of each name.
fn tests() -> Result<BTreeMap<String, Vec<PathBuf>>> {
    let mut found = integration_tests()?;
    found.retain(|name, _| !LEFT_OUT.iter().any(|(_, names)| names.contains(&name.as_str())));
    Ok(found)
}

/// Every integration test of the crates by name: `tests/NAME.rs` and `tests/NAME/main.rs`.
fn integration_tests() -> Result<BTreeMap<String, Vec<PathBuf>>> {
    let mut found = BTreeMap::<String, Vec<PathBuf>>::new();
    let entries = |folder: &Path| -> Result<Vec<PathBuf>> {
        let listed = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        listed.map(|entry| Ok(entry?.path())).collect()
    };
    for folder in entries(&workspace::root().join("crates"))? {
        let folder = folder.join("tests");
        for path in if folder.is_dir() { entries(&folder)? } else { Vec::new() } {
            let file = if path.is_dir() { path.join("main.rs") } else { path.clone() };
            let name = path.file_stem().and_then(|name| name.to_str());
            if let Some(name) = name.filter(|_| file.is_file() && file.extension().is_some_and(|e| e == "rs"))
            {
                found.entry(name.to_owned()).or_default().push(file);
            }
        }
    }
    Ok(found)
}

/// A program on the PATH.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Runs the tests of the targets. True when none failed.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if std::env::consts::OS != "linux" {
        bail!("QEMU emulates programs of Linux on Linux; this is {}", std::env::consts::OS);
    }
    let chosen: Vec<Target> = match arguments.target.as_slice() {
        [] => Target::value_variants().to_vec(),
        some => some.to_vec(),
    };
    let mut lines = Vec::new();
    let mut all = true;
    for target in chosen {
        let name = target.name();
        match target.command(arguments.graphs) {
            Ok(mut command) => {
                let (tally, succeeded) =
                    test::count(&mut command).with_context(|| format!("the tests of {name}"))?;
                all &= succeeded;
                // A program that crashed prints no result line.
                let end = if succeeded { String::new() } else { format!(", {}", paint::red("failed")) };
                lines.push(format!("{name}: {tally}{end}"));
            }
            Err(lacks) => {
                all = false;
                let notes = lacks.iter().map(|what| format!("{name} was {}: {what}", paint::red("NOT RUN")));
                lines.extend(notes);
            }
        }
    }
    println!("\n{}", lines.join("\n"));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_named_with_its_package() {
        assert_eq!(find("no-program-is-called-this"), None);
        assert!(find("cargo").is_some());
        for target in Target::value_variants() {
            match target.command(1) {
                Ok(command) => {
                    let words: Vec<_> = command.get_args().collect();
                    assert_eq!(words.contains(&"--target".as_ref()), !target.is_native());
                }
                Err(lacks) => {
                    let helps = |what: &String| what.contains("apt-get install") || what.contains("rustup");
                    assert!(!lacks.is_empty() && lacks.iter().all(helps), "{lacks:?}");
                }
            }
        }
    }

    #[test]
    fn every_test_that_is_left_out_exists() {
        for (name, file) in STARTING {
            let text = std::fs::read_to_string(workspace::root().join(file)).expect("a readable file");
            assert!(text.contains(&format!("fn {name}()")), "{name} is not in {file}");
        }
    }

    #[test]
    fn what_decides_bits_is_run_and_what_is_left_out_exists() {
        let (all, run) = (integration_tests().expect("readable folders"), tests().expect("readable folders"));
        for name in LEFT_OUT.iter().flat_map(|(_, names)| names.iter()) {
            assert!(all.contains_key(*name), "no test is called {name}");
        }
        for name in [
            "accuracy",
            "algebra",
            "calls",
            "complex",
            "corpus",
            "distributions",
            "edges",
            "files",
            "fused",
            "golden",
            "indexing",
            "invariance",
            "lookups",
            "order",
        ] {
            assert!(run.contains_key(name), "{name} is not run");
        }
    }

    #[test]
    fn nothing_that_starts_programs_is_run() {
        for (name, files) in tests().expect("readable folders") {
            for file in files {
                let text = std::fs::read_to_string(&file).expect("a readable file");
                for sign in ["Command::new", "current_exe", "CARGO_BIN_EXE"] {
                    assert!(!text.contains(sign), "{name}: {} has {sign}", file.display());
                }
            }
        }
    }
}
