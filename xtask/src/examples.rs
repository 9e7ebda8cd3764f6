//! The examples of every crate, run as a newcomer runs them: `cargo xtask test` ends with them.

use anyhow::Result;

use crate::tally::Tally;
use crate::workspace::{self, Metadata, Package};
use crate::{differential, exports, page, paint, python};

/// The crate whose examples all run by themselves.
const PACKAGE: &str = "crossover";
/// How the examples of other crates are run. One that is not here fails, so that none is forgotten.
const OTHERS: [(&str, How); 11] = [
    ("attention_texts", How::IntoFolder),
    ("bars", How::Times),
    ("embed_bars", How::Times),
    ("hrr_bench", How::Times),
    ("hrr_texts", How::IntoFolder),
    ("par_bars", How::Times),
    ("print_kernel", How::With(&["row_softmax_f32"])),
    ("reference", How::With(&[])),
    ("tiles", How::Times),
    ("tiny", How::Times),
    // One function, every 65,536th argument.
    ("ulp", How::With(&["--op", "exp", "--stride", "65536"])),
];
/// Cases per operation of the comparison with NumPy; more are run by hand.
const CASES: u64 = 100;

/// What an example is given.
enum How {
    /// These arguments.
    With(&'static [&'static str]),
    /// The name of a new folder, which it fills.
    IntoFolder,
    /// It measures times for minutes, which say nothing without optimisation: it is built only.
    Times,
}

/// Runs every example and the comparison with NumPy on a few cases, each counts as one test, and the tests of the Python package and of the
/// report page. Notices say what could not run.
pub fn run(notices: &mut Vec<String>) -> Result<Tally> {
    let metadata = Metadata::read()?;
    let mut build = workspace::cargo();
    build.args(["build", "--quiet", "--workspace", "--all-features", "--examples"]);
    workspace::must_succeed(&mut build)?;
    let folder = metadata.target_directory.join("debug/examples");
    let mut tally = Tally::default();
    println!();
    for (package, name) in named(&metadata.packages) {
        if name == "differential" {
            match differential::smoke(CASES) {
                Ok(held) => {
                    count(&mut tally, &format!("{CASES} cases of every operation against NumPy"), held, "")
                }
                Err(error) => notices.push(format!("the comparison with NumPy was NOT RUN: {error:#}")),
            }
            continue;
        }
        let how = match OTHERS.iter().find(|(known, _)| *known == name) {
            _ if package == PACKAGE => &How::With(&[]),
            Some((_, how)) => how,
            None => {
                count(
                    &mut tally,
                    &format!("example {name}"),
                    false,
                    "xtask/src/examples.rs does not say how it is run",
                );
                continue;
            }
        };
        let mut example = workspace::command(folder.join(name));
        let scratch = std::env::temp_dir().join(format!("crossover-{name}-{}", std::process::id()));
        match how {
            How::With(arguments) => drop(example.args(*arguments)),
            How::IntoFolder => {
                std::fs::create_dir_all(&scratch)?;
                example.arg(&scratch);
            }
            How::Times => {
                println!("example {name} ... built, not run: it measures times");
                continue;
            }
        }
        let output = example.output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        count(&mut tally, &format!("example {name}"), output.status.success(), &said);
        // It exists for some only.
        std::fs::remove_dir_all(&scratch).ok();
    }
    match exports::count(notices) {
        Ok(more) => tally += more,
        Err(error) => notices.push(format!("the consumers of exports were NOT RUN: {error:#}")),
    }
    match python::count() {
        Ok(more) => tally += more,
        Err(error) => notices.push(format!("the Python package was NOT RUN: {error:#}")),
    }
    match python::count_ray() {
        Ok(more) => tally += more,
        Err(error) => notices.push(format!("the Python package on Ray was NOT RUN: {error:#}")),
    }
    match page::count() {
        Ok(more) => tally += more,
        Err(error) => notices.push(format!("the report page was NOT RUN: {error:#}")),
    }
    Ok(tally)
}

/// Every example with its crate.
fn named(packages: &[Package]) -> impl Iterator<Item = (&str, &str)> {
    packages.iter().flat_map(|package| {
        let examples =
            package.targets.iter().filter(|target| target.kind.iter().any(|kind| kind == "example"));
        examples.map(|target| (package.name.as_str(), target.name.as_str()))
    })
}

fn count(tally: &mut Tally, name: &str, held: bool, said: &str) {
    if held {
        tally.passed += 1;
        println!("{name} ... ok");
    } else {
        tally.failed += 1;
        println!("{name} ... {}\n{said}", paint::red("FAILED"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_every_example_is_run_is_said_once() {
        let metadata = Metadata::read().expect("cargo describes the workspace");
        let mut elsewhere: Vec<&str> = named(&metadata.packages)
            .filter(|(package, _)| *package != PACKAGE)
            .map(|(_, name)| name)
            .collect();
        elsewhere.sort_unstable();
        assert_eq!(elsewhere, OTHERS.map(|(name, _)| name));
    }
}
