//! The array: a storage cell and a view of it.

use std::{panic::Location, sync::Arc};

use crossover_core::{
    DType, Element, Layout, Shape,
    compose::Build,
    graph::{Op, Type},
};
use crossover_runtime::Buffer;
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::{
    Error, Result, eval,
    node::{Node, State},
    runtime::Runtime,
};

/// Storage shared by an array and its views. Assignment puts a new version in; the type never changes.
#[derive(Debug)]
struct Cell {
    ty: Type,
    version: Mutex<Arc<Node>>,
}

/// A lazy n-dimensional array.
///
/// Operations build a graph; [`eval`](Array::eval), [`to_vec`](Array::to_vec) and printing compute it. Arrays are
/// cheap to clone and free to share between threads. Views (`reshape`, `slice`, `permute`, …) share storage
/// with their base.
///
/// ```
/// use crossover_array::Array;
/// let x = Array::from([1.0f32, 2.0, 3.0]);
/// let y = (&x * 2.0 + 1.0).sqrt();
/// assert_eq!(y.to_vec::<f32>()?, [3f32.sqrt(), 5f32.sqrt(), 7f32.sqrt()]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Array {
    cell: Arc<Cell>,
    /// The window onto the cell's row-major elements; `None` is all of them.
    view: Option<Layout>,
}

impl Array {
    pub(crate) fn from_node(node: Arc<Node>) -> Array {
        eval::limit(&node);
        Array { cell: Arc::new(Cell { ty: node.ty.clone(), version: Mutex::new(node) }), view: None }
    }

    pub(crate) fn from_buffer(buffer: Arc<Buffer>, ty: Type, location: &'static Location<'static>) -> Array {
        Array::from_node(Node::new(ty, State::Ready(buffer), location))
    }

    /// An array that carries an error.
    pub(crate) fn failed(error: Error) -> Array {
        let ty = Type { dtype: DType::Bool, shape: Shape::scalar() };
        let location = error.location();
        Array::from_node(Node::new(ty, State::Failed(error), location))
    }

    /// The result of a composition, or an array with its error and the caller's location.
    #[track_caller]
    pub(crate) fn compose(
        build: impl FnOnce(&mut Composer) -> crossover_core::Result<Array>,
    ) -> Array {
        let mut composer = Composer { location: Location::caller(), failed: None };
        let built = build(&mut composer);
        match (composer.failed, built) {
            (Some(error), _) => Array::failed(error),
            (None, Ok(array)) => array,
            (None, Err(error)) => Array::failed(Error::new(crossover_runtime::Error::from(error), composer.location)),
        }
    }

    /// The node that holds the cell's current version.
    fn version(&self) -> Arc<Node> {
        self.cell.version.lock().clone()
    }

    /// The node of exactly this array's elements.
    pub(crate) fn node(&self) -> Arc<Node> {
        let base = self.version();
        let Some(layout) = &self.view else { return base };
        let ty = Type { dtype: self.cell.ty.dtype, shape: layout.shape.clone() };
        let mut args: SmallVec<[Arc<Node>; 3]> = SmallVec::new();
        let location = base.location;
        args.push(base);
        Node::new(ty, State::Pending { op: Op::Strided(layout.clone()), args }, location)
    }

    /// Type of the elements.
    pub fn dtype(&self) -> DType {
        self.cell.ty.dtype
    }

    /// Lengths of the axes.
    pub fn shape(&self) -> &Shape {
        self.view.as_ref().map_or(&self.cell.ty.shape, |layout| &layout.shape)
    }

    /// Number of axes.
    pub fn ndim(&self) -> usize {
        self.shape().rank()
    }

    /// Number of elements.
    pub fn size(&self) -> usize {
        self.shape().size()
    }

    pub(crate) fn layout(&self) -> Layout {
        self.view.clone().unwrap_or_else(|| Layout::contiguous(self.cell.ty.shape.clone()))
    }

    /// A view of the same cell.
    pub(crate) fn with_layout(&self, layout: Layout) -> Array {
        Array { cell: self.cell.clone(), view: Some(layout) }
    }

    /// The error this array carries, if any, without computing anything.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert!(Array::from([1.0f32]).reshape([7]).check().is_err());
    /// ```
    pub fn check(&self) -> Result<()> {
        self.version().error().map_or(Ok(()), Err)
    }

    /// Computes the array now. Later uses read the result.
    pub fn eval(&self) -> Result<&Array> {
        eval::node(&self.version())?;
        Ok(self)
    }

    /// The elements in row-major order, computed if they are not yet.
    pub(crate) fn contents(&self) -> Result<(Arc<Buffer>, Layout)> {
        let buffer = eval::node(&self.version())?;
        Ok((buffer, self.layout()))
    }

    /// The elements in row-major order.
    ///
    /// The dtype must be the array's; convert with [`astype`](Array::astype) first.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([[1i32, 2], [3, 4]]);
    /// assert_eq!(x.t().to_vec::<i32>()?, [1, 3, 2, 4]);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.check()?;
        self.expect_dtype(T::DTYPE, Location::caller())?;
        let (buffer, layout) = self.contents()?;
        let bytes = buffer.host_bytes().map_err(|e| Error::new(e, Location::caller()))?;
        Ok(crate::convert::read(bytes, &layout))
    }

    pub(crate) fn expect_dtype(&self, wanted: DType, location: &'static Location<'static>) -> Result<()> {
        if self.dtype() == wanted {
            return Ok(());
        }
        let error = crossover_core::Error::DType { op: "to_vec", dtype: wanted, supported: self.dtype().to_string() };
        Err(Error::new(crossover_runtime::Error::from(error), location))
    }

    /// Puts a new version of the cell's elements in place, written by `write`.
    ///
    /// A buffer that nobody else holds is changed in place; otherwise a copy is changed and others keep the old
    /// version.
    pub(crate) fn update(
        &self,
        location: &'static Location<'static>,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<()> {
        let wrap = |e: crossover_runtime::Error| Error::new(e, location);
        eval::node(&self.version())?;
        let mut version = self.cell.version.lock();
        if let Some(buffer) = Arc::get_mut(&mut version).and_then(Node::buffer_mut).and_then(Arc::get_mut) {
            write(buffer.host_bytes_mut().map_err(wrap)?);
            return Ok(());
        }
        // Ready since before the lock: assignment is the only thing that replaces a version, with a ready one.
        let old = eval::node(&version)?;
        let bytes = old.host_bytes().map_err(wrap)?;
        let copy = Buffer::from_fill(Runtime::current().machine(), bytes.len(), |to| {
            to.copy_from_slice(bytes);
            write(to);
        });
        *version = Node::new(self.cell.ty.clone(), State::Ready(copy.map_err(wrap)?), location);
        Ok(())
    }
}

/// Adds nodes for a call at one place in the caller's code.
pub(crate) struct Composer {
    pub location: &'static Location<'static>,
    failed: Option<Error>,
}

impl Composer {
    fn operand(&mut self, array: &Array) -> Arc<Node> {
        let node = array.node();
        if self.failed.is_none() {
            self.failed = array.version().error();
        }
        node
    }
}

impl Build for Composer {
    type Value = Array;

    fn push(&mut self, op: Op, args: &[&Array]) -> crossover_core::Result<Array> {
        if let (true, [base]) = (op.is_view(), args)
            && base.check().is_ok()
        {
            op.infer(&[&self.ty(base)])?;
            if let Some(layout) = op.view(&base.layout()) {
                return Ok(base.with_layout(layout));
            }
        }
        let nodes: SmallVec<[Arc<Node>; 3]> = args.iter().map(|a| self.operand(a)).collect();
        if self.failed.is_some() {
            return Ok(args.first().map_or_else(|| unreachable!("only operands fail"), |a| (*a).clone()));
        }
        let ty = {
            let types: SmallVec<[&Type; 3]> = nodes.iter().map(|n| &n.ty).collect();
            op.infer(&types)?
        };
        Ok(Array::from_node(Node::new(ty, State::Pending { op, args: nodes }, self.location)))
    }

    fn scalar(&mut self, value: crossover_core::Scalar) -> Array {
        let ty = Type { dtype: value.dtype(), shape: Shape::scalar() };
        Array::from_node(Node::new(ty, State::Scalar(value), self.location))
    }

    fn ty(&self, value: &Array) -> Type {
        Type { dtype: value.dtype(), shape: value.shape().clone() }
    }
}
