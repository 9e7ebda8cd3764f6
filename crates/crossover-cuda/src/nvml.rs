//! How busy, hot and full the GPUs are, from the driver's management library, loaded at run time.
//!
//! The library is looked for at `CROSSOVER_NVML`, then as the driver installs it. It answers without a device being opened, and
//! about all cards of the machine, in the order of their slots.

#![allow(unsafe_code)]

use std::{
    ffi::{c_char, c_int, c_uint, c_void},
    sync::OnceLock,
};

use libloading::Library;

use crate::{
    Error, Result,
    library::{self, Opened},
};

const LIBRARY: &str = "libnvidia-ml";

/// What a GPU does at the moment.
///
/// ```
/// use crossover_cuda::GpuLoad;
/// fn line(gpu: &GpuLoad) -> String {
///     format!("{}: {:.0}% busy, {} of {} MiB", gpu.name, 100.0 * gpu.busy, gpu.used >> 20, gpu.total >> 20)
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GpuLoad {
    /// Its name.
    pub name: String,
    /// Share of the last moments in which some kernel ran.
    pub busy: f64,
    /// Share of the last moments in which its memory was read or written.
    pub memory_busy: f64,
    /// Bytes in use, of everybody.
    pub used: u64,
    /// Bytes there are.
    pub total: u64,
    /// Degrees Celsius; `None` where it does not say.
    pub celsius: Option<u32>,
    /// Watts; `None` where it does not say.
    pub watts: Option<f64>,
}

type Handle = *mut c_void;

#[repr(C)]
#[derive(Default)]
struct Utilisation {
    gpu: c_uint,
    memory: c_uint,
}

#[repr(C)]
#[derive(Default)]
struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

#[derive(Debug)]
struct Nvml {
    count: unsafe extern "C" fn(*mut c_uint) -> c_int,
    handle: unsafe extern "C" fn(c_uint, *mut Handle) -> c_int,
    name: unsafe extern "C" fn(Handle, *mut c_char, c_uint) -> c_int,
    utilisation: unsafe extern "C" fn(Handle, *mut Utilisation) -> c_int,
    memory: unsafe extern "C" fn(Handle, *mut Memory) -> c_int,
    temperature: unsafe extern "C" fn(Handle, c_uint, *mut c_uint) -> c_int,
    power: unsafe extern "C" fn(Handle, *mut c_uint) -> c_int,
    _library: Opened,
}

impl Nvml {
    fn open() -> Result<Nvml> {
        let named = std::env::var_os("CROSSOVER_NVML").filter(|path| !path.is_empty());
        let candidates = match named {
            Some(path) => vec![path],
            None => vec!["libnvidia-ml.so.1".into(), "libnvidia-ml.so".into()],
        };
        let mut last = String::new();
        for candidate in candidates {
            // SAFETY: loading the library runs its initialisers, which have no preconditions.
            match unsafe { Library::new(&candidate) } {
                Ok(library) => return Nvml::resolve(Opened::new(library)),
                Err(error) => last = error.to_string(),
            }
        }
        Err(Error::Library {
            library: LIBRARY,
            why: format!("the NVIDIA driver brings it; the loader says: {last}"),
        })
    }

    fn resolve(library: Opened) -> Result<Nvml> {
        // SAFETY: each name is that of a function of nvml.h with the type of its field, and the library stays open beside them.
        let nvml = unsafe {
            let init: unsafe extern "C" fn() -> c_int = library::symbol(&library, LIBRARY, "nvmlInit_v2")?;
            check("nvmlInit_v2", init())?;
            Nvml {
                count: library::symbol(&library, LIBRARY, "nvmlDeviceGetCount_v2")?,
                handle: library::symbol(&library, LIBRARY, "nvmlDeviceGetHandleByIndex_v2")?,
                name: library::symbol(&library, LIBRARY, "nvmlDeviceGetName")?,
                utilisation: library::symbol(&library, LIBRARY, "nvmlDeviceGetUtilizationRates")?,
                memory: library::symbol(&library, LIBRARY, "nvmlDeviceGetMemoryInfo")?,
                temperature: library::symbol(&library, LIBRARY, "nvmlDeviceGetTemperature")?,
                power: library::symbol(&library, LIBRARY, "nvmlDeviceGetPowerUsage")?,
                _library: library,
            }
        };
        Ok(nvml)
    }

    fn load(&self, index: c_uint) -> Result<GpuLoad> {
        /// The sensor on the chip.
        const CHIP: c_uint = 0;
        const NAME: usize = 96;
        let mut handle = std::ptr::null_mut();
        let mut name = [0u8; NAME];
        let (mut busy, mut memory) = (Utilisation::default(), Memory::default());
        let (mut celsius, mut milliwatts) = (0, 0);
        // SAFETY: the handle is the library's own, and every pointer is valid for what its function writes; the name has as
        // much room as is said.
        let (celsius_read, power_read) = unsafe {
            check("nvmlDeviceGetHandleByIndex_v2", (self.handle)(index, &mut handle))?;
            check("nvmlDeviceGetName", (self.name)(handle, name.as_mut_ptr().cast(), NAME as c_uint))?;
            check("nvmlDeviceGetMemoryInfo", (self.memory)(handle, &mut memory))?;
            // Parts of a card do not say how busy they are.
            if (self.utilisation)(handle, &mut busy) != 0 {
                busy = Utilisation::default();
            }
            ((self.temperature)(handle, CHIP, &mut celsius) == 0, (self.power)(handle, &mut milliwatts) == 0)
        };
        let end = name.iter().position(|&b| b == 0).unwrap_or(NAME);
        Ok(GpuLoad {
            name: String::from_utf8_lossy(&name[..end]).into_owned(),
            busy: f64::from(busy.gpu) / 100.0,
            memory_busy: f64::from(busy.memory) / 100.0,
            used: memory.used,
            total: memory.total,
            celsius: celsius_read.then_some(celsius),
            watts: power_read.then_some(f64::from(milliwatts) / 1e3),
        })
    }
}

fn check(call: &'static str, code: c_int) -> Result<()> {
    match code {
        0 => Ok(()),
        code => Err(Error::Driver { call, why: format!("the library answered {code}"), code: code as u32 }),
    }
}

/// What every GPU of the machine does at the moment, or why that is not known. Opens no device.
///
/// ```
/// match crossover_cuda::gpu_loads() {
///     Ok(gpus) => gpus.iter().for_each(|gpu| println!("{}: {:.0}% busy", gpu.name, 100.0 * gpu.busy)),
///     Err(reason) => println!("unknown: {reason}"),
/// }
/// ```
pub fn gpu_loads() -> Result<Vec<GpuLoad>> {
    static NVML: OnceLock<Result<Nvml>> = OnceLock::new();
    let nvml = NVML.get_or_init(Nvml::open).as_ref().map_err(Error::clone)?;
    let mut count = 0;
    // SAFETY: the pointer is valid for the call.
    check("nvmlDeviceGetCount_v2", unsafe { (nvml.count)(&mut count) })?;
    (0..count).map(|index| nvml.load(index)).collect()
}
