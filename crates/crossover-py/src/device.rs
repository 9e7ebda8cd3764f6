//! Devices, and the scope in which one is chosen.
//!
//! Everything that may compute passes through [`computing`]: it lets other Python threads run, and applies the device and the runtime
//! that the thread has chosen.

use std::{
    cell::{Cell, RefCell},
    str::FromStr,
    sync::atomic::{AtomicBool, Ordering},
};

use crossover::{Device, Runtime, with_device};
use pyo3::{prelude::*, types::PyString};

use crate::{errors::value_error, events, signals};

thread_local! {
    /// How many `with` blocks of devices and runtimes this thread is in.
    static BLOCKS: Cell<usize> = const { Cell::new(0) };
    /// Devices of the `with` blocks that this thread is in.
    static DEVICES: RefCell<Vec<Device>> = const { RefCell::new(Vec::new()) };
    /// Whether this thread computes while other Python threads run.
    static COMPUTES: Cell<bool> = const { Cell::new(false) };
    /// Runtimes of the `with` blocks that this thread is in.
    static RUNTIMES: RefCell<Vec<Runtime>> = const { RefCell::new(Vec::new()) };
}

/// The runtime that `crossover.init` made for all threads.
static SHARED: parking_lot::RwLock<Option<Runtime>> = parking_lot::RwLock::new(None);
/// Whether there is one: the usual case, that there is none, takes no lock.
static IS_SHARED: AtomicBool = AtomicBool::new(false);

/// Makes a runtime that of every thread without one of its own.
pub fn share(runtime: Option<Runtime>) {
    let mut shared = SHARED.write();
    IS_SHARED.store(runtime.is_some(), Ordering::Release);
    *shared = runtime;
}

/// Enters a runtime on this thread.
pub fn enter(runtime: Runtime) {
    BLOCKS.set(BLOCKS.get() + 1);
    RUNTIMES.with_borrow_mut(|stack| stack.push(runtime));
}

/// Leaves the runtime entered last.
pub fn leave() {
    if RUNTIMES.with_borrow_mut(Vec::pop).is_some() {
        BLOCKS.set(BLOCKS.get() - 1);
    }
}

/// Whether neither this thread nor the program has chosen anything.
#[inline]
fn is_plain() -> bool {
    BLOCKS.get() == 0 && !IS_SHARED.load(Ordering::Acquire)
}

/// The runtime of this thread.
pub fn runtime() -> Runtime {
    chosen().unwrap_or_else(Runtime::current)
}

/// The device of the `with` block that this thread is in.
pub fn told() -> Option<Device> {
    DEVICES.with_borrow(|stack| stack.last().copied())
}

fn chosen() -> Option<Runtime> {
    let own = RUNTIMES.with_borrow(|stack| stack.last().cloned());
    own.or_else(|| if IS_SHARED.load(Ordering::Acquire) { SHARED.read().clone() } else { None })
}

/// Runs what builds arrays with the runtime of this thread.
pub fn building<T>(body: impl FnOnce() -> T) -> T {
    if is_plain() {
        return body();
    }
    match chosen() {
        Some(runtime) => runtime.scope(body),
        None => body(),
    }
}

/// Notes that a thread computes, until it is dropped.
struct Computes(bool);

impl Computes {
    fn now() -> Computes {
        Computes(COMPUTES.replace(true))
    }
}

impl Drop for Computes {
    fn drop(&mut self) {
        COMPUTES.set(self.0);
    }
}

/// Runs what may compute with the runtime and device of this thread, while other Python threads go on, until it is done or Ctrl-C is pressed.
pub fn computing<T: Send>(py: Python<'_>, body: impl FnOnce() -> T + Send) -> T {
    let result = released(py, || placed(body));
    events::deliver(py);
    result
}

fn released<T: Send>(py: Python<'_>, body: impl FnOnce() -> T + Send) -> T {
    let heeds = signals::are_ours(py);
    py.detach(|| {
        let _computes = Computes::now();
        if heeds { signals::heeding(body) } else { body() }
    })
}

/// Lets other Python threads run also while work is computed that has piled up in expressions.
pub fn release_piled_up_work() {
    crossover::around_piled_up_work(|work| {
        if COMPUTES.get() {
            work();
        } else {
            Python::attach(|py| released(py, || placed(work)));
        }
    });
}

/// Runs what takes no longer than a call of Python's with the runtime and device of this thread.
pub fn placed<T>(body: impl FnOnce() -> T) -> T {
    if is_plain() {
        return body();
    }
    building(|| match DEVICES.with_borrow(|stack| stack.last().copied()) {
        Some(device) => with_device(device, body),
        None => body(),
    })
}

/// A device, and a `with` block in which this thread computes there.
///
/// >>> with xo.device("cpu"):
/// ...     float(xo.sum(xo.ones(3)))
/// 3.0
#[pyclass(frozen, name = "device", module = "crossover")]
pub struct PyDevice(pub Device);

#[pymethods]
impl PyDevice {
    #[new]
    #[pyo3(signature = (name))]
    fn new(name: Dev) -> PyDevice {
        PyDevice(name.0)
    }

    /// 'cpu', 'cuda' or 'auto'.
    #[getter]
    fn r#type(&self) -> &'static str {
        match self.0 {
            Device::Cpu => "cpu",
            Device::Cuda(_) => "cuda",
            _ => "auto",
        }
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        BLOCKS.set(BLOCKS.get() + 1);
        DEVICES.with_borrow_mut(|stack| stack.push(this.get().0));
        this
    }

    #[pyo3(signature = (*_why))]
    fn __exit__(&self, _why: &Bound<'_, PyAny>) -> bool {
        if DEVICES.with_borrow_mut(Vec::pop).is_some() {
            BLOCKS.set(BLOCKS.get() - 1);
        }
        false
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        named(other).is_some_and(|device| device == self.0)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        PyString::new(py, &self.0.to_string()).hash()
    }

    fn __repr__(&self) -> String {
        format!("device('{}')", self.0)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __reduce__(&self, py: Python<'_>) -> (Py<PyAny>, (String,)) {
        (py.get_type::<PyDevice>().into_any().unbind(), (self.0.to_string(),))
    }
}

fn named(object: &Bound<'_, PyAny>) -> Option<Device> {
    if let Ok(device) = object.cast::<PyDevice>() {
        return Some(device.get().0);
    }
    let text = object.cast::<PyString>().ok()?;
    Device::from_str(text.to_cow().ok()?.as_ref()).ok()
}

/// A device as an argument: an object or a name; 'gpu' is the first GPU.
#[derive(Clone, Copy)]
pub struct Dev(pub Device);

impl<'a, 'py> FromPyObject<'a, 'py> for Dev {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Dev> {
        if let Ok(device) = object.cast::<PyDevice>() {
            return Ok(Dev(device.get().0));
        }
        let text: String = object.str()?.to_string();
        let name = if text == "gpu" { "cuda" } else { &text };
        let number = text.parse::<usize>().ok().map(Device::Cuda);
        number.map_or_else(|| Device::from_str(name), Ok).map(Dev).map_err(value_error)
    }
}

/// What a thread has chosen, for another that works for it: a `with` block there.
#[pyclass(frozen, name = "Carried", module = "crossover")]
pub struct PyCarried {
    runtime: Option<Runtime>,
    device: Option<Device>,
}

#[pymethods]
impl PyCarried {
    /// What this thread has chosen.
    #[new]
    fn new() -> PyCarried {
        PyCarried {
            runtime: RUNTIMES.with_borrow(|stack| stack.last().cloned()),
            device: DEVICES.with_borrow(|stack| stack.last().copied()),
        }
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        let carried = this.get();
        if let Some(runtime) = &carried.runtime {
            enter(runtime.clone());
        }
        if let Some(device) = carried.device {
            BLOCKS.set(BLOCKS.get() + 1);
            DEVICES.with_borrow_mut(|stack| stack.push(device));
        }
        this
    }

    #[pyo3(signature = (*_why))]
    fn __exit__(&self, _why: &Bound<'_, PyAny>) -> bool {
        if self.runtime.is_some() {
            leave();
        }
        if self.device.is_some() && DEVICES.with_borrow_mut(Vec::pop).is_some() {
            BLOCKS.set(BLOCKS.get() - 1);
        }
        false
    }
}
