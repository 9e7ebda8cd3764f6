//! Writes the CUDA texts of holographic memory and their launches, for `bench/hrr_gpu.py`, which compiles and times them beside other libraries:
//! `cargo run -p crossover-hrr --example hrr_texts -- FOLDER`.

use std::{collections::BTreeMap, fs, path::PathBuf};

use crossover_array::{Array, DType};
use crossover_core::{
    Shape,
    custom::{Argument, Launches, Part},
};
use crossover_cuda::calls;
use crossover_hrr::{ItemMemory, Model, Space};
use crossover_plan::{
    Options, Plan,
    kernel::{Call, CallOp, Kernel},
};
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Rows of 100,000, in f32 and where it is said in bf16, and smaller batches.
const ROWS: usize = 100_000;
const BATCHES: [usize; 5] = [1, 10, 100, 1000, 10_000];
/// Queries, items and length of cleanups.
const CLEANUPS: [[usize; 3]; 2] = [[1000, 100_000, 1024], [1, 100_000, 1024]];

fn launches_json(name: &str, launches: &Launches) -> Value {
    let grids: Vec<Value> = launches
        .grids()
        .iter()
        .map(|grid| {
            let arguments = grid.arguments().iter().map(|argument| match argument {
                Argument::Integer(value) => json!(["integer", value]),
                Argument::Float(value) => json!(["float", value]),
                Argument::Map(map) => {
                    let (kind, at) = match map.part() {
                        Part::Scratch(at) => ("map", at),
                        Part::Operand(at) => ("operand map", at),
                        Part::Result => return json!(["a map of the result"]),
                    };
                    json!([kind, at, map.dims(), map.stride_bytes(), map.tile()])
                }
                other => json!([format!("{other:?}")]),
            });
            json!({
                "entry": grid.entry_name().unwrap_or(name),
                "blocks": grid.blocks(),
                "most": grid.blocks_on(1),
                "threads": grid.threads(),
                "shared": grid.shared_bytes(),
                "arguments": arguments.collect::<Vec<Value>>(),
            })
        })
        .collect();
    json!({ "scratch": launches.scratch_bytes(), "launches": grids })
}

/// The call of a kernel of ours in a plan.
fn call_of(out: &Array) -> Result<Call> {
    let plan = Plan::new(&out.graph()?, Options::default())?;
    let call = plan.launches.into_iter().find_map(|launch| match launch.kernel {
        Kernel::Call(call) if matches!(call.op, CallOp::Custom(_)) => Some(call),
        _ => None,
    });
    call.ok_or_else(|| "the plan has no kernel of holographic memory".into())
}

/// Texts by file, and what is launched of them.
#[derive(Default)]
struct Texts {
    files: BTreeMap<String, String>,
    cases: Vec<Value>,
}

impl Texts {
    fn add(&mut self, case: &str, out: &Array) -> Result<()> {
        let call = call_of(out)?;
        let CallOp::Custom(kernel) = &call.op else { return Err("no kernel of ours".into()) };
        let shapes: Vec<&Shape> = call.operands.iter().map(|operand| &operand.layout.shape).collect();
        let Some((_, launches)) = kernel.program(90, &shapes, &call.layout.shape)? else {
            return Err("the kernel has no CUDA source".into());
        };
        let text = calls::texts_since(&call, 90).pop().ok_or("there is no text")?;
        let file = match self.files.iter().find(|(_, known)| **known == text) {
            Some((file, _)) => file.clone(),
            None => format!("{}.cu", self.files.len()),
        };
        self.files.insert(file.clone(), text);
        let dims = |shape: &Shape| shape.dims().to_vec();
        self.cases.push(json!({
            "name": case,
            "file": file,
            "operands": shapes.iter().map(|s| dims(s)).collect::<Vec<_>>(),
            "result": dims(&call.layout.shape),
            "dtype": call.operands[0].dtype.to_string(),
            "program": launches_json(kernel.name(), &launches),
        }));
        Ok(())
    }
}

fn main() -> Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("hrr_texts FOLDER")?);
    fs::create_dir_all(&folder)?;
    let mut texts = Texts::default();
    for d in [512, 1024] {
        let space = Space::new(Model::Hrr, d)?;
        let (a, b) = (Array::zeros::<f32>([ROWS, d]), Array::zeros::<f32>([ROWS, d]));
        texts.add(&format!("bind d={d} rows={ROWS}"), &space.bind(&a, &b)?)?;
        texts.add(&format!("unbind d={d} rows={ROWS}"), &space.unbind(&a, &b)?)?;
        texts.add(&format!("bind and normalise d={d} rows={ROWS}"), &space.bind_normalised(&a, &b)?)?;
        texts.add(&format!("bind and superpose d={d} rows={ROWS}"), &space.bind_superpose(&a, &b)?)?;
        texts.add(&format!("bind, one key d={d} rows={ROWS}"), &space.bind(&a, &b.index(0))?)?;
        let short = space.with_dtype(DType::BF16)?;
        let (a, b) = (a.astype(DType::BF16), b.astype(DType::BF16));
        texts.add(&format!("bind bf16 d={d} rows={ROWS}"), &short.bind(&a, &b)?)?;
    }
    let space = Space::new(Model::Hrr, 512)?;
    for rows in BATCHES {
        let a = Array::zeros::<f32>([rows, 512]);
        texts.add(&format!("bind d=512 rows={rows}"), &space.bind(&a, &Array::zeros::<f32>([rows, 512]))?)?;
    }
    for [queries, items, d] in CLEANUPS {
        let (asked, among) = (Array::zeros::<f32>([queries, d]), Array::zeros::<f32>([items, d]));
        let found = Space::new(Model::Hrr, d)?.nearest(&asked, &among)?;
        texts.add(&format!("cleanup {queries} x {items} d={d}"), &found)?;
        let mut memory = ItemMemory::compact(0, Space::new(Model::Hrr, d)?, DType::F16)?;
        let names: Vec<String> = (0..items).map(|i| i.to_string()).collect();
        memory.add_vectors(&names, &among)?;
        texts.add(&format!("cleanup in f16 {queries} x {items} d={d}"), &memory.nearest(&asked)?)?;
    }
    for (file, text) in &texts.files {
        fs::write(folder.join(file), text)?;
    }
    fs::write(folder.join("texts.json"), format!("{:#}\n", Value::from(texts.cases.clone())))?;
    println!("{} cases of {} texts in {}", texts.cases.len(), texts.files.len(), folder.display());
    Ok(())
}
