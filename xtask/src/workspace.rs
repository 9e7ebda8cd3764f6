//! The workspace on disk: its root, its crates, and `cargo` started inside it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The repository root. xtask is always run from a checkout, one folder below the root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies one folder below the root")
}

/// `cargo`, the one that started us when there is one, in the repository root.
pub fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    command(program)
}

/// Any program, in the repository root.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// A command as a person would type it, for messages.
pub fn spell(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Runs a command with its output going straight to the terminal; its failure is an error.
pub fn must_succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("could not start `{}`", spell(command)))?;
    if !status.success() {
        bail!("`{}` failed with {status}", spell(command));
    }
    Ok(())
}

/// The part of `cargo metadata` that the checks read.
#[derive(Deserialize)]
pub struct Metadata {
    /// Workspace members.
    pub packages: Vec<Package>,
    /// Where cargo builds; honours `CARGO_TARGET_DIR`.
    pub target_directory: PathBuf,
}

/// One workspace member.
#[derive(Default, Deserialize)]
pub struct Package {
    /// Crate name with hyphens.
    pub name: String,
    /// All dependencies, of every kind.
    pub dependencies: Vec<Dependency>,
    /// Libraries, programs, examples, tests.
    pub targets: Vec<Target>,
    /// Registries it may go to: none named means any, an empty list means nowhere.
    pub publish: Option<Vec<String>>,
    /// One sentence.
    pub description: Option<String>,
    /// An SPDX expression.
    pub license: Option<String>,
    /// A file.
    pub readme: Option<String>,
    /// The oldest compiler it promises to build with.
    pub rust_version: Option<String>,
}

impl Package {
    /// Whether it goes to a registry.
    pub fn is_published(&self) -> bool {
        self.publish.as_ref().is_none_or(|registries| !registries.is_empty())
    }
}

/// One dependency of a member.
#[derive(Default, Deserialize)]
pub struct Dependency {
    /// Package name, whatever it is renamed to.
    pub name: String,
    /// `None` for a normal dependency, else `dev` or `build`.
    pub kind: Option<String>,
    /// The versions that will do.
    #[serde(rename = "req")]
    pub requirement: String,
}

/// One build target of a member.
#[derive(Deserialize)]
pub struct Target {
    /// Target name.
    pub name: String,
    /// `lib`, `bin`, `example`, …
    pub kind: Vec<String>,
}

impl Metadata {
    /// Asks cargo; never touches the network.
    pub fn read() -> Result<Self> {
        let mut command = cargo();
        command.args(["metadata", "--no-deps", "--format-version", "1", "--offline"]);
        let output = command.output().context("could not start cargo")?;
        if !output.status.success() {
            bail!("`{}` failed:\n{}", spell(&command), String::from_utf8_lossy(&output.stderr));
        }
        serde_json::from_slice(&output.stdout).context("cargo metadata printed something unexpected")
    }

    /// The file a release build of the program `name` produces.
    pub fn release_binary(&self, name: &str) -> PathBuf {
        self.target_directory.join("release").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }

    /// The crate that defines the program `name`.
    pub fn owner_of_binary(&self, name: &str) -> Option<&str> {
        let defines = |package: &&Package| {
            package.targets.iter().any(|target| target.name == name && target.kind.iter().any(|k| k == "bin"))
        };
        self.packages.iter().find(defines).map(|package| package.name.as_str())
    }
}
