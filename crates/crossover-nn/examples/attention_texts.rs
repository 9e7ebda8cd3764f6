//! Writes the CUDA texts of attention and their launches, for `bench/attention.py`, which compiles and times them beside PyTorch:
//! `cargo run -p crossover-nn --example attention_texts -- FOLDER`.

use std::{fmt::Write as _, fs, path::PathBuf};

use crossover_array::{Array, DType, Precision};
use crossover_core::{
    Shape,
    custom::{Argument, Launches},
};
use crossover_cuda::calls;
use crossover_nn::Attention;
use crossover_plan::{
    Options, Plan,
    kernel::{Call, CallOp, Kernel},
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Batch, heads, queries, keys, head size; dtype; whether causal; whether TF32. Those with as many queries as keys below [`SHORT`] are
/// also called with q, k and v side by side, as a projection leaves them.
const CASES: &[([usize; 5], DType, bool, bool)] = &[
    ([4, 16, 4096, 4096, 128], DType::BF16, false, false),
    ([4, 16, 4096, 4096, 128], DType::BF16, true, false),
    ([2, 16, 16384, 16384, 128], DType::BF16, true, false),
    ([8, 12, 2048, 2048, 64], DType::BF16, false, false),
    ([8, 12, 2048, 2048, 64], DType::BF16, true, false),
    ([4, 16, 4096, 4096, 128], DType::F16, false, false),
    ([32, 12, 128, 128, 64], DType::BF16, false, false),
    ([8, 12, 512, 512, 64], DType::BF16, false, false),
    ([2, 8, 2048, 2048, 256], DType::BF16, false, false),
    ([1, 32, 1, 16384, 128], DType::BF16, false, false),
    ([8, 12, 2048, 2048, 64], DType::F32, false, false),
    ([8, 12, 2048, 2048, 64], DType::F32, false, true),
    ([4, 16, 2048, 2048, 128], DType::F32, false, false),
    ([4, 16, 2048, 2048, 128], DType::F32, false, true),
];

const SHORT: usize = 256;

fn launches_json(launches: &Launches) -> String {
    let mut out = format!("{{\"scratch\": {}, \"launches\": [", launches.scratch_bytes());
    for (at, grid) in launches.grids().iter().enumerate() {
        let arguments: Vec<String> = grid
            .arguments()
            .iter()
            .map(|argument| match argument {
                Argument::Integer(value) => format!("[\"integer\", {value}]"),
                Argument::Float(value) => format!("[\"float\", {value}]"),
                Argument::Map(map) => format!(
                    "[\"map\", \"{:?}\", {:?}, {:?}, {:?}]",
                    map.part(),
                    map.dims(),
                    map.stride_bytes(),
                    map.tile()
                ),
                _ => "null".to_string(),
            })
            .collect();
        let _ = write!(
            out,
            "{}{{\"entry\": \"{}\", \"blocks\": {:?}, \"most\": {:?}, \"threads\": {:?}, \"shared\": {}, \"arguments\": [{}]}}",
            if at > 0 { ", " } else { "" },
            grid.entry_name().unwrap_or("attention"),
            grid.blocks(),
            grid.blocks_on(1),
            grid.threads(),
            grid.shared_bytes(),
            arguments.join(", ")
        );
    }
    out + "]}"
}

/// The call of the kernel in a plan.
fn call_of(out: &Array) -> Result<Call> {
    let plan = Plan::new(&out.graph()?, Options::default())?;
    let call = plan.launches.into_iter().find_map(|launch| match launch.kernel {
        Kernel::Call(call) if matches!(call.op, CallOp::Custom(_)) => Some(call),
        _ => None,
    });
    call.ok_or_else(|| "the plan has no kernel of attention".into())
}

fn main() -> Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("attention_texts FOLDER")?);
    fs::create_dir_all(&folder)?;
    let mut all = Vec::new();
    for &([batch, heads, queries, keys, size], dtype, causal, tf32) in CASES {
        let mut options = Attention::new().precision(if tf32 { Precision::Tf32 } else { Precision::Exact });
        if causal {
            options = options.causal();
        }
        let q = Array::zeros_dtype([batch, heads, queries, size], dtype);
        let k = Array::zeros_dtype([batch, heads, keys, size], dtype);
        let mut calls = vec![(false, options.call(&q, &k, &k))];
        if queries == keys && keys < SHORT {
            let joined = Array::zeros_dtype([batch, queries, 3, heads, size], dtype);
            calls.push((true, options.call_joined(&joined)));
        }
        for (joined, out) in calls {
            let call = call_of(&out)?;
            let CallOp::Custom(kernel) = &call.op else { continue };
            let shapes: Vec<&Shape> = call.operands.iter().map(|operand| &operand.layout.shape).collect();
            let Some((_, launches)) = kernel.program(90, &shapes, &call.layout.shape)? else { continue };
            let text = calls::texts_since(&call, 90).pop().ok_or("there is no text")?;
            let file = format!("{}.cu", all.len());
            fs::write(folder.join(&file), text)?;
            all.push(format!(
                "{{\"file\": \"{file}\", \"shape\": [{batch}, {heads}, {queries}, {keys}, {size}], \"dtype\": \"{dtype}\", \
                 \"causal\": {causal}, \"tf32\": {tf32}, \"joined\": {joined}, \"program\": {}}}",
                launches_json(&launches)
            ));
        }
    }
    fs::write(folder.join("texts.json"), format!("[{}]\n", all.join(",\n")))?;
    println!("{} texts in {}", all.len(), folder.display());
    Ok(())
}
