//! The stable driver: changes inputs of a corpus for a while and fails where a target does.
//!
//! `mutate TARGET --seconds N --seed S --corpus FOLDER --crashes FOLDER [--grow] [--input FILE]`, usually started by
//! `cargo xtask fuzz`.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    collections::BTreeSet,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::{Seek, SeekFrom, Write},
    panic,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use crossover_fuzz::{
    mutate::{LONGEST, Random, changed},
    targets::{TARGETS, Target},
};

/// Counts what is allocated, so that an input that takes too much is found.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator as it is; counting touches no memory of the caller.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(live, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Longest time for one input, by the clock: on a busy machine a process may wait for many seconds.
const HANG: Duration = Duration::from_secs(60);

/// Inputs with new outcomes that are kept.
const KEPT: usize = 4096;

struct Options {
    target: &'static Target,
    seconds: u64,
    seed: u64,
    corpus: PathBuf,
    crashes: PathBuf,
    grow: bool,
    input: Option<PathBuf>,
}

fn options() -> Result<Options, String> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().ok_or("which target?")?;
    let target = TARGETS.iter().find(|t| t.name == name).ok_or_else(|| {
        let known: Vec<&str> = TARGETS.iter().map(|t| t.name).collect();
        format!("no target {name:?}; there are {}", known.join(", "))
    })?;
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut options = Options {
        target,
        seconds: 60,
        seed: 1,
        corpus: here.join("corpus").join(target.name),
        crashes: here.join("crashes"),
        grow: false,
        input: None,
    };
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{flag} needs a value"));
        match flag.as_str() {
            "--seconds" => options.seconds = value()?.parse().map_err(|e| format!("--seconds: {e}"))?,
            "--seed" => options.seed = value()?.parse().map_err(|e| format!("--seed: {e}"))?,
            "--corpus" => options.corpus = value()?.into(),
            "--crashes" => options.crashes = value()?.into(),
            "--input" => options.input = Some(value()?.into()),
            "--grow" => options.grow = true,
            _ => return Err(format!("unknown argument {flag}")),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    match options().and_then(|options| drive(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Microseconds since the start at which the present input was begun; 0 between inputs.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Where the present input is kept, for the case that the process does not survive it.
struct Present {
    path: PathBuf,
    file: fs::File,
}

impl Present {
    fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(bytes)?;
        self.file.set_len(bytes.len() as u64)
    }
}

fn drive(options: &Options) -> Result<(), String> {
    let target = options.target;
    if let Some(path) = &options.input {
        let bytes = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("{}", run(target, &bytes)?);
        return Ok(());
    }
    let mut inputs = read_corpus(&options.corpus)?;
    fs::create_dir_all(&options.crashes).map_err(|e| e.to_string())?;
    let path = options.crashes.join(format!("{}-present", target.name));
    let file = fs::File::create(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut present = Present { path, file };
    let start = Instant::now();
    watch(start, present.path.clone(), options.crashes.clone(), target.name);
    // The message of a caught panic is printed once, with the name of its file.
    panic::set_hook(Box::new(|info| eprintln!("{info}")));

    let mut seen = BTreeSet::new();
    let mut random = Random::new(options.seed);
    let (mut runs, mut grown) = (0u64, 0u64);
    let (seeds, words) = (inputs.len(), (target.words)());
    while start.elapsed().as_secs() < options.seconds || runs < seeds as u64 {
        // The corpus as it is comes first.
        let input = if runs < seeds as u64 {
            inputs[runs as usize].clone()
        } else {
            let (a, b) = (random.below(inputs.len()), random.below(inputs.len()));
            changed(&mut random, &inputs[a], &inputs[b], &words)
        };
        runs += 1;
        present.put(&input).map_err(|e| e.to_string())?;
        BEGUN.store(start.elapsed().as_micros().max(1) as u64, Ordering::Relaxed);
        let outcome = run(target, &input);
        BEGUN.store(0, Ordering::Relaxed);
        match outcome {
            Err(error) => {
                let crash = options.crashes.join(format!("{}-{:016x}", target.name, digest(&input)));
                fs::write(&crash, &input).map_err(|e| e.to_string())?;
                let _ = fs::remove_file(&present.path);
                return Err(format!(
                    "{error}\n  input {} of seed {}: {}",
                    runs,
                    options.seed,
                    crash.display()
                ));
            }
            Ok(outcome) => {
                let is_new = seen.insert(outcome) && runs > seeds as u64;
                if is_new && inputs.len() < KEPT {
                    if options.grow {
                        let path = options.corpus.join(format!("{:016x}", digest(&input)));
                        fs::write(&path, &input).map_err(|e| format!("{}: {e}", path.display()))?;
                    }
                    grown += 1;
                    inputs.push(input);
                }
            }
        }
    }
    let _ = fs::remove_file(&present.path);
    let name = target.name;
    println!(
        "{name}: {runs} inputs in {} s, {} outcomes, {grown} new, none failed",
        options.seconds,
        seen.len()
    );
    Ok(())
}

/// Runs one input; an error says which promise was broken.
fn run(target: &Target, input: &[u8]) -> Result<String, String> {
    let before = LIVE.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let outcome = panic::catch_unwind(|| (target.run)(input)).map_err(|_| "it panicked".to_string())?;
    let taken = MOST.load(Ordering::Relaxed).saturating_sub(before);
    let allowed = (1 << 20) + target.memory * input.len();
    if taken > allowed {
        return Err(format!(
            "an input of {} bytes took {taken} bytes of memory, not at most {allowed}",
            input.len()
        ));
    }
    Ok(outcome)
}

/// Ends the process where one input takes too long.
fn watch(start: Instant, present: PathBuf, crashes: PathBuf, name: &'static str) {
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let begun = BEGUN.load(Ordering::Relaxed);
            let now = start.elapsed().as_micros() as u64;
            if begun != 0 && now.saturating_sub(begun) > HANG.as_micros() as u64 {
                let to = crashes.join(format!("{name}-hang"));
                let _ = fs::rename(&present, &to);
                eprintln!("error: an input took longer than {} s: {}", HANG.as_secs(), to.display());
                std::process::exit(1);
            }
        }
    });
}

fn read_corpus(folder: &Path) -> Result<Vec<Vec<u8>>, String> {
    let wrong = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(wrong)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()
        .map_err(wrong)?;
    // The same inputs in the same order on every machine.
    paths.sort();
    let mut inputs = Vec::new();
    for path in paths {
        let bytes = fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        if bytes.len() <= LONGEST {
            inputs.push(bytes);
        }
    }
    if inputs.is_empty() { Err(format!("{} holds no inputs", folder.display())) } else { Ok(inputs) }
}

fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}
