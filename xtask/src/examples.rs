//! The examples of the facade, run as a newcomer runs them: `cargo xtask test` ends with them.

use anyhow::Result;

use crate::tally::Tally;
use crate::workspace::{self, Metadata};
use crate::{differential, exports, page, paint, python};

/// The crate whose examples are run.
const PACKAGE: &str = "crossover";
/// Cases per operation of the comparison with NumPy; more are run by hand.
const CASES: u64 = 100;

/// Runs every example and the comparison with NumPy on a few cases, each counts as one test, and the tests of the Python package and of the
/// report page. Notices say what could not run.
pub fn run(notices: &mut Vec<String>) -> Result<Tally> {
    let metadata = Metadata::read()?;
    let mut build = workspace::cargo();
    build.args(["build", "--quiet", "--workspace", "--all-features", "--examples"]);
    workspace::must_succeed(&mut build)?;
    let folder = metadata.target_directory.join("debug/examples");
    let targets = metadata.packages.iter().filter(|p| p.name == PACKAGE).flat_map(|p| &p.targets);
    let mut tally = Tally::default();
    println!();
    for target in targets.filter(|t| t.kind.iter().any(|kind| kind == "example")) {
        if target.name == "differential" {
            match differential::smoke(CASES) {
                Ok(held) => {
                    count(&mut tally, &format!("{CASES} cases of every operation against NumPy"), held, "")
                }
                Err(error) => notices.push(format!("the comparison with NumPy was NOT RUN: {error:#}")),
            }
            continue;
        }
        let output = workspace::command(folder.join(&target.name)).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        count(&mut tally, &format!("example {}", target.name), output.status.success(), &said);
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

fn count(tally: &mut Tally, name: &str, held: bool, said: &str) {
    if held {
        tally.passed += 1;
        println!("{name} ... ok");
    } else {
        tally.failed += 1;
        println!("{name} ... {}\n{said}", paint::red("FAILED"));
    }
}
