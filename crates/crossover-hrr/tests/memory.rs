//! Memories that grow, come back and are used where they lie.
#![allow(clippy::unwrap_used)]

use crossover_array::{Array, DType, Key};
use crossover_hrr::{Error, ItemMemory, Model, Space, State};
use tempfile::{TempDir, tempdir};

fn names(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|i| format!("item {i}")).collect()
}

fn bytes(x: &Array) -> Vec<u8> {
    x.to_npy().unwrap()
}

#[allow(unsafe_code)]
fn mapped(folder: &TempDir) -> ItemMemory {
    // SAFETY: nobody else knows this folder.
    unsafe { ItemMemory::map(folder.path()) }.unwrap()
}

#[test]
fn mapped_memories_are_opened_ones() {
    for (model, dtype) in [
        (Model::Hrr, DType::F32),
        (Model::Hrr, DType::BF16),
        (Model::Fhrr, DType::C64),
        (Model::Fhrr, DType::C128),
        (Model::Bsc, DType::Bool),
    ] {
        let space = Space::new(model, 48).unwrap().with_dtype(dtype).unwrap();
        let folder = tempdir().unwrap();
        let mut memory = ItemMemory::new(space.clone());
        // More than a block, in two operations.
        memory.add_all(&names(0..1500)).unwrap();
        memory.save(folder.path()).unwrap();
        memory.add_all(&names(1500..1600)).unwrap();
        memory.save(folder.path()).unwrap();
        let mut found = mapped(&folder);
        assert_eq!(found.names(), memory.names());
        assert_eq!(bytes(&found.vectors()), bytes(&memory.vectors()), "{model} {dtype}");
        for at in [0, 1023, 1024, 1499, 1500, 1599] {
            let name = format!("item {at}");
            assert_eq!(bytes(&found.get(&name).unwrap()), bytes(&space.named(&name).unwrap()), "{name}");
        }
        let asked = space.named_all(&["item 1550", "item 3"]).unwrap();
        let answers = found.query(&asked, 0.5).unwrap();
        assert_eq!(answers[0].as_ref().unwrap().name, "item 1550");
        assert_eq!(answers[1].as_ref().unwrap().name, "item 3");
        // It grows, and what is new is appended to the store.
        found.add("new").unwrap();
        assert_eq!(found.query(&space.named("new").unwrap(), 0.5).unwrap()[0].as_ref().unwrap().name, "new");
        found.save(folder.path()).unwrap();
        found.remove("item 7").unwrap();
        found.save(folder.path()).unwrap();
        let again = mapped(&folder);
        assert_eq!((again.len(), again.contains("item 7"), again.contains("new")), (1600, false, true));
        assert_eq!(bytes(&again.vectors()), bytes(&ItemMemory::open(folder.path()).unwrap().vectors()));
    }
}

#[test]
fn a_damaged_store_is_not_mapped() {
    let folder = tempdir().unwrap();
    let mut memory = ItemMemory::new(Space::new(Model::Hrr, 16).unwrap());
    memory.add_all(&names(0..20)).unwrap();
    memory.save(folder.path()).unwrap();
    let segment = folder.path().join("000001.safetensors");
    let mut all = std::fs::read(&segment).unwrap();
    let middle = all.len() / 2;
    all[middle] ^= 4;
    std::fs::write(&segment, all).unwrap();
    // SAFETY: nobody else knows this folder.
    #[allow(unsafe_code)]
    let error = unsafe { ItemMemory::map(folder.path()) }.unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
}

#[test]
fn what_is_added_between_queries_is_found() {
    let space = Space::new(Model::Hrr, 100).unwrap();
    let mut memory = ItemMemory::with_capacity(10, space.clone());
    for round in 0..30 {
        memory.add_all(&names(round * 7..(round + 1) * 7)).unwrap();
        for at in [0, round * 7, round * 7 + 6] {
            let name = format!("item {at}");
            let found = memory.query(&space.named(&name).unwrap(), 0.9).unwrap();
            assert_eq!(found[0].as_ref().map(|found| &*found.name), Some(&*name));
        }
        if round % 5 == 4 {
            memory.remove(&format!("item {}", round * 7 + 3)).unwrap();
        }
    }
    assert_eq!(memory.len(), 204);
}

#[test]
fn nearest_rows_stay_arrays_and_nan_is_near_to_nothing() {
    let space = Space::new(Model::Hrr, 65).unwrap();
    let items = space.random(&Key::new(1), 700);
    let queries = items.take(&Array::from([600i64, 5, 64]), 0) + space.random(&Key::new(2), 3) * 0.2;
    assert_eq!(space.nearest(&queries, &items).unwrap().to_vec::<i64>().unwrap(), [600, 5, 64]);
    let nothing = Array::full([2, 65], f32::NAN);
    assert_eq!(space.nearest(&nothing, &items).unwrap().to_vec::<i64>().unwrap(), [-1, -1]);
    assert_eq!(space.cleanup(&nothing, &items, f64::NEG_INFINITY).unwrap(), [None, None]);
    assert_eq!(space.nearest(&queries.slice(0..0), &items).unwrap().size(), 0);
    // Among some items that are NaN the others are found, and no NaN.
    for model in [Model::Hrr, Model::Map, Model::Hlb] {
        let space = Space::new(model, 65).unwrap();
        let some = Array::concat(&[&nothing, &space.random(&Key::new(1), 3)], 0);
        let best = space.top_k(&some.slice(1..4), &some, 5).unwrap();
        let found: Vec<Vec<usize>> = best.iter().map(|row| row.iter().map(|m| m.index).collect()).collect();
        assert!(
            found[0].is_empty() && found[1].len() == 3 && found[1][0] == 2 && found[2][0] == 3,
            "{found:?}"
        );
        assert!(best.iter().flatten().all(|m| m.similarity <= 1.0));
        for made in [space.normalise(&nothing), space.unitary(&nothing)] {
            let made = made.unwrap().to_vec::<f32>().unwrap();
            assert!(made.iter().all(|x| x.is_nan()), "{model}");
        }
    }
}

#[test]
fn more_room_than_there_can_be_is_no_room() {
    let space = Space::new(Model::Hrr, 64).unwrap();
    let mut memory = ItemMemory::with_capacity(usize::MAX, space.clone());
    assert_eq!(memory.capacity(), 0);
    memory.add_all(&["a", "b"]).unwrap();
    assert_eq!(memory.query(&space.named("b").unwrap(), 0.9).unwrap()[0].as_ref().unwrap().name, "b");
    // More than memory has is an error that says so, not the end of the process.
    let mut memory = ItemMemory::with_capacity(1 << 42, space);
    assert!(memory.add("a").unwrap_err().to_string().contains("out of memory"));
}

#[test]
fn a_name_is_that_of_an_array_or_of_a_value() {
    let mut state = State::new();
    state.set("x", Array::arange(3));
    state.set_value("x", 1);
    assert!(state.get("x").is_err() && state.value("x").is_some());
    state.set("x", Array::arange(3));
    assert!(state.get("x").is_ok() && state.value("x").is_none());
    assert!(state.remove("x") && state.arrays().is_empty() && !state.remove("x"));
}

#[test]
fn vectors_are_those_of_the_moment() {
    let space = Space::new(Model::Hrr, 64).unwrap();
    let folder = tempdir().unwrap();
    let mut memory = ItemMemory::new(space.clone());
    memory.add_all(&names(0..5)).unwrap();
    memory.save(folder.path()).unwrap();
    let query = |memory: &ItemMemory, at: usize| {
        let name = format!("item {at}");
        memory.query(&space.named(&name).unwrap(), 0.9).unwrap()[0].clone().map(|found| found.name)
            == Some(name)
    };
    for mut memory in [memory, mapped(&folder)] {
        let (vectors, before) = (memory.vectors(), bytes(&memory.vectors()));
        let one = memory.get("item 3").unwrap();
        assert!(query(&memory, 2));
        // What is written to them is not written to the memory.
        vectors.slice(2).fill(7.0f32).unwrap();
        one.fill(7.0f32).unwrap();
        assert_eq!(bytes(&memory.vectors()), before);
        assert_eq!(bytes(&memory.get("item 3").unwrap()), bytes(&space.named("item 3").unwrap()));
        assert!(query(&memory, 2) && query(&memory, 3));
        // And the other way round.
        let vectors = memory.vectors();
        memory.remove("item 0").unwrap();
        memory.add("another").unwrap();
        assert_eq!(bytes(&vectors), before);
        assert!(query(&memory, 4) && !query(&memory, 0));
    }
}

#[test]
fn the_first_of_the_nearest_is_the_answer_of_cleanup() {
    for model in Model::ALL {
        let space = Space::new(model, 40).unwrap();
        // Among items that are the same, and the same up to the last bits.
        let some = space.random(&Key::new(1), 150);
        let mut all = vec![some.clone(), some.clone()];
        if matches!(model, Model::Hrr | Model::Hlb) {
            all.push(
                &some
                    * Array::from_vec((0..40).map(|i| 1.0 + (i % 3) as f32 * 1e-7).collect::<Vec<_>>(), [40]),
            );
        }
        let items = Array::concat(&all.iter().collect::<Vec<_>>(), 0);
        let n = items.shape().dims()[0];
        let queries = Array::concat(&[&some.slice(0..30), &space.random(&Key::new(2), 30)], 0);
        let first = space.cleanup(&queries, &items, f64::NEG_INFINITY).unwrap();
        for k in [1, 2, 5, 100, n + 7] {
            let best = space.top_k(&queries, &items, k).unwrap();
            for (row, (best, first)) in best.iter().zip(&first).enumerate() {
                assert_eq!(best.len(), k.min(n));
                assert_eq!(Some(best[0]), *first, "{model} k={k} row {row}");
                assert!(best.windows(2).all(|w| w[0].similarity >= w[1].similarity), "{model} k={k}");
                let mut places: Vec<usize> = best.iter().map(|found| found.index).collect();
                places.sort();
                places.dedup();
                assert_eq!(places.len(), k.min(n));
            }
        }
        // A memory answers as its space.
        let mut memory = ItemMemory::new(space.clone());
        memory.add_vectors(&names(0..n), &items).unwrap();
        let named = memory.top_k(&queries, 5).unwrap();
        let best = space.top_k(&queries, &items, 5).unwrap();
        for (named, best) in named.iter().flatten().zip(best.iter().flatten()) {
            assert_eq!((&*named.name, named.similarity), (&*format!("item {}", best.index), best.similarity));
        }
    }
}

#[test]
fn the_nearest_are_those_of_exact_arithmetic() {
    let space = Space::new(Model::Hrr, 24).unwrap();
    let (items, queries) = (space.random(&Key::new(3), 3000), space.random(&Key::new(4), 5));
    let wide = Space::new(Model::Hrr, 24).unwrap().with_dtype(DType::F64).unwrap();
    let scores = wide.similarities(&queries.astype(DType::F64), &items.astype(DType::F64)).unwrap();
    let order = scores.argsort_descending(-1).to_vec::<i64>().unwrap();
    // 700 of them are in the bulk, where many are within the error of a product.
    let best = space.top_k(&queries, &items, 700).unwrap();
    let scores = scores.to_vec::<f64>().unwrap();
    for (row, best) in best.iter().enumerate() {
        for (rank, found) in best.iter().enumerate() {
            let wanted = order[row * 3000 + rank] as usize;
            // Vectors are compared in f32.
            let apart = scores[row * 3000 + wanted] - scores[row * 3000 + found.index];
            assert!(apart.abs() < 5e-7, "{row} {rank}: {apart}");
        }
    }
}
