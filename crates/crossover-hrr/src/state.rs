//! Named arrays and values that move, save and verify as one.

use std::{collections::BTreeMap, path::Path};

use crossover_array::{Array, DType, Device, s};
use serde::{Deserialize, Serialize};

use crate::{
    Error, Result, Store,
    store::{Notes, Operation, Report},
};

const KIND: &str = "state";

/// A plain value of a [`State`].
///
/// ```
/// use crossover_hrr::{State, Value};
/// let mut state = State::new();
/// state.set_value("step", 12);
/// state.set_value("rate", 0.5);
/// state.set_value("name", "first run");
/// assert_eq!(state.value("rate"), Some(&Value::Float(0.5)));
/// match state.value("name") {
///     Some(Value::Text(name)) => assert_eq!(name, "first run"),
///     other => panic!("{other:?}"),
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Value {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// Text.
    Text(String),
}

macro_rules! values {
    ($($from:ty => $variant:ident),*) => {$(
        impl From<$from> for Value {
            fn from(value: $from) -> Value {
                Value::$variant(value.into())
            }
        }
    )*};
}

values!(bool => Bool, i64 => Int, i32 => Int, u32 => Int, f64 => Float, f32 => Float, &str => Text, String => Text);

/// A map of names to arrays and to plain values.
///
/// ```
/// use crossover_array::Array;
/// use crossover_hrr::{State, Value};
/// let folder = std::env::temp_dir().join(format!("crossover-state-{}", std::process::id()));
/// let mut state = State::new();
/// state.set("weights", Array::linspace(0.0, 1.0, 5));
/// state.set_value("step", 12);
/// state.save(&folder)?;
/// let again = State::open(&folder)?;
/// assert_eq!(again.get("weights")?.to_vec::<f64>()?, [0.0, 0.25, 0.5, 0.75, 1.0]);
/// assert_eq!(again.value("step"), Some(&Value::Int(12)));
/// # std::fs::remove_dir_all(folder).ok();
/// # Ok::<(), crossover_hrr::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct State {
    arrays: BTreeMap<String, Array>,
    values: BTreeMap<String, Value>,
}

impl State {
    /// Empty.
    pub fn new() -> State {
        State::default()
    }

    /// Sets an array. A value of this name is no more.
    pub fn set(&mut self, name: &str, array: Array) {
        self.values.remove(name);
        self.arrays.insert(name.to_string(), array);
    }

    /// Sets a value. An array of this name is no more.
    pub fn set_value(&mut self, name: &str, value: impl Into<Value>) {
        self.arrays.remove(name);
        self.values.insert(name.to_string(), value.into());
    }

    /// Removes an array or a value, and says whether there was one.
    ///
    /// ```
    /// use crossover_hrr::State;
    /// let mut state = State::new();
    /// state.set_value("step", 12);
    /// assert!(state.remove("step") && !state.remove("step"));
    /// ```
    pub fn remove(&mut self, name: &str) -> bool {
        self.values.remove(name).is_some() || self.arrays.remove(name).is_some()
    }

    /// An array.
    ///
    /// ```
    /// use crossover_array::Array;
    /// use crossover_hrr::State;
    /// let mut state = State::new();
    /// state.set("weights", Array::arange(3));
    /// assert_eq!(state.get("weights")?.size(), 3);
    /// assert_eq!(state.get("bias").unwrap_err().to_string(), "no item is named \"bias\"; there are 1 items");
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn get(&self, name: &str) -> Result<&Array> {
        let unknown = || Error::Unknown { name: name.to_string(), items: self.arrays.len() };
        self.arrays.get(name).ok_or_else(unknown)
    }

    /// A value.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// The arrays.
    ///
    /// ```
    /// use crossover_array::Array;
    /// use crossover_hrr::State;
    /// let mut state = State::new();
    /// state.set("weights", Array::ones::<f32>([3, 4]));
    /// state.set("bias", Array::zeros::<f32>([4]));
    /// state.set_value("step", 12);
    /// // In the order of their names; values are not among them.
    /// let sizes: Vec<(&str, usize)> = state.arrays().iter().map(|(name, array)| (name.as_str(), array.size())).collect();
    /// assert_eq!(sizes, [("bias", 4), ("weights", 12)]);
    /// ```
    pub fn arrays(&self) -> &BTreeMap<String, Array> {
        &self.arrays
    }

    /// The values.
    ///
    /// ```
    /// use crossover_hrr::{State, Value};
    /// let mut state = State::new();
    /// state.set_value("step", 12);
    /// state.set_value("done", false);
    /// let all: Vec<(&str, &Value)> = state.values().iter().map(|(name, value)| (name.as_str(), value)).collect();
    /// assert_eq!(all, [("done", &Value::Bool(false)), ("step", &Value::Int(12))]);
    /// ```
    pub fn values(&self) -> &BTreeMap<String, Value> {
        &self.values
    }

    /// The same with all arrays on a device; those that are there already do not move.
    ///
    /// ```
    /// use crossover_array::{Array, Device};
    /// use crossover_hrr::{State, Value};
    /// let mut state = State::new();
    /// state.set("weights", Array::arange(3));
    /// state.set_value("step", 12);
    /// let there = state.to_device(Device::Cpu)?;
    /// assert_eq!(there.get("weights")?.to_vec::<i64>()?, [0, 1, 2]);
    /// assert_eq!(there.value("step"), Some(&Value::Int(12)));
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn to_device(&self, device: Device) -> Result<State> {
        let moved = self.arrays.iter().map(|(name, array)| Ok((name.clone(), array.to_device(device)?)));
        Ok(State { arrays: moved.collect::<Result<_>>()?, values: self.values.clone() })
    }

    /// Saves everything as one operation of a store: a new one, or the next version in one that is there. Old versions stay readable.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref();
        let store = Store::is_there(folder)?.then(|| Store::open(folder)).transpose()?;
        if let Some(store) = &store {
            store.expect_kind(KIND)?;
        }
        let wide: Vec<&String> =
            self.arrays.iter().filter(|(_, a)| a.dtype() == DType::C128).map(|(n, _)| n).collect();
        let notes = Notes::from([
            ("values".to_string(), json(&Stored::of(&self.values))?),
            ("complex".to_string(), json(&wide)?),
        ]);
        // The format has no 128-bit complex numbers: they get an axis of real and imaginary parts.
        let stored: Vec<(&str, Array)> =
            self.arrays.iter().map(|(name, a)| (name.as_str(), parted(a))).collect();
        let arrays = stored.iter().map(|(name, a)| (*name, a)).collect();
        let operation = Operation { name: "save", arrays, notes };
        match store {
            Some(mut store) => store.append_all(&[operation]),
            None => Store::create_with(folder, KIND, Notes::new(), &[operation]).map(drop),
        }
    }

    /// The newest version in a store, if every byte of it is as it was written.
    pub fn open(folder: impl AsRef<Path>) -> Result<State> {
        let store = Store::open(folder)?;
        store.expect_kind(KIND)?;
        let (notes, arrays) = store.read(store.len() - 1)?;
        State::of(notes, arrays)
    }

    /// As [`open`](State::open), but arrays are used where they lie in the store's file, which is verified all the same; those of `c128` are made of their parts
    /// there when they are asked for.
    ///
    /// # Safety
    ///
    /// As for [`Store::map`].
    ///
    /// ```
    /// use crossover_array::Array;
    /// use crossover_hrr::State;
    /// let folder = std::env::temp_dir().join(format!("crossover-mapped-state-{}", std::process::id()));
    /// let mut state = State::new();
    /// state.set("weights", Array::linspace(0.0, 1.0, 5));
    /// state.save(&folder)?;
    /// // SAFETY: nobody else knows this folder.
    /// let mapped = unsafe { State::map(&folder) }?;
    /// assert_eq!(mapped.get("weights")?.to_vec::<f64>()?, [0.0, 0.25, 0.5, 0.75, 1.0]);
    /// # drop(mapped);
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    #[allow(unsafe_code)]
    pub unsafe fn map(folder: impl AsRef<Path>) -> Result<State> {
        let store = Store::open(folder)?;
        store.expect_kind(KIND)?;
        // SAFETY: the caller promises that segments do not change.
        let (notes, arrays) = unsafe { store.map(store.len() - 1) }?;
        State::of(notes, arrays)
    }

    /// What an operation saved.
    fn of(notes: &Notes, arrays: BTreeMap<String, Array>) -> Result<State> {
        let field = |key: &str| notes.get(key).map_or("null", String::as_str);
        let wrong = |e: serde_json::Error| Error::value("open", e.to_string());
        let stored: Option<Stored> = serde_json::from_str(field("values")).map_err(wrong)?;
        let wide: Option<Vec<String>> = serde_json::from_str(field("complex")).map_err(wrong)?;
        let wide = wide.unwrap_or_default();
        let arrays = arrays.into_iter().map(|(name, array)| {
            let array = if wide.contains(&name) { joined(&array) } else { array };
            (name, array)
        });
        Ok(State { arrays: arrays.collect(), values: stored.unwrap_or_default().values() })
    }

    /// Looks at every byte of a saved state.
    ///
    /// ```
    /// use crossover_array::Array;
    /// use crossover_hrr::State;
    /// # let folder = std::env::temp_dir().join(format!("crossover-hrr-state-verify-{}", std::process::id()));
    /// let mut state = State::new();
    /// state.set("weights", Array::linspace(0.0, 1.0, 1000));
    /// state.save(&folder)?;
    /// let report = State::verify(&folder)?;
    /// // Two operations: the store was made, and the state saved.
    /// assert!(report.is_intact() && report.operations == 2 && report.bytes > 8_000);
    /// # std::fs::remove_dir_all(folder).ok();
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn verify(folder: impl AsRef<Path>) -> Result<Report> {
        Store::verify_folder(folder)
    }
}

/// Values in a form that comes back bit for bit: JSON has no NaN and no infinities.
#[derive(Default, Serialize, Deserialize)]
struct Stored {
    plain: BTreeMap<String, Value>,
    floats: BTreeMap<String, u64>,
}

impl Stored {
    fn of(values: &BTreeMap<String, Value>) -> Stored {
        let mut stored = Stored::default();
        for (name, value) in values {
            match value {
                Value::Float(number) => drop(stored.floats.insert(name.clone(), number.to_bits())),
                other => drop(stored.plain.insert(name.clone(), other.clone())),
            }
        }
        stored
    }

    fn values(self) -> BTreeMap<String, Value> {
        let floats = self.floats.into_iter().map(|(name, bits)| (name, Value::Float(f64::from_bits(bits))));
        self.plain.into_iter().chain(floats).collect()
    }
}

fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| Error::value("save", e.to_string()))
}

fn parted(array: &Array) -> Array {
    match array.dtype() {
        DType::C128 => Array::stack(&[&array.real(), &array.imag()], 0),
        _ => array.clone(),
    }
}

fn joined(parts: &Array) -> Array {
    crate::space::complex(&parts.slice(s![0]), &parts.slice(s![1]))
}
