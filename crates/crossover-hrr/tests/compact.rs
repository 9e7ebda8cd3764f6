//! Vectors of 16 bits: memories that keep them, and FHRR, whose vectors are their parts.
#![allow(clippy::unwrap_used)]

use crossover_array::{Array, DType, Key};
use crossover_hrr::{AssociativeMemory, Error, ItemMemory, Model, Space, State, Value};
use tempfile::tempdir;

fn bytes(x: &Array) -> Vec<u8> {
    x.to_npy().unwrap()
}

fn values(x: &Array) -> Vec<f64> {
    x.astype(DType::F64).to_vec::<f64>().unwrap()
}

#[test]
#[allow(unsafe_code)]
fn compact_memories_come_back_as_they_were() {
    for (model, dtype) in [
        (Model::Hrr, DType::F32),
        (Model::Hrr, DType::F64),
        (Model::Fhrr, DType::C64),
        (Model::Fhrr, DType::C128),
        (Model::Fhrr, DType::BF16),
        (Model::Map, DType::F32),
        (Model::Bsc, DType::Bool),
    ] {
        for kept in [DType::F16, DType::BF16] {
            let what = format!("{model} {dtype} in {kept}");
            let space = Space::new(model, 40).unwrap().with_dtype(dtype).unwrap();
            let folder = tempdir().unwrap();
            let mut memory = ItemMemory::compact(5, space.clone(), kept).unwrap();
            let names: Vec<String> = (0..1100).map(|i| format!("item {i}")).collect();
            memory.add_all(&names).unwrap();
            memory.save(folder.path()).unwrap();
            memory.remove("item 3").unwrap();
            memory.add("last").unwrap();
            memory.save(folder.path()).unwrap();
            let rounded = |name: &str| {
                let compact = space.compact_as(&space.named(name).unwrap(), kept).unwrap();
                bytes(&space.expand(&compact).unwrap())
            };
            let queries = space.random(&Key::new(5), 20);
            let found = memory.nearest(&queries).unwrap().to_vec::<i64>().unwrap();
            // SAFETY: nobody else knows this folder.
            let mapped = unsafe { ItemMemory::map(folder.path()) }.unwrap();
            let (salvaged, report) = ItemMemory::salvage(folder.path()).unwrap();
            assert!(report.is_intact());
            for again in [&ItemMemory::open(folder.path()).unwrap(), &mapped, &salvaged, &memory] {
                assert_eq!((again.kept(), again.names()), (Some(kept), memory.names()), "{what}");
                assert_eq!(bytes(&again.vectors()), bytes(&memory.vectors()), "{what}");
                for name in ["item 0", "item 1099", "last"] {
                    assert_eq!(bytes(&again.get(name).unwrap()), rounded(name), "{what}");
                }
                assert_eq!(again.nearest(&queries).unwrap().to_vec::<i64>().unwrap(), found, "{what}");
            }
            // The file has two bytes for each number.
            let numbers = if model == Model::Fhrr { 80 } else { 40 };
            let size = std::fs::metadata(folder.path().join("000001.safetensors")).unwrap().len();
            assert!(model == Model::Bsc || (size as usize) < 1100 * (2 * numbers + 20), "{what}: {size}");
        }
    }
}

#[test]
fn a_compact_memory_takes_vectors_of_its_space_only() {
    let space = Space::new(Model::Hrr, 16).unwrap();
    let mut memory = ItemMemory::compact(0, space.clone(), DType::F16).unwrap();
    let compact = space.compact_as(&space.random(&Key::new(1), 2), DType::F16).unwrap();
    assert!(matches!(memory.add_vectors(&["a", "b"], &compact), Err(Error::Vector { .. })));
    assert!(matches!(memory.query(&compact, 0.0), Err(Error::Vector { .. })));
    memory.add_all(&["a", "b"]).unwrap();
    assert!(matches!(memory.add("a"), Err(Error::Taken { .. })));
    assert_eq!(memory.capacity(), 64);
}

/// The vectors of FHRR in 16 bits, as complex numbers.
fn widened(space: &Space, parts: &Array) -> Array {
    let (d, x) = (space.d() as i64, parts.astype(DType::F32));
    let part = |from: i64| x.take(&(Array::arange(d) + from), -1);
    part(0).astype(DType::C64) + part(d).astype(DType::C64) * crossover_array::Complex::new(0.0f64, 1.0)
}

#[test]
fn fhrr_in_16_bits_does_what_it_does_in_more() {
    type Operation = (&'static str, fn(&Space, &Array, &Array) -> crossover_hrr::Result<Array>);
    let operations: [Operation; 16] = [
        ("bind", |s, a, b| s.bind(a, b)),
        ("bind one", |s, a, b| s.bind(a, &b.index(0))),
        ("unbind", |s, a, b| s.unbind(a, b)),
        ("bind normalised", |s, a, b| s.bind_normalised(a, b)),
        ("bind superpose", |s, a, b| s.bind_superpose(a, b)),
        ("inverse", |s, a, _| s.inverse(a)),
        ("exact inverse", |s, a, _| Ok(s.inverse_exact(a)?.array)),
        ("unitary", |s, a, _| s.unitary(a)),
        ("power", |s, a, _| s.power(a, 0.5)),
        ("multi bind", |s, a, b| s.multi_bind(&[a, b, a])),
        ("permute", |s, a, _| s.permute(a, 3)),
        ("superpose", |s, a, _| s.superpose(a)),
        ("weighted", |s, a, _| {
            let weights =
                crossover_array::random::uniform::<f32>(&Key::new(7), [3, a.shape().dims()[0]]) + 0.1;
            s.superpose_weighted(a, &weights)
        }),
        ("sequence", |s, a, _| s.sequence(a)),
        ("n-grams", |s, a, _| s.ngrams(a, 2)),
        ("identity", |s, _, _| Ok(s.identity())),
    ];
    for d in [1, 33, 64] {
        let wide = Space::new(Model::Fhrr, d).unwrap();
        let space = wide.clone().with_dtype(DType::BF16).unwrap();
        assert_eq!((space.d(), space.width()), (d, 2 * d));
        let (a, b) = (space.random(&Key::new(1), 7), space.random(&Key::new(2), 7));
        assert_eq!((a.dtype(), a.shape().dims()), (DType::BF16, &[7, 2 * d][..]));
        // The vectors of c64, rounded once.
        let rounded = wide.compact(&wide.random(&Key::new(1), 7)).unwrap();
        assert_eq!(bytes(&a), bytes(&rounded));
        let (x, y) = (widened(&space, &a), widened(&space, &b));
        for (name, operation) in operations {
            let got = operation(&space, &a, &b).unwrap();
            assert_eq!((got.dtype(), got.shape().dims().last()), (DType::BF16, Some(&(2 * d))), "{name}");
            let want = operation(&wide, &x, &y).unwrap();
            // The mean: where little is left of a sum, its angle says little.
            let off = (widened(&space, &got) - &want).abs().mean(()).item::<f32>().unwrap();
            assert!(off < 0.01, "{name} d={d}: {off}");
        }
        let same = space.permute(&space.permute(&a, 5).unwrap(), -5).unwrap();
        assert_eq!(bytes(&same), bytes(&a));
        let close = |x: &Array, y: &Array| values(x).iter().zip(values(y)).all(|(x, y)| (x - y).abs() < 1e-5);
        assert!(close(&space.similarity(&a, &b).unwrap(), &wide.similarity(&x, &y).unwrap()));
        assert!(close(&space.similarities(&a, &b).unwrap(), &wide.similarities(&x, &y).unwrap()));
    }
}

#[test]
fn fhrr_in_16_bits_is_remembered_and_factored() {
    let space = Space::new(Model::Fhrr, 500).unwrap().with_dtype(DType::BF16).unwrap();
    let books: Vec<Array> = (0..3).map(|i| space.random(&Key::new(i), 8)).collect();
    let bound = space.multi_bind(&[&books[0].index(4), &books[1].index(7), &books[2].index(0)]).unwrap();
    let found = space.factor(&bound, &[&books[0], &books[1], &books[2]], 100).unwrap();
    assert!(found[0].is_found && found[0].indices == [4, 7, 0]);

    let mut items = ItemMemory::new(space.clone());
    let names: Vec<String> = (0..300).map(|i| i.to_string()).collect();
    items.add_all(&names).unwrap();
    assert_eq!(items.vectors().shape().dims(), [300, 1000]);
    let mut memory = AssociativeMemory::new(space.clone());
    memory.store_all(&items, &[("1", "2"), ("3", "4"), ("5", "6")]).unwrap();
    assert_eq!((memory.sum().dtype(), memory.trace().unwrap().shape().dims()), (DType::C64, &[1000][..]));
    let folder = tempdir().unwrap();
    memory.save(folder.path()).unwrap();
    let again = AssociativeMemory::open(folder.path()).unwrap();
    let recalled = again.recall_all(&items, &["3", "5"], 0.2).unwrap();
    let recalled: Vec<&str> = recalled.iter().map(|one| one.as_ref().unwrap().name.as_str()).collect();
    assert_eq!(recalled, ["4", "6"]);
    let of_trace = AssociativeMemory::from_sum(space.clone(), &memory.trace().unwrap(), 3).unwrap();
    assert_eq!(of_trace.recall(&items, "1", 0.2).unwrap().unwrap().name, "2");
    memory.forget(&items.get("1").unwrap(), &items.get("2").unwrap()).unwrap();
    assert_eq!(memory.pairs(), 2);
}

#[test]
#[allow(unsafe_code)]
fn mapped_pairs_and_states_are_opened_ones() {
    for (model, dtype) in [(Model::Hrr, DType::BF16), (Model::Fhrr, DType::C128), (Model::Bsc, DType::Bool)] {
        let space = Space::new(model, 64).unwrap().with_dtype(dtype).unwrap();
        let folder = tempdir().unwrap();
        let (keys, values) = (space.random(&Key::new(1), 3), space.random(&Key::new(2), 3));
        let mut memory = AssociativeMemory::new(space.clone());
        memory.store_vectors(&keys, &values).unwrap();
        memory.save(folder.path()).unwrap();
        // SAFETY: nobody else knows this folder.
        let mut mapped = unsafe { AssociativeMemory::map(folder.path()) }.unwrap();
        assert_eq!((mapped.pairs(), mapped.space()), (3, &space));
        assert_eq!(bytes(&mapped.sum()), bytes(&memory.sum()), "{model}");
        // What is stored then is the memory's own, and the file is as it was.
        mapped.store_vectors(&keys, &values).unwrap();
        assert_eq!(bytes(&AssociativeMemory::open(folder.path()).unwrap().sum()), bytes(&memory.sum()));
        mapped.save(folder.path()).unwrap();
        // SAFETY: as above.
        let again = unsafe { AssociativeMemory::map(folder.path()) }.unwrap();
        assert_eq!(bytes(&again.sum()), bytes(&mapped.sum()));
    }
    let folder = tempdir().unwrap();
    let mut state = State::new();
    state.set("weights", Array::linspace(0.0, 1.0, 5));
    state.set("truth", Array::from([true, false]));
    state.set(
        "wide",
        Array::from([1.0f64, 2.0]).astype(DType::C128) * crossover_array::Complex::new(0.0f64, 1.0),
    );
    state.set("none", Array::zeros::<f32>([0, 3]));
    state.set_value("step", 12);
    state.save(folder.path()).unwrap();
    // SAFETY: as above.
    let mapped = unsafe { State::map(folder.path()) }.unwrap();
    for (name, array) in state.arrays() {
        assert_eq!(bytes(mapped.get(name).unwrap()), bytes(array), "{name}");
    }
    assert_eq!(mapped.value("step"), Some(&Value::Int(12)));
    drop(mapped);
    // A flipped bit is noticed before anything is returned.
    let path = folder.path().join("000001.safetensors");
    let mut all = std::fs::read(&path).unwrap();
    let last = all.len() - 1;
    all[last] ^= 1;
    std::fs::write(&path, all).unwrap();
    // SAFETY: as above.
    assert!(matches!(unsafe { State::map(folder.path()) }, Err(Error::Corrupt { .. })));
    // SAFETY: as above.
    assert!(matches!(unsafe { AssociativeMemory::map(folder.path()) }, Err(Error::Kind { .. })));
}
