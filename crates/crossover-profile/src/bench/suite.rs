//! Benchmarks of a user's own program.

use std::{collections::BTreeMap, fmt::Display};

use super::{Budget, Entry, Fingerprint, Run, measure};

type Work<'a> = Box<dyn FnMut() -> Result<(), String> + 'a>;

/// Named pieces of work that are measured together, and that `crossover compare` can ask for.
///
/// ```no_run
/// use crossover_array::Array;
/// use crossover_profile::bench::Suite;
///
/// fn main() -> std::process::ExitCode {
///     let x = Array::linspace(0.0, 1.0, 1_000_000);
///     let mut suite = Suite::new("my project");
///     suite.add("standardise", || x.var(()).eval().map(drop));
///     suite.add("sort", || x.sort(0).eval().map(drop));
///     suite.main() // answers `bench`, with --json, --quick, --times, --only NAME, --list
/// }
/// ```
pub struct Suite<'a> {
    name: String,
    works: Vec<(String, Work<'a>)>,
}

impl<'a> Suite<'a> {
    /// Without any work yet.
    pub fn new(name: impl Into<String>) -> Suite<'a> {
        Suite { name: name.into(), works: Vec::new() }
    }

    /// One more piece of work. It must end what it begins: evaluate arrays, wait for threads. A second of a name replaces the
    /// first.
    pub fn add<E: Display>(
        &mut self,
        name: impl Into<String>,
        mut work: impl FnMut() -> Result<(), E> + 'a,
    ) -> &mut Suite<'a> {
        let (name, work) = (name.into(), move || work().map_err(|error| error.to_string()));
        self.works.retain(|(other, _)| *other != name);
        self.works.push((name, Box::new(work)));
        self
    }

    /// The names, in order.
    ///
    /// ```
    /// use crossover_profile::bench::Suite;
    /// let mut suite = Suite::new("mine");
    /// suite.add("nothing", || Ok::<(), String>(()));
    /// assert_eq!(suite.names().collect::<Vec<_>>(), ["nothing"]);
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.works.iter().map(|(name, _)| name.as_str())
    }

    /// Measures what is wanted. An error names the work that failed.
    ///
    /// ```
    /// use crossover_profile::bench::{Budget, Suite};
    /// let mut suite = Suite::new("mine");
    /// suite.add("good", || Ok::<(), String>(())).add("bad", || Err("out of ink"));
    /// assert_eq!(suite.run(&Budget::quick(), |name| name == "good")?.results.len(), 1);
    /// assert_eq!(suite.run(&Budget::quick(), |_| true), Err("bad: out of ink".to_string()));
    /// # Ok::<(), String>(())
    /// ```
    pub fn run(&mut self, budget: &Budget, wanted: impl Fn(&str) -> bool) -> Result<Run, String> {
        let mut run = Run::new(self.name.clone(), Fingerprint::here(None));
        for (name, work) in self.works.iter_mut().filter(|(name, _)| wanted(name)) {
            let timing = measure(budget, work).map_err(|error| format!("{name}: {error}"))?;
            let timings = BTreeMap::from([("time".to_string(), timing)]);
            run.results.push(Entry { name: name.clone(), timings, ..Entry::default() });
        }
        Ok(run)
    }

    /// Answers the command line of this process: `[bench] [--json] [--quick] [--times] [--list] [--only NAME]…`, the protocol of
    /// `crossover compare`. The status is 0, 1 if work failed, and 2 for a wrong command line.
    pub fn main(&mut self) -> std::process::ExitCode {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        match self.answer(&arguments) {
            Ok(text) => {
                print!("{text}");
                std::process::ExitCode::SUCCESS
            }
            Err((status, message)) => {
                eprintln!("error: {message}");
                std::process::ExitCode::from(status)
            }
        }
    }

    fn answer(&mut self, arguments: &[String]) -> Result<String, (u8, String)> {
        let (mut json, mut budget, mut only) = (false, Budget::default(), Vec::new());
        let mut words = arguments.iter().map(String::as_str).peekable();
        words.next_if_eq(&"bench");
        while let Some(word) = words.next() {
            match word {
                "--json" => json = true,
                // There is nothing else here.
                "--times" => {}
                "--quick" => budget = Budget::quick(),
                "--list" => return Ok(self.names().map(|name| format!("{name}\n")).collect()),
                "--only" => match words.next() {
                    Some(name) => only.push(name.to_string()),
                    None => return Err((2, "--only needs a name".to_string())),
                },
                other => {
                    let usage = "[bench] [--json] [--quick] [--times] [--list] [--only NAME]…";
                    return Err((2, format!("unknown argument {other:?}; there are {usage}")));
                }
            }
        }
        let wanted = |name: &str| only.is_empty() || only.iter().any(|part| name.contains(part.as_str()));
        if !self.names().any(wanted) {
            let names: Vec<&str> = self.names().collect();
            return Err((1, format!("no work is named like that; there are {}", names.join(", "))));
        }
        let run = self.run(&budget, wanted).map_err(|error| (1, error))?;
        Ok(if json { run.to_json() } else { table(&run) })
    }
}

fn table(run: &Run) -> String {
    let mut out = format!("{:<32} {:>10} {:>8} {:>10}\n", run.name, "median", "spread", "cold");
    for entry in &run.results {
        for timing in entry.timings.values() {
            let duration = |seconds: f64| crossover_plan::duration(1e9 * seconds);
            let (median, cold) = (duration(timing.median()), timing.cold.map_or_else(String::new, duration));
            let spread = 100.0 * timing.spread();
            out.push_str(&format!("{:<32} {median:>10} {spread:>7.1}% {cold:>10}\n", entry.name));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(line: &str) -> Result<String, (u8, String)> {
        let mut suite = Suite::new("mine");
        suite.add("sum", || Ok::<(), String>(())).add("product", || Ok::<(), String>(()));
        suite.add("failing", || Err("no luck"));
        suite.answer(&line.split_whitespace().map(str::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn the_protocol_of_compare_is_answered() {
        let text = answer("bench --json --quick --times --only sum").unwrap();
        let run = Run::from_json(&text).unwrap();
        assert_eq!(run.results.iter().map(|e| e.name.as_str()).collect::<Vec<_>>(), ["sum"]);
        assert_eq!(answer("--list").unwrap(), "sum\nproduct\nfailing\n");
        assert!(answer("--quick --only product").unwrap().contains("median"));
    }

    #[test]
    fn mistakes_are_told_apart_by_their_status() {
        assert_eq!(answer("--quick --only failing").unwrap_err(), (1, "failing: no luck".to_string()));
        assert_eq!(answer("--only").unwrap_err().0, 2);
        assert!(answer("--fast").unwrap_err().1.contains("--quick"));
        assert!(answer("--only division").unwrap_err().1.contains("sum, product"));
    }

    #[test]
    fn a_name_is_there_once() {
        let mut suite = Suite::new("mine");
        suite.add("x", || Ok::<(), String>(())).add("x", || Err::<(), _>("second"));
        assert_eq!(suite.names().count(), 1);
        assert_eq!(suite.run(&Budget::quick(), |_| true).unwrap_err(), "x: second");
    }
}
