//! `cargo xtask python` and `cargo xtask array-api`: the Python package, tested with an interpreter of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::pytest;
use crate::tally::Tally;
use crate::venv::Venv;
use crate::workspace::{self, Metadata};

/// Where NumPy and pytest are installed; git ignores it.
const FOLDER: &str = ".venv-python";
/// The tests and what they need.
const TESTS: &str = "python/tests";
/// The notebook of the examples.
const NOTEBOOK: &str = "python/examples/tour.ipynb";
/// Ray is large (500 MB), so it has an environment of its own.
const RAY_FOLDER: &str = ".venv-ray";
const RAY_TESTS: &str = "python/tests/test_ray.py";
const REQUIREMENTS: [&str; 2] = ["-r", "python/tests/requirements.txt"];
const RAY: [&str; 3] = ["-r", "python/tests/requirements.txt", "ray>=2.40"];
const NOTEBOOKS: [&str; 6] =
    ["-r", "python/tests/requirements.txt", "nbclient", "ipykernel", "nbconvert", "matplotlib"];
/// What the standard's suite needs beside that.
const SUITE: [&str; 6] = [
    "hypothesis>=6.151.0",
    "ndindex>=1.8",
    "pytest-xdist",
    "pytest-json-report",
    "-r",
    "python/tests/requirements.txt",
];

/// Build the Python package and run its tests.
///
/// The first run installs NumPy, SciPy and pytest into .venv-python. `pip install .` is what users type.
///
/// Examples:
///   cargo xtask python                          python/tests
///   cargo xtask python -- -k dlpack             those whose name contains `dlpack`
///   cargo xtask python --release --expressions 5000     random expressions against NumPy, by the release build
///   cargo xtask python --release --overhead     how long tiny operations take
///   cargo xtask python --release --ratios       speed beside NumPy, function by function
///   cargo xtask python --release --ratios -- --only any,all --json ratios.json      these, also into a file
///   cargo xtask python --ray                    batches on Ray, in an environment of its own that has it
///   cargo xtask python --notebook               python/examples/tour.ipynb, executed anew
///   cargo xtask python --stubs                  python/crossover/*.pyi again, from the package
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// Use the release build
    #[arg(long)]
    release: bool,
    /// Compare so many random expressions with NumPy instead
    #[arg(long, value_name = "N")]
    expressions: Option<u64>,
    /// Time tiny operations instead
    #[arg(long)]
    overhead: bool,
    /// Time functions beside NumPy's instead
    #[arg(long)]
    ratios: bool,
    /// Test batches on Ray instead; installs Ray into .venv-ray
    #[arg(long)]
    ray: bool,
    /// Execute the notebook of the examples and write it back instead; installs Jupyter into .venv-notebook
    #[arg(long)]
    notebook: bool,
    /// Rewrite the type stubs instead
    #[arg(long)]
    stubs: bool,
    /// Passed on to pytest, or to the measurement
    #[arg(last = true, value_name = "ARGUMENT")]
    rest: Vec<String>,
}

/// Run the conformance suite of the Python Array API standard.
///
/// The suite is not part of this repository: clone data-apis/array-api-tests with its submodule and name its folder. What is skipped, and
/// why, is in python/tests/array-api-skips.txt.
///
/// Examples:
///   cargo xtask array-api --suite ~/array-api-tests
///   cargo xtask array-api --suite ~/array-api-tests -- -k test_linalg
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct SuiteArguments {
    /// The folder of the checkout
    #[arg(long, value_name = "FOLDER")]
    suite: PathBuf,
    /// Examples per property
    #[arg(long, value_name = "N", default_value_t = 20)]
    examples: u32,
    /// Use the build of the tests instead of the release build
    #[arg(long)]
    debug: bool,
    /// Passed on to pytest
    #[arg(last = true, value_name = "ARGUMENT")]
    rest: Vec<String>,
}

/// Runs the tests. True when all held.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let (folder, requirements) = match (arguments.ray, arguments.notebook) {
        (true, _) => (RAY_FOLDER, RAY.as_slice()),
        (_, true) => (".venv-notebook", NOTEBOOKS.as_slice()),
        _ => (FOLDER, REQUIREMENTS.as_slice()),
    };
    let mut command = python(folder, requirements, arguments.release)?;
    match arguments.expressions {
        Some(cases) => command.args([&format!("{TESTS}/expressions.py"), "--cases", &cases.to_string()]),
        None if arguments.ratios => command.arg(format!("{TESTS}/ratios.py")).args(&arguments.rest),
        None if arguments.stubs => command.arg("python/tools/stubs.py"),
        None if arguments.overhead => command.arg(format!("{TESTS}/overhead.py")),
        None if arguments.ray => pytest(&mut command).arg(RAY_TESTS).args(&arguments.rest),
        None if arguments.notebook => {
            let convert = ["-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", NOTEBOOK];
            command.args(convert)
        }
        None => pytest(&mut command).args([TESTS, "--ignore", RAY_TESTS]).args(&arguments.rest),
    };
    Ok(command.status().context("could not start the environment's python")?.success())
}

/// Runs the tests by the build of the tests and counts them. An error says what the machine lacks.
pub fn count() -> Result<Tally> {
    let mut command = python(FOLDER, &REQUIREMENTS, false)?;
    pytest(&mut command).args([TESTS, "--ignore", RAY_TESTS]);
    pytest::counted(&mut command, "the Python package")
}

/// Runs the tests on Ray, in an environment that has it, and counts them. An error says what the machine lacks.
pub fn count_ray() -> Result<Tally> {
    let mut command = python(RAY_FOLDER, &RAY, false)?;
    pytest(&mut command).arg(RAY_TESTS);
    pytest::counted(&mut command, "the Python package on Ray")
}

fn pytest(command: &mut Command) -> &mut Command {
    command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
}

/// Runs the suite. True when nothing failed.
pub fn suite(arguments: &SuiteArguments) -> Result<bool> {
    let folder = std::path::absolute(&arguments.suite)?;
    if !folder.join("array_api_tests").is_dir() {
        bail!("{} is no checkout of data-apis/array-api-tests", folder.display());
    }
    if !folder.join("array-api/spec").is_dir() {
        bail!("{} lacks its submodule: git submodule update --init", folder.display());
    }
    let skips = workspace::root().join(TESTS).join("array-api-skips.txt");
    let mut command = python(FOLDER, &SUITE, !arguments.debug)?;
    command.current_dir(folder);
    command.envs([
        ("ARRAY_API_TESTS_MODULE", "crossover"),
        ("ARRAY_API_TESTS_VERSION", "2024.12"),
        ("ARRAY_API_TESTS_MAX_ARRAY_SIZE", "128"),
    ]);
    command.args(["-m", "pytest", "array_api_tests/", "-q", "-p", "no:cacheprovider"]);
    command.args(["--max-examples", &arguments.examples.to_string(), "--derandomize", "--disable-deadline"]);
    command.arg("--skips-file").arg(skips);
    command.args(&arguments.rest);
    Ok(command.status().context("could not start the environment's python")?.success())
}

/// An interpreter that finds the package as this checkout builds it.
fn python(folder: &str, requirements: &[&str], release: bool) -> Result<Command> {
    let venv = Venv::with(folder, requirements)?;
    let package = staged(release)?;
    let mut command = workspace::command(venv.python());
    command.env("PYTHONPATH", package).env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(command)
}

/// Builds the library and puts it beside the Python files, in a folder of the build directory.
fn staged(release: bool) -> Result<PathBuf> {
    let mut build = workspace::cargo();
    // As the tests are built, so that nothing is built twice: an example brings the features in that dependencies of tests ask for.
    build.args(["build", "--quiet", "--workspace", "--all-features", "--lib", "--example", "differential"]);
    if release {
        build.arg("--release");
    }
    workspace::must_succeed(&mut build)?;
    let built = Metadata::read()?.target_directory.join(if release { "release" } else { "debug" });
    let stage = built.join("python");
    let package = stage.join("crossover");
    copy_sources(&workspace::root().join("python/crossover"), &package)?;
    let library = package.join("_native.abi3.so");
    std::fs::copy(built.join("lib_native.so"), &library)
        .with_context(|| format!("could not write {}", library.display()))?;
    Ok(stage)
}

/// Copies the Python files of a package.
fn copy_sources(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("could not make {}", to.display()))?;
    for entry in std::fs::read_dir(from).with_context(|| format!("could not read {}", from.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() && name != "__pycache__" {
            copy_sources(&path, &to.join(name))?;
        } else if path.extension().is_some_and(|extension| extension == "py" || extension == "pyi")
            || name == "py.typed"
        {
            std::fs::copy(&path, to.join(name))
                .with_context(|| format!("could not copy {}", path.display()))?;
        }
    }
    Ok(())
}
