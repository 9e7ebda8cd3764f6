//! For finding mistakes: operations that run at once, and who made the first NaN.
//!
//! Arrays are lazy, so an error of the evaluation surfaces where bytes are asked for. On an
//! [eager](crate::Builder::eager) runtime every operation is computed where it is written, and one that fails carries its
//! error from there on, with the place of the call. A runtime that [refuses NaN](crate::Builder::refuse_nan) does the same and
//! takes a NaN made of operands without one for an error. Off, this costs one relaxed load per operation.

use std::{
    fmt,
    panic::Location,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use crossover_core::{DType, Error as CoreError, Scalar};
use half::{bf16, f16};
use rustc_hash::FxHashSet;

use crate::{
    Array, Error, Result, config, eval,
    node::{Arg, Args, Node, State},
    runtime::Runtime,
};

/// What a runtime does beyond computing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Debug {
    /// Every operation is computed where it is written.
    pub eager: bool,
    /// A NaN made of operands without one is an error.
    pub refuse_nan: bool,
}

impl Debug {
    /// Makes operations ask their runtime from now on, if this one is not lazy.
    pub fn watch(self) -> Debug {
        if self.eager {
            WATCHED.store(ON, Ordering::Relaxed);
        }
        self
    }
}

/// Whether any runtime of the process may be eager: nobody has looked yet, none, some.
static WATCHED: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;

/// Computes a new node now, if the current runtime is eager.
#[inline]
pub(crate) fn settle(node: &Arc<Node>) {
    if WATCHED.load(Ordering::Relaxed) != OFF {
        settle_watched(node);
    }
}

#[cold]
fn settle_watched(node: &Arc<Node>) {
    if WATCHED.load(Ordering::Relaxed) == UNKNOWN {
        let state = if config::is_eager() { ON } else { OFF };
        // Whoever has made an eager runtime meanwhile is right.
        let _ = WATCHED.compare_exchange(UNKNOWN, state, Ordering::Relaxed, Ordering::Relaxed);
    }
    let debug = Runtime::current().debug();
    if !debug.eager || !matches!(*node.state(), State::Pending { .. }) {
        return;
    }
    let steps = if debug.refuse_nan { steps(node) } else { Vec::new() };
    let computed = eval::node(node).and_then(|_| match made(node, &steps, true)? {
        None => Ok(()),
        Some(origin) => Err(origin.into_error()),
    });
    if let Err(error) = computed {
        node.fail(error);
    }
}

/// Where a NaN came from; what [`Array::find_nan`] returns.
///
/// ```
/// use crossover_array::Array;
/// let origin = (Array::from([1.0f32, 0.0]) / 0.0).find_nan()?.unwrap(); // 0/0
/// assert_eq!((origin.op(), origin.index()), ("divide", &[1][..]));
/// assert_eq!(origin.location().file(), file!());
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NanOrigin {
    op: &'static str,
    index: Vec<usize>,
    location: &'static Location<'static>,
}

impl NanOrigin {
    /// The operation that made it of operands without NaN; `input` if the NaN was there from the start.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let origin = Array::from([4.0f32, -1.0]).sqrt().find_nan()?.unwrap();
    /// assert_eq!(origin.op(), "sqrt");
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn op(&self) -> &'static str {
        self.op
    }

    /// The first element that is NaN in that operation's result.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let origin = Array::from([[4.0f32, -1.0]]).sqrt().find_nan()?.unwrap();
    /// assert_eq!(origin.index(), [0, 1]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn index(&self) -> &[usize] {
        &self.index
    }

    /// The line that called it.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let origin = Array::from([-1.0f32]).sqrt().find_nan()?.unwrap();
    /// assert_eq!(origin.location().file(), file!());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn location(&self) -> &'static Location<'static> {
        self.location
    }

    fn into_error(self) -> Error {
        let what = format!("made a NaN at {:?} of operands without one", self.index);
        Error::new(CoreError::Value { op: self.op, what }, self.location)
    }
}

impl fmt::Display for NanOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.op == "input" { "holds" } else { "made" };
        let place = format_args!("{}:{}", self.location.file(), self.location.line());
        write!(f, "{} {verb} a NaN at {:?} (at {place})", self.op, self.index)
    }
}

/// Finding NaN.
impl Array {
    /// The first operation on the way to this array that made a NaN of operands without one, with the line that called
    /// it; `None` if the array has no NaN.
    ///
    /// Computes everything pending, one operation at a time, so it is for debugging. What has been computed before is an
    /// input here: ask before [`eval`](Array::eval), or make a runtime that [refuses NaN](crate::Builder::refuse_nan).
    ///
    /// ```
    /// use crossover_array::Array;
    /// let x = Array::from([1.0f64, 0.0, 2.0]);
    /// let y = (&x - &x) / &x; // 0/0 in the middle
    /// let origin = (y + 1.0).find_nan()?.expect("0/0 is NaN");
    /// assert_eq!((origin.op(), origin.index()), ("divide", &[1][..]));
    /// assert!(origin.to_string().starts_with("divide made a NaN at [1]"));
    /// assert!(x.find_nan()?.is_none());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn find_nan(&self) -> Result<Option<NanOrigin>> {
        self.check()?;
        let node = self.node();
        let steps = steps(&node);
        for step in &steps {
            eval::node(&step.node)?;
        }
        made(&node, &steps, false)
    }
}

/// A pending node, with what it was going to do: computing it forgets that.
struct Step {
    node: Arc<Node>,
    op: &'static str,
    args: Args,
}

/// Everything pending below a node, operands before users.
fn steps(target: &Arc<Node>) -> Vec<Step> {
    let mut found = Vec::new();
    let mut seen: FxHashSet<*const Node> = FxHashSet::default();
    // A node is pushed a second time, to be listed once its operands have been.
    let mut stack = vec![(target.clone(), false)];
    while let Some((node, entered)) = stack.pop() {
        let (op, args) = match &*node.state() {
            State::Pending { op, args } => (op.name(), args.clone()),
            _ => continue,
        };
        if entered {
            found.push(Step { node, op, args });
        } else if seen.insert(Arc::as_ptr(&node)) {
            stack.push((node, true));
            stack.extend(args.iter().filter_map(Arg::node).map(|operand| (operand.clone(), false)));
        }
    }
    found
}

/// Who made the NaN of a node that has one. `whole` judges the steps together, by what they read and what comes out:
/// compositions may make a NaN on the way and drop it.
fn made(target: &Arc<Node>, steps: &[Step], whole: bool) -> Result<Option<NanOrigin>> {
    let Some(at) = first_nan(target)? else { return Ok(None) };
    let origin =
        |op, node: &Arc<Node>, at| NanOrigin { op, index: unravel(at, node), location: node.location };
    if whole {
        let inner: FxHashSet<*const Node> = steps.iter().map(|step| Arc::as_ptr(&step.node)).collect();
        for step in steps {
            if reads_nan(&step.args, |node| inner.contains(&Arc::as_ptr(node)))? {
                return Ok(None);
            }
        }
        return Ok(steps.last().map(|last| origin(last.op, target, at)));
    }
    for step in steps {
        for arg in &step.args {
            // An operand that nothing pending has made.
            if let Some(node) = arg.node()
                && !steps.iter().any(|other| Arc::ptr_eq(&other.node, node))
                && let Some(at) = first_nan(node)?
            {
                return Ok(Some(origin("input", node, at)));
            }
        }
        if let Some(at) = first_nan(&step.node)?
            && !reads_nan(&step.args, |_| false)?
        {
            return Ok(Some(origin(step.op, &step.node, at)));
        }
    }
    Ok(Some(origin("input", target, at)))
}

/// Whether an operand that is not left out has a NaN.
fn reads_nan(args: &Args, left_out: impl Fn(&Arc<Node>) -> bool) -> Result<bool> {
    for arg in args {
        let is_nan = match arg {
            Arg::Node(node) | Arg::Turned(node, _) => !left_out(node) && first_nan(node)?.is_some(),
            Arg::Scalar(value) => scalar_is_nan(*value),
        };
        if is_nan {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Position of the first NaN of a computed node, row-major.
fn first_nan(node: &Arc<Node>) -> Result<Option<usize>> {
    let dtype = node.ty.dtype;
    if !dtype.is_float() && !dtype.is_complex() {
        return Ok(None);
    }
    let buffer = eval::node(node)?;
    let bytes = buffer.host_bytes().map_err(|e| Error::new(e, node.location))?;
    let part = dtype.real();
    let is_nan = |raw: &[u8]| is_nan(part, raw);
    Ok(bytes.chunks_exact(part.size()).position(is_nan).map(|at| at * part.size() / dtype.size()))
}

fn scalar_is_nan(value: Scalar) -> bool {
    let (dtype, mut raw) = (value.dtype(), [0; 16]);
    if !dtype.is_float() && !dtype.is_complex() {
        return false;
    }
    value.write_to(&mut raw);
    let part = dtype.real();
    raw[..dtype.size()].chunks_exact(part.size()).any(|raw| is_nan(part, raw))
}

fn is_nan(dtype: DType, raw: &[u8]) -> bool {
    match (dtype, raw) {
        (DType::F16, &[a, b]) => f16::from_le_bytes([a, b]).is_nan(),
        (DType::BF16, &[a, b]) => bf16::from_le_bytes([a, b]).is_nan(),
        (DType::F32, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).is_nan(),
        (DType::F64, raw) => raw.try_into().is_ok_and(|raw| f64::from_le_bytes(raw).is_nan()),
        _ => false,
    }
}

fn unravel(mut at: usize, node: &Node) -> Vec<usize> {
    let mut index: Vec<usize> = node
        .ty
        .shape
        .iter()
        .rev()
        .map(|&length| {
            let place = at % length;
            at /= length;
            place
        })
        .collect();
    index.reverse();
    index
}
