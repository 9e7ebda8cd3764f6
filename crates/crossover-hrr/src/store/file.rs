//! Steps of writing, each of which a test can make the last one, and the lock of a writer.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use crate::{Error, Result};

/// How many steps of writing are left before the power fails, in tests.
#[derive(Debug)]
pub(super) struct Steps {
    left: AtomicUsize,
}

impl Default for Steps {
    fn default() -> Steps {
        Steps { left: AtomicUsize::new(usize::MAX) }
    }
}

impl Steps {
    /// Fails at the step after `left` ones, and at all later ones.
    #[cfg(test)]
    pub fn failing_after(left: usize) -> Steps {
        Steps { left: AtomicUsize::new(left) }
    }

    /// Before a change of the disk.
    pub fn next(&self) -> io::Result<()> {
        match self.left.load(Ordering::Relaxed) {
            usize::MAX => Ok(()),
            0 => Err(io::Error::other("the power failed")),
            left => {
                self.left.store(left - 1, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    /// Bytes that still reach the disk of `length` that are written: all, or half of them at the last step.
    pub fn reaching(&self, length: usize) -> usize {
        if self.left.load(Ordering::Relaxed) == 0 { length / 2 } else { length }
    }
}

/// The error of something that was done to a file.
pub(super) fn failed<'a>(path: &'a Path, action: &'static str) -> impl Fn(io::Error) -> Error + 'a {
    move |error| Error::Io(crossover_io::Error::io(path.display().to_string(), action, &error))
}

/// Keeps other writers out as long as it lives. Readers need no lock.
#[derive(Debug)]
pub(super) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing would not do: a process that another thread is just starting has the file too, and with it the lock, until it
        // becomes its own program. If unlocking fails, closing is what is left.
        let _ = self.0.unlock();
    }
}

/// The lock of a store's writer.
pub(super) fn lock(folder: &Path) -> Result<Lock> {
    let path = folder.join("history");
    let file = OpenOptions::new().append(true).open(&path).map_err(failed(&path, "open"))?;
    match file.try_lock() {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::WouldBlock) => {
            Err(Error::Busy { folder: folder.to_path_buf(), what: "another writer is at work; try again" })
        }
        Err(TryLockError::Error(error)) => Err(failed(&path, "lock")(error)),
    }
}
