//! Steps of writing, each of which a test can make the last one, and the lock of a writer.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::Path,
};

#[cfg(test)]
pub(super) use self::power::{Failure, fail_after};
use crate::{Error, Result};

/// Before a change of the disk. Tests let the power fail here.
#[cfg(not(test))]
pub(super) fn step() -> io::Result<()> {
    Ok(())
}

/// Bytes that still reach the disk of `length` that are written: all. In tests half of them at the last step.
#[cfg(not(test))]
pub(super) fn reaching(length: usize) -> usize {
    length
}

#[cfg(test)]
pub(super) use self::power::{reaching, step};

/// Power that fails.
#[cfg(test)]
mod power {
    use std::{cell::Cell, io};

    /// How a step fails.
    #[derive(Debug, Clone, Copy)]
    pub enum Failure {
        /// It says so, as all later ones do: a full disk.
        Error,
        /// The process is gone, and nothing is tidied up.
        Death,
    }

    thread_local! {
        /// How many steps of this thread are left.
        static LEFT: Cell<Option<(usize, Failure)>> = const { Cell::new(None) };
    }

    /// Lets the step after `left` ones of this thread fail, and all later ones; `None` ends that.
    pub fn fail_after(left: Option<(usize, Failure)>) {
        LEFT.set(left);
    }

    pub fn step() -> io::Result<()> {
        match LEFT.get() {
            None => Ok(()),
            Some((0, Failure::Error)) => Err(io::Error::other("the power failed")),
            Some((0, Failure::Death)) => std::process::abort(),
            Some((left, failure)) => {
                LEFT.set(Some((left - 1, failure)));
                Ok(())
            }
        }
    }

    pub fn reaching(length: usize) -> usize {
        if matches!(LEFT.get(), Some((0, _))) { length / 2 } else { length }
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

/// The lock of a store's writer; of one that is only being made too, whose history may have to be made first.
pub(super) fn lock(folder: &Path, is_new: bool) -> Result<Lock> {
    let path = folder.join("history");
    let file = OpenOptions::new().append(true).create(is_new).open(&path).map_err(failed(&path, "open"))?;
    match file.try_lock() {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::WouldBlock) => {
            Err(Error::Busy { folder: folder.to_path_buf(), what: "another writer is at work; try again" })
        }
        Err(TryLockError::Error(error)) => Err(failed(&path, "lock")(error)),
    }
}
