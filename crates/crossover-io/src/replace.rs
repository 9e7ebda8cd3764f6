//! Writing files so that nobody ever sees half of one.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, BufWriter},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::{Error, Result};

/// Puts a file in place of whatever has this name, once all of it is written and on disk.
///
/// The bytes go to a file beside it (in the same folder, so that renaming cannot copy), which is removed if anything
/// fails. A file that is replaced hands its permissions on. A link is followed; what is neither a file nor absent, a
/// folder or a device, is refused.
///
/// ```
/// use std::io::Write;
/// let path = std::env::temp_dir().join(format!("crossover-replace-{}", std::process::id()));
/// crossover_io::replace(&path, |file| file.write_all(b"all of it"))?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// let failed = crossover_io::replace(&path, |file| {
///     file.write_all(b"a part")?;
///     Err(std::io::Error::other("the disk is full"))
/// });
/// assert!(failed.is_err());
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn replace(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
    let wrong = |action| move |error: io::Error| Error::io(path.display().to_string(), action, &error);
    let place = place(path).map_err(wrong("replace"))?;
    let path = place.as_path();
    let (mut draft, file) = Draft::beside(path).map_err(wrong("create a file beside"))?;
    let mut buffered = BufWriter::with_capacity(1 << 18, file);
    write(&mut buffered).map_err(wrong("write"))?;
    let file = buffered.into_inner().map_err(|e| wrong("write")(e.into_error()))?;
    if let Ok(former) = fs::metadata(path) {
        file.set_permissions(former.permissions()).map_err(wrong("set the permissions of"))?;
    }
    file.sync_all().map_err(wrong("write"))?;
    drop(file);
    fs::rename(&draft.path, path).map_err(wrong("replace"))?;
    draft.is_renamed = true;
    settle(path);
    Ok(())
}

/// Where the file goes: the name itself, or what it links to.
fn place(path: &Path) -> io::Result<PathBuf> {
    match fs::metadata(path) {
        Ok(former) if former.is_file() => fs::canonicalize(path),
        // Renaming would take a device out of the system, not write to it.
        Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path.to_path_buf()),
        Err(error) => Err(error),
    }
}

/// A file that is removed when it goes out of scope, unless it got its name by then.
struct Draft {
    path: PathBuf,
    is_renamed: bool,
}

impl Draft {
    /// A new file beside `path` that nobody else has.
    fn beside(path: &Path) -> io::Result<(Draft, File)> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let nameless = || io::Error::new(io::ErrorKind::InvalidInput, "it names no file");
        let name = path.file_name().ok_or_else(nameless)?;
        loop {
            let mut beside = OsString::from(".");
            beside.push(name);
            beside.push(format!(".{}-{}.part", process::id(), MADE.fetch_add(1, Ordering::Relaxed)));
            let beside = path.with_file_name(beside);
            match OpenOptions::new().write(true).create_new(true).open(&beside) {
                Ok(file) => return Ok((Draft { path: beside, is_renamed: false }, file)),
                // Left by a process of the same number that was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_renamed {
            // Nothing is left to do if it cannot be removed; the error that led here is the one to report.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes the new name durable where folders can be synchronised; the file itself is complete already.
fn settle(path: &Path) {
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    #[cfg(not(unix))]
    let _ = path;
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("crossover-io-{name}-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let folder = folder("failure");
        let path = folder.join("x");
        replace(&path, |file| file.write_all(b"old")).unwrap();
        let failed = replace(&path, |file| {
            file.write_all(&[7; 1 << 20])?;
            Err(io::Error::other("no more"))
        });
        assert!(failed.unwrap_err().to_string().ends_with("x: no more"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_panic_leaves_nothing_either() {
        let folder = folder("panic");
        let path = folder.join("x");
        let panicked = std::panic::catch_unwind(|| {
            let _ = replace(&path, |_| panic!("in the middle"));
        });
        assert!(panicked.is_err());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn folders_that_do_not_exist_are_errors() {
        let path = std::env::temp_dir().join("crossover-io-no-such-folder/x");
        assert!(matches!(replace(&path, |_| Ok(())), Err(Error::Io { kind: io::ErrorKind::NotFound, .. })));
        assert!(replace(Path::new("/"), |_| Ok(())).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_refused() {
        let folder = folder("links");
        fs::create_dir_all(folder.join("elsewhere")).unwrap();
        let (file, link) = (folder.join("elsewhere/x"), folder.join("link"));
        fs::write(&file, b"old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        replace(&link, |to| to.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        for other in [Path::new("/dev/null"), folder.as_path()] {
            let refused = replace(other, |_| Ok(())).unwrap_err();
            assert!(refused.to_string().ends_with("it is not a regular file"), "{refused}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_handed_on() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder("permissions");
        let path = folder.join("x");
        replace(&path, |file| file.write_all(b"old")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&path, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        fs::remove_dir_all(folder).unwrap();
    }
}
