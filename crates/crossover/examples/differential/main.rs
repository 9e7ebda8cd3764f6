//! The worker of `cargo xtask differential`: random cases of one operation, computed and written to standard output.
//!
//! `differential --table` lists the operations; `differential --op NAME --cases N --seed S --first I` writes that many frames from
//! case `I` on, each the operands and results of one case ([`frame`]). The Python side computes the same with NumPy or SciPy and compares.
//! Nothing is judged here, and no case depends on another: case `i` is a function of the name, the seed and `i`.

mod case;
mod contraction;
#[cfg(test)]
mod coverage;
mod creation;
mod dice;
mod elementwise;
mod frame;
mod lookup;
mod matrices;
mod movement;
mod order;
mod reduction;
mod transform;

use std::{
    io::{self, BufWriter, Write},
    process::ExitCode,
};

use case::{Case, Entry};
use dice::Dice;

/// The families, in the order in which they are listed.
const FAMILIES: [(&str, &[Entry]); 9] = [
    ("creation", creation::ENTRIES),
    ("movement", movement::ENTRIES),
    ("lookup", lookup::ENTRIES),
    ("logic", elementwise::ENTRIES),
    ("reduction", reduction::ENTRIES),
    ("order", order::ENTRIES),
    ("contraction", contraction::ENTRIES),
    ("linalg", matrices::ENTRIES),
    ("transform", transform::ENTRIES),
];

/// What the command line asks for.
struct Request {
    op: Option<String>,
    cases: u64,
    seed: u64,
    first: u64,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("differential: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let Some(request) = parse()? else {
        return Ok(writeln!(io::stdout(), "{}", serde_json::Value::from(table()))?);
    };
    let Some(name) = request.op else {
        println!("see the top of examples/differential/main.rs; `--table` lists the operations");
        return Ok(());
    };
    let make = maker(&name).ok_or_else(|| format!("no operation is called {name}; see --table"))?;
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    for index in request.first..request.first + request.cases {
        let mut dice = Dice::new(&name, request.seed, index);
        frame::write(&mut out, index, &make(&mut dice))?;
    }
    Ok(out.flush()?)
}

/// `None` asks for the table.
fn parse() -> Result<Option<Request>, Box<dyn std::error::Error>> {
    let mut request = Request { op: None, cases: 1, seed: 1, first: 0 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--table" {
            return Ok(None);
        }
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        match word.as_str() {
            "--op" => request.op = Some(value),
            "--cases" => request.cases = value.parse()?,
            "--seed" => request.seed = value.parse()?,
            "--first" => request.first = value.parse()?,
            other => return Err(format!("{other} is unknown; see the top of the example").into()),
        }
    }
    Ok(Some(request))
}

/// Every operation with its family, and what the op table promises of it.
fn table() -> Vec<serde_json::Value> {
    let maps = crossover::core::ops::MapOp::ALL.iter().map(|&op| elementwise::described(op));
    let others = FAMILIES.iter().flat_map(|(family, entries)| {
        entries.iter().map(move |entry| serde_json::json!({"name": entry.name, "family": family}))
    });
    maps.chain(others).collect()
}

/// Makes cases of one operation.
type Maker = Box<dyn Fn(&mut Dice) -> Case>;

fn maker(name: &str) -> Option<Maker> {
    if let Some(op) = crossover::core::ops::MapOp::from_name(name) {
        return Some(Box::new(move |dice| elementwise::case(op, dice)));
    }
    let mut entries = FAMILIES.iter().flat_map(|family| family.1);
    entries.find(|entry| entry.name == name).map(|entry| Box::new(entry.make) as Maker)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the Python side knows: its tables have one line per operation, the name first.
    const PEERS: [&str; 4] = [
        include_str!("../../../../differential/elementwise.py"),
        include_str!("../../../../differential/arrays.py"),
        include_str!("../../../../differential/numeric.py"),
        include_str!("../../../../differential/matrices.py"),
    ];

    fn has_peer(name: &str) -> bool {
        let line = format!("    \"{name}\": ");
        PEERS.iter().any(|text| text.lines().any(|l| l.starts_with(&line)))
    }

    #[test]
    fn every_operation_has_a_counterpart_or_a_stated_reason() {
        for entry in table() {
            let name = entry["name"].as_str().expect("entries have names");
            assert!(has_peer(name), "{name} has no counterpart in differential/*.py");
        }
        assert!(!has_peer("no_such_operation"));
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<String> = table().iter().map(|entry| entry["name"].to_string()).collect();
        names.sort();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn a_case_is_a_function_of_name_seed_and_index() {
        for name in ["add", "sort", "svd"] {
            let make = maker(name).expect("these exist");
            let bytes = |index| {
                let mut out = Vec::new();
                frame::write(&mut out, index, &make(&mut Dice::new(name, 7, index)))
                    .expect("memory takes bytes");
                out
            };
            assert_eq!(bytes(3), bytes(3), "{name}");
            assert_ne!(bytes(3), bytes(4), "{name}");
        }
    }
}
