//! Retrieval against the closed form, and cleanup against plain arithmetic.
#![allow(clippy::unwrap_used)]

use crossover_array::{Array, DType, Key};
use crossover_hrr::{AssociativeMemory, ItemMemory, Model, Space};

/// How pairs are superposed.
type Superpose = fn(&Space, &Array, &Array) -> Array;

/// What was found in samples, and how far that is from what would be found in all: the standard error.
struct Sampled {
    share: f64,
    error: f64,
}

impl Sampled {
    /// Whether the expectation lies within three standard errors. `least` is what else is allowed.
    fn agrees(&self, wanted: f64, least: f64) -> bool {
        (self.share - wanted).abs() < 3.0 * self.error + least
    }
}

/// The share of keys whose value is found again in a superposition of `pairs` pairs.
fn sampled(space: &Space, pairs: usize, items: usize, trials: u64, superpose: Superpose) -> Sampled {
    let mut shares = Vec::new();
    // Everywhere among the items: of equal ones the first wins.
    let places: Vec<i64> = (0..pairs).map(|i| ((2 * i + 1) * items / (2 * pairs)) as i64).collect();
    for trial in 0..trials {
        let values = space.random(&Key::new(1000 + trial), items);
        let keys = space.random(&Key::new(2_000_000 + trial), pairs);
        let chosen = values.take(&Array::from(places.clone()), 0);
        let memory = superpose(space, &keys, &chosen);
        let found = space.unbind(&memory.broadcast_to([pairs, space.d()]), &keys).unwrap();
        let best = space.cleanup(&found, &values, -1.0).unwrap();
        let right = best.iter().zip(&places).filter(|(m, at)| m.is_some_and(|m| m.index as i64 == **at));
        shares.push(right.count() as f64 / pairs as f64);
    }
    // Trials are independent; keys of one trial share their noise.
    let n = shares.len() as f64;
    let share = shares.iter().sum::<f64>() / n;
    let spread = shares.iter().map(|one| (one - share).powi(2)).sum::<f64>() / (n - 1.0);
    // Where nearly all is found the spread of a few trials says little: one miss more or less.
    let error = (spread / n).sqrt().max(1.0 / (n * pairs as f64));
    Sampled { share, error }
}

/// As an associative memory does.
fn sum(space: &Space, keys: &Array, values: &Array) -> Array {
    let mut memory = AssociativeMemory::new(space.clone());
    memory.store_vectors(keys, values).unwrap();
    memory.trace().unwrap()
}

fn superposed(space: &Space, keys: &Array, values: &Array) -> Array {
    space.bind_superpose(keys, values).unwrap()
}

#[test]
fn retrieval_agrees_with_the_closed_form() {
    for (model, d, pairs, items) in [
        (Model::Hrr, 64, 2, 100),
        (Model::Hrr, 64, 8, 50),
        (Model::Hrr, 64, 1, 400),
        (Model::Hrr, 127, 12, 400),
        (Model::Hrr, 512, 40, 300),
        (Model::Hrr, 128, 4, 100),
        (Model::Hrr, 256, 16, 200),
        (Model::Hrr, 256, 40, 200),
        (Model::Hrr, 501, 60, 100),
        (Model::Fhrr, 32, 4, 100),
        (Model::Fhrr, 128, 30, 200),
        (Model::Map, 32, 3, 100),
        (Model::Map, 256, 20, 200),
        (Model::Map, 256, 40, 100),
        (Model::Hlb, 64, 8, 100),
        (Model::Hlb, 257, 40, 100),
        (Model::Bsc, 32, 2, 100),
        (Model::Bsc, 32, 3, 100),
        (Model::Bsc, 64, 8, 100),
        (Model::Bsc, 400, 30, 100),
        (Model::Bsc, 400, 31, 100),
    ] {
        let space = Space::new(model, d).unwrap();
        let trials = (2000 / pairs).max(10) as u64;
        let found = sampled(&space, pairs, items, trials, sum);
        let wanted = space.retrieval_probability(pairs, items);
        let Sampled { share, error } = found;
        let what = format!("{model} d={d} k={pairs} n={items}: {share} ± {error}, and {wanted}");
        println!("{what}");
        assert!(found.agrees(wanted, 0.0), "{what}");
    }
}

#[test]
fn superposing_loses_what_lengths_of_elements_say() {
    for (model, d, pairs, loss) in [
        (Model::Map, 400, 31, std::f64::consts::FRAC_PI_2),
        (Model::Fhrr, 200, 30, 4.0 / std::f64::consts::PI),
        (Model::Hrr, 256, 20, 1.0),
        (Model::Hlb, 256, 20, 1.0),
    ] {
        let space = Space::new(model, d).unwrap();
        let found = sampled(&space, pairs, 100, 66, superposed);
        let wanted = space.retrieval_probability((pairs as f64 * loss).round() as usize, 100);
        // That as much is lost as by so many more pairs is true to about 0.02.
        let share = found.share;
        assert!(found.agrees(wanted, 0.02), "{model} d={d} k={pairs}: {share} {wanted}");
    }
}

#[test]
fn cleanup_is_the_largest_similarity() {
    for model in Model::ALL {
        for (d, n) in [(33, 700), (64, 1), (100, 1025)] {
            let space = Space::new(model, d).unwrap();
            let (items, queries) = (space.random(&Key::new(1), n), space.random(&Key::new(2), 9));
            let all =
                space.similarities(&queries, &items).unwrap().astype(DType::F64).to_vec::<f64>().unwrap();
            let found = space.cleanup(&queries, &items, -1.0).unwrap();
            let top = space.top_k(&queries, &items, 3).unwrap();
            for (row, found) in found.iter().enumerate() {
                let scores = &all[row * n..(row + 1) * n];
                let best = scores.iter().copied().fold(f64::MIN, f64::max);
                let found = found.unwrap();
                assert!((scores[found.index] - best).abs() < 1e-5, "{model} {d} {n}");
                assert!((found.similarity - best).abs() < 1e-5);
                assert_eq!(top[row][0], found, "{model} {d} {n}");
                assert!(top[row].windows(2).all(|w| w[0].similarity >= w[1].similarity));
            }
        }
    }
}

#[test]
fn unknown_is_an_answer() {
    let space = Space::new(Model::Hrr, 256).unwrap();
    let items = space.named_all(&["a", "b"]).unwrap();
    let asked = Array::stack(&[&space.named("a").unwrap(), &space.named("zebra").unwrap()], 0);
    let found = space.cleanup(&asked, &items, 0.5).unwrap();
    assert_eq!(found[0].map(|m| m.index), Some(0));
    assert_eq!(found[1], None);
}

#[test]
fn memories_grow_forget_and_come_back() {
    let folder = std::env::temp_dir().join(format!("crossover-hrr-memory-{}", std::process::id()));
    for (model, dtype) in [(Model::Hrr, DType::BF16), (Model::Fhrr, DType::C128), (Model::Bsc, DType::Bool)] {
        std::fs::remove_dir_all(&folder).ok();
        let space = Space::new(model, 40).unwrap().with_dtype(dtype).unwrap();
        let mut memory = ItemMemory::with_capacity(3, space.clone());
        let names: Vec<String> = (0..70).map(|i| format!("item {i}")).collect();
        memory.add_all(&names).unwrap();
        assert!(matches!(memory.add("item 5"), Err(crossover_hrr::Error::Taken { .. })));
        memory.save(&folder).unwrap();
        memory.remove("item 0").unwrap();
        memory.remove("item 69").unwrap();
        memory.add("last").unwrap();
        memory.save(&folder).unwrap();
        let again = ItemMemory::open(&folder).unwrap();
        assert_eq!(again.names(), memory.names());
        assert_eq!(again.space(), &space);
        let bits = |m: &ItemMemory| m.vectors().to_string();
        assert_eq!(bits(&again), bits(&memory));
        let found = again.query(&space.named("item 33").unwrap(), 0.9).unwrap();
        assert_eq!(found[0].as_ref().unwrap().name, "item 33");
        assert!(again.query(&space.named("item 69").unwrap(), 0.9).unwrap()[0].is_none());
    }
    std::fs::remove_dir_all(&folder).ok();
}

#[test]
fn a_flipped_bit_of_a_large_store_costs_one_block() {
    let folder = std::env::temp_dir().join(format!("crossover-hrr-large-{}", std::process::id()));
    std::fs::remove_dir_all(&folder).ok();
    let mut memory = ItemMemory::new(Space::new(Model::Hrr, 16).unwrap());
    let names: Vec<String> = (0..3000).map(|i| i.to_string()).collect();
    memory.add_vectors(&names, &memory.space().random(&Key::new(1), 3000)).unwrap();
    memory.save(&folder).unwrap();
    let path = folder.join("000001.safetensors");
    let whole = std::fs::read(&path).unwrap();
    // Random places, from a fixed seed.
    let mut place = 12345u64;
    for _ in 0..40 {
        place = place.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let bit = (place >> 20) as usize % (whole.len() * 8);
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &bytes).unwrap();
        assert!(ItemMemory::open(&folder).is_err(), "bit {bit}");
    }
    let mut bytes = whole.clone();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let (salvaged, report) = ItemMemory::salvage(&folder).unwrap();
    assert!(!report.is_intact());
    assert!((1900..3000).contains(&salvaged.len()), "{}", salvaged.len());
    let name = &salvaged.names()[7];
    assert_eq!(
        salvaged.get(name).unwrap().to_vec::<f32>().unwrap(),
        memory.get(name).unwrap().to_vec::<f32>().unwrap()
    );
    std::fs::remove_dir_all(&folder).ok();
}

/// Counts warnings of this library.
#[derive(Default)]
struct Warnings(std::sync::Arc<std::sync::atomic::AtomicUsize>);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "crossover::hrr"
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        assert_eq!(*event.metadata().level(), tracing::Level::WARN);
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn associations_warn_when_there_are_too_many() {
    let warnings = Warnings::default();
    let count = warnings.0.clone();
    let warned = || count.load(std::sync::atomic::Ordering::Relaxed);
    let _installed = tracing::subscriber::set_default(warnings);
    let space = Space::new(Model::Hrr, 64).unwrap();
    let mut items = ItemMemory::new(space.clone());
    items.add_all(&(0..40).map(|i| i.to_string()).collect::<Vec<_>>()).unwrap();
    let mut memory = AssociativeMemory::new(space);
    let mut most = 0;
    for i in 0..20 {
        memory.store(&items, &i.to_string(), &(i + 20).to_string()).unwrap();
        if memory.reliability(&items).is_reliable() {
            most = memory.pairs();
        }
        assert_eq!(warned(), usize::from(!memory.reliability(&items).is_reliable()), "once, {i}");
    }
    assert_eq!(most, memory.reliability(&items).capacity);
    assert!(most < 20, "{most}");
    for i in (1..20).rev() {
        memory
            .forget(&items.get(&i.to_string()).unwrap(), &items.get(&(i + 20).to_string()).unwrap())
            .unwrap();
    }
    assert_eq!(memory.recall(&items, "0", 0.1).unwrap().unwrap().name, "20");
    assert_eq!(warned(), 1);
    // One that is reliable again and becomes unreliable by items, not by pairs, says so again.
    let pair = |at: usize| (items.get(&at.to_string()).unwrap(), items.get(&(at + 20).to_string()).unwrap());
    while memory.pairs() < most {
        let (key, value) = pair(memory.pairs());
        memory.store_vectors(&key, &value).unwrap();
    }
    memory.recall(&items, "0", 0.1).unwrap();
    assert_eq!(warned(), 1);
    items.add_all(&(40..4000).map(|i| i.to_string()).collect::<Vec<_>>()).unwrap();
    memory.recall(&items, "0", 0.1).unwrap();
    memory.recall(&items, "0", 0.1).unwrap();
    assert_eq!(warned(), 2);
}
