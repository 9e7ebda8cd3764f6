//! The functions of cuSOLVER that are used, with the types that cusolverDn.h declares.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};

use libloading::Library;

use super::{Handle, LIBRARY, Pointer, Status, Type};
use crate::{Result, library::symbol};

pub(super) type Potrf = unsafe extern "C" fn(
    Handle,
    Handle,
    c_int,
    i64,
    Type,
    Pointer,
    i64,
    Type,
    Pointer,
    usize,
    Pointer,
    usize,
    *mut c_int,
) -> Status;
pub(super) type PotrfSize = unsafe extern "C" fn(
    Handle,
    Handle,
    c_int,
    i64,
    Type,
    Pointer,
    i64,
    Type,
    *mut usize,
    *mut usize,
) -> Status;
pub(super) type Getrf = unsafe extern "C" fn(
    Handle,
    Handle,
    i64,
    i64,
    Type,
    Pointer,
    i64,
    *mut i64,
    Type,
    Pointer,
    usize,
    Pointer,
    usize,
    *mut c_int,
) -> Status;
pub(super) type GetrfSize = unsafe extern "C" fn(
    Handle,
    Handle,
    i64,
    i64,
    Type,
    Pointer,
    i64,
    Type,
    *mut usize,
    *mut usize,
) -> Status;
pub(super) type Getrs = unsafe extern "C" fn(
    Handle,
    Handle,
    c_int,
    i64,
    i64,
    Type,
    Pointer,
    i64,
    *const i64,
    Type,
    Pointer,
    i64,
    *mut c_int,
) -> Status;
pub(super) type Geqrf = unsafe extern "C" fn(
    Handle,
    Handle,
    i64,
    i64,
    Type,
    Pointer,
    i64,
    Type,
    Pointer,
    Type,
    Pointer,
    usize,
    Pointer,
    usize,
    *mut c_int,
) -> Status;
pub(super) type GeqrfSize = unsafe extern "C" fn(
    Handle,
    Handle,
    i64,
    i64,
    Type,
    Pointer,
    i64,
    Type,
    Pointer,
    Type,
    *mut usize,
    *mut usize,
) -> Status;
pub(super) type Orgqr = unsafe extern "C" fn(
    Handle,
    c_int,
    c_int,
    c_int,
    Pointer,
    c_int,
    Pointer,
    Pointer,
    c_int,
    *mut c_int,
) -> Status;
pub(super) type OrgqrSize =
    unsafe extern "C" fn(Handle, c_int, c_int, c_int, Pointer, c_int, Pointer, *mut c_int) -> Status;
pub(super) type Syevd = unsafe extern "C" fn(
    Handle,
    Handle,
    c_int,
    c_int,
    i64,
    Type,
    Pointer,
    i64,
    Type,
    Pointer,
    Type,
    Pointer,
    usize,
    Pointer,
    usize,
    *mut c_int,
) -> Status;
pub(super) type SyevdSize = unsafe extern "C" fn(
    Handle,
    Handle,
    c_int,
    c_int,
    i64,
    Type,
    Pointer,
    i64,
    Type,
    Pointer,
    Type,
    *mut usize,
    *mut usize,
) -> Status;
pub(super) type Gesvd = unsafe extern "C" fn(
    Handle,
    Handle,
    c_char,
    c_char,
    i64,
    i64,
    Type,
    Pointer,
    i64,
    Type,
    Pointer,
    Type,
    Pointer,
    i64,
    Type,
    Pointer,
    i64,
    Type,
    Pointer,
    usize,
    Pointer,
    usize,
    *mut c_int,
) -> Status;
pub(super) type GesvdSize = unsafe extern "C" fn(
    Handle,
    Handle,
    c_char,
    c_char,
    i64,
    i64,
    Type,
    Pointer,
    i64,
    Type,
    Pointer,
    Type,
    Pointer,
    i64,
    Type,
    Pointer,
    i64,
    Type,
    *mut usize,
    *mut usize,
) -> Status;
pub(super) type Geev = unsafe extern "C" fn(
    Handle,
    Handle,
    c_int,
    c_int,
    i64,
    Type,
    Pointer,
    i64,
    Type,
    Pointer,
    Type,
    Pointer,
    i64,
    Type,
    Pointer,
    i64,
    Type,
    Pointer,
    usize,
    Pointer,
    usize,
    *mut c_int,
) -> Status;
pub(super) type GeevSize = unsafe extern "C" fn(
    Handle,
    Handle,
    c_int,
    c_int,
    i64,
    Type,
    Pointer,
    i64,
    Type,
    Pointer,
    Type,
    Pointer,
    i64,
    Type,
    Pointer,
    i64,
    Type,
    *mut usize,
    *mut usize,
) -> Status;

/// Everything that is called, with what asks for its working memory.
pub(super) struct Functions {
    pub(super) potrf: (Potrf, PotrfSize),
    pub(super) getrf: (Getrf, GetrfSize),
    pub(super) getrs: Getrs,
    pub(super) geqrf: (Geqrf, GeqrfSize),
    /// By dtype: f32, f64, c64, c128.
    pub(super) orgqr: [(Orgqr, OrgqrSize); 4],
    pub(super) syevd: (Syevd, SyevdSize),
    pub(super) gesvd: (Gesvd, GesvdSize),
    pub(super) geev: Result<(Geev, GeevSize)>,
}

impl Functions {
    /// Resolves all of them; the one for general eigenvalues may be missing.
    pub(super) fn new(l: &Library) -> Result<Functions> {
        fn of<T: Copy>(library: &Library, name: &'static str) -> Result<T> {
            // SAFETY: every use below names a function of cusolverDn.h and gives it the type declared there.
            unsafe { symbol(library, LIBRARY, name) }
        }
        let geev = of(l, "cusolverDnXgeev").and_then(|geev| Ok((geev, of(l, "cusolverDnXgeev_bufferSize")?)));
        Ok(Functions {
            potrf: (of(l, "cusolverDnXpotrf")?, of(l, "cusolverDnXpotrf_bufferSize")?),
            getrf: (of(l, "cusolverDnXgetrf")?, of(l, "cusolverDnXgetrf_bufferSize")?),
            getrs: of(l, "cusolverDnXgetrs")?,
            geqrf: (of(l, "cusolverDnXgeqrf")?, of(l, "cusolverDnXgeqrf_bufferSize")?),
            orgqr: [
                (of(l, "cusolverDnSorgqr")?, of(l, "cusolverDnSorgqr_bufferSize")?),
                (of(l, "cusolverDnDorgqr")?, of(l, "cusolverDnDorgqr_bufferSize")?),
                (of(l, "cusolverDnCungqr")?, of(l, "cusolverDnCungqr_bufferSize")?),
                (of(l, "cusolverDnZungqr")?, of(l, "cusolverDnZungqr_bufferSize")?),
            ],
            syevd: (of(l, "cusolverDnXsyevd")?, of(l, "cusolverDnXsyevd_bufferSize")?),
            gesvd: (of(l, "cusolverDnXgesvd")?, of(l, "cusolverDnXgesvd_bufferSize")?),
            geev,
        })
    }
}
