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
///
/// ```
/// use crossover_core::{DType, custom::{CustomKernel, Parameter}};
/// let double = CustomKernel::builder("double").input("x", DType::F32).output("out", DType::F32)
///     .elementwise("out = 2 * x", |x: f32| 2.0 * x).build()?;
/// assert_eq!(double.inputs(), [Parameter { name: "x".to_string(), dtype: DType::F32 }]);
/// # Ok::<(), crossover_core::Error>(())
/// ```
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
///
/// ```
/// use crossover_core::custom::{Apply, CustomKernel};
/// /// Counts calls.
/// struct Calls(usize);
/// impl Apply for Calls {
///     fn apply(_: &CustomKernel, operands: &[&Calls]) -> Calls {
///         Calls(1 + operands.iter().map(|operand| operand.0).sum::<usize>())
///     }
/// }
/// ```
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
    ///
    /// ```
    /// use crossover_core::{DType, custom::{Apply, CustomKernel}};
    /// /// Arrays are such values; these write down what is called on what.
    /// struct Formula(&'static str);
    /// impl Apply for Formula {
    ///     fn apply(kernel: &CustomKernel, operands: &[&Formula]) -> Formula {
    ///         assert_eq!((kernel.name(), operands[0].0), ("double", "x"));
    ///         Formula("double(x)")
    ///     }
    /// }
    /// # let double = CustomKernel::builder("double").input("x", DType::F32).output("out", DType::F32)
    /// #     .elementwise("out = 2 * x", |x: f32| 2.0 * x).build()?;
    /// assert_eq!(double.call(&[&Formula("x")]).0, "double(x)");
    /// # Ok::<(), crossover_core::Error>(())
    /// ```
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
    ///
    /// ```
    /// use crossover_core::{DType, custom::CustomKernel};
    /// # let double = CustomKernel::builder("double").input("x", DType::F32).output("out", DType::F32)
    /// #     .elementwise("out = 2 * x", |x: f32| 2.0 * x).build()?;
    /// assert_eq!(double.body(), Some("out = 2 * x"));
    /// # Ok::<(), crossover_core::Error>(())
    /// ```
    pub fn body(&self) -> Option<&str> {
        match &self.definition.form {
            Form::Elementwise { body } => Some(body),
            Form::Whole { .. } => None,
        }
    }

    /// Whether the result's memory is zeroed before the kernel runs.
    ///
    /// ```
    /// use crossover_core::{DType, custom::CustomKernel};
    /// let counts = CustomKernel::builder("counts")
    ///     .input("x", DType::I32)
    ///     .output("out", DType::I32)
    ///     .shape(|_| Ok([10].into()))
    ///     .zeroed()
    ///     .cpu(|inputs, output| {
    ///         let out = output.slice::<i32>()?;
    ///         inputs.slice::<i32>(0)?.iter().for_each(|&x| out[x.clamp(0, 9) as usize] += 1);
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// assert!(counts.is_zeroed());
    /// # Ok::<(), crossover_core::Error>(())
    /// ```
    pub fn is_zeroed(&self) -> bool {
        matches!(self.definition.form, Form::Whole { zeroed: true, .. })
    }

    /// The CUDA source for a device of a compute capability (90 for 9.0), and its launches for these shapes; `None` where the
    /// host does the work.
    ///
    /// ```
    /// use crossover_core::{DType, Shape, custom::{CustomKernel, Grid}};
    /// let source = "extern \"C\" __global__ void halve(const float* x, float* out) { /* … */ }";
    /// let halve = CustomKernel::builder("halve")
    ///     .input("x", DType::F32)
    ///     .output("out", DType::F32)
    ///     .shape(|shapes| Ok(shapes[0].clone()))
    ///     .cpu(|inputs, output| {
    ///         let out = output.slice::<f32>()?;
    ///         inputs.slice::<f32>(0)?.iter().zip(out).for_each(|(x, out)| *out = x / 2.0);
    ///         Ok(())
    ///     })
    ///     .cuda(source, |_, out| Grid::covering(out.size(), 256))
    ///     .build()?;
    /// let shape = Shape::from([1000]);
    /// let (text, launches) = halve.program(90, &[&shape], &shape)?.expect("there is a source for every device");
    /// assert_eq!((text, launches.grids()[0].blocks()), (source, [4, 1, 1]));
    /// # Ok::<(), crossover_core::Error>(())
    /// ```
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
    ///
    /// ```
    /// use crossover_core::{DType, Shape, custom::CustomKernel};
    /// let squares = CustomKernel::builder("squares")
    ///     .input("n", DType::I32)
    ///     .output("out", DType::I32)
    ///     .shape(|shapes| Ok(shapes[0].clone()))
    ///     .pieces(|_, out| out.size() / 4)
    ///     .cpu(|inputs, output| {
    ///         let start = output.start();
    ///         let n = inputs.slice::<i32>(0)?;
    ///         output.slice::<i32>()?.iter_mut().enumerate().for_each(|(i, out)| *out = n[start + i] * n[start + i]);
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// let shape = Shape::from([100]);
    /// assert_eq!(squares.piece(&[&shape], &shape)?, Some(25));
    /// # Ok::<(), crossover_core::Error>(())
    /// ```
    pub fn piece(&self, inputs: &[&Shape], output: &Shape) -> Result<Option<usize>> {
        match &self.definition.form {
            Form::Whole { pieces: Some(rule), .. } => {
                Ok(Some(self.guarded("piece rule", || rule(inputs, output))?.max(1)))
            }
            _ => Ok(None),
        }
    }

    /// What there is to do for these shapes; `None` where nobody has said so.
    ///
    /// ```
    /// use crossover_core::{DType, Shape, custom::{CustomKernel, Work}};
    /// let norms = CustomKernel::builder("norms")
    ///     .input("x", DType::F32)
    ///     .output("out", DType::F32)
    ///     .shape(|shapes| Ok(shapes[0].clone()))
    ///     .work(|_, out| Work { products: 2 * out.size() as u64, ..Work::default() })
    ///     .cpu(|_, _| Ok(()))
    ///     .build()?;
    /// let shape = Shape::from([100]);
    /// assert_eq!(norms.work(&[&shape], &shape).map(|work| work.products), Some(200));
    /// # Ok::<(), crossover_core::Error>(())
    /// ```
    pub fn work(&self, inputs: &[&Shape], output: &Shape) -> Option<Work> {
        let rule = self.definition.work.as_ref()?;
        // A rule that panics says nothing.
        self.guarded("work rule", || rule(inputs, output)).ok()
    }

    /// The type of the result, or what is wrong with the operands. Elementwise operands have equal shapes here; see
    /// [`crate::compose::custom`] for the rule that repeats them.
    ///
    /// ```
    /// use crossover_core::{DType, custom::CustomKernel, graph::Type};
    /// # let double = CustomKernel::builder("double").input("x", DType::F32).output("out", DType::F32)
    /// #     .elementwise("out = 2 * x", |x: f32| 2.0 * x).build()?;
    /// let row = Type { dtype: DType::F32, shape: [3].into() };
    /// assert_eq!(double.infer(&[&row])?, row);
    /// let other = Type { dtype: DType::I64, ..row };
    /// assert!(double.infer(&[&other]).unwrap_err().to_string().starts_with("double: i64 is not supported"));
    /// # Ok::<(), crossover_core::Error>(())
    /// ```
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
    ///
    /// ```
    /// use crossover_core::{DType, Shape, custom::{CustomKernel, Room, Values}};
    /// # let double = CustomKernel::builder("double").input("x", DType::F32).output("out", DType::F32)
    /// #     .elementwise("out = 2 * x", |x: f32| 2.0 * x).build()?;
    /// let x = Room::new(&[1.5f32, 2.0].map(f32::to_le_bytes).concat());
    /// let mut out = Room::new(&[0; 8]);
    /// let shape = Shape::from([2]);
    /// double.run(&[Values::new(DType::F32, &shape, x.bytes())], &shape, out.bytes_mut())?;
    /// assert_eq!(out.bytes(), [3.0f32, 4.0].map(f32::to_le_bytes).concat());
    /// # Ok::<(), crossover_core::Error>(())
    /// ```
    pub fn run(&self, inputs: &[Values<'_>], shape: &Shape, output: &mut [u8]) -> Result<()> {
        self.run_piece(inputs, shape, 0, output)
    }

    /// Runs the closure for the elements of the result from a position on.
    ///
    /// ```
    /// use crossover_core::{DType, Shape, custom::{CustomKernel, Room, Values}};
    /// let squares = CustomKernel::builder("squares")
    ///     .input("n", DType::I32)
    ///     .output("out", DType::I32)
    ///     .shape(|shapes| Ok(shapes[0].clone()))
    ///     .pieces(|_, out| out.size() / 4)
    ///     .cpu(|inputs, output| {
    ///         let start = output.start();
    ///         let n = inputs.slice::<i32>(0)?;
    ///         output.slice::<i32>()?.iter_mut().enumerate().for_each(|(i, out)| *out = n[start + i] * n[start + i]);
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// let n = Room::new(&[1i32, 2, 3, 4].map(i32::to_le_bytes).concat());
    /// let shape = Shape::from([4]);
    /// let mut last = Room::new(&[0; 4]);
    /// squares.run_piece(&[Values::new(DType::I32, &shape, n.bytes())], &shape, 3, last.bytes_mut())?;
    /// assert_eq!(last.bytes(), 16i32.to_le_bytes());
    /// # Ok::<(), crossover_core::Error>(())
    /// ```
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
mod tests;
