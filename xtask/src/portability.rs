//! `cargo xtask portability`: the tests that decide bits, on processors that this machine is not, by QEMU's user emulation.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

use crate::{paint, test, workspace};

/// Run the tests that decide bits on other processors, under QEMU user emulation.
///
/// Unit tests, the corpus, edge cases, calls and lookups against the reference interpreter, and random graphs on every
/// SIMD level with 1, 2 and 7 threads. Bits must be those of this machine, since they must be the reference's.
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

/// Integration tests that are run, beside the unit tests of every library.
const TESTS: [&str; 8] = ["calls", "corpus", "edges", "fused", "golden", "invariance", "lookups", "order"];

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
        for name in TESTS {
            command.args(["--test", name]);
        }
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
    fn every_test_that_is_named_exists() {
        let crates = workspace::root().join("crates");
        let folders: Vec<PathBuf> = std::fs::read_dir(crates)
            .expect("the crates are there")
            .map(|entry| entry.expect("a readable entry").path().join("tests"))
            .collect();
        for name in TESTS {
            assert!(
                folders.iter().any(|f| f.join(format!("{name}.rs")).is_file()),
                "no test is called {name}"
            );
        }
    }
}
