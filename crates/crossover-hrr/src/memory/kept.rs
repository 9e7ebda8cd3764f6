//! Associative memories as operations of a store: each saving is the sum, how many pairs it is of, and the space.

use std::{collections::BTreeMap, path::Path};

use crossover_array::Array;

use super::{
    AssociativeMemory,
    saved::{about, space_of, stored, there, unstored},
};
use crate::{
    Error, Report, Result, Store,
    store::{Notes, Operation},
};

const KIND: &str = "associative memory";
const SUM: &str = "sum";

impl AssociativeMemory {
    /// Saves the memory as one operation of a store: a new one, or the next version in the one that it was opened from or saved as, whose old versions stay
    /// readable. Where nothing has changed, nothing is written. If this fails, or the process dies, what is on disk is as it was before.
    ///
    /// ```
    /// use crossover_hrr::{AssociativeMemory, ItemMemory, Model, Space};
    /// let folder = std::env::temp_dir().join(format!("crossover-pairs-{}", std::process::id()));
    /// let space = Space::new(Model::Hrr, 512)?;
    /// let mut words = ItemMemory::new(space.clone());
    /// words.add_all(&["France", "Paris", "Japan", "Tokyo"])?;
    /// let mut capitals = AssociativeMemory::new(space);
    /// capitals.store(&words, "France", "Paris")?;
    /// capitals.save(&folder)?;
    /// let mut again = AssociativeMemory::open(&folder)?;
    /// again.store(&words, "Japan", "Tokyo")?;
    /// again.save(&folder)?;
    /// let last = AssociativeMemory::open(&folder)?;
    /// assert_eq!((last.pairs(), last.recall(&words, "France", 0.2)?.unwrap().name.as_str()), (2, "Paris"));
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn save(&mut self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref();
        let store = there(folder, self.chain.as_deref())?;
        if store.is_some() && self.is_saved {
            return Ok(());
        }
        let mut notes = about(self.space());
        notes.insert("pairs".to_string(), self.pairs().to_string());
        let sum = stored(&self.sum());
        let operation = Operation { name: "save", arrays: vec![(SUM, &sum)], notes };
        let store = match store {
            Some(mut store) => store.append_all(&[operation]).map(|()| store),
            None => Store::create_with(folder, KIND, about(self.space()), &[operation]),
        }?;
        (self.chain, self.is_saved) = (Some(store.hash()), true);
        Ok(())
    }

    /// The newest version in a store, if every byte of it is as it was written.
    ///
    /// ```
    /// use crossover_hrr::{AssociativeMemory, Model, Space};
    /// # let folder = std::env::temp_dir().join(format!("crossover-hrr-pairs-open-{}", std::process::id()));
    /// let space = Space::new(Model::Bsc, 512)?;
    /// let mut memory = AssociativeMemory::new(space.clone());
    /// memory.store_vectors(&space.named("key")?, &space.named("value")?)?;
    /// memory.save(&folder)?;
    /// let again = AssociativeMemory::open(&folder)?;
    /// assert_eq!((again.pairs(), again.space()), (1, &space));
    /// assert_eq!(again.sum().to_vec::<f32>()?, memory.sum().to_vec::<f32>()?);
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn open(folder: impl AsRef<Path>) -> Result<AssociativeMemory> {
        let store = Store::open(folder)?;
        store.expect_kind(KIND)?;
        let (notes, arrays) = store.read(store.len() - 1)?;
        newest(&store, notes, &arrays)
    }

    /// As [`open`](AssociativeMemory::open), but the sum is used where it lies in the store's file, which is verified all the same. What is stored or taken out makes
    /// a sum of the memory's own.
    ///
    /// # Safety
    ///
    /// As for [`ItemMemory::map`](crate::ItemMemory::map).
    ///
    /// ```
    /// use crossover_hrr::{AssociativeMemory, Model, Space};
    /// let folder = std::env::temp_dir().join(format!("crossover-mapped-pairs-{}", std::process::id()));
    /// let space = Space::new(Model::Hrr, 512)?;
    /// let (key, value) = (space.named("France")?, space.named("Paris")?);
    /// let mut capitals = AssociativeMemory::new(space.clone());
    /// capitals.store_vectors(&key, &value)?;
    /// capitals.save(&folder)?;
    /// // SAFETY: nobody else knows this folder.
    /// let mapped = unsafe { AssociativeMemory::map(&folder) }?;
    /// let found = space.similarity(&mapped.recall_vector(&key)?, &value)?.item::<f32>()?;
    /// assert!(mapped.pairs() == 1 && found > 0.5);
    /// # drop(mapped);
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    #[allow(unsafe_code)]
    pub unsafe fn map(folder: impl AsRef<Path>) -> Result<AssociativeMemory> {
        let store = Store::open(folder)?;
        store.expect_kind(KIND)?;
        // SAFETY: the caller promises that segments do not change.
        let (notes, arrays) = unsafe { store.map(store.len() - 1) }?;
        newest(&store, notes, &arrays)
    }

    /// Looks at every byte of a saved memory.
    ///
    /// ```
    /// use crossover_hrr::{AssociativeMemory, Model, Space};
    /// # let folder = std::env::temp_dir().join(format!("crossover-hrr-pairs-verify-{}", std::process::id()));
    /// AssociativeMemory::new(Space::new(Model::Hrr, 64)?).save(&folder)?;
    /// assert!(AssociativeMemory::verify(&folder)?.is_intact());
    /// let file = folder.join("000001.safetensors");
    /// let mut bytes = std::fs::read(&file)?;
    /// *bytes.last_mut().expect("a segment") ^= 1; // a bit that a disk has lost
    /// std::fs::write(&file, bytes)?;
    /// let report = AssociativeMemory::verify(&folder)?;
    /// assert_eq!((report.damage.len(), report.damage[0].file.as_str()), (1, "000001.safetensors"));
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify(folder: impl AsRef<Path>) -> Result<Report> {
        Store::verify_folder(folder)
    }

    /// What can be saved of a damaged store: the newest version that is as it was written, and what is damaged.
    ///
    /// ```
    /// use crossover_hrr::{AssociativeMemory, Model, Space};
    /// # let folder = std::env::temp_dir().join(format!("crossover-hrr-pairs-salvage-{}", std::process::id()));
    /// let space = Space::new(Model::Hrr, 64)?;
    /// let mut memory = AssociativeMemory::new(space.clone());
    /// memory.store_vectors(&space.named("a")?, &space.named("x")?)?;
    /// memory.save(&folder)?;
    /// memory.store_vectors(&space.named("b")?, &space.named("y")?)?;
    /// memory.save(&folder)?;
    /// let file = folder.join("000002.safetensors");
    /// let mut bytes = std::fs::read(&file)?;
    /// *bytes.last_mut().expect("a segment") ^= 1; // a bit that a disk has lost
    /// std::fs::write(&file, bytes)?;
    /// // The version before is still whole.
    /// let (saved, report) = AssociativeMemory::salvage(&folder)?;
    /// assert_eq!((saved.pairs(), report.damage[0].file.as_str()), (1, "000002.safetensors"));
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn salvage(folder: impl AsRef<Path>) -> Result<(AssociativeMemory, Report)> {
        let folder = folder.as_ref();
        let found = Store::salvage(folder)?;
        let kind = found.operations.first().and_then(|(_, notes, _)| notes.get("kind"));
        if let Some(found) = kind.filter(|kind| *kind != KIND) {
            return Err(Error::Kind { folder: folder.to_path_buf(), found: found.clone(), wanted: KIND });
        }
        let versions = found.operations.iter().rev();
        let mut intact = versions.filter_map(|(_, notes, arrays)| version(notes, arrays.get(SUM)?).ok());
        match intact.next() {
            Some(memory) => Ok((memory, found.report)),
            None => Err(Error::Corrupt { folder: folder.to_path_buf(), damage: found.report.damage }),
        }
    }
}

/// The memory of a store's last operation.
fn newest(store: &Store, notes: &Notes, arrays: &BTreeMap<String, Array>) -> Result<AssociativeMemory> {
    let sum = arrays.get(SUM).ok_or_else(|| Error::value("open", "the store's last operation has no sum"))?;
    let mut memory = version(notes, sum)?;
    (memory.chain, memory.is_saved) = (Some(store.hash()), true);
    Ok(memory)
}

/// The memory that an operation saved.
fn version(notes: &Notes, sum: &Array) -> Result<AssociativeMemory> {
    let space = space_of(notes)?;
    let pairs = notes.get("pairs").and_then(|pairs| pairs.parse().ok());
    let pairs =
        pairs.ok_or_else(|| Error::value("open", "the store does not say how many pairs its sum is of"))?;
    let sum = unstored(&sum.reshape([1, sum.size()]), &space).reshape([space.d()]);
    AssociativeMemory::from_sum(space, &sum, pairs)
}
