//! One kernel of every kind and of every `.cu` file, for `compute-sanitizer`: small, and each under the tool's eyes once.
//!
//! `compute-sanitizer --tool memcheck crossover-gpu-test out --only sanitize` must report nothing. With `--plant` a
//! kernel that writes past its memory, and one whose threads race, run as well: then memcheck and racecheck must.

use crossover::{
    Array, Key,
    hrr::{Model, Space},
};
use crossover_core::{Graph, reference};
use crossover_cuda::{Arguments, Gpu, Nvrtc};
use crossover_plan::kernel::{self, Fused, Kind};
use crossover_runtime::{Buffer, Placement};

use crate::{
    Options, Result,
    report::Report,
    setup::{GPU, Setup},
};

/// Name and graph of every kind of kernel; sizes are no multiples of anything, or just past a limit.
const KINDS: [(&str, &str); 13] = [
    ("map", "%x = input f32[1003]\n%y = gelu %x\nreturn %y"),
    ("map of 16 bits", "%x = input bf16[1003]\n%y = exp %x\nreturn %y"),
    ("map by table", "%x = input f16[16777219]\n%y = tanh %x\nreturn %y"),
    ("map by words", "%x = input u8[1004]\n%y = input u8[1004]\n%z = bitwise_xor %x, %y\nreturn %z"),
    ("map, strided", "%x = input f32[37, 53]\n%y = permute %x axes [1, 0]\n%z = exp %y\nreturn %z"),
    (
        "map, looked up",
        "%t = input f32[37, 52]\n%i = input i64[11]\n%r = take %t, %i axis 0\n%y = exp %r\nreturn %y",
    ),
    ("row by a warp", "%x = input f32[37, 203]\n%y = sum %x axes [1]\nreturn %y"),
    ("row by a block", "%x = input f32[5, 3001]\n%y = max %x axes [1]\nreturn %y"),
    ("row over launches", "%x = input f32[3, 40001]\n%y = sum %x axes [1]\nreturn %y"),
    ("column by a thread", "%x = input f32[100, 37]\n%y = sum %x axes [0]\nreturn %y"),
    ("column over launches", "%x = input f32[1003, 37]\n%y = sum %x axes [0]\nreturn %y"),
    ("argmax", "%x = input f32[37, 203]\n%y = argmax %x axes [1]\nreturn %y"),
    ("random", "%k = input u32[2]\n%y = random %k to [1003] stream 0\nreturn %y"),
];

/// Name and graph of calls that together run every file of hand-written kernels.
const CALLS: [(&str, &str); 15] = [
    ("take", "%x = input f32[37, 53]\n%i = input i64[11]\n%y = take %x, %i axis 1\nreturn %y"),
    ("take of entries", "%x = input f32[37, 53]\n%i = input i64[11]\n%y = take %x, %i axis 0\nreturn %y"),
    (
        "gather",
        "%x = input f32[37, 53]\n%i = input i64[37, 5]\n%y = take_along_axis %x, %i axis 1\nreturn %y",
    ),
    (
        "scatter",
        "%x = input f32[301]\n%i = input i64[5003]\n%v = input f32[5003]\n%y = scatter_add %x, %i, %v axis 0\nreturn %y",
    ),
    ("sort of short lines", "%x = input f32[37, 203]\n%y = sort %x axis 1\nreturn %y"),
    ("sort of long lines", "%x = input f32[2, 40001]\n%y = sort %x axis 1 descending\nreturn %y"),
    ("argsort", "%x = input i16[3, 9001]\n%y = argsort %x axis 1\nreturn %y"),
    (
        "searchsorted",
        "%x = input f32[1003]\n%s = sort %x axis 0\n%v = input f32[507]\n%y = searchsorted %s, %v right\nreturn %y",
    ),
    ("compress", "%m = input bool[3001]\n%x = input f32[3001]\n%y = compress %m, %x count 1200\nreturn %y"),
    ("scan of rows", "%x = input f32[5, 5003]\n%y = cumulative_sum %x axis 1\nreturn %y"),
    ("scan of columns", "%x = input bf16[1003, 37]\n%y = cumulative_prod %x axis 0\nreturn %y"),
    (
        "convolve",
        "%x = input f32[71, 93]\n%k = input f32[7, 5]\n%f = scalar f32 0.5\n%y = convolve %x, %k, %f mode same boundary fill\nreturn %y",
    ),
    ("product", "%x = input f32[3, 147, 300]\n%w = input f32[3, 300, 100]\n%y = matmul %x, %w\nreturn %y"),
    ("fft", "%x = input f32[3, 1000]\n%y = rfft %x axes [1] scale count\nreturn %y"),
    (
        "cholesky",
        "%x = input f64[600, 700]\n%t = permute %x axes [1, 0]\n%y = matmul %x, %t\n%z = cholesky %y\nreturn %z",
    ),
];

/// Writes one element past its memory.
const OVERRUN: &str = "extern \"C\" __global__ void planted(int* out, int count)\n{\n    out[threadIdx.x + blockIdx.x * 128 + (count < 0)] = 1;\n}\n";
/// Threads write one shared value without waiting for one another.
const RACE: &str = "extern \"C\" __global__ void planted(int* out, int count)\n{\n    __shared__ int value;\n    \
                    value = threadIdx.x;\n    if (count > 0) out[threadIdx.x] = value;\n}\n";

pub fn run(setup: &Setup, options: &Options, report: &mut Report) -> Result<()> {
    let (host, away) = (setup.executor(Placement::Host, true), setup.executor(Placement::On(GPU), true));
    for (name, body) in KINDS.into_iter().chain(CALLS) {
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
        // Libraries have bounds instead of bits; here they are only watched.
        let exact = graph.nodes().iter().all(|node| node.op.is_exact());
        let equal = !exact || results[0] == results[1];
        report.check(name, equal, format!("{} bytes", results[0].len()));
    }
    holographic(setup, report)?;
    let counts = away.counts();
    report.check("everything ran on the GPU", counts.fallbacks == 0, format!("{counts:?}"));
    if options.plant {
        plant(setup.gpu()?)?;
    }
    Ok(())
}

/// Kernels of holographic memory, for few rows and for many.
fn holographic(setup: &Setup, report: &mut Report) -> Result<()> {
    let runtime = setup.runtime(true);
    runtime.scope(|| -> Result<()> {
        for (d, rows) in [(64, 3), (512, 1), (512, 37), (512, 1100), (1000, 5), (1000, 1100)] {
            let space = Space::new(Model::Hrr, d)?;
            let (a, b) = (space.random(&Key::new(1), rows), space.random(&Key::new(2), rows));
            let made = [
                space.bind(&a, &b)?,
                space.unbind(&a, &b.index(0))?,
                space.bind_normalised(&a, &b)?,
                space.bind_superpose(&a, &b)?,
            ];
            let mut finite = true;
            for made in made {
                finite &= made.isfinite().all(()).item::<bool>()?;
            }
            report.check(&format!("holographic vectors, {rows} rows of {d}"), finite, "finite".to_string());
        }
        for (queries, items) in [(1, 300), (5, 3001), (70, 300), (300, 1003)] {
            let space = Space::new(Model::Hrr, 520)?;
            let items = space.random(&Key::new(3), items);
            let wanted: Vec<i64> = (0..queries).map(|i| i * 7 % items.shape().dims()[0] as i64).collect();
            let asked = items.take(&Array::from_vec(wanted.clone(), [wanted.len()]), 0);
            let found = space.nearest(&asked, &items)?.to_vec::<i64>()?;
            report.check(
                &format!("cleanup of {queries}"),
                found == wanted,
                format!("{} items", items.shape()),
            );
        }
        Ok(())
    })?;
    let counts = runtime.executor().counts();
    report.check("holographic vectors on the GPU", counts.fallbacks == 0, format!("{counts:?}"));
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
            space: kernel::Space::default(),
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

#[cfg(test)]
mod tests {
    use crossover_cuda::calls::{FILES, texts};
    use crossover_plan::{Options, Plan, kernel::Kernel};

    use super::*;

    #[test]
    fn every_file_of_kernels_is_watched() {
        let mut seen = vec![None; FILES.len()];
        for (name, body) in CALLS {
            let graph = Graph::parse(&format!("graph {{\n{body}\n}}")).unwrap();
            let plan = Plan::new(&graph, Options::default()).unwrap();
            for launch in &plan.launches {
                let Kernel::Call(call) = &launch.kernel else { continue };
                for text in texts(call) {
                    for (seen, (_, file)) in seen.iter_mut().zip(FILES) {
                        if text.contains(file.trim()) {
                            *seen = Some(name);
                        }
                    }
                }
            }
        }
        let unseen: Vec<&str> =
            FILES.iter().zip(&seen).filter(|(_, seen)| seen.is_none()).map(|(file, _)| file.0).collect();
        assert!(unseen.is_empty(), "nothing runs {unseen:?}");
    }
}
