//! Holographic memory: vectors that are bound, superposed, compared and remembered.
//!
//! A [`Space`] is a [`Model`] (HRR, FHRR, MAP, BSC, HLB) with a dimension. Its operations take and give [`Array`](crossover_array::Array)s:
//! they are lazy, batched over leading axes, and run where the runtime places them. [`ItemMemory`] keeps named items, [`AssociativeMemory`]
//! pairs of them in one vector; both know when they become unreliable. [`Store`] keeps memories on disk so that they come back bit for
//! bit or are refused; [`State`] does so for named arrays and values.
//!
//! ```
//! use crossover_hrr::{ItemMemory, Model, Space};
//! let space = Space::new(Model::Hrr, 1024)?;
//! let mut words = ItemMemory::new(space.clone());
//! words.add_all(&["subject", "verb", "object", "dog", "bites", "man"])?;
//! let v = |name: &str| words.get(name);
//! let sentence = space.record(&[
//!     (&v("subject")?, &v("dog")?),
//!     (&v("verb")?, &v("bites")?),
//!     (&v("object")?, &v("man")?),
//! ])?;
//! let who = space.unbind(&sentence, &v("subject")?)?;
//! assert_eq!(words.query(&who, 0.2)?[0].as_ref().unwrap().name, "dog");
//! # Ok::<(), crossover_hrr::Error>(())
//! ```

mod algebra;
mod capacity;
mod cleanup;
mod combine;
mod compact;
mod error;
mod exact;
mod kernel;
mod memory;
mod model;
mod ranked;
mod resonator;
mod space;
mod state;
pub mod store;
mod structure;

pub use self::{
    capacity::RELIABLE,
    cleanup::Match,
    error::{Error, Result},
    exact::{Exact, ZeroBin},
    memory::{AssociativeMemory, ItemMemory, Named, Reliability},
    model::Model,
    resonator::Factors,
    space::Space,
    state::{State, Value},
    store::{Damage, Report, Store},
};
