//! The libraries of one device, each opened by the first call that needs it.

use std::sync::OnceLock;

use crate::{Error, Result, backend::Open, cufft::Fft, cusolver::Solver};

/// What has been opened so far, or why it could not be.
#[derive(Debug, Default)]
pub(crate) struct Libraries {
    fft: OnceLock<Result<Fft>>,
    solver: OnceLock<Result<Solver>>,
}

impl Open {
    /// The library of Fourier transforms.
    pub(crate) fn fft(&self) -> Result<&Fft> {
        let open = || self.gpu.bind().and_then(|()| Fft::open());
        self.libraries.fft.get_or_init(open).as_ref().map_err(Error::clone)
    }

    /// The library of decompositions.
    pub(crate) fn solver(&self) -> Result<&Solver> {
        let open = || self.gpu.bind().and_then(|()| Solver::open(&self.gpu));
        self.libraries.solver.get_or_init(open).as_ref().map_err(Error::clone)
    }

    /// Every library with whether it can be used; opens all of them.
    pub(crate) fn library_reasons(&self) -> Vec<(&'static str, Result<()>)> {
        let general = self.solver().and_then(|solver| solver.general());
        vec![
            ("cuBLASLt (products)", self.blas().map(drop)),
            ("cuFFT (transforms)", self.fft().map(drop)),
            ("cuSOLVER (decompositions)", self.solver().map(drop)),
            ("cuSOLVER (general eigenvalues)", general),
        ]
    }
}
