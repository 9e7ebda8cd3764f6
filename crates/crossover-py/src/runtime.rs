//! Runtimes: settings, statistics, memory.

use crossover::{
    Builder, Device, Growth, Limit, Precision, Runtime,
    memory::{PressureEvent, Subscription},
};
use parking_lot::Mutex;
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};

use crate::{
    device::{self, Dev, PyDevice, computing},
    errors::{raise, value_error},
};

/// What computes arrays: its devices, settings, memory and statistics. A `with` block makes it that of this thread.
///
/// >>> sorted(xo.get_runtime().memory_stats()["cpu"])[:3]
/// ['budget', 'cached', 'free']
#[pyclass(frozen, name = "Runtime", module = "crossover")]
pub struct PyRuntime(Runtime);

#[pymethods]
impl PyRuntime {
    /// What computes beside the host: 'cuda', or 'cpu' where there is no accelerator.
    #[getter]
    fn backend(&self) -> &'static str {
        self.0.backend()
    }

    /// How many accelerators there are.
    #[getter]
    fn device_count(&self) -> usize {
        self.0.device_count()
    }

    /// Whether a device can be used.
    ///
    /// >>> xo.get_runtime().is_available("cpu")
    /// True
    fn is_available(&self, py: Python<'_>, device: Dev) -> bool {
        computing(py, || self.0.is_available(device.0))
    }

    /// The settings in effect: name, value and who set it.
    ///
    /// >>> [name for name, value, origin in xo.get_runtime().settings() if name == "threads"]
    /// ['threads']
    fn settings(&self) -> Vec<(String, String, String)> {
        let settings = self.0.settings().into_iter();
        settings.map(|s| (s.name.to_string(), s.value, s.origin.to_string())).collect()
    }

    /// Kernels launched, copies, fallbacks, since the runtime was made.
    ///
    /// >>> sorted(xo.get_runtime().stats())
    /// ['fallbacks', 'launches', 'postponed', 'transferred_bytes', 'transfers']
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self.0.stats().counts;
        let found = PyDict::new(py);
        found.set_item("launches", counts.launches)?;
        found.set_item("transfers", counts.transfers)?;
        found.set_item("transferred_bytes", counts.transferred)?;
        found.set_item("fallbacks", counts.fallbacks)?;
        found.set_item("postponed", counts.postponed)?;
        Ok(found)
    }

    /// For each device in use: bytes live, peak, cached, free, budget and total, the share used and the level of pressure.
    ///
    /// >>> xo.get_runtime().memory_stats()["cpu"]["level"]
    /// 'normal'
    fn memory_stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (device, memory) in self.0.memory_stats() {
            let one = PyDict::new(py);
            one.set_item("live", memory.live)?;
            one.set_item("peak", memory.peak)?;
            one.set_item("cached", memory.cached)?;
            one.set_item("free", memory.free)?;
            one.set_item("budget", memory.budget)?;
            one.set_item("total", memory.total)?;
            one.set_item("usage", memory.usage)?;
            one.set_item("level", memory.level.to_string())?;
            all.set_item(device.to_string(), one)?;
        }
        Ok(all)
    }

    /// How busy the machine is: `cpu`, the share of all cores that worked since the last call, for whatever program; `process`, how many worked
    /// for this one; `gpus`, for each GPU its name and the share of the time in which it worked. `None` where the system does not say.
    ///
    /// >>> sorted(xo.get_runtime().utilization())
    /// ['cpu', 'gpus', 'process']
    fn utilization<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let now = computing(py, || self.0.utilization());
        let found = PyDict::new(py);
        found.set_item("cpu", now.cpu)?;
        found.set_item("process", now.process)?;
        let gpus =
            now.gpus.ok().map(|gpus| gpus.into_iter().map(|gpu| (gpu.name, gpu.busy)).collect::<Vec<_>>());
        found.set_item("gpus", gpus)?;
        Ok(found)
    }

    /// Whether an array of so many bytes could be made on a device now.
    ///
    /// >>> xo.get_runtime().can_allocate(1000)
    /// True
    #[pyo3(signature = (nbytes, device=Dev(Device::Cpu)), text_signature = "($self, nbytes, device='cpu')")]
    fn can_allocate(&self, py: Python<'_>, nbytes: u64, device: Dev) -> PyResult<bool> {
        computing(py, || self.0.can_allocate(device.0, nbytes)).map_err(|error| raise(&error))
    }

    /// Gives memory back that arrays have freed and that is kept for the next ones.
    ///
    /// >>> xo.get_runtime().trim()
    fn trim(&self, py: Python<'_>) -> PyResult<()> {
        computing(py, || self.0.trim()).map_err(|error| raise(&error))
    }

    /// Calls `callback(device, event)` whenever the memory of a GPU gets near the end of its budget or away from it, until the watch is
    /// closed. `event` has the keys level, before, usage and budget.
    ///
    /// >>> watch = xo.get_runtime().on_pressure(lambda device, event: print(device, event["level"]))
    /// >>> watch.close()
    fn on_pressure(&self, callback: Py<PyAny>) -> PressureWatch {
        let subscription = self.0.on_pressure(move |device, event| {
            Python::attach(|py| {
                let told =
                    pressure(py, &event).and_then(|event| callback.call1(py, (PyDevice(device), event)));
                if let Err(error) = told {
                    // It is not the fault of whoever computes.
                    error.write_unraisable(py, Some(callback.bind(py)));
                }
            });
        });
        PressureWatch(Mutex::new(Some(subscription)))
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        device::enter(this.get().0.clone());
        this
    }

    #[pyo3(signature = (*_why))]
    fn __exit__(&self, _why: &Bound<'_, PyAny>) -> bool {
        device::leave();
        false
    }

    fn __repr__(&self) -> String {
        format!("<crossover.Runtime: {}, {} accelerators>", self.0.backend(), self.0.device_count())
    }
}

/// A change of pressure as a dictionary.
fn pressure<'py>(py: Python<'py>, event: &PressureEvent) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("level", event.to.to_string())?;
    found.set_item("before", event.from.to_string())?;
    found.set_item("usage", event.usage)?;
    found.set_item("budget", event.budget)?;
    Ok(found)
}

/// Somebody who is told about the pressure on memory; a `with` block, or `close()`, ends it.
#[pyclass(frozen, module = "crossover")]
pub struct PressureWatch(Mutex<Option<Subscription>>);

#[pymethods]
impl PressureWatch {
    /// Nobody is told any more.
    fn close(&self) {
        drop(self.0.lock().take());
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*_why))]
    fn __exit__(&self, _why: &Bound<'_, PyAny>) -> bool {
        self.close();
        false
    }
}

/// A runtime with settings by name, for `crossover.Config`.
#[pyfunction]
fn build_runtime(settings: &Bound<'_, PyDict>) -> PyResult<PyRuntime> {
    let mut builder = Runtime::builder();
    for (name, value) in settings {
        builder = set(builder, &name.extract::<String>()?, &value)?;
    }
    builder.build().map(PyRuntime).map_err(|error| raise(&error))
}

fn set(builder: Builder, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Builder> {
    Ok(match name {
        "device" => builder.device(value.extract::<Dev>()?.0),
        "threads" => builder.threads(value.extract()?),
        "fusion" => builder.fusion(value.extract()?),
        "eager" => builder.eager(value.extract()?),
        "refuse_nan" => builder.refuse_nan(value.extract()?),
        "deterministic" => builder.deterministic(value.extract()?),
        "gpu" => builder.gpu(value.extract()?),
        "profiling" => builder.profiling(value.extract()?),
        "threshold_small" => builder.threshold_small(value.extract()?),
        "memory_budget" => builder.memory_budget(value.extract()?),
        "memory_limit" => builder.memory_limit(limit(value)?),
        "memory_growth" => {
            builder.memory_growth(if value.extract::<bool>()? { Growth::OnDemand } else { Growth::Reserved })
        }
        "precision" => builder.precision(match value.extract::<String>()?.as_str() {
            "exact" | "f32" => Precision::Exact,
            "tf32" => Precision::Tf32,
            other => return Err(value_error(format!("precision is 'exact' or 'tf32', not {other:?}"))),
        }),
        other => return Err(PyValueError::new_err(format!("there is no setting {other:?}"))),
    })
}

/// A share up to 1, or bytes.
fn limit(value: &Bound<'_, PyAny>) -> PyResult<Limit> {
    let number: f64 = value.extract()?;
    if number <= 1.0 { Ok(Limit::Share(number)) } else { Ok(Limit::Bytes(value.extract()?)) }
}

/// The runtime of this thread.
///
/// >>> xo.get_runtime().backend in ("cpu", "cuda")
/// True
#[pyfunction]
fn get_runtime() -> PyRuntime {
    PyRuntime(device::runtime())
}

/// Makes a runtime that of all threads without one of their own.
#[pyfunction]
fn share_runtime(runtime: Option<&Bound<'_, PyRuntime>>) {
    device::share(runtime.map(|runtime| runtime.get().0.clone()));
}

/// The devices of the machine: the host first.
///
/// >>> xo.list_devices()[0]
/// device('cpu')
#[pyfunction]
fn list_devices() -> Vec<PyDevice> {
    let count = device::runtime().device_count();
    std::iter::once(Device::Cpu).chain((0..count).map(Device::Cuda)).map(PyDevice).collect()
}

/// Adds classes and functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyRuntime>()?;
    module.add_class::<PressureWatch>()?;
    module.add_function(wrap_pyfunction!(build_runtime, module)?)?;
    module.add_function(wrap_pyfunction!(get_runtime, module)?)?;
    module.add_function(wrap_pyfunction!(share_runtime, module)?)?;
    module.add_function(wrap_pyfunction!(list_devices, module)?)
}
