//! Two programs that take turns, so that both see the same machine.
//!
//! A round starts each of them once, in an order that alternates, and every round is a fresh process: where memory happens to lie in one of
//! them cannot decide. Rounds go on until nothing is unsure, or until there were enough.

use std::{
    collections::BTreeMap,
    io::Read,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use super::{
    Comparison, Entry, Fingerprint, Run, RunProblem, Settings, Timing, Verdict,
    compare::{self, rounds_needed},
};

/// One of two that are compared.
///
/// ```
/// use crossover_profile::bench::Contender;
/// let old = Contender::Program { path: "./old".into(), arguments: vec!["bench".into(), "--json".into()] };
/// let shell = Contender::Command("gzip -k big.txt".into());
/// assert_eq!((old.label(), shell.label()), ("./old".to_string(), "`gzip -k big.txt`".to_string()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contender {
    /// A program that measures itself and prints a [`Run`] as JSON: `crossover bench --json`, or a [`Suite`](super::Suite).
    Program {
        /// The file.
        path: std::path::PathBuf,
        /// What it is started with.
        arguments: Vec<String>,
    },
    /// A command line for the shell, which is timed from its start to its end.
    Command(String),
}

/// How long two programs take turns.
///
/// ```
/// use crossover_profile::bench::{Contender, Race, Settings, race};
/// let (a, b) = (Contender::Command("exit 0".into()), Contender::Command("exit 0".into()));
/// let short = Race { fewest: 3, most: 3, ..Race::default() };
/// let comparison = race(&a, &b, &short, &Settings::default(), &mut |_, _| {})?;
/// // A confidence of 95% asks for more than three.
/// assert_eq!(comparison.rounds, Some(8));
/// # Ok::<(), crossover_profile::bench::RaceError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Race {
    /// Rounds at least; more where the number of workloads asks for more.
    pub fewest: usize,
    /// Rounds at most.
    pub most: usize,
    /// No round begins later than this after the first, and a program that still runs then is ended; whole rounds count.
    pub limit: Option<Duration>,
}

impl Default for Race {
    fn default() -> Race {
        Race { fewest: 12, most: 40, limit: None }
    }
}

/// Why two programs could not be compared.
///
/// ```
/// use crossover_profile::bench::{Contender, Race, RaceError, Settings, race};
/// let (works, fails) = (Contender::Command("exit 0".into()), Contender::Command("exit 3".into()));
/// match race(&works, &fails, &Race::default(), &Settings::default(), &mut |_, _| {}) {
///     Err(RaceError::Failed { program, status, .. }) => {
///         assert_eq!((program.as_str(), status.code()), ("`exit 3`", Some(3)));
///     }
///     other => panic!("{other:?}"),
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RaceError {
    /// It did not start.
    #[error("could not start {program}: {error}")]
    Start {
        /// Which.
        program: String,
        /// Why.
        error: std::io::Error,
    },
    /// It failed.
    #[error("{program} ended with {status}{}", tail(.said))]
    Failed {
        /// Which.
        program: String,
        /// How.
        status: std::process::ExitStatus,
        /// What it wrote to standard error.
        said: String,
    },
    /// It printed something else than a run.
    #[error("{program} did not print a run on standard output: {problem}")]
    Output {
        /// Which.
        program: String,
        /// What it printed.
        problem: RunProblem,
    },
    /// The time was over before both had run once.
    #[error("{program} had not ended when the limit of {} s was over, in the first round", .limit.as_secs_f64())]
    Late {
        /// Which.
        program: String,
        /// The limit.
        limit: Duration,
    },
    /// They have no workload in common.
    #[error("the programs have no workload in common: the first has {a:?}, the second {b:?}")]
    Nothing {
        /// Names of the first.
        a: Vec<String>,
        /// Names of the second.
        b: Vec<String>,
    },
}

fn tail(said: &str) -> String {
    said.trim().lines().next_back().map_or_else(String::new, |line| format!(": {line}"))
}

/// How often one looks whether everything is decided: at the beginning, at the end, and twice in between.
const LOOKS: usize = 4;

/// Lets two programs take turns and compares them. `progress` is told the rounds done and the rounds there will be at most.
///
/// ```no_run
/// use crossover_profile::bench::{Contender, Race, Settings, Verdict, race};
///
/// let program = |path: &str| Contender::Program {
///     path: path.into(),
///     arguments: ["bench", "--json", "--quick"].map(String::from).to_vec(),
/// };
/// let comparison =
///     race(&program("./old"), &program("./new"), &Race::default(), &Settings::default(), &mut |_, _| {})?;
/// assert_eq!(comparison.count(Verdict::Slower), 0);
/// # Ok::<(), crossover_profile::bench::RaceError>(())
/// ```
pub fn race(
    a: &Contender,
    b: &Contender,
    race: &Race,
    settings: &Settings,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Comparison, RaceError> {
    let mut runs = [Vec::new(), Vec::new()];
    let (start, limit) = (Instant::now(), race.limit);
    let end = limit.and_then(|limit| start.checked_add(limit));
    let late = |contender: &Contender| RaceError::Late {
        program: contender.label(),
        limit: limit.unwrap_or_default(),
    };
    // The first of a whole process reads it from the disk.
    for contender in [a, b] {
        if matches!(contender, Contender::Command(_)) {
            contender.run(end)?.ok_or_else(|| late(contender))?;
        }
    }
    let mut looks = Vec::new();
    loop {
        let round = runs[0].len();
        for turn in 0..2 {
            let side = (round + turn) % 2;
            let Some(run) = [a, b][side].run(end)? else {
                if round == 0 {
                    return Err(late([a, b][side]));
                }
                // As many of both.
                runs.iter_mut().for_each(|runs| runs.truncate(round));
                return Ok(compare::rounds(&runs[0], &runs[1], looks.len().max(1), settings));
            };
            runs[side].push(run);
        }
        let done = round + 1;
        if done == 1 {
            looks = when(&compare::rounds(&runs[0], &runs[1], 1, settings), race, settings);
            if looks.is_empty() {
                let names = |run: &Run| run.results.iter().map(|entry| entry.name.clone()).collect();
                return Err(RaceError::Nothing { a: names(&runs[0][0]), b: names(&runs[1][0]) });
            }
        }
        let last = looks.last().copied().unwrap_or(done);
        progress(done, last);
        let is_over = end.is_some_and(|end| Instant::now() >= end);
        if looks.contains(&done) || is_over {
            let comparison = compare::rounds(&runs[0], &runs[1], looks.len(), settings);
            if done == last || is_over || comparison.count(Verdict::Unsure) == 0 {
                return Ok(comparison);
            }
        }
    }
}

/// The rounds after which one looks; none where there is nothing to look at.
fn when(first: &Comparison, race: &Race, settings: &Settings) -> Vec<usize> {
    if first.results.is_empty() {
        return Vec::new();
    }
    let risk = (1.0 - settings.confidence) / (first.results.len() * LOOKS) as f64;
    let fewest = race.fewest.max(rounds_needed(risk));
    let most = race.most.max(fewest);
    // In equal ratios.
    let step = (most as f64 / fewest as f64).powf(1.0 / (LOOKS - 1) as f64);
    let mut looks: Vec<usize> =
        (0..LOOKS).map(|look| (fewest as f64 * step.powi(look as i32)).round() as usize).collect();
    looks.dedup();
    looks
}

/// Time between two looks whether a program has ended, where there is a limit.
const LOOK: Duration = Duration::from_micros(200);

/// Reads a pipe to its end, on a thread of its own.
fn drained(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What comes before an error is what there is.
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        bytes
    })
}

impl Contender {
    /// What it is called in messages.
    ///
    /// ```
    /// use crossover_profile::bench::Contender;
    /// assert_eq!(Contender::Command("sort big.txt".into()).label(), "`sort big.txt`");
    /// ```
    pub fn label(&self) -> String {
        match self {
            Contender::Program { path, .. } => path.display().to_string(),
            Contender::Command(line) => format!("`{line}`"),
        }
    }

    /// Once; `None` if it was ended because the time was over.
    fn run(&self, end: Option<Instant>) -> Result<Option<Run>, RaceError> {
        let start = Instant::now();
        let Some(output) = self.output(end)? else { return Ok(None) };
        let seconds = start.elapsed().as_secs_f64();
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(RaceError::Failed { program: self.label(), status: output.status, said });
        }
        match self {
            Contender::Program { .. } => Run::from_json(&String::from_utf8_lossy(&output.stdout))
                .map(Some)
                .map_err(|problem| RaceError::Output { program: self.label(), problem }),
            Contender::Command(_) => {
                let mut run = Run::new("whole processes", Fingerprint::default());
                let timings = BTreeMap::from([("process".to_string(), Timing::new([seconds]))]);
                run.results.push(Entry { name: "command".to_string(), timings, ..Entry::default() });
                Ok(Some(run))
            }
        }
    }

    fn output(&self, end: Option<Instant>) -> Result<Option<Output>, RaceError> {
        let mut command = match self {
            Contender::Program { path, arguments } => {
                let mut command = Command::new(path);
                command.args(arguments).stdout(Stdio::piped());
                command
            }
            Contender::Command(line) => {
                let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
                let mut command = Command::new(shell);
                command.arg(flag).arg(line).stdout(Stdio::null());
                command
            }
        };
        let failed = |error| RaceError::Start { program: self.label(), error };
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(failed)?;
        let Some(end) = end else { return child.wait_with_output().map(Some).map_err(failed) };
        // Pipes are read beside the waiting: a child that fills one would never end.
        let (stdout, stderr) = (drained(child.stdout.take()), drained(child.stderr.take()));
        let status = loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                break Some(status);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break None;
            }
            std::thread::sleep(left.min(LOOK));
        };
        let Some(status) = status else {
            child.kill().and_then(|()| child.wait()).map_err(failed)?;
            return Ok(None);
        };
        let whole = |reader: std::thread::JoinHandle<Vec<u8>>| reader.join().unwrap_or_default();
        Ok(Some(Output { status, stdout: whole(stdout), stderr: whole(stderr) }))
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn shell(line: &str) -> Contender {
        Contender::Program { path: "/bin/sh".into(), arguments: vec!["-c".into(), line.into()] }
    }

    fn quickly(a: &Contender, b: &Contender) -> Result<Comparison, RaceError> {
        race(a, b, &Race { fewest: 3, most: 3, limit: None }, &Settings::default(), &mut |_, _| {})
    }

    #[test]
    fn whole_commands_are_timed() {
        let mut last = (0, 0);
        let (a, b) = (Contender::Command("true".into()), Contender::Command("sleep 0.02".into()));
        let comparison = race(
            &a,
            &b,
            &Race { fewest: 3, most: 3, limit: None },
            &Settings { confidence: 0.9, ..Settings::default() },
            &mut |done, all| last = (done, all),
        )
        .unwrap();
        assert_eq!(comparison.results[0].verdict, Verdict::Slower, "{comparison:?}");
        assert_eq!((comparison.results[0].name.as_str(), last.0), ("command", last.1));
    }

    #[test]
    fn a_limit_ends_programs_and_whole_rounds_count() {
        let limited = |a: &str, b: &str, seconds: f64| {
            let race_ = Race { limit: Some(Duration::from_secs_f64(seconds)), ..Race::default() };
            let (a, b) = (Contender::Command(a.into()), Contender::Command(b.into()));
            race(&a, &b, &race_, &Settings::default(), &mut |_, _| {})
        };
        let start = Instant::now();
        let error = limited("true", "exec sleep 60", 0.3).unwrap_err().to_string();
        assert!(error.contains("`exec sleep 60` had not ended") && error.contains("0.3 s"), "{error}");
        // More than a round and fewer than are needed to decide.
        let comparison = limited("exec sleep 0.1", "exec sleep 0.1", 1.0).unwrap();
        assert_eq!(comparison.results[0].verdict, Verdict::Unsure, "{comparison:?}");
        assert!(start.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn what_went_wrong_names_the_program() {
        let told = |contender: &Contender| quickly(contender, contender).unwrap_err().to_string();
        let missing = Contender::Program { path: "/no/such/program".into(), arguments: Vec::new() };
        assert!(told(&missing).starts_with("could not start /no/such/program: "), "{}", told(&missing));
        let failing = told(&shell("echo first >&2; echo no luck >&2; exit 3"));
        assert!(failing.contains("exit status: 3: no luck"), "{failing}");
        let silent = told(&shell("echo hello"));
        assert!(silent.contains("/bin/sh did not print a run") && silent.contains("not JSON"), "{silent}");
        assert!(told(&Contender::Command("exit 4".into())).contains("`exit 4` ended with"));
    }

    #[test]
    fn programs_with_different_workloads_are_told_apart() {
        let printing = |name: &str| {
            let mut run = Run::new("x", Fingerprint::default());
            let timings = BTreeMap::from([("cpu".to_string(), Timing::new([1.0]))]);
            run.results.push(Entry { name: name.into(), timings, ..Entry::default() });
            shell(&format!("cat <<'END'\n{}END", run.to_json()))
        };
        let error = quickly(&printing("one"), &printing("two")).unwrap_err();
        assert!(matches!(error, RaceError::Nothing { .. }), "{error}");
        assert_eq!(quickly(&printing("one"), &printing("one")).unwrap().results[0].ratio, 1.0);
    }
}
