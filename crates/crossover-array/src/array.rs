//! The array: a storage cell and a view of it.

use std::{panic::Location, sync::Arc};

use crossover_core::{DType, Element, Layout, Scalar, Shape, graph::Type};
use crossover_runtime::{Buffer, Device, Wanted, trace};
use parking_lot::Mutex;

use crate::{
    Error, Result, convert, cut, debug, eval,
    node::{Node, State, failed_type},
    runtime::Runtime,
};

/// Storage shared by an array and its views. Assignment puts a new version in; the type never changes.
struct Cell {
    ty: Type,
    version: Mutex<Arc<Node>>,
    /// Whether the first version carries an error.
    is_wrong: bool,
}

impl Cell {
    fn new(node: Arc<Node>) -> Arc<Cell> {
        let (ty, is_wrong) = (node.ty.clone(), node.is_failed());
        Arc::new(Cell { ty, version: Mutex::new(node), is_wrong })
    }
}

/// A lazy n-dimensional array.
///
/// Operations build a graph; [`eval`](Array::eval), [`to_vec`](Array::to_vec) and printing compute it. Arrays are
/// cheap to clone and free to share between threads. Views ([`reshape`](Array::reshape), [`slice`](Array::slice),
/// [`permute`](Array::permute), …) share storage with their base, and so do clones: [`assign`](Array::assign)
/// through one shows in all.
///
/// ```
/// use crossover_array::Array;
/// let x = Array::from([1.0f32, 2.0, 3.0]);
/// let y = (&x * 2.0 + 1.0).sqrt();
/// assert_eq!(y.to_vec::<f32>()?, [3f32.sqrt(), 5f32.sqrt(), 7f32.sqrt()]);
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Clone)]
pub struct Array {
    cell: Arc<Cell>,
    /// The window onto the cell's row-major elements; `None` is all of them. Apart, so that whole arrays are small to pass on.
    view: Option<Box<Layout>>,
}

impl Array {
    /// An array with a cell of its own.
    pub(crate) fn from_node(node: Arc<Node>) -> Array {
        debug::settle(&node);
        cut::limit(&node);
        Array { cell: Cell::new(node), view: None }
    }

    pub(crate) fn from_buffer(buffer: Arc<Buffer>, ty: Type, location: &'static Location<'static>) -> Array {
        Array::from_node(Node::new(ty, State::Ready(buffer), location))
    }

    /// An array that carries an error.
    pub(crate) fn failed(error: Error) -> Array {
        let location = error.location();
        Array::from_node(Node::new(failed_type(), State::Failed(error), location))
    }

    /// An array that carries an error: for functions that return arrays and have failed.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let wrong = Array::failing("halved", "13 is odd".to_string()) + 1;
    /// assert!(wrong.check().unwrap_err().to_string().starts_with("halved: 13 is odd"));
    /// ```
    #[track_caller]
    pub fn failing(op: &'static str, what: String) -> Array {
        Array::wrong(crossover_core::Error::Value { op, what }, Location::caller())
    }

    /// An array that carries an error of a call at `location`.
    pub(crate) fn wrong(
        error: impl Into<crossover_runtime::Error>,
        location: &'static Location<'static>,
    ) -> Array {
        Array::failed(Error::new(error, location))
    }

    /// An array that carries an error of a function at its caller's line, for libraries of functions on arrays: `op` is the
    /// function, `what` the value and the rule it breaks.
    ///
    /// ```
    /// use crossover_array::Array;
    /// #[track_caller]
    /// fn half(x: &Array) -> Array {
    ///     match x.shape().dims() {
    ///         [n] if n % 2 == 0 => x.slice(..(n / 2) as i64),
    ///         dims => Array::refused("half", format!("x has the shape {dims:?}; it takes one axis of even length")),
    ///     }
    /// }
    /// let error = half(&Array::from([1, 2, 3])).to_vec::<i32>().unwrap_err();
    /// assert!(error.to_string().starts_with("half: x has the shape [3]"));
    /// assert_eq!(error.location().file(), file!());
    /// ```
    #[track_caller]
    pub fn refused(op: &'static str, what: impl Into<String>) -> Array {
        Array::wrong(crossover_core::Error::Value { op, what: what.into() }, Location::caller())
    }

    /// The error this array carries.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.cell.version.lock().error()
    }

    /// The node that holds the cell's current version, whatever part of it this array shows.
    pub(crate) fn version(&self) -> Arc<Node> {
        self.cell.version.lock().clone()
    }

    /// Whether every element is known to be the same number, without computing.
    pub(crate) fn is_constant(&self) -> bool {
        self.cell.version.lock().constant().is_some()
    }

    /// Type of the elements.
    ///
    /// ```
    /// # use crossover_array::{Array, DType};
    /// assert_eq!(Array::from([1u8, 2]).dtype(), DType::U8);
    /// ```
    pub fn dtype(&self) -> DType {
        self.cell.ty.dtype
    }

    /// Lengths of the axes.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([[1, 2, 3], [4, 5, 6]]).shape().dims(), [2, 3]);
    /// ```
    pub fn shape(&self) -> &Shape {
        self.view.as_deref().map_or(&self.cell.ty.shape, |layout| &layout.shape)
    }

    /// Number of axes.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::scalar(1.5f32).ndim(), 0);
    /// ```
    pub fn ndim(&self) -> usize {
        self.shape().rank()
    }

    /// Number of elements.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::zeros::<f32>([2, 3, 4]).size(), 24);
    /// ```
    pub fn size(&self) -> usize {
        self.shape().size()
    }

    /// Dtype and shape.
    pub(crate) fn ty(&self) -> Type {
        Type { dtype: self.dtype(), shape: self.shape().clone() }
    }

    /// The window onto the cell; `None` is all of it.
    pub(crate) fn view(&self) -> Option<&Layout> {
        self.view.as_deref()
    }

    pub(crate) fn layout(&self) -> Layout {
        self.view().cloned().unwrap_or_else(|| Layout::contiguous(self.cell.ty.shape.clone()))
    }

    /// Whether there are as many elements as the cell has.
    pub(crate) fn is_whole(&self) -> bool {
        self.size() == self.cell.ty.shape.size()
    }

    /// Whether no other array, clone or view, shows the cell.
    pub(crate) fn is_only(&self) -> bool {
        Arc::strong_count(&self.cell) == 1
    }

    /// A view of the same cell.
    pub(crate) fn with_layout(&self, layout: Layout) -> Array {
        Array { cell: self.cell.clone(), view: Some(Box::new(layout)) }
    }

    /// The array that this one is a view of, with all of its elements; `None` for one that shows all of its own.
    ///
    /// ```
    /// # use crossover_array::{Array, s};
    /// let x = Array::from([1, 2, 3]);
    /// let y = x.slice(s![1..]);
    /// y.base().expect("a view").assign(7)?;
    /// assert_eq!(x.to_vec::<i32>()?, [7, 7, 7]);
    /// assert!(x.base().is_none());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn base(&self) -> Option<Array> {
        self.view.as_ref().map(|_| Array { cell: self.cell.clone(), view: None })
    }

    /// The error this array carries, if any, without computing anything.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert!(Array::from([1.0f32]).reshape([7]).check().is_err());
    /// ```
    pub fn check(&self) -> Result<()> {
        self.failure().map_or(Ok(()), Err)
    }

    /// The error that this array was made with, if any: [`check`](Array::check) for whoever has just made it, at the price of a look.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([1.0f32]);
    /// assert!(x.reshape([7]).check_made().is_err());
    /// assert!((&x + 1.0).check_made().is_ok());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[inline]
    pub fn check_made(&self) -> Result<()> {
        if self.cell.is_wrong { self.check() } else { Ok(()) }
    }

    /// Computes the array now. Later uses read the result.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::arange(1000).sqrt();
    /// x.eval()?; // runs one kernel
    /// x.eval()?; // nothing is left to run
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn eval(&self) -> Result<&Array> {
        let _asked = trace::asked(Location::caller());
        eval::node(&self.version())?;
        Ok(self)
    }

    /// As [`eval`](Array::eval), if that takes no longer than a few calls: what is computed already, and one operation on a few thousand
    /// elements that are there, like one before. `None`, with nothing done, for anything else.
    ///
    /// For callers who would let go of a lock to compute.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([1.0f32, 2.0]);
    /// (&x + 1.0).eval()?;
    /// assert!((&x + 2.0).eval_if_small().is_some());
    /// assert!((&x + 2.0).exp().eval_if_small().is_none());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn eval_if_small(&self) -> Option<Result<()>> {
        let _asked = trace::asked(Location::caller());
        eval::node_if_small(&self.version())
    }

    /// The same elements as they are now: what is assigned to one of the two does not show in the other. Nothing is computed or copied.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([1, 2]);
    /// let (view, first) = (x.slice(0), x.slice(0).frozen());
    /// x.fill(7)?;
    /// assert_eq!(view.item::<i32>()?, 7);
    /// assert_eq!(first.item::<i32>()?, 1);
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn frozen(&self) -> Array {
        let node = self.version();
        // A number by itself does not keep the rest of the memory from being changed in place.
        if let Some(value) = self.number(&node) {
            return Array::from_node(Node::new(self.ty(), State::Scalar(value), node.location));
        }
        Array { cell: Cell::new(node), view: self.view.clone() }
    }

    /// Whether this array still shows what [`frozen`](Array::frozen) kept of it: nothing has been assigned to it since, nor to what it is a
    /// view of. Nothing is computed or compared; of an array without axes `frozen` may keep the number alone, which is another's.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let x = Array::from([1, 2]);
    /// let first = x.frozen();
    /// assert!(x.is_still(&first));
    /// x.fill(7)?;
    /// assert!(!x.is_still(&first));
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    pub fn is_still(&self, frozen: &Array) -> bool {
        Arc::ptr_eq(&self.version(), &frozen.version())
    }

    /// The element of an array without axes, where it lies in the host's memory.
    fn number(&self, node: &Node) -> Option<Scalar> {
        if self.ndim() > 0 || node.is_pending() {
            return None;
        }
        let buffer = match &*node.state() {
            State::Scalar(value) => return Some(*value),
            State::Ready(buffer) if buffer.is_valid_on(Device::HOST) => buffer.clone(),
            _ => return None,
        };
        let offset = self.view().map_or(0, |layout| layout.offset);
        Some(Scalar::read_from(self.dtype(), &buffer.host_bytes().ok()?[offset * self.dtype().size()..]))
    }

    /// The cell's elements, computed if they are not yet, and the window onto them.
    pub(crate) fn contents(&self) -> Result<(Arc<Buffer>, Layout)> {
        let buffer = eval::node_for(&self.version(), Wanted::OnHost)?;
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
    /// assert!(x.to_vec::<f32>().is_err());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let location = Location::caller();
        let _asked = trace::asked(location);
        let node = self.version();
        let wrap = |e: crossover_runtime::Error| Error::new(e, location);
        // A large value that is still pending may come from a device in parts.
        if self.view.is_none()
            && self.dtype() == T::DTYPE
            && self.size().saturating_mul(size_of::<T>()) >= convert::LARGE
            && eval::comes_from_elsewhere(&node)
        {
            let mut out = convert::zeros::<T>(self.size()).map_err(wrap)?;
            let bytes = convert::bytes_of_mut(&mut out);
            if let Some((buffer, written)) = eval::node_into(&node, bytes)? {
                if !written {
                    buffer.read_into(bytes).map_err(wrap)?;
                }
                return Ok(out);
            }
        }
        let buffer = eval::node_for(&node, Wanted::OnHost)?;
        self.expect_dtype("to_vec", T::DTYPE, location)?;
        let whole = convert::read_whole(&buffer, self.view(), self.size());
        if let Some(values) = whole.map_err(wrap)? {
            return Ok(values);
        }
        let bytes = buffer.host_bytes().map_err(wrap)?;
        convert::read(bytes, self.view(), self.size()).map_err(wrap)
    }

    /// The only element of an array that has one.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// assert_eq!(Array::from([1.0f32, 2.0]).sum(()).item::<f32>()?, 3.0);
    /// assert!(Array::from([1.0f32, 2.0]).item::<f32>().is_err());
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn item<T: Element>(&self) -> Result<T> {
        let location = Location::caller();
        let _asked = trace::asked(location);
        self.check()?;
        self.expect_dtype("item", T::DTYPE, location)?;
        self.only("item", location).map(T::from_scalar)
    }

    /// The only element of an array that has one, with its dtype.
    ///
    /// ```
    /// # use crossover_array::Array;
    /// let mean = Array::from([1i32, 2, 3, 4]).mean(());
    /// assert_eq!(mean.to_scalar()?.to_string(), "2.5");
    /// # Ok::<(), crossover_array::Error>(())
    /// ```
    #[track_caller]
    pub fn to_scalar(&self) -> Result<Scalar> {
        let location = Location::caller();
        let _asked = trace::asked(location);
        self.check()?;
        self.only("to_scalar", location)
    }

    fn only(&self, op: &'static str, location: &'static Location<'static>) -> Result<Scalar> {
        let shape = self.shape();
        if shape.size() != 1 {
            let what = format!("an array of shape {shape} has {} elements, not one", shape.size());
            return Err(Error::new(crossover_core::Error::Value { op, what }, location));
        }
        if let Some(value) = self.version().constant() {
            return Ok(value);
        }
        let (buffer, layout) = self.contents()?;
        let bytes = buffer.host_bytes().map_err(|e| Error::new(e, location))?;
        Ok(Scalar::read_from(self.dtype(), &bytes[layout.offset * self.dtype().size()..]))
    }

    fn expect_dtype(
        &self,
        op: &'static str,
        wanted: DType,
        location: &'static Location<'static>,
    ) -> Result<()> {
        if self.dtype() == wanted {
            return Ok(());
        }
        let error = crossover_core::Error::DType { op, dtype: wanted, supported: self.dtype().to_string() };
        Err(Error::new(error, location))
    }

    /// Puts a new version of all of the cell's elements in place.
    pub(crate) fn replace(&self, node: Arc<Node>) {
        debug_assert_eq!(node.ty, self.cell.ty);
        let former = std::mem::replace(&mut *self.cell.version.lock(), node);
        // Freed after the lock: a long chain takes a while.
        drop(former);
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
        loop {
            eval::node_for(&self.version(), Wanted::OnHost)?;
            let mut version = self.cell.version.lock();
            if let Some(buffer) =
                Arc::get_mut(&mut version).and_then(Node::buffer_mut).and_then(Buffer::exclusive)
            {
                write(buffer.host_bytes_mut().map_err(wrap)?);
                return Ok(());
            }
            // Another thread may have put a pending version in since; nothing is computed under the lock.
            let old = match &*version.state() {
                State::Ready(buffer) => buffer.clone(),
                _ => continue,
            };
            let bytes = old.host_bytes().map_err(wrap)?;
            let copy = Buffer::from_fill(Runtime::current().machine(), bytes.len(), |to| {
                to.copy_from_slice(bytes);
                write(to);
            });
            *version = Node::new(self.cell.ty.clone(), State::Ready(copy.map_err(wrap)?), location);
            return Ok(());
        }
    }

    /// As [`update`](Array::update), where the bytes are on an accelerator and stay there. False, with nothing done, if the device cannot.
    pub(crate) fn update_on(
        &self,
        device: crossover_runtime::Device,
        location: &'static Location<'static>,
        write: impl FnOnce(&mut Buffer) -> crossover_runtime::Result<bool>,
    ) -> Result<bool> {
        let wrap = |e: crossover_runtime::Error| Error::new(e, location);
        let mut version = self.cell.version.lock();
        if let Some(buffer) =
            Arc::get_mut(&mut version).and_then(Node::buffer_mut).and_then(Buffer::exclusive)
        {
            return write(buffer).map_err(wrap);
        }
        // Somebody else has these values and keeps them.
        let old = match &*version.state() {
            State::Ready(buffer) => buffer.clone(),
            _ => return Ok(false),
        };
        let (block, _hold) = old.hold_on(device).map_err(wrap)?;
        let mut copy = match Buffer::from_neighbour(old.machine(), device, block) {
            Err(
                crossover_runtime::Error::Unsupported { .. } | crossover_runtime::Error::OutOfMemory { .. },
            ) => return Ok(false),
            made => made.map_err(wrap)?,
        };
        let Some(fresh) = Buffer::exclusive(&mut copy) else { return Ok(false) };
        if !write(fresh).map_err(wrap)? {
            return Ok(false);
        }
        *version = Node::new(self.cell.ty.clone(), State::Ready(copy), location);
        Ok(true)
    }
}

/// Computes several arrays at once, sharing what they have in common.
///
/// ```
/// use crossover_array::{Array, eval_all};
/// let x = Array::arange(10).astype(crossover_array::DType::F64);
/// let (low, high) = (x.min(()), x.max(()));
/// eval_all(&[&low, &high])?; // one kernel reads x once
/// assert_eq!((low.item::<f64>()?, high.item::<f64>()?), (0.0, 9.0));
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[track_caller]
pub fn eval_all(arrays: &[&Array]) -> Result<()> {
    let _asked = trace::asked(Location::caller());
    let nodes: Vec<Arc<Node>> = arrays.iter().map(|a| a.version()).collect();
    eval::nodes(&nodes)
}
