//! cuFFT, loaded at run time: transforms that are planned once and run many times.
//!
//! The library is looked for at `CROSSOVER_CUFFT`, then as [`library`](crate::library) says. All functions are resolved when
//! it is opened, so nothing can be missing later. Plans own no working memory: it is lent to them for each run.

#![allow(unsafe_code)]

use std::{
    ffi::{c_int, c_void},
    ptr,
    sync::Arc,
};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::{
    Error, Gpu, Result,
    library::{self, Opened, symbol},
    queue::Lane,
};

const LIBRARY: &str = "libcufft";
/// Plans kept at most; each has tables in device memory.
const PLANS: usize = 64;

type Status = c_int;
type Handle = c_int;
type Transform = unsafe extern "C" fn(Handle, *mut c_void, *mut c_void) -> Status;
type Directed = unsafe extern "C" fn(Handle, *mut c_void, *mut c_void, c_int) -> Status;
type MakePlan = unsafe extern "C" fn(
    Handle,
    c_int,
    *mut i64,
    *mut i64,
    i64,
    i64,
    *mut i64,
    i64,
    i64,
    c_int,
    i64,
    *mut usize,
) -> Status;

#[derive(Clone, Copy)]
struct Functions {
    create: unsafe extern "C" fn(*mut Handle) -> Status,
    destroy: unsafe extern "C" fn(Handle) -> Status,
    own_memory: unsafe extern "C" fn(Handle, c_int) -> Status,
    make: MakePlan,
    set_stream: unsafe extern "C" fn(Handle, *mut c_void) -> Status,
    set_memory: unsafe extern "C" fn(Handle, *mut c_void) -> Status,
    c2c: Directed,
    z2z: Directed,
    r2c: Transform,
    d2z: Transform,
    c2r: Transform,
    z2d: Transform,
}

/// Between which numbers a transform goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Complex to complex, forward.
    Forward,
    /// Complex to complex, with the other sign.
    Inverse,
    /// Real to half a spectrum.
    Real,
    /// Half a spectrum to real.
    Hermitian,
}

/// Everything a plan depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) kind: Kind,
    pub(crate) double: bool,
    /// Lengths, one to three, in points of the transform; row-major without gaps.
    pub(crate) lengths: Vec<i64>,
    pub(crate) batch: i64,
}

/// A plan of the library.
pub(crate) struct Plan {
    functions: Functions,
    shape: Shape,
    /// Lending memory and running belong together.
    handle: Mutex<Handle>,
    /// Bytes of working memory.
    pub(crate) workspace: usize,
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plan({:?})", self.shape)
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        // SAFETY: made by `cufftCreate`, destroyed once.
        unsafe { (self.functions.destroy)(*self.handle.lock()) };
    }
}

/// The library, open for one device.
pub(crate) struct Fft {
    functions: Functions,
    known: Mutex<FxHashMap<Shape, Arc<Plan>>>,
    /// Keeps the functions valid; never closed while plans exist, since a device is never dropped before them.
    _library: Opened,
}

impl std::fmt::Debug for Fft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fft")
    }
}

fn check(call: &'static str, status: Status) -> Result<()> {
    if status == 0 {
        Ok(())
    } else {
        Err(Error::Library { library: LIBRARY, why: format!("{call} gave {status}") })
    }
}

impl Fft {
    /// Finds and opens the library; a device must be current.
    pub(crate) fn open() -> Result<Fft> {
        // SAFETY: loading cuFFT runs its initialisers, which have no preconditions; every line below names a function of
        // cufft.h and gives it the type declared there.
        unsafe {
            let library = library::open(LIBRARY, "CROSSOVER_CUFFT")?;
            let functions = Functions {
                create: symbol(&library, LIBRARY, "cufftCreate")?,
                destroy: symbol(&library, LIBRARY, "cufftDestroy")?,
                own_memory: symbol(&library, LIBRARY, "cufftSetAutoAllocation")?,
                make: symbol(&library, LIBRARY, "cufftMakePlanMany64")?,
                set_stream: symbol(&library, LIBRARY, "cufftSetStream")?,
                set_memory: symbol(&library, LIBRARY, "cufftSetWorkArea")?,
                c2c: symbol(&library, LIBRARY, "cufftExecC2C")?,
                z2z: symbol(&library, LIBRARY, "cufftExecZ2Z")?,
                r2c: symbol(&library, LIBRARY, "cufftExecR2C")?,
                d2z: symbol(&library, LIBRARY, "cufftExecD2Z")?,
                c2r: symbol(&library, LIBRARY, "cufftExecC2R")?,
                z2d: symbol(&library, LIBRARY, "cufftExecZ2D")?,
            };
            Ok(Fft { functions, known: Mutex::default(), _library: library })
        }
    }

    /// The plan of a shape, made once.
    pub(crate) fn plan(&self, gpu: &Gpu, shape: &Shape) -> Result<Arc<Plan>> {
        let mut known = self.known.lock();
        if let Some(found) = known.get(shape) {
            return Ok(found.clone());
        }
        let made = Arc::new(self.make(gpu, shape)?);
        if known.len() >= PLANS {
            known.clear();
        }
        known.insert(shape.clone(), made.clone());
        Ok(made)
    }

    fn make(&self, gpu: &Gpu, shape: &Shape) -> Result<Plan> {
        let f = self.functions;
        let number = match (shape.kind, shape.double) {
            (Kind::Real, false) => 0x2a,
            (Kind::Hermitian, false) => 0x2c,
            (Kind::Forward | Kind::Inverse, false) => 0x29,
            (Kind::Real, true) => 0x6a,
            (Kind::Hermitian, true) => 0x6c,
            (Kind::Forward | Kind::Inverse, true) => 0x69,
        };
        let mut handle = 0;
        let mut lengths = shape.lengths.clone();
        let mut plan = Plan { functions: f, shape: shape.clone(), handle: Mutex::new(0), workspace: 0 };
        // SAFETY: pointers are valid for the calls; no layouts are given, which means row-major without gaps.
        unsafe {
            check("cufftCreate", (f.create)(&mut handle))?;
            // From here on, dropping the plan destroys it.
            plan.handle = Mutex::new(handle);
            check("cufftSetAutoAllocation", (f.own_memory)(handle, 0))?;
            let none = ptr::null_mut();
            let status = (f.make)(
                handle,
                lengths.len() as c_int,
                lengths.as_mut_ptr(),
                none,
                1,
                0,
                none,
                1,
                0,
                number,
                shape.batch,
                &mut plan.workspace,
            );
            check("cufftMakePlanMany64", status)?;
            check("cufftSetStream", (f.set_stream)(handle, gpu.stream(Lane::Compute)))?;
        }
        Ok(plan)
    }
}

impl Plan {
    /// Queues the transform on the lane of kernels.
    ///
    /// # Safety
    /// The addresses lead to arrays of the plan's shape, and the memory has as many bytes as it asks for. The operand of
    /// a Hermitian transform is destroyed.
    pub(crate) unsafe fn run(&self, from: u64, to: u64, workspace: u64) -> Result<()> {
        let f = &self.functions;
        let (from, to) = (from as *mut c_void, to as *mut c_void);
        // Two threads must not lend memory to one plan at the same time.
        let guard = self.handle.lock();
        let handle = *guard;
        // SAFETY: the caller's contract.
        let status = unsafe {
            check("cufftSetWorkArea", (f.set_memory)(handle, workspace as *mut c_void))?;
            match (self.shape.kind, self.shape.double) {
                (Kind::Forward, false) => (f.c2c)(handle, from, to, -1),
                (Kind::Inverse, false) => (f.c2c)(handle, from, to, 1),
                (Kind::Forward, true) => (f.z2z)(handle, from, to, -1),
                (Kind::Inverse, true) => (f.z2z)(handle, from, to, 1),
                (Kind::Real, false) => (f.r2c)(handle, from, to),
                (Kind::Real, true) => (f.d2z)(handle, from, to),
                (Kind::Hermitian, false) => (f.c2r)(handle, from, to),
                (Kind::Hermitian, true) => (f.z2d)(handle, from, to),
            }
        };
        drop(guard);
        check("cufftExec", status)
    }
}
