//! The definition of a kernel, step by step, and what can be wrong with it.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use super::{
    Closure, CustomKernel, Definition, Each, Form, Inputs, Launches, Output, Parameter, PieceRule, ShapeRule,
    Variant, Work, WorkRule,
};
use crate::{DType, Error, Result, Shape};

/// Characters that a name has at most.
const LONGEST: usize = 64;

/// What an elementwise kernel was given.
struct Elementwise {
    body: String,
    inputs: &'static [DType],
    output: DType,
    closure: Box<Closure>,
}

/// A [`CustomKernel`] that is being defined.
///
/// Either [`elementwise`](Builder::elementwise), or [`shape`](Builder::shape) and [`cpu`](Builder::cpu) with or without
/// [`cuda`](Builder::cuda). Without CUDA source the host does the work wherever the rest of the plan runs.
///
/// ```
/// use crossover_core::{DType, Shape, custom::{CustomKernel, Grid}};
/// let source = r#"
/// extern "C" __global__ void reversed(const float* x, float* out, long long n) {
///     const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
///     if (i < n) out[i] = x[n - 1 - i];
/// }"#;
/// let reversed = CustomKernel::builder("reversed")
///     .input("x", DType::F32)
///     .output("out", DType::F32)
///     .shape(|shapes| Ok(shapes[0].clone()))
///     .cpu(|inputs, output| {
///         let x = inputs.slice::<f32>(0)?;
///         for (out, x) in output.slice::<f32>()?.iter_mut().zip(x.iter().rev()) {
///             *out = *x;
///         }
///         Ok(())
///     })
///     .cuda(source, |_, out| Grid::covering(out.size(), 256).size(out.size()))
///     .build()?;
/// assert_eq!(reversed.to_string(), "reversed(x: f32) -> out: f32");
/// # Ok::<(), crossover_core::Error>(())
/// ```
///
/// ```
/// use crossover_core::{DType, custom::{CustomKernel, Grid, Work}};
/// // One value for another; the result of the statement is named as the output.
/// let logistic = CustomKernel::builder("logistic")
///     .input("x", DType::F32)
///     .output("out", DType::F32)
///     .elementwise("out = 1 / (1 + expf(-x))", |x: f32| 1.0 / (1.0 + (-x).exp()))
///     .build()?;
/// assert!(logistic.is_elementwise());
/// // Cut into pieces for the threads of the CPU; a source of its own for devices from 9.0 on; priced for placement.
/// let squares = CustomKernel::builder("squares")
///     .input("x", DType::F32)
///     .output("out", DType::F32)
///     .shape(|shapes| Ok(shapes[0].clone()))
///     .pieces(|_, _| 4096)
///     .cpu(|inputs, output| {
///         let start = output.start();
///         let x = inputs.slice::<f32>(0)?;
///         output.slice::<f32>()?.iter_mut().zip(&x[start..]).for_each(|(out, x)| *out = x * x);
///         Ok(())
///     })
///     .cuda_since(90, "/* … */", |_, out| Grid::covering(out.size(), 128))
///     .work(|_, out| Work { simple: out.size() as u64, ..Work::default() })
///     .zeroed()
///     .build()?;
/// assert!(squares.is_zeroed());
/// # Ok::<(), crossover_core::Error>(())
/// ```
pub struct Builder {
    name: String,
    inputs: Vec<Parameter>,
    outputs: Vec<Parameter>,
    shape: Option<Box<ShapeRule>>,
    closure: Option<Box<Closure>>,
    cuda: Vec<Variant>,
    pieces: Option<Box<PieceRule>>,
    work: Option<Box<WorkRule>>,
    elementwise: Option<Elementwise>,
    zeroed: bool,
}

impl Builder {
    pub(super) fn new(name: &str) -> Builder {
        Builder {
            name: name.to_string(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            shape: None,
            closure: None,
            cuda: Vec::new(),
            pieces: None,
            work: None,
            elementwise: None,
            zeroed: false,
        }
    }

    /// The next operand.
    pub fn input(mut self, name: &str, dtype: DType) -> Builder {
        self.inputs.push(Parameter { name: name.to_string(), dtype });
        self
    }

    /// The result.
    pub fn output(mut self, name: &str, dtype: DType) -> Builder {
        self.outputs.push(Parameter { name: name.to_string(), dtype });
        self
    }

    /// Makes it elementwise: `body` is one or several CUDA C++ statements that read the operands and assign the result by
    /// their names; the closure does the same to Rust values. Operands broadcast.
    ///
    /// On the GPU a `bool` is `bool`, 16-bit floats are `float` and are rounded once at the end, complex numbers have the
    /// members `re` and `im`. Products and sums are not contracted, so `a * x + y` rounds twice there as it does in Rust.
    pub fn elementwise<Arguments, E: Each<Arguments>>(mut self, body: &str, closure: E) -> Builder {
        self.elementwise = Some(Elementwise {
            body: body.to_string(),
            inputs: E::INPUTS,
            output: E::OUTPUT,
            closure: Box::new(move |inputs: &Inputs<'_>, output: &mut Output<'_>| {
                closure.all(inputs, output)
            }),
        });
        self
    }

    /// The shape of the result from the shapes of the operands, or why these do not fit.
    pub fn shape(
        mut self,
        rule: impl Fn(&[&Shape]) -> Result<Shape, String> + Send + Sync + 'static,
    ) -> Builder {
        self.shape = Some(Box::new(rule));
        self
    }

    /// The work on the CPU. It writes every element of the result.
    pub fn cpu(
        mut self,
        closure: impl Fn(&Inputs<'_>, &mut Output<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Builder {
        self.closure = Some(Box::new(closure));
        self
    }

    /// Lets the CPU do the work in pieces, on all of its threads: the rule gives the elements of a piece for the shapes of
    /// operands and result. The closure is called for one piece after another, in any order, with the piece alone as its
    /// output; [`Output::start`] says which it is. The last piece may be shorter, and one call may be for everything.
    pub fn pieces(mut self, rule: impl Fn(&[&Shape], &Shape) -> usize + Send + Sync + 'static) -> Builder {
        self.pieces = Some(Box::new(rule));
        self
    }

    /// What there is to do for the shapes of operands and result, by which placement judges the kernel.
    pub fn work(mut self, rule: impl Fn(&[&Shape], &Shape) -> Work + Send + Sync + 'static) -> Builder {
        self.work = Some(Box::new(rule));
        self
    }

    /// The work on a GPU: CUDA C++ with a function `extern "C" __global__ void NAME` of the kernel's name, and its launch for
    /// the shapes of operands and result: a [`Grid`](super::Grid), or [`Launches`] of several entry points.
    ///
    /// The function takes a pointer to the elements of each operand (`const`), a pointer to those of the result, one to
    /// scratch memory if there is any, and one parameter for each [`Argument`](super::Argument) of the grid; the compiler checks
    /// that. Elements are row-major without gaps, and the first lies at a multiple of 256 bytes. Pointers are to `unsigned char`
    /// for `bool`, `unsigned short` for 16-bit floats, `xo_complex<float>` and `xo_complex<double>` (members `re`, `im`) for
    /// complex numbers.
    pub fn cuda<L: Into<Launches>>(
        self,
        source: &str,
        launch: impl Fn(&[&Shape], &Shape) -> L + Send + Sync + 'static,
    ) -> Builder {
        self.cuda_since(0, source, launch)
    }

    /// As [`cuda`](Builder::cuda), for devices of at least this compute capability, 90 for 9.0. Of several sources a device
    /// runs the one that asks for most; one for which there is none leaves the work to the CPU.
    pub fn cuda_since<L: Into<Launches>>(
        mut self,
        capability: u32,
        source: &str,
        launch: impl Fn(&[&Shape], &Shape) -> L + Send + Sync + 'static,
    ) -> Builder {
        let rule = Box::new(move |inputs: &[&Shape], output: &Shape| launch(inputs, output).into());
        self.cuda.push(Variant { capability, source: source.to_string(), rule });
        self
    }

    /// Zeroes the result before the work starts, on either device: for kernels that add to it.
    pub fn zeroed(mut self) -> Builder {
        self.zeroed = true;
        self
    }

    /// The kernel, or what is wrong with its definition.
    pub fn build(self) -> Result<CustomKernel> {
        let name = checked_name(&self.name)?;
        let wrong = |what: String| Error::Value { op: name, what };
        let output = match <[Parameter; 1]>::try_from(self.outputs) {
            Ok([output]) => output,
            Err(all) => return Err(wrong(format!("has {} outputs; call `output` once", all.len()))),
        };
        if self.inputs.is_empty() {
            return Err(wrong("has no inputs; call `input` for each operand".to_string()));
        }
        let mut seen = BTreeSet::new();
        for parameter in self.inputs.iter().chain([&output]) {
            let given = &parameter.name;
            if !is_identifier(given) {
                return Err(wrong(format!(
                    "`{given}` is no identifier, so it cannot name an operand or the result"
                )));
            }
            if !seen.insert(given) || *given == self.name {
                return Err(wrong(format!("the name `{given}` is given twice")));
            }
        }
        let (closure, form) = match (self.elementwise, self.closure) {
            (Some(each), None) => {
                if self.shape.is_some() || !self.cuda.is_empty() || self.zeroed || self.pieces.is_some() {
                    let what = "is elementwise, so `shape`, `cuda`, `pieces` and `zeroed` do not apply";
                    return Err(wrong(what.to_string()));
                }
                check_types(name, &self.inputs, &output, &each)?;
                (each.closure, Form::Elementwise { body: each.body })
            }
            (None, Some(closure)) => {
                let shape = self.shape.ok_or_else(|| wrong("has no shape rule; call `shape`".to_string()))?;
                let mut cuda = self.cuda;
                cuda.sort_by_key(|variant| variant.capability);
                if let Some(two) = cuda.windows(2).find(|two| two[0].capability == two[1].capability) {
                    let capability = two[0].capability;
                    return Err(wrong(format!(
                        "has two CUDA sources for compute capability {capability}; give each its own"
                    )));
                }
                (closure, Form::Whole { shape, cuda, pieces: self.pieces, zeroed: self.zeroed })
            }
            (Some(_), Some(_)) => {
                return Err(wrong("has both `elementwise` and `cpu`; call one".to_string()));
            }
            (None, None) => {
                return Err(wrong("does nothing on the CPU; call `elementwise` or `cpu`".to_string()));
            }
        };
        let definition = Definition { name, inputs: self.inputs, output, closure, work: self.work, form };
        Ok(CustomKernel { definition: Arc::new(definition) })
    }
}

/// Whether the closure of an elementwise kernel takes and gives what was declared.
fn check_types(op: &'static str, inputs: &[Parameter], output: &Parameter, each: &Elementwise) -> Result<()> {
    if inputs.len() != each.inputs.len() {
        let what = format!("has {} inputs, and its closure takes {}", inputs.len(), each.inputs.len());
        return Err(Error::Value { op, what });
    }
    let given = each.inputs.iter().chain([&each.output]);
    for (declared, &given) in inputs.iter().chain([output]).zip(given) {
        if declared.dtype != given {
            let supported = format!("{} for `{}`, as declared", declared.dtype, declared.name);
            return Err(Error::DType { op, dtype: given, supported });
        }
    }
    Ok(())
}

/// The name for as long as the process lives: errors and traces carry it. Equal names are kept once.
fn checked_name(name: &str) -> Result<&'static str> {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    if !is_identifier(name) {
        let what = format!(
            "`{name}` cannot name a kernel: letters, digits and `_`, at most {LONGEST}, no digit first, and not `xo_`"
        );
        return Err(Error::Value { op: "custom", what });
    }
    // Nothing that could panic happens under the lock.
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return Ok(known);
    }
    let kept: &'static str = Box::leak(name.to_string().into_boxed_str());
    names.insert(kept);
    Ok(kept)
}

/// Whether text can be a name in CUDA C++ that none of ours is. Keywords are left to the compiler.
pub(super) fn is_identifier(text: &str) -> bool {
    let starts = text.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    starts
        && text.len() <= LONGEST
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !text.starts_with("xo_")
}

#[cfg(test)]
mod tests {
    use super::{super::Grid, *};

    fn twice(inputs: &[(&str, DType)], output: &str) -> Result<CustomKernel> {
        let start = CustomKernel::builder("twice").output(output, DType::F32);
        let builder = inputs.iter().fold(start, |b, (name, dtype)| b.input(name, *dtype));
        builder.elementwise("out = 2 * x", |x: f32| 2.0 * x).build()
    }

    #[test]
    fn wrong_definitions_are_refused_with_what_is_wrong() {
        use DType::{F32, F64};
        assert!(twice(&[("x", F32)], "out").is_ok());
        for (made, message) in [
            (twice(&[], "out"), "twice: has no inputs"),
            (twice(&[("x", F32), ("y", F32)], "out"), "twice: has 2 inputs, and its closure takes 1"),
            (
                twice(&[("x", F64)], "out"),
                "twice: f32 is not supported (supported: f64 for `x`, as declared)",
            ),
            (twice(&[("x y", F32)], "out"), "twice: `x y` is no identifier"),
            (twice(&[("x", F32)], "x"), "twice: the name `x` is given twice"),
            (twice(&[("twice", F32)], "out"), "twice: the name `twice` is given twice"),
            (twice(&[("xo_x", F32)], "out"), "twice: `xo_x` is no identifier"),
        ] {
            let error = made.unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
        let base = || CustomKernel::builder("base").input("x", F32).output("out", F32);
        for (builder, message) in [
            (base(), "base: does nothing on the CPU"),
            (base().cpu(|_, _| Ok(())), "base: has no shape rule"),
            (
                base()
                    .shape(|shapes| Ok(shapes[0].clone()))
                    .cpu(|_, _| Ok(()))
                    .cuda_since(90, "", |_, _| Grid::covering(1, 1))
                    .cuda_since(90, "", |_, _| Grid::covering(1, 1)),
                "base: has two CUDA sources for compute capability 90",
            ),
            (base().output("more", F32).cpu(|_, _| Ok(())), "base: has 2 outputs"),
            (base().elementwise("", |x: f32| x).zeroed(), "base: is elementwise"),
            (base().elementwise("", |x: f32| x).cpu(|_, _| Ok(())), "base: has both"),
            (CustomKernel::builder("1st"), "custom: `1st` cannot name a kernel"),
        ] {
            let error = builder.build().unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
