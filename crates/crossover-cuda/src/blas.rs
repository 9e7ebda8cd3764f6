//! cuBLASLt, loaded at run time: matrix products that are described once and run many times.
//!
//! The library is looked for at `CROSSOVER_CUBLASLT`, then as [`library`](crate::library) says. All functions are
//! resolved when it is opened, so nothing can be missing later. Which algorithm multiplies matrices of some size is found by
//! trying the library's proposals on the first product of that size, for some milliseconds; without trials
//! ([`CudaBackend::matmul_trials`](crate::CudaBackend::matmul_trials)) its first proposal is taken. Matrices are row-major here; the library counts by
//! columns, so it is handed the operands in the other order, which gives the transposed product by columns.

#![allow(unsafe_code)]

use std::{
    ffi::{c_int, c_void},
    ptr,
    sync::{Arc, OnceLock},
    time::Instant,
};

use crossover_core::DType;
use crossover_plan::kernel::Activation;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::{
    Error, Gpu, Result,
    blocks::Blocks,
    budget::Budget,
    calls::product::OwnProduct,
    library::{self, Opened},
    queue::Lane,
};

const LIBRARY: &str = "libcublasLt";
/// Most scratch memory that a product may ask for, in bytes: what the library recommends for Hopper.
const WORKSPACE: u64 = 32 << 20;
/// Attributes of a description: what is done to the result, and the row vector that is added.
const EPILOGUE: c_int = 7;
const BIAS: c_int = 8;
/// Descriptions kept at most.
const PRODUCTS: usize = 1024;
/// Algorithms that the library is asked for, the one it thinks best first.
const CANDIDATES: usize = 16;
/// Milliseconds from which a single run says enough about an algorithm.
const LONG: f64 = 0.5;
/// Runs by which shorter ones are timed.
const RUNS: u32 = 8;
/// Multiplications and additions from which it pays to try algorithms.
const WORTH_TRYING: u64 = 10_000_000;
/// Memory that is filled, and how often, before runs are timed: the device is busy while the host queues them, so that
/// they follow one another without a gap.
const DELAY: usize = 64 << 20;
const FILLS: usize = 12;
/// Milliseconds that trying algorithms may take in all; what is not tried by then is not chosen.
const PATIENCE: f64 = 20.0;
/// An algorithm is preferred to the library's first only if it takes less than this part of its time, so that
/// the choice does not hang on noise.
const CLEARLY: f64 = 0.95;

type Handle = *mut c_void;
type Status = c_int;

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Choice {
    algorithm: [u64; 8],
    workspace: usize,
    state: Status,
    waves: f32,
    reserved: [c_int; 4],
}

type Create = unsafe extern "C" fn(*mut Handle) -> Status;
type Destroy = unsafe extern "C" fn(Handle) -> Status;
type Set = unsafe extern "C" fn(Handle, c_int, *const c_void, usize) -> Status;

struct Functions {
    create: Create,
    product_create: unsafe extern "C" fn(*mut Handle, c_int, c_int) -> Status,
    product_set: Set,
    product_destroy: Destroy,
    layout_create: unsafe extern "C" fn(*mut Handle, c_int, u64, u64, i64) -> Status,
    layout_set: Set,
    layout_destroy: Destroy,
    preference_create: Create,
    preference_set: Set,
    preference_destroy: Destroy,
    heuristic: unsafe extern "C" fn(
        Handle,
        Handle,
        Handle,
        Handle,
        Handle,
        Handle,
        Handle,
        c_int,
        *mut Choice,
        *mut c_int,
    ) -> Status,
    matmul: unsafe extern "C" fn(
        Handle,
        Handle,
        *const c_void,
        *const c_void,
        Handle,
        *const c_void,
        Handle,
        *const c_void,
        *const c_void,
        Handle,
        *mut c_void,
        Handle,
        *const [u64; 8],
        *mut c_void,
        usize,
        *mut c_void,
    ) -> Status,
}

/// The library, open for one device.
pub(crate) struct Blas {
    functions: Functions,
    handle: Handle,
    known: Mutex<FxHashMap<Shape, Arc<Product>>>,
    /// Whether algorithms are tried; otherwise the library's first is used, and results do not hang on times.
    tries: bool,
    /// Keeps the functions valid.
    _library: Opened,
}

// SAFETY: cuBLASLt handles may be used from several threads; descriptions are only read once they are made.
unsafe impl Send for Blas {}
// SAFETY: as above.
unsafe impl Sync for Blas {}

impl std::fmt::Debug for Blas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Blas")
    }
}

/// An operand as the library sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Side {
    /// Whether rows and columns are exchanged in memory.
    pub(crate) transposed: bool,
    /// Elements between rows, or between columns if it is transposed.
    pub(crate) pitch: i64,
    /// Elements between the matrices of a batch.
    pub(crate) step: i64,
    /// Bytes that addresses are multiples of.
    pub(crate) alignment: u32,
}

/// Everything the choice of an algorithm depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) dtype: DType,
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    pub(crate) depth: u64,
    pub(crate) batch: i32,
    pub(crate) left: Side,
    pub(crate) right: Side,
    /// Whether a row vector is added before the activation.
    pub(crate) bias: bool,
    pub(crate) activation: Activation,
    /// Whether operands in f32 may be rounded to 10 bits of significand.
    pub(crate) tf32: bool,
}

/// One run of a product.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) dtype: DType,
    /// Of left, right and result.
    pub(crate) addresses: [u64; 3],
    /// Of the row vector that is added.
    pub(crate) bias: Option<u64>,
    /// Of the scratch memory.
    pub(crate) workspace: u64,
}

/// A product that is described, and the algorithms for it.
pub(crate) struct Product {
    description: Handle,
    /// The first operand of the library (our right), the second (our left), the result.
    layouts: [Handle; 3],
    /// What the library offers, the one it thinks best first; at least one.
    candidates: Vec<Choice>,
    /// Our own kernel, which is tried after them.
    own: Option<OwnProduct>,
    /// The fastest of all of these, once they have been tried.
    chosen: OnceLock<usize>,
    layout_destroy: Destroy,
    product_destroy: Destroy,
    /// Held from naming a bias to queueing the product: the description has room for one.
    naming: Mutex<()>,
}

// SAFETY: descriptions are only read once they are made, but for the bias, which `naming` guards.
unsafe impl Send for Product {}
// SAFETY: as above.
unsafe impl Sync for Product {}

impl std::fmt::Debug for Product {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Product({} algorithms, {:?} chosen)", self.candidates.len(), self.chosen.get())
    }
}

impl Product {
    /// Whether algorithms have been tried, or need not be.
    pub(crate) fn is_chosen(&self) -> bool {
        self.chosen.get().is_some()
    }

    /// Our own kernel, if it is the one that is used.
    pub(crate) fn own(&self) -> Option<&OwnProduct> {
        self.own.as_ref().filter(|_| self.chosen.get() == Some(&self.candidates.len()))
    }

    /// Bytes of scratch memory that it needs.
    pub(crate) fn workspace(&self) -> usize {
        match self.chosen.get() {
            // Our own needs none.
            Some(&at) => self.candidates.get(at).map_or(0, |choice| choice.workspace),
            None => self.candidates.iter().map(|choice| choice.workspace).max().unwrap_or(0),
        }
    }
}

impl Drop for Product {
    fn drop(&mut self) {
        // SAFETY: made by `Blas::describe`, destroyed once; null is ignored by nobody, so it is skipped.
        unsafe {
            for layout in self.layouts.into_iter().filter(|l| !l.is_null()) {
                (self.layout_destroy)(layout);
            }
            if !self.description.is_null() {
                (self.product_destroy)(self.description);
            }
        }
    }
}

/// Data type, compute type and scale type in the library's numbers, or `None` for what it does not multiply as we do.
fn types(dtype: DType, tf32: bool) -> Option<(c_int, c_int, c_int)> {
    const COMPUTE_32F: c_int = 68;
    const COMPUTE_TF32: c_int = 77;
    const COMPUTE_64F: c_int = 70;
    // f32 is exact: the compute type that may round operands to fewer bits is another one.
    Some(match dtype {
        DType::F32 if tf32 => (0, COMPUTE_TF32, 0),
        DType::F32 => (0, COMPUTE_32F, 0),
        DType::F64 => (1, COMPUTE_64F, 1),
        DType::F16 => (2, COMPUTE_32F, 0),
        DType::BF16 => (14, COMPUTE_32F, 0),
        DType::C64 => (4, COMPUTE_32F, 4),
        DType::C128 => (5, COMPUTE_64F, 5),
        _ => return None,
    })
}

/// What is done to the result, in the library's numbers; 1 is nothing.
fn epilogue(bias: bool, activation: Activation) -> u32 {
    let activation = match activation {
        Activation::None => 0,
        Activation::Relu => 2,
        Activation::Gelu => 32,
    };
    match activation | if bias { 4 } else { 0 } {
        0 => 1,
        some => some,
    }
}

/// One and zero as the scale type of a dtype.
fn scales(dtype: DType) -> ([u64; 2], [u64; 2]) {
    let one = match dtype {
        DType::F64 | DType::C128 => 1f64.to_bits(),
        _ => u64::from(1f32.to_bits()),
    };
    ([one, 0], [0, 0])
}

/// Multiplications of a product.
fn work(shape: &Shape) -> u64 {
    shape.rows * shape.columns * shape.depth * shape.batch.max(1) as u64
}

fn check(call: &'static str, status: Status) -> Result<()> {
    if status == 0 {
        Ok(())
    } else {
        Err(Error::Library { library: LIBRARY, why: format!("{call} gave {status}") })
    }
}

/// Memory to keep the device busy with.
struct Delay<'a> {
    gpu: &'a Gpu,
    address: u64,
}

impl Drop for Delay<'_> {
    fn drop(&mut self) {
        // A retired device has nothing left to give back.
        if let Some(budget) = self.gpu.budget() {
            budget.account.kept(DELAY as u64);
        }
        let _ = self.gpu.give(self.address, Lane::Compute);
    }
}

impl Blas {
    /// Finds and opens the library; a device must be current.
    pub(crate) fn open(tries: bool) -> Result<Blas> {
        // SAFETY: loading cuBLASLt runs its initialisers, which have no preconditions.
        Blas::resolve(unsafe { library::open(LIBRARY, "CROSSOVER_CUBLASLT") }?, tries)
    }

    fn resolve(library: Opened, tries: bool) -> Result<Blas> {
        fn symbol<T: Copy>(library: &Opened, name: &'static str) -> Result<T> {
            // SAFETY: every use below names a function of cublasLt.h and gives it the type declared there.
            let found = unsafe { library.get::<T>(name.as_bytes()) };
            found.map(|f| *f).map_err(|_| Error::Symbol { library: LIBRARY, symbol: name })
        }
        let functions = Functions {
            create: symbol(&library, "cublasLtCreate")?,
            product_create: symbol(&library, "cublasLtMatmulDescCreate")?,
            product_set: symbol(&library, "cublasLtMatmulDescSetAttribute")?,
            product_destroy: symbol(&library, "cublasLtMatmulDescDestroy")?,
            layout_create: symbol(&library, "cublasLtMatrixLayoutCreate")?,
            layout_set: symbol(&library, "cublasLtMatrixLayoutSetAttribute")?,
            layout_destroy: symbol(&library, "cublasLtMatrixLayoutDestroy")?,
            preference_create: symbol(&library, "cublasLtMatmulPreferenceCreate")?,
            preference_set: symbol(&library, "cublasLtMatmulPreferenceSetAttribute")?,
            preference_destroy: symbol(&library, "cublasLtMatmulPreferenceDestroy")?,
            heuristic: symbol(&library, "cublasLtMatmulAlgoGetHeuristic")?,
            matmul: symbol(&library, "cublasLtMatmul")?,
        };
        let mut handle = ptr::null_mut();
        // SAFETY: the pointer is valid for the call. The handle lives as long as the process uses the device.
        check("cublasLtCreate", unsafe { (functions.create)(&mut handle) })?;
        Ok(Blas { functions, handle, known: Mutex::default(), tries, _library: library })
    }

    /// The product of a shape, described and chosen once. `own` gives our own kernel for it, if there is one.
    pub(crate) fn product(
        &self,
        shape: &Shape,
        own: impl FnOnce() -> Option<OwnProduct>,
    ) -> Result<Arc<Product>> {
        if let Some(found) = self.known.lock().get(shape) {
            return Ok(found.clone());
        }
        let is_worth_it = self.tries && work(shape) >= WORTH_TRYING;
        let made = Arc::new(self.describe(shape, if is_worth_it { own() } else { None })?);
        let mut known = self.known.lock();
        if known.len() >= PRODUCTS {
            known.clear();
        }
        known.insert(*shape, made.clone());
        Ok(made)
    }

    fn describe(&self, shape: &Shape, own: Option<OwnProduct>) -> Result<Product> {
        let f = &self.functions;
        let Some((data, compute, scale)) = types(shape.dtype, shape.tf32) else {
            let why = format!("products of {} are not its work", shape.dtype);
            return Err(Error::Library { library: LIBRARY, why });
        };
        // Owns what is made so far, so that an early return destroys it.
        let mut product = Product {
            description: ptr::null_mut(),
            layouts: [ptr::null_mut(); 3],
            candidates: Vec::new(),
            own,
            chosen: OnceLock::new(),
            layout_destroy: f.layout_destroy,
            product_destroy: f.product_destroy,
            naming: Mutex::new(()),
        };
        // SAFETY: pointers are valid for the calls; attributes have the sizes that cublasLt.h gives them.
        unsafe {
            check("cublasLtMatmulDescCreate", (f.product_create)(&mut product.description, compute, scale))?;
            for (attribute, side) in [(3, &shape.right), (4, &shape.left)] {
                let operation = side.transposed as i32;
                let status =
                    (f.product_set)(product.description, attribute, (&raw const operation).cast(), 4);
                check("cublasLtMatmulDescSetAttribute", status)?;
            }
            let epilogue = epilogue(shape.bias, shape.activation);
            if epilogue != 1 {
                let status = (f.product_set)(product.description, EPILOGUE, (&raw const epilogue).cast(), 4);
                check("cublasLtMatmulDescSetAttribute", status)?;
            }
            if shape.bias {
                // An aligned address that is never read: the choice depends on there being one.
                self.name_bias(&product, 256)?;
            }
            // By columns: a row-major matrix of r rows and c columns is one of c rows and r columns.
            let seen = |side: &Side, rows: u64, columns: u64| {
                if side.transposed { (rows, columns) } else { (columns, rows) }
            };
            let result = Side {
                transposed: false,
                pitch: shape.columns as i64,
                step: (shape.rows * shape.columns) as i64,
                alignment: 256,
            };
            let sides = [
                (seen(&shape.right, shape.depth, shape.columns), shape.right),
                (seen(&shape.left, shape.rows, shape.depth), shape.left),
                ((shape.columns, shape.rows), result),
            ];
            for (layout, ((rows, columns), side)) in product.layouts.iter_mut().zip(&sides) {
                let status = (f.layout_create)(layout, data, *rows, *columns, side.pitch);
                check("cublasLtMatrixLayoutCreate", status)?;
                let status = (f.layout_set)(*layout, 5, (&raw const shape.batch).cast(), 4);
                check("cublasLtMatrixLayoutSetAttribute", status)?;
                let status = (f.layout_set)(*layout, 6, (&raw const side.step).cast(), 8);
                check("cublasLtMatrixLayoutSetAttribute", status)?;
            }
            let mut preference = ptr::null_mut();
            check("cublasLtMatmulPreferenceCreate", (f.preference_create)(&mut preference))?;
            let chosen = self.choose(shape, &mut product, preference);
            (f.preference_destroy)(preference);
            chosen?;
        }
        Ok(product)
    }

    /// Sets the address of the row vector that is added.
    fn name_bias(&self, product: &Product, address: u64) -> Result<()> {
        // SAFETY: the attribute is an address; the value is valid for the call.
        let status = unsafe {
            (self.functions.product_set)(product.description, BIAS, (&raw const address).cast(), 8)
        };
        check("cublasLtMatmulDescSetAttribute", status)
    }

    fn choose(&self, shape: &Shape, product: &mut Product, preference: Handle) -> Result<()> {
        let f = &self.functions;
        let [first, second, result] = product.layouts;
        let most = WORKSPACE;
        let (alignments, mut count) = ([(5, shape.right.alignment), (6, shape.left.alignment)], 0);
        let none = Choice { algorithm: [0; 8], workspace: 0, state: 0, waves: 0.0, reserved: [0; 4] };
        let mut found = [none; CANDIDATES];
        // SAFETY: as in `describe`.
        unsafe {
            let status = (f.preference_set)(preference, 1, (&raw const most).cast(), 8);
            check("cublasLtMatmulPreferenceSetAttribute", status)?;
            for (attribute, bytes) in alignments {
                let status = (f.preference_set)(preference, attribute, (&raw const bytes).cast(), 4);
                check("cublasLtMatmulPreferenceSetAttribute", status)?;
            }
            let status = (f.heuristic)(
                self.handle,
                product.description,
                first,
                second,
                result,
                result,
                preference,
                CANDIDATES as c_int,
                found.as_mut_ptr(),
                &mut count,
            );
            check("cublasLtMatmulAlgoGetHeuristic", status)?;
        }
        let usable = found.into_iter().take(count.max(0) as usize).filter(|choice| choice.state == 0);
        product.candidates = usable.collect();
        if product.candidates.is_empty() {
            return Err(Error::Library { library: LIBRARY, why: format!("no algorithm for {shape:?}") });
        }
        let is_alone = product.candidates.len() == 1 && product.own.is_none();
        if is_alone || work(shape) < WORTH_TRYING || !self.tries {
            product.candidates.truncate(1);
            let _ = product.chosen.set(0);
        }
        Ok(())
    }

    /// Queues a product on the lane of kernels. The first time, every algorithm is tried on it and the fastest is kept.
    ///
    /// # Safety
    /// The addresses lead to matrices of the product's shape, and the workspace has as many bytes as it asks for.
    pub(crate) unsafe fn run(&self, gpu: &Gpu, product: &Product, run: Run) -> Result<()> {
        let at = match product.chosen.get() {
            Some(&at) => at,
            // SAFETY: the caller's contract. The result is written anew below.
            None => unsafe { self.try_all(gpu, product, run)? },
        };
        // SAFETY: the caller's contract.
        unsafe { self.start(gpu, product, at, run) }
    }

    /// Tries the algorithms one after the other and keeps the fastest.
    ///
    /// # Safety
    /// As for `run`.
    unsafe fn try_all(&self, gpu: &Gpu, product: &Product, run: Run) -> Result<usize> {
        let began = Instant::now();
        let mut best: Option<(f64, usize)> = None;
        let mut last = None;
        // Without memory to spare the library's first will do, until there is some.
        let allowed = |budget: &Budget| budget.admit(gpu, DELAY, || {}).unwrap_or(false);
        if !gpu.budget().is_none_or(allowed) {
            return Ok(0);
        }
        let taken = gpu.take(DELAY, Lane::Compute);
        if let Some(budget) = gpu.budget() {
            match &taken {
                Ok(_) => budget.account.made(DELAY as u64),
                Err(_) => budget.account.unmade(DELAY as u64),
            }
        }
        let Ok(address) = taken else { return Ok(0) };
        let delay = Delay { gpu, address };
        let offered = product.candidates.len();
        for at in 0..offered + usize::from(product.own.is_some()) {
            // Our own is tried however long the others took.
            if best.is_some() && at < offered && began.elapsed().as_secs_f64() * 1e3 > PATIENCE {
                continue;
            }
            // SAFETY: the caller's contract.
            match unsafe { self.time(&delay, product, at, run) } {
                // Our own also starts while the kernel before it ends, which runs of one product do not show.
                Ok(taken)
                    if best.is_none_or(|(least, first)| {
                        taken < if first == 0 && at < offered { least * CLEARLY } else { least }
                    }) =>
                {
                    best = Some((taken, at))
                }
                Ok(_) => {}
                // One that does not work after all is not chosen.
                Err(error) if at == offered || matches!(error, Error::Library { .. }) => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        match (best, last) {
            (Some((_, at)), _) => Ok(*product.chosen.get_or_init(|| at)),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(0),
        }
    }

    /// Milliseconds that an algorithm takes.
    ///
    /// # Safety
    /// As for `run`.
    unsafe fn time(&self, delay: &Delay<'_>, product: &Product, at: usize, run: Run) -> Result<f64> {
        let gpu = delay.gpu;
        // Scratch memory that is not kept at hand comes from the driver at every run, and the device is slower for it.
        let scratch = product.candidates.get(at).map_or(0, |choice| choice.workspace);
        let fetched = if Blocks::keeps(scratch) { 0 } else { scratch };
        let several = |runs: u32| {
            if runs > 1 {
                for _ in 0..FILLS {
                    gpu.zero(delay.address, DELAY)?;
                }
            }
            let begin = gpu.record()?;
            for _ in 0..runs {
                let memory = if fetched > 0 { Some(gpu.take(fetched, Lane::Compute)?) } else { None };
                let run = Run { workspace: memory.unwrap_or(run.workspace), ..run };
                // SAFETY: the caller's contract; the memory is as large as the algorithm asks for.
                let started = unsafe { self.start(gpu, product, at, run) };
                if let Some(address) = memory {
                    gpu.give(address, Lane::Compute)?;
                }
                started?;
            }
            let end = gpu.record()?;
            gpu.synchronise()?;
            Ok(f64::from(begin.until(&end)?) / f64::from(runs))
        };
        // The first run may have code to load.
        several(1)?;
        let once = several(1)?;
        if once >= LONG { Ok(once) } else { several(RUNS) }
    }

    /// Queues a product with one algorithm.
    ///
    /// # Safety
    /// As for `run`.
    unsafe fn start(&self, gpu: &Gpu, product: &Product, at: usize, run: Run) -> Result<()> {
        let Some(choice) = product.candidates.get(at) else {
            let missing = || Error::Library { library: LIBRARY, why: format!("it has no algorithm {at}") };
            let own = product.own.as_ref().ok_or_else(missing)?;
            // SAFETY: the caller's contract.
            return unsafe { own.start(gpu, run) };
        };
        let Run { dtype, addresses: [left, right, result], bias, workspace } = run;
        let (one, zero) = scales(dtype);
        let _named = match bias {
            Some(address) => {
                let guard = product.naming.lock();
                self.name_bias(product, address)?;
                Some(guard)
            }
            None => None,
        };
        let [first, second, third] = product.layouts;
        // SAFETY: the caller's contract; the result is not read since its factor is zero.
        let status = unsafe {
            (self.functions.matmul)(
                self.handle,
                product.description,
                one.as_ptr().cast(),
                right as *const c_void,
                first,
                left as *const c_void,
                second,
                zero.as_ptr().cast(),
                result as *const c_void,
                third,
                result as *mut c_void,
                third,
                &choice.algorithm,
                workspace as *mut c_void,
                choice.workspace,
                gpu.stream(Lane::Compute),
            )
        };
        check("cublasLtMatmul", status)
    }
}
