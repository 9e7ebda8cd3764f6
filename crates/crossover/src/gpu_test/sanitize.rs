//! One kernel of every kind, for `compute-sanitizer`: small, and each under the tool's eyes once.
//!
//! `compute-sanitizer --tool memcheck crossover-gpu-test out --only sanitize` must report nothing. With `--plant` a
//! kernel that writes past its memory, and one whose threads race, run as well: then memcheck and racecheck must.

use crossover_core::{Graph, reference};
use crossover_cuda::{Arguments, Gpu, Nvrtc};
use crossover_plan::kernel::{Fused, Kind, Space};
use crossover_runtime::{Buffer, Placement};

use crate::{
    Options, Result,
    report::Report,
    setup::{GPU, Setup},
};

/// Name and graph of every kind of kernel; sizes are no multiples of anything, or just past a limit.
const KINDS: [(&str, &str); 12] = [
    ("map", "%x = input f32[1003]\n%y = gelu %x\nreturn %y"),
    ("map of 16 bits", "%x = input bf16[1003]\n%y = exp %x\nreturn %y"),
    ("map by table", "%x = input f16[16777219]\n%y = tanh %x\nreturn %y"),
    ("map by words", "%x = input u8[1004]\n%y = input u8[1004]\n%z = bitwise_xor %x, %y\nreturn %z"),
    ("map, strided", "%x = input f32[37, 53]\n%y = permute %x axes [1, 0]\n%z = exp %y\nreturn %z"),
    ("row by a warp", "%x = input f32[37, 203]\n%y = sum %x axes [1]\nreturn %y"),
    ("row by a block", "%x = input f32[5, 3001]\n%y = max %x axes [1]\nreturn %y"),
    ("row over launches", "%x = input f32[3, 40001]\n%y = sum %x axes [1]\nreturn %y"),
    ("column by a thread", "%x = input f32[100, 37]\n%y = sum %x axes [0]\nreturn %y"),
    ("column over launches", "%x = input f32[1003, 37]\n%y = sum %x axes [0]\nreturn %y"),
    ("argmax", "%x = input f32[37, 203]\n%y = argmax %x axes [1]\nreturn %y"),
    ("random", "%k = input u32[2]\n%y = random %k to [1003] stream 0\nreturn %y"),
];

/// Writes one element past its memory.
const OVERRUN: &str = "extern \"C\" __global__ void planted(int* out, int count)\n{\n    out[threadIdx.x + blockIdx.x * 128 + (count < 0)] = 1;\n}\n";
/// Threads write one shared value without waiting for one another.
const RACE: &str = "extern \"C\" __global__ void planted(int* out, int count)\n{\n    __shared__ int value;\n    \
                    value = threadIdx.x;\n    if (count > 0) out[threadIdx.x] = value;\n}\n";

pub fn run(setup: &Setup, options: &Options, report: &mut Report) -> Result<()> {
    let (host, away) = (setup.executor(Placement::Host, true), setup.executor(Placement::On(GPU), true));
    for (name, body) in KINDS {
        let graph = Graph::parse(&format!("graph {{\n{body}\n}}")).map_err(|e| format!("{name}: {e}"))?;
        let inputs = reference::random_inputs(&graph, 9);
        let mut results = Vec::new();
        for executor in [&host, &away] {
            let mut buffers = Vec::new();
            for tensor in &inputs {
                buffers.push(Buffer::from_bytes(executor.machine(), &tensor.bytes)?);
            }
            let out = executor.evaluate(&graph, &buffers)?;
            results.push(out[0].host_bytes()?.to_vec());
        }
        report.check(name, results[0] == results[1], format!("{} bytes", results[0].len()));
    }
    let counts = away.counts();
    report.check("everything ran on the GPU", counts.fallbacks == 0, format!("{counts:?}"));
    if options.plant {
        plant(setup.gpu()?)?;
    }
    Ok(())
}

/// Runs two kernels that are wrong on purpose.
fn plant(gpu: &Gpu) -> Result<()> {
    let nvrtc = Nvrtc::open()?;
    for (text, blocks) in [(RACE, 1), (OVERRUN, 2)] {
        let module = gpu.load(&nvrtc.compile(text, &gpu.architecture())?)?;
        // Room for the first block alone.
        let memory = gpu.allocate(128 * 4)?;
        let nothing = Fused {
            kind: Kind::Map,
            space: Space::default(),
            loads: Vec::new(),
            steps: Vec::new(),
            stores: Vec::new(),
        };
        let launch = crossover_codegen::Launch {
            entry: "planted".to_string(),
            threads: 128,
            blocks,
            shared: 0,
            arguments: vec![crossover_codegen::Argument::Scratch(0), crossover_codegen::Argument::Index(1)],
        };
        let source = crossover_codegen::Source {
            text: text.to_string(),
            launches: vec![launch.clone()],
            scratch: 512,
            wide: false,
        };
        let arguments = Arguments::new(&nothing, &source, &launch, &[], &[], memory.address(), &[])?;
        gpu.launch(&module, "planted", blocks, 128, arguments)?;
        gpu.synchronise()?;
    }
    Ok(())
}
