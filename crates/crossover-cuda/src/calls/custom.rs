//! Kernels that users write: their source between text of ours, and how it comes through the compiler. See [`Launched`] for what
//! runs then.
//!
//! What always holds: the compiler's messages name lines of the user's source; a kernel whose parameters do not fit its signature
//! does not compile; a source that does not compile is an error of the evaluation, and never a reason to compute on the host.

use std::sync::Arc;

use crossover_codegen::{Words, elements};
use crossover_core::{
    DType, Shape,
    custom::{Argument, CustomKernel, Grid, Launches, Part},
};
use crossover_plan::kernel::Call;
use crossover_runtime::{Coming, Error, Executable, KernelRecord, Result};
use smallvec::SmallVec;

use super::{
    launched::{Entry, Launched},
    own::OwnCall,
    program::{Cells, Program, blocks},
    views::{is_wide, merge},
};
use crate::{backend::Open, compiler::Compilation};

const VIEWS: &str = include_str!("../kernels/views.cuh");
/// What a tensor map is in a source.
const MAP: &str = "struct alignas(64) xo_tensor_map {\n    unsigned long long words[16];\n};\n";
/// Threads of a block of an elementwise kernel, and elements that each takes.
const THREADS: usize = 256;
const EACH: usize = 4;

/// The file that the compiler says the user's source is.
fn file(kernel: &CustomKernel) -> String {
    format!("{}.cu", kernel.name())
}

/// The start of a text, and the words of the operands' dtypes and of the result's.
fn opening(kernel: &CustomKernel, wide: bool) -> (String, Vec<Words>) {
    let all = kernel.inputs().iter().chain([kernel.output()]);
    let (prelude, words) = elements(&all.map(|p| p.dtype).collect::<Vec<DType>>(), wide);
    (format!("{}{}\n{prelude}\n", KernelRecord::CUSTOM, kernel.name()), words)
}

/// An elementwise kernel as a program of ours, with the user's statements inside.
pub(super) fn elementwise(call: &Call, kernel: &CustomKernel) -> Option<Program> {
    let body = kernel.body()?;
    let (wide, count, total) = (is_wide(call), kernel.inputs().len(), call.layout.shape.size());
    let strides: Vec<&[isize]> = call.operands.iter().map(|o| &*o.layout.strides).collect();
    let (dims, strides) = merge(call.layout.shape.dims(), &strides);
    let (mut text, words) = opening(kernel, wide);
    let (name, output) = (kernel.name(), &words[count]);
    let declared: Vec<String> =
        kernel.inputs().iter().zip(&words).map(|(p, w)| format!("const {} {}", w.held, p.name)).collect();
    let pointers: Vec<String> =
        (0..count).map(|i| format!("const {}* __restrict__ in{i}", words[i].memory)).collect();
    let loads: String = (0..count)
        .map(|i| {
            let Words { memory, held, hold, .. } = &words[i];
            format!("__device__ __forceinline__ {held} xo_hold{i}(const {memory} x) {{ return {hold}; }}\n")
        })
        .collect();
    let held: Vec<String> = (0..count).map(|i| format!("xo_hold{i}(in{i}[place.at[{i}]])")).collect();
    let out = &kernel.output().name;
    text.push_str(&format!(
        "{VIEWS}
__device__ __forceinline__ {held_type} xo_body({parameters}) {{
    {held_type} {out};
    {{
#line 1 \"{file}\"
{body};
#line 1 \"crossover.cu\"
    }}
    return {out};
}}

{loads}__device__ __forceinline__ {memory_type} xo_release(const {held_type} x) {{ return {release}; }}

extern \"C\" __global__ void __launch_bounds__({THREADS}) {name}(
    {pointers}, {memory_type}* __restrict__ out, const xo_views<{rank}, {count}> views, index_t total)
{{
    const index_t step = (index_t)gridDim.x * blockDim.x;
    #pragma unroll {EACH}
    for (index_t i = (index_t)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += step) {{
        const xo_places<{count}> place = xo_find(views, i);
        out[i] = xo_release(xo_body({values}));
    }}
}}
",
        held_type = output.held,
        memory_type = output.memory,
        release = output.release,
        parameters = declared.join(", "),
        file = file(kernel),
        pointers = pointers.join(", "),
        rank = dims.len(),
        values = held.join(", "),
    ));
    let mut cells = Cells::new(wide);
    for (i, operand) in call.operands.iter().enumerate() {
        cells = cells.input(i, operand.layout.offset * operand.dtype.size());
    }
    let values: Vec<isize> = dims.iter().map(|&n| n as isize).chain(strides.into_iter().flatten()).collect();
    let cells = cells.output().group(&values).indices(&[total as isize]);
    let step = cells.step(name, blocks(total, THREADS, EACH), THREADS as u32);
    Some(Program { text, scratch: 0, steps: vec![step] })
}

/// The text of a whole kernel: the user's source, and a check of what it declares.
fn whole(kernel: &CustomKernel, source: &str, launches: &Launches) -> String {
    let (mut text, words) = opening(kernel, false);
    let count = kernel.inputs().len();
    let mut pointers: Vec<String> = words[..count].iter().map(|w| format!("const {}*", w.memory)).collect();
    pointers.push(format!("{}*", words[count].memory));
    if launches.scratch_bytes() > 0 {
        pointers.push("unsigned char*".to_string());
    }
    // A text may have entries that these shapes do not launch.
    if source.contains("xo_tensor_map") {
        text.push_str(MAP);
    }
    text.push_str(&format!(
        "#line 1 \"{}\"
{source}
#line 1 \"crossover.cu\"
template <typename A, typename B>
struct xo_same {{
    static constexpr bool value = false;
}};
template <typename A>
struct xo_same<A, A> {{
    static constexpr bool value = true;
}};
",
        file(kernel)
    ));
    let mut checked: SmallVec<[&str; 4]> = SmallVec::new();
    for grid in launches.grids() {
        let name = grid.entry_name().unwrap_or(kernel.name());
        if !checked.contains(&name) {
            checked.push(name);
            text.push_str(&declared(name, &pointers, grid));
        }
    }
    text
}

/// A check of what an entry point is declared as.
fn declared(name: &str, pointers: &[String], grid: &Grid) -> String {
    let (mut types, mut parameters) = (pointers.to_vec(), pointers.to_vec());
    for argument in grid.arguments() {
        let (ty, parameter) = match argument {
            Argument::Float(_) => ("float", "float"),
            Argument::Map(_) => ("xo_tensor_map", "const __grid_constant__ xo_tensor_map"),
            _ => ("long long", "long long"),
        };
        types.push(ty.to_string());
        parameters.push(parameter.to_string());
    }
    let (types, parameters) = (types.join(", "), parameters.join(", "));
    format!(
        "static_assert(
    xo_same<decltype(&{name}), void (*)({types})>::value,
    \"by its signature and launch, {name} is declared extern C __global__ void {name}({parameters})\");
// Fails if it was declared without extern C.
extern \"C\" __global__ void {name}({parameters});
"
    )
}

/// The shapes of a call's operands.
fn shapes(call: &Call) -> SmallVec<[&Shape; 4]> {
    call.operands.iter().map(|o| &o.layout.shape).collect()
}

/// The text of a call on a device of a compute capability; `None` if the kernel has no CUDA source for it.
pub(super) fn text(call: &Call, kernel: &CustomKernel, capability: u32) -> Result<Option<String>> {
    if let Some(program) = elementwise(call, kernel) {
        return Ok(Some(program.text));
    }
    let made = kernel.program(capability, &shapes(call), &call.layout.shape)?;
    Ok(made.map(|(source, launches)| whole(kernel, source, &launches)))
}

/// How a kernel is launched.
#[derive(Debug)]
enum Start {
    Elementwise(Program),
    Whole(Launches),
}

/// A kernel on its way through the compiler.
#[derive(Debug)]
struct ComingCustom {
    open: Arc<Open>,
    kernel: CustomKernel,
    start: Start,
    compilation: Arc<Compilation>,
    /// Bytes of the result, and where each operand starts in its block.
    bytes: usize,
    offsets: SmallVec<[u64; 4]>,
}

/// Starts to compile a call.
pub(super) fn begin(open: &Arc<Open>, call: &Call, kernel: &CustomKernel) -> Result<Box<dyn Coming>> {
    let bytes = call.layout.shape.size() * call.dtype.size();
    let (text, start) = match elementwise(call, kernel) {
        Some(program) => (program.text.clone(), Start::Elementwise(program)),
        None => {
            let capability = open.gpu.capability();
            let made = kernel.program(capability, &shapes(call), &call.layout.shape)?;
            let Some((source, launches)) = made else {
                let what = format!("the custom kernel {}: it has no CUDA source", kernel.name());
                return Err(Error::Unsupported { device: open.gpu.name().to_string(), what });
            };
            let sizes = call.operands.iter().map(|o| o.layout.shape.size() * o.dtype.size());
            check(open, kernel, &launches, &sizes.collect::<Vec<_>>(), bytes)?;
            (whole(kernel, source, &launches), Start::Whole(launches))
        }
    };
    Ok(Box::new(ComingCustom {
        open: open.clone(),
        kernel: kernel.clone(),
        start,
        compilation: open.compiler.begin(&text),
        bytes,
        offsets: call.operands.iter().map(|o| (o.layout.offset * o.dtype.size()) as u64).collect(),
    }))
}

/// What this device cannot launch, and maps of more than there is.
fn check(
    open: &Open,
    kernel: &CustomKernel,
    launches: &Launches,
    operands: &[usize],
    result: usize,
) -> Result<()> {
    let (most, device) = (open.gpu.limits().shared, open.gpu.name());
    for grid in launches.grids() {
        let asked = grid.shared_bytes();
        if asked > most {
            let what = format!("asks for {asked} bytes of shared memory per block, and {device} has {most}");
            return Err(refused(kernel, what));
        }
        for argument in grid.arguments() {
            let Argument::Map(map) = argument else { continue };
            let there = match map.part() {
                Part::Operand(i) => operands.get(i).copied().unwrap_or(0),
                Part::Result => result,
                Part::Scratch(at) => launches.scratch_bytes().saturating_sub(at),
            };
            let asked = map.extent() * map.dtype().size();
            if asked > there {
                let what =
                    format!("has a tensor map of {asked} bytes of {:?}, which has {there}", map.part());
                return Err(refused(kernel, what));
            }
        }
    }
    Ok(())
}

fn refused(kernel: &CustomKernel, what: String) -> Error {
    Error::Invalid(crossover_core::Error::Kernel { op: kernel.name(), part: "launch rule", what })
}

impl ComingCustom {
    /// The runtime's form of an error. What the user's source causes is told; what the machine lacks is the host's turn.
    fn failed(&self, error: crate::Error) -> Error {
        match error {
            crate::Error::Compile { architecture, log } if log.starts_with("NVRTC_ERROR_COMPILATION") => {
                let line = line(&log, &file(&self.kernel));
                Error::Source { kernel: self.kernel.name(), architecture, line, log }
            }
            other => self.open.refused("making a custom kernel ready", other),
        }
    }

    fn whole(&self, launches: &Launches) -> Result<Launched> {
        let module = self.compilation.wait().map_err(|error| self.failed(error))?;
        let mut entries = Vec::new();
        for grid in launches.grids() {
            let name = grid.entry_name().unwrap_or(self.kernel.name());
            let made = module.function(name).and_then(|function| {
                if grid.shared_bytes() > 0 {
                    self.open.gpu.allow_shared(function, grid.shared_bytes())?;
                }
                Ok((function, self.open.gpu.most_threads(function)?))
            });
            let (function, most) = made.map_err(|error| self.failed(error))?;
            let threads: usize = grid.threads().iter().product();
            if threads > most as usize {
                let what =
                    format!("asks for {threads} threads per block, and as compiled it can have {most}");
                return Err(refused(&self.kernel, what));
            }
            entries.push(Entry::new(function, grid, self.open.gpu.multiprocessors().max(1) as usize));
        }
        Ok(Launched {
            open: self.open.clone(),
            entries,
            offsets: self.offsets.clone(),
            scratch: launches.scratch_bytes(),
            zeroed: if self.kernel.is_zeroed() { self.bytes } else { 0 },
            compilation: self.compilation.clone(),
            _module: module,
        })
    }
}

impl Coming for ComingCustom {
    fn is_ready(&self) -> bool {
        self.compilation.is_done()
    }

    fn wait(&self) -> Result<Box<dyn Executable>> {
        match &self.start {
            Start::Whole(launches) => Ok(Box::new(self.whole(launches)?)),
            Start::Elementwise(program) => {
                let programs = [(program.clone(), self.compilation.clone())];
                let made = OwnCall::new(&self.open, &programs).map_err(|error| self.failed(error))?;
                Ok(Box::new(made))
            }
        }
    }
}

/// The line of a file that the first error of a log names.
fn line(log: &str, file: &str) -> Option<usize> {
    log.lines().filter(|line| line.contains("): error")).find_map(|text| {
        let after = text.trim_start().strip_prefix(file)?.strip_prefix('(')?;
        after.split(')').next()?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_in_the_users_file_gives_the_line() {
        let log = "NVRTC_ERROR_COMPILATION\na.cu(2): warning #177-D: variable \"error\" was declared\n\
                   a.cu(7): error: identifier \"y\" is undefined\na.cu(9): error: expected a \";\"\n";
        assert_eq!(line(log, "b.cu"), None);
        assert_eq!(line("crossover.cu(3): error: static assertion failed", "a.cu"), None);
        assert_eq!(line(log, "a.cu"), Some(7));
    }
}
