//! Files as memory.
#![allow(unsafe_code)]

use std::{fs::File, path::Path, sync::Arc};

use memmap2::Mmap;

use crate::{Error, Result};

/// A part of a file, mapped into memory: pages are read when they are touched, and shared between processes.
#[derive(Debug, Clone)]
pub struct Map {
    pages: Arc<Mmap>,
    start: usize,
    length: usize,
}

impl Map {
    /// Maps a whole file.
    ///
    /// # Safety
    ///
    /// Nobody may change or shorten the file while this map or a part of it exists, in this process or another one:
    /// the bytes are read as if they never changed, and pages that vanish end the process. Replacing the file by
    /// renaming another one over it is fine (the old one stays while it is mapped); writing into it is not.
    ///
    /// ```
    /// let path = std::env::temp_dir().join(format!("crossover-map-{}", std::process::id()));
    /// std::fs::write(&path, b"abc")?;
    /// // SAFETY: nobody else knows this file.
    /// let map = unsafe { crossover_io::Map::open(&path) }?;
    /// assert_eq!(map.as_ref(), b"abc");
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub unsafe fn open(path: &Path) -> Result<Map> {
        let wrong = |action| move |e: std::io::Error| Error::io(path.display().to_string(), action, &e);
        let file = File::open(path).map_err(wrong("open"))?;
        // SAFETY: the caller promises that the file does not change while it is mapped.
        let pages = unsafe { Mmap::map(&file) }.map_err(wrong("map"))?;
        let length = pages.len();
        Ok(Map { pages: Arc::new(pages), start: 0, length })
    }

    /// A part of the same map; `None` if it does not lie inside.
    ///
    /// ```
    /// # let path = std::env::temp_dir().join(format!("crossover-part-{}", std::process::id()));
    /// # std::fs::write(&path, b"abcdef")?;
    /// # // SAFETY: nobody else knows this file.
    /// # let map = unsafe { crossover_io::Map::open(&path) }?;
    /// assert_eq!(map.part(2, 3).unwrap().as_ref(), b"cde");
    /// assert!(map.part(2, 5).is_none());
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn part(&self, start: usize, length: usize) -> Option<Map> {
        let end = start.checked_add(length)?;
        (end <= self.length).then(|| Map { pages: self.pages.clone(), start: self.start + start, length })
    }
}

impl AsRef<[u8]> for Map {
    fn as_ref(&self) -> &[u8] {
        // `part` keeps every window inside.
        &self.pages[self.start..][..self.length]
    }
}
