//! `crossover hrr`: memories of named vectors on disk.

mod expression;
mod pairs;

use std::{
    fmt::Write as _,
    io::{BufRead, stdin},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use crossover::{
    Array, DType,
    hrr::{Error, ItemMemory, Model, Space, Store},
    io,
};
use serde::Serialize;

use crate::{report, units};

/// Keep named vectors, ask them, verify them.
///
/// A memory is a folder of items, or of pairs of items in one vector. Every name has a vector of its own, which follows from the name, so that it is the same on every machine. Vectors are
/// combined by `*` (bind), `/` (unbind), `+` (superpose) and looked up again: a query answers with the items that its result resembles.
/// Every byte of a memory is covered by a hash; `verify` says what is damaged and where.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  crossover hrr create words --d 2048
  crossover hrr add words capital money Mexico USA Washington dollar peso 'Mexico City'
  crossover hrr query words '(capital*Washington + money*dollar) / capital'
  # What is to Mexico as the dollar is to the USA?
  crossover hrr query words --top 3 \\
    '(capital*\"Mexico City\" + money*peso) / ((capital*Washington + money*dollar) / dollar)'
  crossover hrr store capitals words USA Washington Mexico 'Mexico City'
  crossover hrr recall capitals words Mexico
  crossover hrr verify words
  crossover hrr export words words.safetensors

Exit status: 1 when a memory is damaged or an answer is unknown.";

#[derive(clap::Subcommand)]
enum Action {
    /// Make a new memory
    Create {
        /// Its folder, which must not exist or be empty
        folder: PathBuf,
        /// The algebra: hrr, fhrr, map, bsc or hlb
        #[arg(long, default_value = "hrr")]
        model: String,
        /// Numbers of a vector: more hold more and cost more
        #[arg(long, default_value_t = 1024)]
        d: usize,
        /// Their type: f32, f64, bf16; c64, c128 or bf16 for fhrr; bool for bsc
        #[arg(long)]
        dtype: Option<String>,
        /// Another seed gives names other vectors
        #[arg(long, default_value_t = 0)]
        seed: u64,
    },
    /// Add items by name
    Add {
        /// The memory's folder
        folder: PathBuf,
        /// The names; none: one per line from standard input, where empty lines are passed over
        names: Vec<String>,
    },
    /// Say which items the result of an expression resembles
    Query {
        /// The memory's folder
        folder: PathBuf,
        /// Names joined by * (bind), / (unbind) and + (superpose), with brackets; quote names that have such characters or spaces
        expression: String,
        /// How many items to name
        #[arg(long, default_value_t = 1)]
        top: usize,
        /// Items that are less alike are not named
        #[arg(long, default_value_t = 0.1, allow_negative_numbers = true)]
        threshold: f64,
    },
    /// Store pairs of items in one vector of fixed size
    Store {
        /// The folder of the pairs; made if it does not exist
        folder: PathBuf,
        /// The folder of the items
        items: PathBuf,
        /// A key and its value, as often as there are pairs
        #[arg(required = true, num_args = 2..)]
        pairs: Vec<String>,
    },
    /// Say what was stored with keys
    Recall {
        /// The folder of the pairs
        folder: PathBuf,
        /// The folder of the items
        items: PathBuf,
        /// The keys
        #[arg(required = true)]
        keys: Vec<String>,
        /// Items that are less alike are not named
        #[arg(long, default_value_t = 0.1, allow_negative_numbers = true)]
        threshold: f64,
    },
    /// Look at every byte and say what is damaged
    Verify {
        /// The memory's folder
        folder: PathBuf,
        /// Write what is intact as a new memory
        #[arg(long)]
        salvage: Option<PathBuf>,
    },
    /// Write the vectors as one safetensors file, names in its metadata; those of c128, which such files do not have, as f64: real parts, then imaginary ones
    Export {
        /// The memory's folder
        folder: PathBuf,
        /// The file
        file: PathBuf,
    },
}

/// The JSON shapes; see docs/json.md.
#[derive(Serialize)]
struct About {
    folder: String,
    model: String,
    d: usize,
    dtype: String,
    seed: u64,
    items: usize,
}

#[derive(Serialize)]
struct Answer {
    expression: String,
    matches: Vec<Found>,
}

#[derive(Serialize)]
struct Found {
    name: String,
    similarity: f64,
}

#[derive(Serialize)]
struct Verified {
    intact: bool,
    operations: usize,
    bytes: u64,
    damage: Vec<String>,
    strays: Vec<String>,
    salvaged: Option<usize>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let json = arguments.json;
    match &arguments.action {
        Action::Create { folder, model, d, dtype, seed } => {
            let model: Model = model.parse().map_err(anyhow::Error::msg)?;
            let space = Space::new(model, *d)?.with_dtype(parse_dtype(dtype.as_deref(), model)?)?;
            let mut memory = ItemMemory::new(space.with_seed(*seed));
            if Store::open(folder).is_ok() {
                bail!("{} is a store already; `crossover hrr add` adds to it", folder.display());
            }
            memory.save(folder)?;
            about(folder, &memory, json)
        }
        Action::Add { folder, names } => {
            let mut memory = opened(folder)?;
            let mut names = names.clone();
            if names.is_empty() {
                names = stdin().lock().lines().collect::<std::io::Result<_>>().context("reading names")?;
                names.retain(|name| !name.is_empty());
            }
            memory.add_all(&names)?;
            memory.save(folder)?;
            about(folder, &memory, json)
        }
        Action::Query { folder, expression, top, threshold } => {
            let memory = mapped(folder)?;
            let vector = expression::evaluate(expression, &memory)?;
            let found = memory.top_k(&vector, (*top).max(1))?;
            let known = found.into_iter().flatten().filter(|found| found.similarity >= *threshold);
            let matches = known.map(|n| Found { name: n.name, similarity: n.similarity }).collect();
            answer(Answer { expression: expression.clone(), matches }, json)
        }
        Action::Store { folder, items, pairs } => pairs::store(folder, items, pairs, json),
        Action::Recall { folder, items, keys, threshold } => {
            pairs::recall(folder, items, keys, *threshold, json)
        }
        Action::Verify { folder, salvage } => verify(folder, salvage.as_deref(), json),
        Action::Export { folder, file } => {
            let memory = mapped(folder)?;
            let names = serde_json::to_string(memory.names())?;
            let space = memory.space();
            let (model, seed) = (space.model().to_string(), space.seed().to_string());
            let about_it = [("names", names.as_str()), ("model", model.as_str()), ("seed", seed.as_str())];
            let vectors = memory.vectors();
            let vectors = match space.dtype() {
                DType::C128 => Array::concat(&[&vectors.real(), &vectors.imag()], -1),
                _ => vectors,
            };
            io::save_safetensors(file, &[("vectors", &vectors)], &about_it)?;
            about(folder, &memory, json)
        }
    }
}

fn parse_dtype(name: Option<&str>, model: Model) -> Result<DType> {
    let Some(name) = name else { return Ok(model.default_dtype()) };
    let found = DType::ALL.into_iter().find(|dtype| dtype.to_string() == name);
    found.with_context(|| format!("{name:?} is no dtype; {model} has {:?}", model.dtypes()))
}

fn opened(folder: &Path) -> Result<ItemMemory> {
    ItemMemory::open(folder).with_context(|| format!("opening the memory {}", folder.display()))
}

/// To be read only: vectors stay in the store's files, which are verified all the same.
#[allow(unsafe_code)]
fn mapped(folder: &Path) -> Result<ItemMemory> {
    // SAFETY: segments are written once, each under a name of its own, and never changed by this program; the memory is gone before the command ends.
    let memory = unsafe { ItemMemory::map(folder) };
    memory.with_context(|| format!("opening the memory {}", folder.display()))
}

fn about(folder: &Path, memory: &ItemMemory, json: bool) -> Result<bool> {
    let space = memory.space();
    let about = About {
        folder: folder.display().to_string(),
        model: space.model().to_string(),
        d: space.d(),
        dtype: space.dtype().to_string(),
        seed: space.seed(),
        items: memory.len(),
    };
    if json {
        report::json(&about)?;
    } else {
        let About { folder, model, d, dtype, items, .. } = about;
        report::text(&format!("{folder}: {items} items, {model} vectors of {d} {dtype}\n"))?;
    }
    Ok(true)
}

fn answer(answer: Answer, json: bool) -> Result<bool> {
    let is_known = !answer.matches.is_empty();
    if json {
        report::json(&answer)?;
    } else if is_known {
        let lines = answer.matches.iter().map(|found| format!("{:>7.3}  {}\n", found.similarity, found.name));
        report::text(&lines.collect::<String>())?;
    } else {
        report::text("unknown: no item is that alike; --threshold asks for less\n")?;
    }
    Ok(is_known)
}

fn verify(folder: &Path, salvage: Option<&Path>, json: bool) -> Result<bool> {
    let report = Store::verify_folder(folder)?;
    // What is damaged is told even if nothing can be salvaged.
    let (salvaged, failed) = match salvage.map(|to| salvaged(folder, to)).transpose() {
        Ok(items) => (items, None),
        Err(error) => (None, Some(error)),
    };
    let intact = report.is_intact();
    let verified = Verified {
        intact,
        operations: report.operations,
        bytes: report.bytes,
        damage: report.damage.iter().map(ToString::to_string).collect(),
        strays: report.strays,
        salvaged: salvaged.map(|(count, _)| count),
    };
    if json {
        report::json(&verified)?;
        return failed.map_or(Ok(intact), Err);
    }
    let mut text = String::new();
    for damage in &verified.damage {
        let _ = writeln!(text, "damaged: {damage}");
    }
    for stray in &verified.strays {
        let _ = writeln!(text, "belongs to no operation, ignored: {stray}");
    }
    let verdict = if intact { "intact" } else { "damaged; --salvage FOLDER keeps what is intact" };
    let (operations, bytes) = (verified.operations, units::bytes(verified.bytes));
    let _ = writeln!(text, "{verdict}: {operations} operations as they were written, {bytes} looked at");
    if let Some((count, what)) = salvaged {
        let _ = writeln!(text, "salvaged {count} {what}");
    }
    report::text(&text)?;
    failed.map_or(Ok(intact), Err)
}

/// Writes what is intact of a memory as a new one, and says how many items, or pairs, that are.
fn salvaged(folder: &Path, to: &Path) -> Result<(usize, &'static str)> {
    let found = match ItemMemory::salvage(folder) {
        Err(Error::Kind { .. }) => return Ok((pairs::salvaged(folder, to)?, "pairs")),
        found => found,
    };
    let (mut found, _) = found.with_context(|| format!("salvaging {}", folder.display()))?;
    found.save(to).with_context(|| format!("saving {}", to.display()))?;
    Ok((found.len(), "items"))
}
