//! Kernels that users write: a CPU closure, and CUDA source for the same work, with a signature that is checked.
//!
//! A [`CustomKernel`] is an op of the graph like any other ([`crate::graph::Op::Custom`]): lazy, planned, scheduled,
//! explained. It comes in two forms. **Elementwise**: a Rust closure of one element of each operand and a CUDA statement
//! that does the same; operands broadcast and may be strided. **Whole**: a closure over all elements, a rule for the shape of
//! the result, and a CUDA kernel with a rule for its launch; operands are row-major without gaps.
//!
//! What always holds: the closure computes on the host, in the reference interpreter and on the simulated device; the CUDA
//! source computes on a GPU. Nothing checks that the two agree, so a kernel never runs on the host because a compiler has not
//! finished. A kernel is a function of its operands: equal calls may be computed once. Equality is identity: building the
//! same kernel twice makes two.

mod build;
mod each;
mod grid;
mod map;
mod values;
mod work;

use std::{
    any::Any,
    fmt,
    hash::{Hash, Hasher},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use smallvec::SmallVec;

pub use self::{
    build::Builder,
    each::Each,
    grid::{Argument, Grid, Launches},
    map::{Part, Swizzle, TensorMap},
    values::{Inputs, Output, Room, Values},
    work::Work,
};
use crate::{DType, Error, Result, Shape, graph::Type};

/// A name and a dtype: an operand or the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// The name, as the elementwise CUDA statement uses it.
    pub name: String,
    /// The dtype.
    pub dtype: DType,
}

type Closure = dyn Fn(&Inputs<'_>, &mut Output<'_>) -> Result<()> + Send + Sync;
type ShapeRule = dyn Fn(&[&Shape]) -> Result<Shape, String> + Send + Sync;
type LaunchRule = dyn Fn(&[&Shape], &Shape) -> Launches + Send + Sync;
type PieceRule = dyn Fn(&[&Shape], &Shape) -> usize + Send + Sync;
type WorkRule = dyn Fn(&[&Shape], &Shape) -> Work + Send + Sync;

/// CUDA source for devices of at least a compute capability.
struct Variant {
    capability: u32,
    source: String,
    rule: Box<LaunchRule>,
}

/// How the work is given.
enum Form {
    /// A CUDA statement over one element of each operand.
    Elementwise { body: String },
    /// CUDA kernels over all elements, by ascending capability.
    Whole { shape: Box<ShapeRule>, cuda: Vec<Variant>, pieces: Option<Box<PieceRule>>, zeroed: bool },
}

struct Definition {
    name: &'static str,
    inputs: Vec<Parameter>,
    output: Parameter,
    closure: Box<Closure>,
    work: Option<Box<WorkRule>>,
    form: Form,
}

/// A kernel of the user's. Cheap to clone.
///
/// ```
/// use crossover_core::{DType, custom::CustomKernel};
/// let saxpy = CustomKernel::builder("saxpy")
///     .input("a", DType::F32)
///     .input("x", DType::F32)
///     .input("y", DType::F32)
///     .output("out", DType::F32)
///     .elementwise("out = a * x + y", |a: f32, x: f32, y: f32| a * x + y)
///     .build()?;
/// assert_eq!(saxpy.to_string(), "saxpy(a: f32, x: f32, y: f32) -> out: f32");
/// assert_eq!((saxpy.name(), saxpy.is_elementwise(), saxpy.inputs().len()), ("saxpy", true, 3));
/// # Ok::<(), crossover_core::Error>(())
/// ```
#[derive(Clone)]
pub struct CustomKernel {
    definition: Arc<Definition>,
}

/// Values that kernels can be called on: arrays.
pub trait Apply: Sized {
    /// The result of a call.
    fn apply(kernel: &CustomKernel, operands: &[&Self]) -> Self;
}

impl CustomKernel {
    /// Starts the definition of a kernel. The name is an identifier, and the name of the `__global__` function where there is
    /// one.
    pub fn builder(name: &str) -> Builder {
        Builder::new(name)
    }

    /// Calls the kernel on arrays. Nothing is computed yet; what is wrong with the operands travels in the result.
    #[track_caller]
    pub fn call<V: Apply>(&self, operands: &[&V]) -> V {
        V::apply(self, operands)
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.definition.name
    }

    /// The operands.
    pub fn inputs(&self) -> &[Parameter] {
        &self.definition.inputs
    }

    /// The result.
    pub fn output(&self) -> &Parameter {
        &self.definition.output
    }

    /// Whether each element of the result depends on one element of each operand.
    pub fn is_elementwise(&self) -> bool {
        matches!(self.definition.form, Form::Elementwise { .. })
    }

    /// The CUDA statement of an elementwise kernel.
    pub fn body(&self) -> Option<&str> {
        match &self.definition.form {
            Form::Elementwise { body } => Some(body),
            Form::Whole { .. } => None,
        }
    }

    /// Whether the result's memory is zeroed before the kernel runs.
    pub fn is_zeroed(&self) -> bool {
        matches!(self.definition.form, Form::Whole { zeroed: true, .. })
    }

    /// The CUDA source for a device of a compute capability (90 for 9.0), and its launches for these shapes; `None` where the
    /// host does the work.
    pub fn program(
        &self,
        capability: u32,
        inputs: &[&Shape],
        output: &Shape,
    ) -> Result<Option<(&str, Launches)>> {
        let Form::Whole { cuda, .. } = &self.definition.form else { return Ok(None) };
        let Some(variant) = cuda.iter().rfind(|variant| variant.capability <= capability) else {
            return Ok(None);
        };
        let launches = self.guarded("launch rule", || (variant.rule)(inputs, output))?;
        launches.check().map_err(|what| self.failed("launch rule", what))?;
        Ok(Some((&variant.source, launches)))
    }

    /// Elements of a piece on the CPU, of which threads take one after another; `None` for a kernel that is one call.
    pub fn piece(&self, inputs: &[&Shape], output: &Shape) -> Result<Option<usize>> {
        match &self.definition.form {
            Form::Whole { pieces: Some(rule), .. } => {
                Ok(Some(self.guarded("piece rule", || rule(inputs, output))?.max(1)))
            }
            _ => Ok(None),
        }
    }

    /// What there is to do for these shapes; `None` where nobody has said so.
    pub fn work(&self, inputs: &[&Shape], output: &Shape) -> Option<Work> {
        let rule = self.definition.work.as_ref()?;
        // A rule that panics says nothing.
        self.guarded("work rule", || rule(inputs, output)).ok()
    }

    /// The type of the result, or what is wrong with the operands. Elementwise operands have equal shapes here; see
    /// [`crate::compose::custom`] for the rule that repeats them.
    pub fn infer(&self, args: &[&Type]) -> Result<Type> {
        let op = self.name();
        for (parameter, arg) in self.inputs().iter().zip(args) {
            if parameter.dtype != arg.dtype {
                let supported = format!("{} for `{}`", parameter.dtype, parameter.name);
                return Err(Error::DType { op, dtype: arg.dtype, supported });
            }
        }
        let dtype = self.output().dtype;
        let shape = match &self.definition.form {
            Form::Elementwise { .. } => {
                for arg in &args[1..] {
                    if arg.shape != args[0].shape {
                        let (left, right) = (args[0].shape.clone(), arg.shape.clone());
                        let why = "operands of an elementwise kernel have equal shapes here";
                        return Err(Error::Shape { op, left, right, why });
                    }
                }
                args[0].shape.clone()
            }
            Form::Whole { shape, .. } => {
                let shapes: SmallVec<[&Shape; 4]> = args.iter().map(|a| &a.shape).collect();
                let made = self.guarded("shape rule", || shape(&shapes))?;
                made.map_err(|what| Error::Value { op, what })?
            }
        };
        Ok(Type { dtype, shape: Shape::checked(op, shape.iter().copied())? })
    }

    /// Runs the closure: over all elements, or, for an elementwise kernel, over as many of each as there are.
    pub fn run(&self, inputs: &[Values<'_>], shape: &Shape, output: &mut [u8]) -> Result<()> {
        self.run_piece(inputs, shape, 0, output)
    }

    /// Runs the closure for the elements of the result from a position on.
    pub fn run_piece(
        &self,
        inputs: &[Values<'_>],
        shape: &Shape,
        start: usize,
        output: &mut [u8],
    ) -> Result<()> {
        let inputs = Inputs { op: self.name(), values: inputs };
        let mut output = Output { op: self.name(), dtype: self.output().dtype, shape, start, bytes: output };
        let computed = self.guarded("CPU closure", || (self.definition.closure)(&inputs, &mut output))?;
        computed.map_err(|error| match error {
            // What the closure says about its own operands names the kernel already.
            Error::Kernel { .. } => error,
            other => self.failed("CPU closure", format!("failed: {other}")),
        })
    }

    fn failed(&self, part: &'static str, what: String) -> Error {
        Error::Kernel { op: self.name(), part, what }
    }

    /// What a closure of the user's returns; a panic is an error.
    fn guarded<T>(&self, part: &'static str, body: impl FnOnce() -> T) -> Result<T> {
        // Nobody looks at what a closure that panicked has left behind: its output is dropped with the error.
        catch_unwind(AssertUnwindSafe(body))
            .map_err(|payload| self.failed(part, format!("panicked: {}", message(&*payload))))
    }
}

fn message(payload: &(dyn Any + Send)) -> &str {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "without a message",
    }
}

/// Identity.
impl PartialEq for CustomKernel {
    fn eq(&self, other: &CustomKernel) -> bool {
        Arc::ptr_eq(&self.definition, &other.definition)
    }
}

impl Eq for CustomKernel {}

impl Hash for CustomKernel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.definition).hash(state);
    }
}

/// The signature.
impl fmt::Display for CustomKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name())?;
        for (i, parameter) in self.inputs().iter().enumerate() {
            write!(f, "{}{}: {}", if i > 0 { ", " } else { "" }, parameter.name, parameter.dtype)?;
        }
        write!(f, ") -> {}: {}", self.output().name, self.output().dtype)
    }
}

impl fmt::Debug for CustomKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CustomKernel({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn halves() -> CustomKernel {
        let shape = |shapes: &[&Shape]| match shapes[0].dims() {
            [n] if n.is_multiple_of(2) => Ok(Shape::from([n / 2])),
            dims => Err(format!("wants one axis of even length, not {dims:?}")),
        };
        CustomKernel::builder("halves")
            .input("x", DType::I32)
            .output("out", DType::I32)
            .shape(shape)
            .cpu(|inputs, output| {
                let x = inputs.slice::<i32>(0)?;
                for (out, pair) in output.slice::<i32>()?.iter_mut().zip(x.chunks(2)) {
                    assert!(pair[0] >= 0, "{} is negative", pair[0]);
                    *out = pair[0] + pair[1];
                }
                Ok(())
            })
            .cuda("extern \"C\" __global__ void halves(const int* x, int* out) {}", |_, out| {
                Grid::covering(out.size(), 128)
            })
            .build()
            .unwrap()
    }

    fn run(kernel: &CustomKernel, x: &[i32]) -> Result<Vec<i32>> {
        let bytes: Vec<u8> = x.iter().flat_map(|v| v.to_le_bytes()).collect();
        let (room, shape) = (Room::new(&bytes), Shape::from([x.len()]));
        let values = [Values::new(DType::I32, &shape, room.bytes())];
        let half = Shape::from([x.len() / 2]);
        let mut out = Room::new(&vec![0; x.len() / 2 * 4]);
        kernel.run(&values, &half, out.bytes_mut())?;
        Ok(out.bytes().chunks(4).map(|b| i32::from_le_bytes(b.try_into().unwrap())).collect())
    }

    #[test]
    fn closures_compute_and_their_panics_are_errors() {
        let kernel = halves();
        assert_eq!(run(&kernel, &[1, 2, 3, 4]).unwrap(), [3, 7]);
        let error = run(&kernel, &[-5, 2]).unwrap_err();
        assert_eq!(error.to_string(), "halves: the kernel's CPU closure panicked: -5 is negative");
    }

    #[test]
    fn a_shape_rule_may_refuse_or_panic() {
        let kernel = halves();
        let ty = |dims: &[usize]| Type { dtype: DType::I32, shape: Shape::from(dims) };
        assert_eq!(kernel.infer(&[&ty(&[6])]).unwrap(), ty(&[3]));
        let error = kernel.infer(&[&ty(&[5])]).unwrap_err();
        assert_eq!(error.to_string(), "halves: wants one axis of even length, not [5]");
        let wrong = Type { dtype: DType::F32, shape: Shape::from([6]) };
        let error = kernel.infer(&[&wrong]).unwrap_err();
        assert!(
            error.to_string().starts_with("halves: f32 is not supported (supported: i32 for `x`)"),
            "{error}"
        );
        let first = CustomKernel::builder("first")
            .input("x", DType::I32)
            .output("out", DType::I32)
            .shape(|shapes| Ok(Shape::from([shapes[0].dims()[0]])))
            .cpu(|_, _| Ok(()))
            .build()
            .unwrap();
        let error = first.infer(&[&ty(&[])]).unwrap_err();
        assert!(
            error.to_string().starts_with("first: the kernel's shape rule panicked: index out of"),
            "{error}"
        );
    }

    #[test]
    fn a_closure_that_asks_for_another_dtype_is_told() {
        let kernel = CustomKernel::builder("wrong")
            .input("x", DType::I32)
            .output("out", DType::I32)
            .shape(|shapes| Ok(shapes[0].clone()))
            .cpu(|inputs, _| inputs.slice::<f32>(0).map(drop))
            .build()
            .unwrap();
        let error = run(&kernel, &[1, 2]).unwrap_err();
        assert!(error.to_string().contains("operand 0 is i32, and f32 was asked for"), "{error}");
    }

    #[test]
    fn launches_are_checked() {
        let kernel = halves();
        let shape = Shape::from([1000]);
        let (_, launches) = kernel.program(75, &[&shape], &shape).unwrap().unwrap();
        let grid = &launches.grids()[0];
        assert_eq!((grid.blocks(), grid.threads()), ([8, 1, 1], [128, 1, 1]));
        let wide = CustomKernel::builder("wide")
            .input("x", DType::I32)
            .output("out", DType::I32)
            .shape(|shapes| Ok(shapes[0].clone()))
            .cpu(|_, _| Ok(()))
            .cuda("", |_, _| Grid::new([1, 1, 1], [64, 32, 1]))
            .build()
            .unwrap();
        let error = wide.program(75, &[&shape], &shape).unwrap_err();
        assert!(error.to_string().contains("2048 threads per block, and 1024 is the most"), "{error}");
    }

    #[test]
    fn a_device_runs_the_source_that_asks_for_most_of_it() {
        let kernel = CustomKernel::builder("by_device")
            .input("x", DType::I32)
            .output("out", DType::I32)
            .shape(|shapes| Ok(shapes[0].clone()))
            .cpu(|_, _| Ok(()))
            .cuda_since(90, "hopper", |_, out| Grid::covering(out.size(), 128).resident(1))
            .cuda_since(80, "ampere", |_, out| {
                Launches::from(Grid::covering(out.size(), 64))
                    .then(Grid::covering(1, 1).entry("join"))
                    .scratch(64)
            })
            .build()
            .unwrap();
        let shape = Shape::from([1000]);
        let source = |capability| {
            let made = kernel.program(capability, &[&shape], &shape).unwrap();
            made.map(|(source, launches)| (source.to_string(), launches))
        };
        assert_eq!(source(75), None);
        let (text, launches) = source(86).unwrap();
        assert_eq!((&*text, launches.grids().len(), launches.scratch_bytes()), ("ampere", 2, 64));
        assert_eq!(launches.grids()[1].entry_name(), Some("join"));
        let (text, launches) = source(90).unwrap();
        assert_eq!((&*text, launches.grids()[0].blocks_on(4)), ("hopper", [4, 1, 1]));
    }

    #[test]
    fn pieces_know_where_they_start_and_work_is_told() {
        let kernel = CustomKernel::builder("places")
            .input("x", DType::I32)
            .output("out", DType::I32)
            .shape(|shapes| Ok(shapes[0].clone()))
            .pieces(|_, out| out.size() / 4)
            .work(|_, out| Work { products: out.size() as u64, functions: 1, ..Work::default() })
            .cpu(|_, output| {
                let start = output.start();
                output.slice::<i32>()?.iter_mut().enumerate().for_each(|(i, x)| *x = (start + i) as i32);
                Ok(())
            })
            .build()
            .unwrap();
        let shape = Shape::from([8]);
        assert_eq!(kernel.piece(&[&shape], &shape).unwrap(), Some(2));
        assert_eq!(kernel.work(&[&shape], &shape).unwrap().flops(), 8 + 16);
        let mut out = Room::new(&[0; 8]);
        kernel.run_piece(&[], &shape, 6, out.bytes_mut()).unwrap();
        assert_eq!(out.bytes(), [6, 0, 0, 0, 7, 0, 0, 0]);
        assert_eq!(run(&kernel, &[0; 4]).unwrap(), [0, 1]);
    }

    #[test]
    fn equality_is_identity() {
        let (a, b) = (halves(), halves());
        assert_eq!(a, a.clone());
        assert_ne!(a, b);
    }
}
