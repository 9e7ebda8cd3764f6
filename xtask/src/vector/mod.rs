//! Vectorisation: every CPU tile loop must use packed instructions of its SIMD level.
//!
//! Bodies are written once over scalars and vectorised by the compiler, so a careless operation in a
//! body (a saturating cast, an integer division, a branch) silently costs a factor of ten. This step
//! disassembles the release program and looks at every function under `crossover_cpu::tile::avx2` and
//! `crossover_cpu::tile::avx512`. What it does not do: judge how good the vector code is.

mod exceptions;
mod instruction;
mod listing;
mod tile;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::step::{self, Finding};
use crate::workspace::{self, Metadata};
use exceptions::Exceptions;
use listing::Listing;
use tile::{Tile, Verdict};

/// The program whose code is looked at; it links every tile.
const PROGRAM: &str = "crossover";
/// Reasoned exceptions, relative to the root.
const EXCEPTIONS: &str = "xtask/vector-exceptions.txt";

/// Disassemble the CPU tile loops and fail those that are not vectorised.
///
/// Builds `crossover` in release mode, disassembles it with objdump and judges each function
/// named `crossover_cpu::tile::<level>::<shape>::<Op, DType>`. Loops that cannot be vectorised
/// are listed, with the reason, in xtask/vector-exceptions.txt.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Look at this program instead of building one
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Print the verdict on every tile function, not only the failing ones
    #[arg(long)]
    list: bool,
}

/// Runs the step under its own command.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if arguments.list {
        for (tile, verdict) in verdicts(arguments.binary.as_deref())? {
            println!("{tile:<40} {verdict}");
        }
        println!();
    }
    Ok(step::report("vector", || check(arguments.binary.as_deref())))
}

/// The step of `cargo xtask check`.
pub fn check(binary: Option<&Path>) -> Result<Finding> {
    if !cfg!(target_arch = "x86_64") {
        let warnings =
            vec!["NOT RUN: only AVX2 and AVX-512 loops are judged, and this is not x86-64".to_owned()];
        return Ok(Finding::Holds { note: String::new(), warnings });
    }
    let text = std::fs::read_to_string(workspace::root().join(EXCEPTIONS))
        .with_context(|| format!("could not read {EXCEPTIONS}"))?;
    let exceptions = Exceptions::parse(&text)?;
    Ok(judge(&verdicts(binary)?, &exceptions))
}

fn verdicts(binary: Option<&Path>) -> Result<Vec<(Tile, Verdict)>> {
    let binary = match binary {
        Some(binary) => binary.to_owned(),
        None => build()?,
    };
    let text = disassemble(&binary)?;
    let verdicts = tile::verdicts(&Listing::parse(&text));
    if verdicts.is_empty() {
        // An empty list must not pass: it means that names moved or symbols were stripped, not that all is well.
        bail!(
            "{} has no function named {}<level>::…; the tile loops moved, were inlined, or the program is stripped",
            binary.display(),
            tile::PREFIX
        );
    }
    if verdicts.iter().all(|(tile, _)| tile.operation == tile::UNKNOWN) {
        bail!(
            "the names in {} do not show their operation and dtype; build with `-C symbol-mangling-version=v0` (rustflags in .cargo/config.toml)",
            binary.display()
        );
    }
    Ok(verdicts)
}

fn build() -> Result<PathBuf> {
    let metadata = Metadata::read()?;
    let owner = metadata
        .owner_of_binary(PROGRAM)
        .with_context(|| format!("no crate defines the program `{PROGRAM}`"))?;
    let mut command = workspace::cargo();
    command.args(["build", "--release", "--quiet", "--package", owner, "--bin", PROGRAM]);
    let output = command.output().context("could not start cargo")?;
    if !output.status.success() {
        bail!("`{}` failed:\n{}", workspace::spell(&command), String::from_utf8_lossy(&output.stderr));
    }
    Ok(metadata.release_binary(PROGRAM))
}

fn disassemble(binary: &Path) -> Result<String> {
    let mut command = workspace::command("objdump");
    command.args(["--disassemble", "--demangle", "--no-show-raw-insn", "--wide"]).arg(binary);
    let output =
        command.output().context("could not start objdump; it comes with binutils, beside the C compiler")?;
    if !output.status.success() {
        bail!("`{}` failed: {}", workspace::spell(&command), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn judge(verdicts: &[(Tile, Verdict)], exceptions: &Exceptions) -> Finding {
    let mut offences = Vec::new();
    let mut excused = 0;
    let mut narrow = 0;
    let mut used = vec![false; exceptions.len()];
    for (tile, verdict) in verdicts {
        match verdict {
            Verdict::Packed { full_width: true } => {}
            Verdict::Packed { full_width: false } => narrow += 1,
            Verdict::Scalar { why } => match exceptions.find(tile) {
                Some(index) => {
                    used[index] = true;
                    excused += 1;
                }
                None => offences.push(format!("{tile}: {why}")),
            },
        }
    }
    // A line that excuses nothing would hide a later regression.
    for (line, _) in exceptions.lines().zip(&used).filter(|(_, used)| !**used) {
        offences.push(format!("{EXCEPTIONS}: `{line}` excuses nothing; remove it"));
    }
    let note = format!("{} loops, {excused} excused, {narrow} below full width", verdicts.len());
    Finding::judge(
        &offences,
        note,
        "rewrite the body so that it vectorises, or give the reason in xtask/vector-exceptions.txt; look with: cargo xtask vector --list",
    )
}

#[cfg(test)]
mod tests;
