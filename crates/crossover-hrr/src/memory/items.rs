//! Named items that noisy vectors are cleaned up with.

use std::path::Path;

use crossover_array::{Array, DType, Device, s};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::{base::Base, reserved::Reserved, saved};
use crate::{Error, Match, Result, Space, Store, compact};

/// Rows that are reserved at least when a memory grows.
const LEAST: usize = 64;

/// A match with the item's name.
///
/// ```
/// use crossover_hrr::{ItemMemory, Model, Space};
/// let mut colours = ItemMemory::new(Space::new(Model::Bsc, 1024)?);
/// colours.add_all(&["red", "green", "blue"])?;
/// let found = colours.query(&colours.get("blue")?, 0.5)?;
/// let found = found[0].as_ref().expect("it is one of them");
/// assert_eq!((found.name.as_str(), found.similarity), ("blue", 1.0));
/// # Ok::<(), crossover_hrr::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    /// The name.
    pub name: String,
    /// How alike they are, at most 1.
    pub similarity: f64,
}

/// Items by name, one vector each, that grow.
///
/// ```
/// use crossover_hrr::{ItemMemory, Model, Space};
/// let mut colours = ItemMemory::new(Space::new(Model::Hrr, 512)?);
/// colours.add_all(&["red", "green", "blue"])?;
/// let noisy = colours.get("green")? + colours.get("blue")? * 0.4;
/// let found = colours.query(&noisy, 0.3)?;
/// assert_eq!(found[0].as_ref().unwrap().name, "green");
/// assert_eq!(colours.top_k(&noisy, 2)?[0][1].name, "blue");
/// # Ok::<(), crossover_hrr::Error>(())
/// ```
///
/// ```
/// use crossover_hrr::{Error, ItemMemory, Model, Space};
/// let mut memory = ItemMemory::new(Space::new(Model::Map, 128)?);
/// assert!(memory.is_empty());
/// memory.add("one")?;
/// memory.add_vector("two", &memory.space().named("any other name")?)?;
/// memory.add_vectors(&["three", "four"], &memory.space().named_all(&["3", "4"])?)?;
/// assert!(matches!(memory.add("one"), Err(Error::Taken { .. })));
/// memory.remove("three")?;
/// assert!(memory.contains("four") && !memory.contains("three"));
/// assert_eq!((memory.len(), memory.names()), (3, &["one", "two", "four"].map(String::from)[..]));
/// # Ok::<(), crossover_hrr::Error>(())
/// ```
#[derive(Debug)]
pub struct ItemMemory {
    space: Space,
    /// The dtype of 16 bits that vectors are kept in; none where they are kept as they are.
    kept: Option<DType>,
    names: Vec<String>,
    places: FxHashMap<String, usize>,
    /// The first rows, where they are used as they were found.
    base: Base,
    /// `[capacity, width]`, of which the first rows count: those after the base.
    rows: Array,
    /// Rows as cleanup wants them, made when it is asked for.
    prepared: Mutex<Reserved>,
    /// Items that the store has, and removals that it does not have yet.
    saved: usize,
    removed: Vec<String>,
    /// The hash of the store when it was last the same as this.
    chain: Option<String>,
}

impl ItemMemory {
    /// Without items.
    pub fn new(space: Space) -> ItemMemory {
        ItemMemory::reserved(space, None, 0)
    }

    /// Without items, and with room for `items` of them, so that adding those moves nothing. Where there is a GPU, there is room on it too for what
    /// queries compare with, and additions go to their place in it; if it has too little memory, that is left for later.
    ///
    /// ```
    /// use crossover_hrr::{ItemMemory, Model, Space};
    /// let memory = ItemMemory::with_capacity(1000, Space::new(Model::Hrr, 256)?);
    /// assert_eq!((memory.len(), memory.capacity()), (0, 1000));
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn with_capacity(items: usize, space: Space) -> ItemMemory {
        ItemMemory::with_room(space, None, items)
    }

    /// As [`with_capacity`](ItemMemory::with_capacity), of vectors that are kept in 16 bits, `f16` or `bf16`, as [`Space::compact_as`] makes them, and compared in
    /// 16 bits: half the memory of `f32`, and half the bytes of a query.
    ///
    /// What is compared with is scaled to length 1 and rounded to `dtype` once, when it is first asked for; queries are when they are asked. Winners are those of exact
    /// arithmetic with these rounded numbers, on either device; among equal similarities the first item wins. The rounding moves a similarity by less than 2⁻⁹
    /// (`f16`) or 2⁻⁶ (`bf16`).
    ///
    /// ```
    /// use crossover_array::DType;
    /// use crossover_hrr::{ItemMemory, Model, Space};
    /// let mut colours = ItemMemory::compact(3, Space::new(Model::Hrr, 512)?, DType::F16)?;
    /// colours.add_all(&["red", "green", "blue"])?;
    /// let noisy = colours.get("green")? + colours.get("blue")? * 0.4;
    /// assert_eq!(colours.query(&noisy, 0.3)?[0].as_ref().unwrap().name, "green");
    /// assert_eq!(colours.nearest(&noisy)?.to_vec::<i64>()?, [1]);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn compact(items: usize, space: Space, dtype: DType) -> Result<ItemMemory> {
        compact::is_compact("item memory", dtype)?;
        Ok(ItemMemory::with_room(space, Some(dtype), items))
    }

    pub(super) fn with_room(space: Space, kept: Option<DType>, items: usize) -> ItemMemory {
        let prepared = Reserved::on_gpu(items, space.comparable_width(), kept.unwrap_or(DType::F32));
        ItemMemory { prepared: Mutex::new(prepared), ..ItemMemory::reserved(space, kept, items) }
    }

    pub(super) fn reserved(space: Space, kept: Option<DType>, items: usize) -> ItemMemory {
        let (dtype, width) = form(&space, kept);
        let rows = Array::zeros_dtype([items, width], dtype);
        ItemMemory {
            space,
            kept,
            names: Vec::new(),
            places: FxHashMap::default(),
            base: Base::default(),
            rows,
            prepared: Mutex::default(),
            saved: 0,
            removed: Vec::new(),
            chain: None,
        }
    }

    /// The space of its vectors.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The dtype of 16 bits that vectors are kept and compared in, if the memory is a [compact](ItemMemory::compact) one.
    ///
    /// ```
    /// # use crossover_hrr::{ItemMemory, Model, Space};
    /// let words = ItemMemory::new(Space::new(Model::Hrr, 256)?);
    /// assert_eq!(words.kept(), None);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn kept(&self) -> Option<DType> {
        self.kept
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Items that fit without moving.
    ///
    /// ```
    /// use crossover_hrr::{ItemMemory, Model, Space};
    /// let mut memory = ItemMemory::with_capacity(2, Space::new(Model::Hrr, 64)?);
    /// memory.add_all(&["a", "b"])?;
    /// assert_eq!(memory.capacity(), 2);
    /// memory.add("c")?; // moves to where there is more room
    /// assert!(memory.capacity() >= 4);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn capacity(&self) -> usize {
        self.base.len() + self.room()
    }

    /// Rows that fit after the base; none if so many were asked for that there is no such array.
    fn room(&self) -> usize {
        self.rows.shape().dims().first().copied().unwrap_or(0)
    }

    /// The names, in the order of the rows.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The vectors as they are now, one per row: neither what becomes of the memory later shows in them, nor the other way round.
    ///
    /// ```
    /// use crossover_hrr::{ItemMemory, Model, Space};
    /// let mut memory = ItemMemory::new(Space::new(Model::Map, 64)?);
    /// memory.add_all(&["first", "second"])?;
    /// let vectors = memory.vectors();
    /// memory.remove("first")?;
    /// assert_eq!((vectors.shape().dims(), memory.vectors().shape().dims()), (&[2, 64][..], &[1, 64][..]));
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn vectors(&self) -> Array {
        match self.kept {
            // What is made of them is made of what they are now.
            Some(_) => self.expanded(&self.rows().frozen()),
            None => self.rows().frozen(),
        }
    }

    /// Vectors of the space from rows as they are kept.
    fn expanded(&self, rows: &Array) -> Array {
        match self.kept {
            Some(_) => self.space.expanded(rows),
            None => rows.clone(),
        }
    }

    /// The vectors where they lie.
    fn rows(&self) -> Array {
        self.base.with(&self.owned(self.base.len()))
    }

    /// Rows from one on that are not of the base.
    fn owned(&self, from: usize) -> Array {
        self.rows.slice(s![from - self.base.len()..self.len() - self.base.len()])
    }

    /// Makes all rows the memory's own, so that they can be written to.
    fn own(&mut self) -> Result<()> {
        if self.base.len() > 0 {
            self.rows = self.rows().copy();
            self.rows.eval()?;
            self.base = Base::default();
        }
        Ok(())
    }

    /// Adds the vector of a name; see [`Space::named`].
    pub fn add(&mut self, name: &str) -> Result<()> {
        self.add_all(&[name])
    }

    /// Adds the vectors of names.
    pub fn add_all<S: AsRef<str>>(&mut self, names: &[S]) -> Result<()> {
        let vectors = self.space.named_all(names)?;
        self.add_vectors(names, &vectors)
    }

    /// Adds a vector under a name.
    ///
    /// ```
    /// use crossover_hrr::{ItemMemory, Model, Space};
    /// let space = Space::new(Model::Hrr, 1024)?;
    /// let mut animals = ItemMemory::new(space.clone());
    /// // What something is made of, instead of what it is called.
    /// let dog = space.superpose(&space.named_all(&["barks", "has fur", "four legs"])?)?;
    /// animals.add_vector("dog", &dog)?;
    /// assert_eq!(animals.top_k(&space.named("barks")?, 1)?[0][0].name, "dog");
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn add_vector(&mut self, name: &str, vector: &Array) -> Result<()> {
        self.space.check("add", vector)?;
        if vector.ndim() != 1 {
            return Err(Error::value(
                "add",
                format!("one vector has one axis, not shape {}", vector.shape()),
            ));
        }
        self.add_vectors(&[name], &vector.reshape([1, self.space.width()]))
    }

    /// Adds rows under names; all or none.
    ///
    /// ```
    /// use crossover_array::Key;
    /// use crossover_hrr::{Error, ItemMemory, Model, Space};
    /// let space = Space::new(Model::Hrr, 64)?;
    /// let mut memory = ItemMemory::new(space.clone());
    /// memory.add_vectors(&["a", "b"], &space.random(&Key::new(1), 2))?;
    /// // A name that is there already keeps the other one out too.
    /// let refused = memory.add_vectors(&["c", "a"], &space.random(&Key::new(2), 2));
    /// assert!(matches!(refused, Err(Error::Taken { .. })));
    /// assert_eq!(memory.names(), ["a", "b"]);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn add_vectors<S: AsRef<str>>(&mut self, names: &[S], vectors: &Array) -> Result<()> {
        self.space.rows("add", vectors)?;
        match self.kept {
            Some(dtype) => self.add_kept(names, &self.space.compact_as(vectors, dtype)?),
            None => self.add_kept(names, vectors),
        }
    }

    /// As [`add_vectors`](ItemMemory::add_vectors), of rows as they are kept.
    pub(super) fn add_kept<S: AsRef<str>>(&mut self, names: &[S], vectors: &Array) -> Result<()> {
        let fresh = self.fresh(names, vectors)?;
        if names.is_empty() {
            return Ok(());
        }
        let base = self.base.len();
        let (start, end) = (self.len() - base, self.len() - base + names.len());
        if base + end > self.capacity() {
            let more = end.max(self.room() * 2).max(LEAST);
            let (dtype, width) = form(&self.space, self.kept);
            let larger = Array::zeros_dtype([more, width], dtype);
            if start > 0 {
                larger.slice(s![0..start]).assign(self.owned(base))?;
            }
            self.rows = larger;
        }
        self.rows.slice(s![start..end]).assign(vectors)?;
        self.known(names, fresh);
        Ok(())
    }

    /// Adds rows under names that stay where they are. Only to a memory that has none of its own.
    pub(super) fn add_base(&mut self, names: &[String], vectors: Array) -> Result<()> {
        let fresh = self.fresh(names, &vectors)?;
        self.base.push(vectors);
        self.known(names, fresh);
        Ok(())
    }

    /// Places of names that are new, for rows that fit them.
    fn fresh<S: AsRef<str>>(&self, names: &[S], vectors: &Array) -> Result<FxHashMap<String, usize>> {
        let (dtype, width) = form(&self.space, self.kept);
        vectors.check()?;
        if vectors.dtype() != dtype {
            let (given_dtype, given) = (vectors.dtype(), vectors.shape().clone());
            return Err(Error::Vector { op: "add", dtype, d: width, given_dtype, given });
        }
        if vectors.shape().dims() != [names.len(), width] {
            let what = format!("{} names and vectors of shape {}", names.len(), vectors.shape());
            return Err(Error::value("add", what));
        }
        let mut fresh = FxHashMap::default();
        for (i, name) in names.iter().map(AsRef::as_ref).enumerate() {
            if self.places.contains_key(name) || fresh.insert(name.to_string(), self.len() + i).is_some() {
                return Err(Error::Taken { name: name.to_string() });
            }
        }
        Ok(fresh)
    }

    fn known<S: AsRef<str>>(&mut self, names: &[S], fresh: FxHashMap<String, usize>) {
        self.places.extend(fresh);
        self.names.extend(names.iter().map(|n| n.as_ref().to_string()));
    }

    /// The vector of an item.
    pub fn get(&self, name: &str) -> Result<Array> {
        let unknown = || Error::Unknown { name: name.to_string(), items: self.len() };
        let at = *self.places.get(name).ok_or_else(unknown)?;
        if at < self.base.len() {
            return Ok(self.expanded(&self.base.row(at).frozen()));
        }
        // A copy: rows of the memory may be written to later.
        Ok(self.expanded(&self.rows.index((at - self.base.len()) as i64).copy()))
    }

    /// Whether there is an item of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// Removes an item. The items after it move up.
    pub fn remove(&mut self, name: &str) -> Result<()> {
        let items = self.len();
        let unknown = || Error::Unknown { name: name.to_string(), items };
        let at = *self.places.get(name).ok_or_else(unknown)?;
        self.own()?;
        self.places.remove(name);
        if at + 1 < self.len() {
            let after = self.rows.slice(s![at + 1..self.len()]).copy();
            self.rows.slice(s![at..self.len() - 1]).assign(after)?;
        }
        self.names.remove(at);
        for place in self.places.values_mut().filter(|place| **place > at) {
            *place -= 1;
        }
        if at < self.saved {
            self.saved -= 1;
            self.removed.push(name.to_string());
        }
        self.prepared.get_mut().truncate(at);
        Ok(())
    }

    /// Keeps the vectors as cleanup wants them on a device, so that queries there move nothing. Without it this happens as queries come.
    ///
    /// ```
    /// use crossover_array::Device;
    /// use crossover_hrr::{ItemMemory, Model, Space};
    /// let mut memory = ItemMemory::new(Space::new(Model::Hrr, 256)?);
    /// memory.add_all(&["a", "b", "c"])?;
    /// memory.to_device(Device::Cpu)?;
    /// assert_eq!(memory.nearest(&memory.get("b")?)?.to_vec::<i64>()?, [1]);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn to_device(&self, device: Device) -> Result<()> {
        if !self.is_empty() {
            self.prepared()?;
        }
        self.prepared.lock().move_to(device)
    }

    /// The vectors as cleanup wants them. Rows are prepared once: those that were added since are put after what is there, where that is.
    fn prepared(&self) -> Result<Array> {
        let mut prepared = self.prepared.lock();
        let done = prepared.len();
        if done < self.len() {
            let new = match done < self.base.len() {
                true => self.rows().slice(s![done..self.len()]),
                false => self.owned(done),
            };
            // A copy, so that later additions can write the rows in place.
            let new = self.expanded(&new.copy());
            prepared.push(self.space.prepared(&new, self.kept), self.capacity())?;
        }
        prepared.rows().ok_or_else(|| Error::value("query", "there are no items"))
    }

    /// The nearest item of each query `[d]` or `[q, d]`; `None` where none is as alike as `threshold`.
    pub fn query(&self, queries: &Array, threshold: f64) -> Result<Vec<Option<Named>>> {
        let queries = self.asked("query", queries)?;
        if self.is_empty() {
            return Ok(vec![None; queries.shape().dims()[0]]);
        }
        let found = self.space.cleanup_prepared(&queries, &self.prepared()?, threshold)?;
        Ok(found.into_iter().map(|found| found.map(|m| self.named(m))).collect())
    }

    /// The `k` nearest items of each query `[d]` or `[q, d]`, nearest first; the first is that of [`query`](ItemMemory::query).
    pub fn top_k(&self, queries: &Array, k: usize) -> Result<Vec<Vec<Named>>> {
        let queries = self.asked("top_k", queries)?;
        if self.is_empty() {
            return Ok(vec![Vec::new(); queries.shape().dims()[0]]);
        }
        let found = self.space.top_k_prepared(&queries, &self.prepared()?, k)?;
        Ok(found.into_iter().map(|row| row.into_iter().map(|m| self.named(m)).collect()).collect())
    }

    /// The rows of the nearest items of queries `[d]` or `[q, d]`, one for each, as `i64`; -1 where a query is NaN, or there are no items. Lazy, as arrays are: where
    /// [`query`](ItemMemory::query) answers on the host, this stays where it was computed.
    ///
    /// ```
    /// use crossover_array::Array;
    /// use crossover_hrr::{ItemMemory, Model, Space};
    /// let mut words = ItemMemory::new(Space::new(Model::Hrr, 256)?);
    /// words.add_all(&["yes", "no"])?;
    /// let nothing = Array::full([256], f32::NAN);
    /// let asked = Array::stack(&[&words.get("no")?, &nothing, &words.get("yes")?], 0);
    /// assert_eq!(words.nearest(&asked)?.to_vec::<i64>()?, [1, -1, 0]);
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn nearest(&self, queries: &Array) -> Result<Array> {
        let queries = self.asked("nearest", queries)?;
        let rows = queries.shape().dims()[0];
        if self.is_empty() || rows == 0 {
            return Ok(Array::full([rows], -1i64));
        }
        self.space.nearest_prepared(&queries, &self.prepared()?)
    }

    /// Queries as `[q, width]`.
    fn asked(&self, op: &'static str, queries: &Array) -> Result<Array> {
        self.space.check(op, queries)?;
        let width = self.space.width();
        Ok(queries.reshape([queries.size() / width, width]))
    }

    fn named(&self, found: Match) -> Named {
        Named { name: self.names[found.index].clone(), similarity: found.similarity }
    }

    /// Saves the memory as a store. If the store there is of this memory, only what is new is written. If this fails, or the process dies, what is on disk
    /// is as it was before.
    ///
    /// ```
    /// use crossover_hrr::{ItemMemory, Model, Space};
    /// let folder = std::env::temp_dir().join(format!("crossover-items-{}", std::process::id()));
    /// let mut memory = ItemMemory::new(Space::new(Model::Hrr, 64)?);
    /// memory.add_all(&["a", "b"])?;
    /// memory.save(&folder)?;
    /// memory.add("c")?;
    /// memory.save(&folder)?; // appends one item
    /// let again = ItemMemory::open(&folder)?;
    /// assert_eq!(again.names(), ["a", "b", "c"]);
    /// assert_eq!(again.get("b")?.to_vec::<f32>()?, memory.get("b")?.to_vec::<f32>()?);
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn save(&mut self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref();
        let store = saved::there(folder, self.chain.as_deref())?;
        let (from, removed) = match store {
            Some(_) => (self.saved, self.removed.as_slice()),
            None => (0, &[][..]),
        };
        let rows = match from < self.base.len() {
            true => self.rows().slice(s![from..self.len()]),
            false => self.owned(from),
        };
        let changes = saved::Changes { removed, names: &self.names[from..], rows };
        let store = changes.save(folder, store, &saved::about_items(&self.space, self.kept))?;
        self.saved = self.len();
        self.removed.clear();
        self.chain = Some(store.hash());
        Ok(())
    }

    /// The memory of a store, if every byte is as it was written.
    ///
    /// ```
    /// use crossover_hrr::{ItemMemory, Model, Space, State};
    /// # let folder = std::env::temp_dir().join(format!("crossover-hrr-items-open-{}", std::process::id()));
    /// let mut memory = ItemMemory::new(Space::new(Model::Hrr, 64)?);
    /// memory.add_all(&["a", "b"])?;
    /// memory.save(&folder)?;
    /// assert_eq!(ItemMemory::open(&folder)?.names(), ["a", "b"]);
    /// // Something else than what is there is not made of it.
    /// let error = State::open(&folder).unwrap_err();
    /// assert!(error.to_string().ends_with("holds \"item memory\", and \"state\" was asked for"));
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn open(folder: impl AsRef<Path>) -> Result<ItemMemory> {
        let store = Store::open(folder)?;
        let mut memory = saved::empty(&store)?;
        saved::replay(&store, &mut memory)?;
        Ok(memory.told_saved(&store))
    }

    /// As [`open`](ItemMemory::open), but vectors are used where they lie in the store's files, which are verified all the same. Items that are added go
    /// to memory; removing one copies all.
    ///
    /// # Safety
    ///
    /// Nobody may change or shorten the store's segments while the memory, or an array of its items, exists. This library never does: segments are
    /// written once, under a name of their own. Who else can write to the folder is for the caller to know.
    ///
    /// ```
    /// use crossover_hrr::{ItemMemory, Model, Space};
    /// let folder = std::env::temp_dir().join(format!("crossover-mapped-{}", std::process::id()));
    /// let mut memory = ItemMemory::new(Space::new(Model::Hrr, 64)?);
    /// memory.add_all(&["a", "b"])?;
    /// memory.save(&folder)?;
    /// // SAFETY: nobody else knows this folder.
    /// let mut mapped = unsafe { ItemMemory::map(&folder) }?;
    /// mapped.add("c")?;
    /// assert_eq!(mapped.query(&memory.get("b")?, 0.5)?[0].as_ref().unwrap().name, "b");
    /// mapped.save(&folder)?;
    /// # drop(mapped);
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    #[allow(unsafe_code)]
    pub unsafe fn map(folder: impl AsRef<Path>) -> Result<ItemMemory> {
        let store = Store::open(folder)?;
        let mut memory = saved::empty(&store)?;
        // SAFETY: the caller promises that segments do not change.
        unsafe { saved::replay_mapped(&store, &mut memory) }?;
        Ok(memory.told_saved(&store))
    }

    /// The same, known to be what a store has.
    fn told_saved(mut self, store: &Store) -> ItemMemory {
        self.saved = self.len();
        self.removed.clear();
        self.chain = Some(store.hash());
        self
    }

    /// What can be saved of a damaged store: the items whose vectors and names are as they were written, and what was lost.
    ///
    /// ```
    /// use crossover_hrr::{Error, ItemMemory, Model, Space};
    /// # let folder = std::env::temp_dir().join(format!("crossover-hrr-items-salvage-{}", std::process::id()));
    /// let mut memory = ItemMemory::new(Space::new(Model::Hrr, 64)?);
    /// memory.add_all(&["a", "b"])?;
    /// memory.save(&folder)?;
    /// memory.add("c")?;
    /// memory.save(&folder)?;
    /// let file = folder.join("000002.safetensors");
    /// let mut bytes = std::fs::read(&file)?;
    /// *bytes.last_mut().expect("a segment") ^= 1; // a bit that a disk has lost
    /// std::fs::write(&file, bytes)?;
    /// assert!(matches!(ItemMemory::open(&folder), Err(Error::Corrupt { .. })));
    /// let (saved, report) = ItemMemory::salvage(&folder)?;
    /// assert_eq!(saved.names(), ["a", "b"]);
    /// assert!(!report.is_intact());
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn salvage(folder: impl AsRef<Path>) -> Result<(ItemMemory, crate::Report)> {
        saved::salvage(folder.as_ref())
    }
}

/// The dtype of rows, and numbers of each.
fn form(space: &Space, kept: Option<DType>) -> (DType, usize) {
    kept.map_or((space.dtype(), space.width()), |dtype| space.compact_form(dtype))
}
