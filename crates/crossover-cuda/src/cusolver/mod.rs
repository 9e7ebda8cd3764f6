//! cuSOLVER, loaded at run time: factorisations and eigenvalues of dense matrices.
//!
//! The library is looked for at `CROSSOVER_CUSOLVER`, then as [`library`](crate::library) says. All functions are resolved when
//! it is opened, so nothing can be missing later; the one for general eigenvalues is younger than the others, and its
//! absence is told apart. Matrices are column-major. Functions that take the dtype as an argument share one shape here:
//! [`Job`].

#![allow(unsafe_code)]

mod functions;

use std::{
    ffi::{c_char, c_int, c_void},
    ptr,
};

use crossover_core::DType;
use parking_lot::Mutex;

use self::functions::Functions;
use crate::{
    Error, Gpu, Result,
    library::{self, Opened, symbol},
    queue::Lane,
};

const LIBRARY: &str = "libcusolver";

type Status = c_int;
type Handle = *mut c_void;
type Pointer = *mut c_void;
/// Kind of number, as the library counts.
type Type = c_int;

/// The library, open for one device.
pub(crate) struct Solver {
    functions: Functions,
    /// A handle serves one thread at a time.
    handle: Mutex<Handles>,
    /// Keeps the functions valid.
    _library: Opened,
}

struct Handles {
    solver: Handle,
    parameters: Handle,
}

// SAFETY: handles are used by one thread at a time, behind the lock.
unsafe impl Send for Handles {}

impl std::fmt::Debug for Solver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Solver")
    }
}

/// A decomposition of one column-major matrix. Everything is written in place of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Job {
    /// L or U of a positive definite matrix, in its triangle.
    Cholesky { upper: bool, side: i64 },
    /// L and U, and row exchanges.
    Lu { side: i64 },
    /// Solutions for `columns` right-hand sides with the transposed matrix of a finished `Lu`.
    SolveTransposed { side: i64, columns: i64 },
    /// Householder vectors and R.
    Qr { rows: i64, columns: i64 },
    /// The first `columns` columns of Q from `reflectors` vectors of `Qr`.
    Q { rows: i64, columns: i64, reflectors: i64 },
    /// Eigenvalues of a self-adjoint matrix and, in its place, eigenvectors.
    SelfAdjoint { upper: bool, vectors: bool, side: i64 },
    /// Singular values, U and Vᴴ; at least as many rows as columns.
    Singular { rows: i64, columns: i64, jobs: [u8; 2] },
    /// Complex eigenvalues and right eigenvectors of any square matrix.
    Eigen { vectors: bool, side: i64 },
}

/// Where the parts of a job are; unused ones are 0.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Parts {
    /// The matrix.
    pub(crate) matrix: u64,
    /// Pivots, factors of reflectors, eigenvalues or singular values.
    pub(crate) values: u64,
    /// Right-hand sides, U, or right eigenvectors.
    pub(crate) left: u64,
    /// Vᴴ.
    pub(crate) right: u64,
    /// What the library says about the matrix, 4 bytes.
    pub(crate) info: u64,
}

fn number(dtype: DType) -> Type {
    match dtype {
        DType::F32 => 0,
        DType::F64 => 1,
        DType::C64 => 4,
        _ => 5,
    }
}

fn check(call: &'static str, status: Status) -> Result<()> {
    if status == 0 {
        Ok(())
    } else {
        Err(Error::Library { library: LIBRARY, why: format!("{call} gave {status}") })
    }
}

impl Solver {
    /// Finds and opens the library; a device must be current.
    pub(crate) fn open(gpu: &Gpu) -> Result<Solver> {
        // SAFETY: loading cuSOLVER runs its initialisers, which have no preconditions; every line below names a function of
        // cusolverDn.h and gives it the type declared there.
        unsafe {
            let library = library::open(LIBRARY, "CROSSOVER_CUSOLVER")?;
            let functions = Functions::new(&library)?;
            let l = &library;
            let create: unsafe extern "C" fn(*mut Handle) -> Status = symbol(l, LIBRARY, "cusolverDnCreate")?;
            let parameters: unsafe extern "C" fn(*mut Handle) -> Status =
                symbol(l, LIBRARY, "cusolverDnCreateParams")?;
            let stream: unsafe extern "C" fn(Handle, Pointer) -> Status =
                symbol(l, LIBRARY, "cusolverDnSetStream")?;
            let mut handles = Handles { solver: ptr::null_mut(), parameters: ptr::null_mut() };
            check("cusolverDnCreate", create(&mut handles.solver))?;
            check("cusolverDnCreateParams", parameters(&mut handles.parameters))?;
            check("cusolverDnSetStream", stream(handles.solver, gpu.stream(Lane::Compute)))?;
            Ok(Solver { functions, handle: Mutex::new(handles), _library: library })
        }
    }

    /// Whether general eigenvalues are to be had.
    pub(crate) fn general(&self) -> Result<()> {
        self.functions.geev.as_ref().map(drop).map_err(Error::clone)
    }

    /// Bytes of working memory on the device and on the host.
    pub(crate) fn workspace(&self, job: Job, dtype: DType) -> Result<[usize; 2]> {
        let guard = self.handle.lock();
        let (h, p, f) = (guard.solver, guard.parameters, &self.functions);
        let (t, real) = (number(dtype), number(dtype.real()));
        let (none, mut device, mut host) = (ptr::null_mut(), 0usize, 0usize);
        let out = (&raw mut device, &raw mut host);
        // SAFETY: sizes are asked for with null pointers in place of arrays, which are not looked at.
        unsafe {
            match job {
                Job::Cholesky { upper, side } => check(
                    "cusolverDnXpotrf_bufferSize",
                    (f.potrf.1)(h, p, upper as c_int, side, t, none, side, t, out.0, out.1),
                ),
                Job::Lu { side } => check(
                    "cusolverDnXgetrf_bufferSize",
                    (f.getrf.1)(h, p, side, side, t, none, side, t, out.0, out.1),
                ),
                Job::SolveTransposed { .. } => Ok(()),
                Job::Qr { rows, columns } => check(
                    "cusolverDnXgeqrf_bufferSize",
                    (f.geqrf.1)(h, p, rows, columns, t, none, rows, t, none, t, out.0, out.1),
                ),
                Job::Q { rows, columns, reflectors } => {
                    let [m, n, k] = ints([rows, columns, reflectors])?;
                    let mut elements = 0;
                    let size = f.orgqr[index(dtype)].1;
                    let status = size(h, m, n, k, none, m, none, &mut elements);
                    device = elements.max(0) as usize * dtype.size();
                    check("cusolverDnorgqr_bufferSize", status)
                }
                Job::SelfAdjoint { upper, vectors, side } => check(
                    "cusolverDnXsyevd_bufferSize",
                    (f.syevd.1)(
                        h,
                        p,
                        vectors as c_int,
                        upper as c_int,
                        side,
                        t,
                        none,
                        side,
                        real,
                        none,
                        t,
                        out.0,
                        out.1,
                    ),
                ),
                Job::Singular { rows, columns, jobs } => {
                    let ldv = if jobs[1] == b'N' { 1 } else { columns };
                    check(
                        "cusolverDnXgesvd_bufferSize",
                        (f.gesvd.1)(
                            h,
                            p,
                            jobs[0] as c_char,
                            jobs[1] as c_char,
                            rows,
                            columns,
                            t,
                            none,
                            rows,
                            real,
                            none,
                            t,
                            none,
                            rows,
                            t,
                            none,
                            ldv,
                            t,
                            out.0,
                            out.1,
                        ),
                    )
                }
                Job::Eigen { vectors, side } => {
                    let complex = number(dtype.complex());
                    let geev = f.geev.as_ref().map_err(Error::clone)?;
                    check(
                        "cusolverDnXgeev_bufferSize",
                        (geev.1)(
                            h,
                            p,
                            0,
                            vectors as c_int,
                            side,
                            t,
                            none,
                            side,
                            complex,
                            none,
                            t,
                            none,
                            1,
                            t,
                            none,
                            side,
                            t,
                            out.0,
                            out.1,
                        ),
                    )
                }
            }?;
        }
        Ok([device, host])
    }

    /// Queues a job on the lane of kernels; some wait for it on the way.
    ///
    /// # Safety
    /// The parts have the sizes of the job, and the device's working memory the bytes that `workspace` asks for.
    pub(crate) unsafe fn run(
        &self,
        job: Job,
        dtype: DType,
        parts: Parts,
        (work, [device, host]): (u64, [usize; 2]),
    ) -> Result<()> {
        let guard = self.handle.lock();
        let (h, p, f) = (guard.solver, guard.parameters, &self.functions);
        let (t, real) = (number(dtype), number(dtype.real()));
        let (a, values, left, right) =
            (parts.matrix as Pointer, parts.values as Pointer, parts.left as Pointer, parts.right as Pointer);
        let (work, info) = (work as Pointer, parts.info as *mut c_int);
        let mut own = vec![0u64; host.div_ceil(8)];
        let own = own.as_mut_ptr().cast::<c_void>();
        // SAFETY: the caller's contract; the host's working memory has the bytes asked for and is used before the call
        // returns.
        unsafe {
            match job {
                Job::Cholesky { upper, side } => check(
                    "cusolverDnXpotrf",
                    (f.potrf.0)(h, p, upper as c_int, side, t, a, side, t, work, device, own, host, info),
                ),
                Job::Lu { side } => check(
                    "cusolverDnXgetrf",
                    (f.getrf.0)(
                        h,
                        p,
                        side,
                        side,
                        t,
                        a,
                        side,
                        values.cast(),
                        t,
                        work,
                        device,
                        own,
                        host,
                        info,
                    ),
                ),
                Job::SolveTransposed { side, columns } => check(
                    "cusolverDnXgetrs",
                    (f.getrs)(h, p, 1, side, columns, t, a, side, values.cast(), t, left, side, info),
                ),
                Job::Qr { rows, columns } => check(
                    "cusolverDnXgeqrf",
                    (f.geqrf.0)(h, p, rows, columns, t, a, rows, t, values, t, work, device, own, host, info),
                ),
                Job::Q { rows, columns, reflectors } => {
                    let [m, n, k] = ints([rows, columns, reflectors])?;
                    let elements = (device / dtype.size()) as c_int;
                    let run = f.orgqr[index(dtype)].0;
                    check("cusolverDnorgqr", run(h, m, n, k, a, m, values, work, elements, info))
                }
                Job::SelfAdjoint { upper, vectors, side } => check(
                    "cusolverDnXsyevd",
                    (f.syevd.0)(
                        h,
                        p,
                        vectors as c_int,
                        upper as c_int,
                        side,
                        t,
                        a,
                        side,
                        real,
                        values,
                        t,
                        work,
                        device,
                        own,
                        host,
                        info,
                    ),
                ),
                Job::Singular { rows, columns, jobs } => {
                    let ldv = if jobs[1] == b'N' { 1 } else { columns };
                    check(
                        "cusolverDnXgesvd",
                        (f.gesvd.0)(
                            h,
                            p,
                            jobs[0] as c_char,
                            jobs[1] as c_char,
                            rows,
                            columns,
                            t,
                            a,
                            rows,
                            real,
                            values,
                            t,
                            left,
                            rows,
                            t,
                            right,
                            ldv,
                            t,
                            work,
                            device,
                            own,
                            host,
                            info,
                        ),
                    )
                }
                Job::Eigen { vectors, side } => {
                    let complex = number(dtype.complex());
                    let geev = f.geev.as_ref().map_err(Error::clone)?;
                    check(
                        "cusolverDnXgeev",
                        (geev.0)(
                            h,
                            p,
                            0,
                            vectors as c_int,
                            side,
                            t,
                            a,
                            side,
                            complex,
                            values,
                            t,
                            ptr::null_mut(),
                            1,
                            t,
                            left,
                            side,
                            t,
                            work,
                            device,
                            own,
                            host,
                            info,
                        ),
                    )
                }
            }
        }
    }
}

fn index(dtype: DType) -> usize {
    match dtype {
        DType::F32 => 0,
        DType::F64 => 1,
        DType::C64 => 2,
        _ => 3,
    }
}

/// Sizes as the older functions take them.
fn ints<const N: usize>(sizes: [i64; N]) -> Result<[c_int; N]> {
    let mut out = [0; N];
    for (to, from) in out.iter_mut().zip(sizes) {
        let too_large =
            || Error::Library { library: LIBRARY, why: format!("a side of {from} is too long for it") };
        *to = c_int::try_from(from).map_err(|_| too_large())?;
    }
    Ok(out)
}
