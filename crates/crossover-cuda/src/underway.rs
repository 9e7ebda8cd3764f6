//! Copies that the runtime waits for later.

use std::sync::Arc;

use crossover_runtime::{Landing, Result, Underway};

use crate::{backend::Open, landing::Landed, queue::Mark, transfer::Copying};

/// A copy that threads are making.
pub(crate) struct Staged {
    pub(crate) open: Arc<Open>,
    /// `None` once it is over.
    pub(crate) copying: Option<Copying>,
    pub(crate) during: &'static str,
}

impl Staged {
    fn settle(&mut self) -> Result<()> {
        let Some(copying) = self.copying.take() else { return Ok(()) };
        self.open.gpu.bind().map_err(|error| self.open.failed(self.during, error))?;
        let copied = self.open.transfers.finish(copying);
        copied.map_err(|error| self.open.failed(self.during, error))
    }
}

impl Underway for Staged {
    fn wait(mut self: Box<Self>) -> Result<()> {
        self.settle()
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // Nobody is told of an error here; whoever wants to know has waited.
        let _ = self.settle();
    }
}

/// A copy that the device makes by itself.
pub(crate) struct Flight {
    pub(crate) open: Arc<Open>,
    /// `None` once it is over.
    pub(crate) landed: Option<Landed>,
    pub(crate) mark: Mark,
}

impl Landing for Flight {
    fn wait(mut self: Box<Self>) -> Result<Arc<dyn AsRef<[u8]> + Send + Sync>> {
        const DURING: &str = "copying from it";
        self.open.check(DURING)?;
        let passed = self.open.gpu.bind().and_then(|()| self.mark.wait());
        passed.map_err(|error| self.open.failed(DURING, error))?;
        match self.landed.take() {
            Some(landed) => Ok(Arc::new(landed)),
            None => {
                Err(crossover_runtime::Error::Internal("a landing that was waited for twice".to_string()))
            }
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        // The memory is given to the next result only when the device is done with it.
        if self.landed.is_some() && self.open.gpu.bind().and_then(|()| self.mark.wait()).is_err() {
            std::mem::forget(self.landed.take());
        }
    }
}
