//! NVRTC, loaded at run time: CUDA C++ in, cubin out.
//!
//! The library is looked for at `CROSSOVER_NVRTC`, then under its usual names, then in the usual places of a CUDA
//! toolkit or a Python wheel. All functions are resolved when it is opened, so nothing can be missing later.

#![allow(unsafe_code)]

use std::{
    ffi::{CStr, CString, c_char, c_int},
    path::Path,
    ptr,
};

use crossover_codegen::NVRTC_FLAGS;
use libloading::Library;

use crate::{
    Error, Result,
    library::{self, Opened},
};

/// The first version that knows `--minimal`.
const MINIMAL: (i32, i32) = (12, 4);
const LIBRARY: &str = "libnvrtc";

/// An `nvrtcProgram`.
type Program = *mut std::ffi::c_void;
type Status = c_int;

/// The compiler. Compilations may run on several threads at once.
#[derive(Debug)]
pub struct Nvrtc {
    found: String,
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> Status,
    destroy: unsafe extern "C" fn(*mut Program) -> Status,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status,
    log_size: unsafe extern "C" fn(Program, *mut usize) -> Status,
    log: unsafe extern "C" fn(Program, *mut c_char) -> Status,
    cubin_size: unsafe extern "C" fn(Program, *mut usize) -> Status,
    cubin: unsafe extern "C" fn(Program, *mut c_char) -> Status,
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status,
    error_string: unsafe extern "C" fn(Status) -> *const c_char,
    /// Keeps the functions above valid.
    _library: Opened,
    _builtins: Vec<Opened>,
}

/// What NVRTC opens by its bare name at the first compilation. Python wheels have it beside the compiler, where nobody
/// looks for it; once open, it is found.
fn builtins(folder: &Path) -> Vec<Opened> {
    let beside = library::libraries(folder, "libnvrtc-builtins").into_iter();
    // SAFETY: loading it runs its initialisers, which have no preconditions.
    beside.filter_map(|path| unsafe { Library::new(path) }.ok().map(Opened::new)).collect()
}

impl Nvrtc {
    /// Finds and opens the library.
    pub fn open() -> Result<Nvrtc> {
        let mut why = Vec::new();
        for candidate in library::candidates("libnvrtc", "CROSSOVER_NVRTC") {
            // SAFETY: loading NVRTC runs its initialisers, which have no preconditions.
            match unsafe { Library::new(&candidate) } {
                Ok(library) => {
                    let beside = candidate.parent().map(builtins).unwrap_or_default();
                    return Nvrtc::resolve(Opened::new(library), beside, candidate.display().to_string());
                }
                Err(error) => why.push(error.to_string()),
            }
        }
        let last = why.last().cloned().unwrap_or_else(|| "no candidates".to_string());
        let why = format!("tried {} names and places; the last answer was: {last}", why.len());
        Err(Error::Library { library: LIBRARY, why })
    }

    fn resolve(library: Opened, builtins: Vec<Opened>, found: String) -> Result<Nvrtc> {
        fn symbol<T: Copy>(library: &Library, name: &'static str) -> Result<T> {
            // SAFETY: every use below names a function of nvrtc.h and gives it the type declared there.
            let found = unsafe { library.get::<T>(name.as_bytes()) };
            found.map(|f| *f).map_err(|_| Error::Symbol { library: LIBRARY, symbol: name })
        }
        Ok(Nvrtc {
            found,
            create: symbol(&library, "nvrtcCreateProgram")?,
            destroy: symbol(&library, "nvrtcDestroyProgram")?,
            compile: symbol(&library, "nvrtcCompileProgram")?,
            log_size: symbol(&library, "nvrtcGetProgramLogSize")?,
            log: symbol(&library, "nvrtcGetProgramLog")?,
            cubin_size: symbol(&library, "nvrtcGetCUBINSize")?,
            cubin: symbol(&library, "nvrtcGetCUBIN")?,
            version: symbol(&library, "nvrtcVersion")?,
            error_string: symbol(&library, "nvrtcGetErrorString")?,
            _library: library,
            _builtins: builtins,
        })
    }

    /// Where the library was found.
    pub fn location(&self) -> &str {
        &self.found
    }

    /// Major and minor version.
    pub fn version(&self) -> (i32, i32) {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are valid for the call.
        unsafe { (self.version)(&mut major, &mut minor) };
        (major, minor)
    }

    /// Compiles a source for an architecture such as `sm_90a`, with the options that are part of the semantics.
    pub fn compile(&self, source: &str, architecture: &str) -> Result<Vec<u8>> {
        let refuse = |log: String| Error::Compile { architecture: architecture.to_string(), log };
        let text = CString::new(source).map_err(|_| refuse("the source has a zero byte".to_string()))?;
        let mut flags = vec![format!("--gpu-architecture={architecture}")];
        flags.extend(NVRTC_FLAGS.map(String::from));
        if self.version() >= MINIMAL {
            // Leaves declarations out that no kernel of ours uses: less to read, the same code.
            flags.push("--minimal".to_string());
        }
        let flags: Vec<CString> = flags.into_iter().filter_map(|f| CString::new(f).ok()).collect();
        let pointers: Vec<*const c_char> = flags.iter().map(|f| f.as_ptr()).collect();
        let mut program: Program = ptr::null_mut();
        // SAFETY: the text is a C string that lives through the call; no headers are passed.
        let status = unsafe {
            (self.create)(&mut program, text.as_ptr(), c"crossover.cu".as_ptr(), 0, ptr::null(), ptr::null())
        };
        self.check(status).map_err(&refuse)?;
        // SAFETY: the program was just created; the options live through the call.
        let status = unsafe { (self.compile)(program, pointers.len() as c_int, pointers.as_ptr()) };
        let result = match self.check(status) {
            Ok(()) => self.take_cubin(program).map_err(&refuse),
            Err(why) => Err(refuse(format!("{why}\n{}", self.take_log(program)))),
        };
        // SAFETY: the program is valid and not used afterwards.
        unsafe { (self.destroy)(&mut program) };
        result
    }

    fn take_cubin(&self, program: Program) -> std::result::Result<Vec<u8>, String> {
        let mut size = 0;
        // SAFETY: the program was compiled; the pointer is valid for the call.
        self.check(unsafe { (self.cubin_size)(program, &mut size) })?;
        let mut bytes = vec![0u8; size];
        // SAFETY: the buffer has the size NVRTC asked for.
        self.check(unsafe { (self.cubin)(program, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }

    fn take_log(&self, program: Program) -> String {
        let mut size = 0;
        // SAFETY: the program is valid; the pointer is valid for the call.
        if self.check(unsafe { (self.log_size)(program, &mut size) }).is_err() {
            return String::new();
        }
        let mut bytes = vec![0u8; size];
        // SAFETY: the buffer has the size NVRTC asked for.
        unsafe { (self.log)(program, bytes.as_mut_ptr().cast()) };
        String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_string()
    }

    fn check(&self, status: Status) -> std::result::Result<(), String> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: NVRTC returns a static C string for every status.
        let name = unsafe { CStr::from_ptr((self.error_string)(status)) };
        Err(name.to_string_lossy().into_owned())
    }
}
