//! Pairs in one vector: stored, taken out, saved and brought back.
#![allow(clippy::unwrap_used)]

use std::fs;

use crossover_array::{Array, DType, Device, Key};
use crossover_hrr::{AssociativeMemory, Error, ItemMemory, Model, Space, State, Store};
use tempfile::tempdir;

fn all_spaces(d: usize) -> Vec<Space> {
    let of = |model: Model| model.dtypes().iter().map(move |&dtype| (model, dtype));
    Model::ALL
        .into_iter()
        .flat_map(of)
        .map(|(model, dtype)| Space::new(model, d).unwrap().with_dtype(dtype).unwrap())
        .collect()
}

fn names(what: &str, count: usize) -> Vec<String> {
    (0..count).map(|i| format!("{what} {i}")).collect()
}

fn bytes(x: &Array) -> Vec<u8> {
    x.to_npy().unwrap()
}

#[test]
fn pairs_of_every_model_come_back_bit_for_bit() {
    for space in all_spaces(600) {
        let folder = tempdir().unwrap();
        let mut items = ItemMemory::new(space.clone());
        items.add_all(&names("key", 5)).unwrap();
        items.add_all(&names("value", 5)).unwrap();
        let mut memory = AssociativeMemory::new(space.clone());
        let pairs: Vec<_> = names("key", 3).into_iter().zip(names("value", 3)).collect();
        memory.store_all(&items, &pairs).unwrap();
        memory.save(folder.path()).unwrap();
        let mut again = AssociativeMemory::open(folder.path()).unwrap();
        assert_eq!((again.space(), again.pairs()), (&space, 3));
        assert_eq!(bytes(&again.sum()), bytes(&memory.sum()), "{space}");
        // The one that was opened goes on, and the older one may not write over it.
        again.store(&items, "key 3", "value 3").unwrap();
        again.save(folder.path()).unwrap();
        memory.store(&items, "key 4", "value 4").unwrap();
        assert!(matches!(memory.save(folder.path()), Err(Error::Busy { .. })));
        let last = AssociativeMemory::open(folder.path()).unwrap();
        let found = last.recall_all(&items, &names("key", 5), 0.2).unwrap();
        let found: Vec<Option<&str>> = found.iter().map(|f| f.as_ref().map(|f| &*f.name)).collect();
        assert_eq!(
            found,
            [Some("value 0"), Some("value 1"), Some("value 2"), Some("value 3"), None],
            "{space}"
        );
        // Where nothing has changed, nothing is written.
        let length = Store::open(folder.path()).unwrap().len();
        again.save(folder.path()).unwrap();
        assert_eq!((length, Store::open(folder.path()).unwrap().len()), (3, 3));
        assert!(AssociativeMemory::verify(folder.path()).unwrap().is_intact());
    }
}

#[test]
fn every_flipped_bit_and_every_cut_of_saved_pairs_is_noticed() {
    let folder = tempdir().unwrap();
    let space = Space::new(Model::Hrr, 8).unwrap();
    let mut memory = AssociativeMemory::new(space.clone());
    memory.store_vectors(&space.named("a").unwrap(), &space.named("x").unwrap()).unwrap();
    memory.save(folder.path()).unwrap();
    let refuses = |what: String| {
        assert!(AssociativeMemory::open(folder.path()).is_err(), "{what}");
        assert!(!AssociativeMemory::verify(folder.path()).unwrap().is_intact(), "{what}");
    };
    let mut flipped = 0;
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let whole = fs::read(&path).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bytes).unwrap();
            refuses(format!("{}: bit {bit}", path.display()));
            flipped += 1;
        }
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            refuses(format!("{}: cut to {length}", path.display()));
        }
        fs::write(&path, &whole).unwrap();
    }
    assert!(flipped > 5000, "{flipped}");
    assert_eq!(AssociativeMemory::open(folder.path()).unwrap().pairs(), 1);
}

#[test]
fn the_newest_version_that_is_intact_is_salvaged() {
    let folder = tempdir().unwrap();
    let space = Space::new(Model::Map, 64).unwrap();
    let mut memory = AssociativeMemory::new(space.clone());
    for name in ["a", "b"] {
        memory.store_vectors(&space.named(name).unwrap(), &space.named("x").unwrap()).unwrap();
        memory.save(folder.path()).unwrap();
    }
    let path = folder.path().join("000002.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    let (found, report) = AssociativeMemory::salvage(folder.path()).unwrap();
    assert_eq!((found.pairs(), found.space()), (1, &space));
    assert!(report.damage[0].to_string().contains("000002.safetensors, array \"sum\""), "{report:?}");
    // Items are none of its kind, nor the other way round.
    assert!(matches!(ItemMemory::open(folder.path()), Err(Error::Kind { .. })));
    assert!(matches!(ItemMemory::salvage(folder.path()), Err(Error::Kind { .. })));
    fs::remove_file(folder.path().join("000001.safetensors")).unwrap();
    assert!(matches!(AssociativeMemory::salvage(folder.path()), Err(Error::Corrupt { .. })));
}

#[test]
fn a_memory_is_made_of_its_sum_again() {
    for space in all_spaces(512) {
        let (keys, values) = (space.random(&Key::new(1), 4), space.random(&Key::new(2), 4));
        let mut memory = AssociativeMemory::new(space.clone());
        memory.store_vectors(&keys, &values).unwrap();
        let mut state = State::new();
        state.set("sum", memory.sum());
        let mut again = AssociativeMemory::from_sum(space.clone(), state.get("sum").unwrap(), 4).unwrap();
        assert_eq!(bytes(&again.trace().unwrap()), bytes(&memory.trace().unwrap()), "{space}");
        assert_eq!(again.trace().unwrap().dtype(), space.dtype());
        again.forget(&keys, &values).unwrap();
        assert_eq!(again.pairs(), 0);
        let left = again.sum().abs().astype(DType::F64).max(()).item::<f64>().unwrap();
        assert!(left < 1e-5, "{space}: {left}");
        let trace = AssociativeMemory::from_sum(space.clone(), &memory.trace().unwrap(), 4);
        assert_eq!(trace.is_err(), space.model() == Model::Bsc, "{space}");
    }
    let space = Space::new(Model::Hrr, 8).unwrap();
    let error = AssociativeMemory::from_sum(space, &Array::zeros::<f32>([2, 8]), 1).unwrap_err();
    assert!(error.to_string().contains("wants f32 vectors of 8 numbers"), "{error}");
}

#[test]
fn what_is_not_stored_is_not_taken_out() {
    for space in all_spaces(1024) {
        let v = |name: &str| space.named(name).unwrap();
        let mut memory = AssociativeMemory::new(space.clone());
        let error = memory.forget(&v("a"), &v("x")).unwrap_err().to_string();
        assert!(error.contains("1 pairs are to be taken out, and 0 are stored"), "{error}");
        for i in 0..10 {
            memory.store_vectors(&v(&format!("key {i}")), &v(&format!("value {i}"))).unwrap();
        }
        let before = bytes(&memory.sum());
        for (key, value) in [("key 0", "value 1"), ("nobody", "value 0"), ("a", "b")] {
            let error = memory.forget(&v(key), &v(value)).unwrap_err();
            assert!(matches!(error, Error::NotStored { pair: 0, pairs: 10, .. }), "{space}: {error}");
        }
        // One of several is enough, and then nothing is taken out.
        let (keys, values) =
            (Array::stack(&[&v("key 1"), &v("key 2")], 0), Array::stack(&[&v("value 1"), &v("x")], 0));
        assert!(matches!(memory.forget(&keys, &values), Err(Error::NotStored { pair: 1, .. })), "{space}");
        assert_eq!((memory.pairs(), bytes(&memory.sum())), (10, before));
        for i in 0..10 {
            memory.forget(&v(&format!("key {i}")), &v(&format!("value {i}"))).unwrap();
        }
        assert_eq!(memory.pairs(), 0);
    }
}

#[test]
fn stored_pairs_can_be_taken_out_however_many_there_are() {
    for (model, pairs) in [(Model::Hrr, 400), (Model::Map, 300), (Model::Hlb, 200), (Model::Bsc, 301)] {
        let space = Space::new(model, 128).unwrap();
        let (keys, values) = (space.random(&Key::new(3), pairs), space.random(&Key::new(4), pairs));
        let mut memory = AssociativeMemory::new(space);
        memory.store_vectors(&keys, &values).unwrap();
        for i in 0..pairs as i64 {
            memory.forget(&keys.index(i), &values.index(i)).unwrap();
        }
        assert_eq!(memory.pairs(), 0, "{model}");
    }
}

#[test]
fn items_of_another_space_are_refused() {
    let space = Space::new(Model::Hrr, 64).unwrap();
    let mut items = ItemMemory::new(space.clone().with_seed(7));
    items.add_all(&["a", "b"]).unwrap();
    let mut memory = AssociativeMemory::new(space);
    for error in [memory.store(&items, "a", "b").unwrap_err(), memory.recall(&items, "a", 0.0).unwrap_err()] {
        let text = error.to_string();
        assert!(text.contains("hrr of 64 f32, seed 0") && text.contains("hrr of 64 f32, seed 7"), "{text}");
    }
    assert_eq!(memory.pairs(), 0);
}

#[test]
fn many_pairs_at_once_are_those_one_by_one() {
    for space in all_spaces(256) {
        let (keys, values) = (space.random(&Key::new(5), 6), space.random(&Key::new(6), 6));
        let (mut each, mut all) =
            (AssociativeMemory::new(space.clone()), AssociativeMemory::new(space.clone()));
        for i in 0..6 {
            each.store_vectors(&keys.index(i), &values.index(i)).unwrap();
        }
        let shape = [2, 3, space.width()];
        all.store_vectors(&keys.reshape(shape), &values.reshape(shape)).unwrap();
        let apart = (each.sum() - all.sum()).abs().astype(DType::F64).max(()).item::<f64>().unwrap();
        assert!(apart < 1e-5 && all.pairs() == 6, "{space}: {apart}");
        // One key of all values.
        all.store_vectors(&keys.index(0), &values).unwrap();
        assert_eq!(all.pairs(), 12);
        all.to_device(Device::Cpu).unwrap();
        let found = all.recall_vector(&keys.reshape(shape)).unwrap();
        assert_eq!(found.shape().dims(), shape);
    }
}

#[test]
fn sums_of_16_bit_vectors_are_not_rounded() {
    let space = Space::new(Model::Map, 512).unwrap().with_dtype(DType::BF16).unwrap();
    let (key, value) = (space.named("key").unwrap(), space.named("value").unwrap());
    let mut memory = AssociativeMemory::new(space.clone());
    // Beyond 256 a bf16 cannot count by ones.
    memory.store_vectors(&key.broadcast_to([300, 512]), &value).unwrap();
    memory.store_vectors(&space.named("other").unwrap(), &value).unwrap();
    memory.forget(&key.broadcast_to([300, 512]), &value.broadcast_to([300, 512])).unwrap();
    let found =
        space.similarity(&memory.recall_vector(&space.named("other").unwrap()).unwrap(), &value).unwrap();
    assert!(found.astype(DType::F64).item::<f64>().unwrap() > 0.9999);
}
