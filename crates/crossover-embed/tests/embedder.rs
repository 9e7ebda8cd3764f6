//! Embedders against the formula, tables in files, and advice that is right.
#![allow(clippy::unwrap_used, unsafe_code)]

use std::sync::Arc;

use crossover_array::{Array, DType, Device, Runtime, s, with_device};
use crossover_cpu::CpuBackend;
use crossover_embed::{EmbedConfig, Embedder, Error, Precision, Table};
use crossover_plan::Options;
use crossover_runtime::{
    Backend, Executor, Machine, Placement,
    sim::{SimDevice, SimOptions},
};
use tempfile::tempdir;

fn tokens(batch: usize, length: usize, vocabulary: i64) -> Array {
    (Array::arange((batch * length) as i64) * 7919 % vocabulary).reshape([batch, length])
}

#[test]
fn embeddings_are_those_of_the_formula() {
    let config = EmbedConfig::new(50, 6).temperature(2.5).relative(2).seed(4);
    let embedder = Embedder::new(config).unwrap();
    let tokens = tokens(3, 7, 50);
    let found = embedder.embed(&tokens).unwrap().to_vec::<f32>().unwrap();
    let table = embedder.table().to_vec::<f32>().unwrap();
    let rows = embedder.relative().unwrap().to_vec::<f32>().unwrap();
    let list = tokens.to_vec::<i64>().unwrap();
    for (at, &found) in found.iter().enumerate() {
        let (token, column) = (list[at / 6] as usize, at % 6);
        let position = at / 6 % 7;
        let angle = position as f64 * 10_000f64.powf(-((column / 2) as f64) / 3.0);
        let encoding = if column % 2 == 0 { angle.sin() } else { angle.cos() };
        let relative: f64 = (0..7i64)
            .map(|other| f64::from(rows[((position as i64 - other).clamp(-2, 2) + 2) as usize * 6 + column]))
            .sum::<f64>()
            / 7.0;
        let wanted = (f64::from(table[token * 6 + column]) + encoding) / 2.5 + relative;
        assert!((f64::from(found) - wanted).abs() < 1e-6, "{at}: {found} {wanted}");
    }
    let apart = Embedder::from_table(embedder.config().clone().fusion(false), embedder.table()).unwrap();
    let mut apart = apart;
    apart.set_relative(embedder.relative().unwrap()).unwrap();
    assert_eq!(apart.embed(&tokens).unwrap().to_vec::<f32>().unwrap(), found);
}

#[test]
fn precisions_differ_by_their_rounding() {
    let exact = Embedder::new(EmbedConfig::new(100, 32)).unwrap();
    let tokens = tokens(4, 16, 100);
    let wanted = exact.embed(&tokens).unwrap();
    for (precision, unit) in [(Precision::MixedF16, 1.0 / 1024.0), (Precision::MixedBf16, 1.0 / 128.0)] {
        let out = exact.with_precision(precision).unwrap().embed(&tokens).unwrap();
        assert_eq!(out.dtype(), precision.dtype());
        let error = (out.astype(DType::F32) - &wanted).abs().max(()).item::<f32>().unwrap();
        assert!(error > 0.0 && error < unit, "{error}");
    }
}

#[test]
fn tokens_outside_are_named() {
    let embedder = Embedder::new(EmbedConfig::new(10, 4)).unwrap();
    let wrong = embedder.embed(&Array::from([[1i64, 2], [-1, 3]])).unwrap_err();
    assert!(matches!(wrong, Error::Token { token: -1, at: 2, vocabulary: 10 }), "{wrong}");
    assert!(matches!(embedder.lookup(&Array::from([10u8])), Err(Error::Token { token: 10, .. })));
    let told = embedder.embed_at(&Array::from([3i64, 1000, -7]), 5).unwrap_err().to_string();
    assert_eq!(told, "token 1000 at position 1 is outside the vocabulary of 10");
    for wrong in [i64::MIN, -1, 10, i64::MAX] {
        for fusion in [true, false] {
            let config = EmbedConfig::new(10, 4).relative(1).fusion(fusion);
            let embedder = Embedder::new(config).unwrap();
            let many = Array::from_vec(
                (0..5000).map(|i| if i == 4321 { wrong } else { i % 10 }).collect(),
                [50, 100],
            );
            let error = embedder.embed(&many).unwrap_err();
            assert!(matches!(error, Error::Token { token, at: 4321, .. } if token == wrong), "{error}");
        }
    }
    assert!(embedder.embed(&Array::from([1.0f32])).is_err());
    assert_eq!(embedder.embed(&Array::zeros::<i64>([0, 5])).unwrap().shape().dims(), [0, 5, 4]);
    assert!(Embedder::new(EmbedConfig::new(0, 4)).is_err());
    assert!(Embedder::new(EmbedConfig::new(4, 4).temperature(0.0)).is_err());
    assert!(Embedder::from_table(EmbedConfig::new(4, 4), &Array::zeros::<f32>([4, 5])).is_err());
}

#[test]
fn other_vocabularies_and_widths_keep_what_they_can() {
    let old = Embedder::new(EmbedConfig::new(2000, 16).relative(1)).unwrap();
    let grown = old.with_vocabulary(4000).unwrap();
    let same = grown.table().slice(s![..2000]).equal(old.table()).all(()).item::<bool>().unwrap();
    assert!(same);
    let fresh = grown.table().slice(s![2000..]);
    assert!((fresh.std(()).item::<f32>().unwrap() - 0.02).abs() < 0.001);
    assert_eq!(grown.with_vocabulary(5).unwrap().table().shape().dims(), [5, 16]);
    let length = |embedder: &Embedder| embedder.table().square().sum(1).mean(()).item::<f32>().unwrap();
    for width in [4, 64] {
        let other = old.with_dimensions(width).unwrap();
        assert!((length(&other) / length(&old) - 1.0).abs() < 0.05, "{width}");
        assert_eq!(other.relative().unwrap().shape().dims(), [3, width]);
        assert_eq!(other.embed(&tokens(2, 3, 2000)).unwrap().shape().dims(), [2, 3, width]);
    }
}

#[test]
fn files_hold_embedders() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("embedder.safetensors");
    let mut config = EmbedConfig::new(30, 8).relative(2).precision(Precision::MixedBf16).temperature(0.3);
    (config.base, config.phase, config.seed) = (123.456, 0.1, u64::MAX);
    let embedder = Embedder::new(config).unwrap();
    embedder.save(&path).unwrap();
    let again = Embedder::load(&path).unwrap();
    assert_eq!(again.config(), embedder.config());
    let bits = |embedder: &Embedder| {
        embedder.embed(&tokens(2, 5, 30)).unwrap().astype(DType::F32).to_vec::<f32>().unwrap()
    };
    assert_eq!(bits(&again), bits(&embedder));
    crossover_array::io::save_safetensors(&path, &[("x", &Array::arange(3))], &[]).unwrap();
    assert!(Embedder::load(&path).unwrap_err().to_string().contains("not that of an embedder"));
}

#[test]
fn growing_twice_repeats_nothing() {
    let distinct = |table: &Array| {
        let mut bits: Vec<u32> = table.to_vec::<f32>().unwrap().iter().map(|x| x.to_bits()).collect();
        let count = bits.len();
        bits.sort_unstable();
        bits.dedup();
        // Of so many random floats a few are equal by chance.
        bits.len() as f64 / count as f64
    };
    // Sizes that are 61 apart, and widths that double.
    let small = Embedder::new(EmbedConfig::new(10, 32)).unwrap();
    let tall = small.with_vocabulary(71).unwrap().with_vocabulary(132).unwrap();
    let share = distinct(tall.table());
    assert!(share > 0.999, "{share}");
    let wide = Embedder::new(EmbedConfig::new(1, 8).relative(0)).unwrap();
    let wide = wide.with_dimensions(16).unwrap().with_dimensions(32).unwrap().with_dimensions(64).unwrap();
    for rows in [wide.table(), wide.relative().unwrap()] {
        // Columns are scaled by powers of the root of a half, so that equal draws have equal ratios.
        let values = rows.to_vec::<f32>().unwrap();
        let (first, second) = (&values[8..16], &values[16..24]);
        let ratios: Vec<f32> = first.iter().zip(second).map(|(a, b)| a / b).collect();
        assert!(ratios.iter().any(|ratio| (ratio / ratios[0] - 1.0).abs() > 0.01), "{ratios:?}");
    }
}

#[test]
fn settings_that_nothing_can_be_computed_with_are_refused() {
    let refused = |config: EmbedConfig, setting: &str| match Embedder::new(config) {
        Err(Error::Config { setting: found, .. }) => assert_eq!(found, setting),
        other => panic!("{setting}: {other:?}"),
    };
    for temperature in [0.0, f64::NAN, f64::INFINITY, 1e-300, -1e-45, 1e39] {
        refused(EmbedConfig::new(4, 4).temperature(temperature), "temperature");
    }
    refused(EmbedConfig::new(usize::MAX, 4), "vocabulary");
    refused(EmbedConfig::new(4, usize::MAX), "vocabulary");
    refused(EmbedConfig::new(4, 4).relative(usize::MAX), "relative");
    refused(EmbedConfig::new(4, 4).relative(usize::MAX / 4), "relative");
    let embedder = Embedder::new(EmbedConfig::new(4, 4).temperature(-0.5)).unwrap();
    assert_eq!(embedder.embed(&Array::from([0i64])).unwrap().shape().dims(), [1, 4]);
}

#[test]
fn windows_wider_than_a_sequence_are_as_wide_as_it() {
    let wide = Embedder::new(EmbedConfig::new(20, 6).relative(1000)).unwrap();
    let mut narrow = Embedder::new(EmbedConfig::new(20, 6).relative(6)).unwrap();
    narrow.set_relative(&wide.relative().unwrap().slice(s![994..=1006])).unwrap();
    for length in [1, 3, 7] {
        let bits =
            |embedder: &Embedder| embedder.embed(&tokens(2, length, 20)).unwrap().to_vec::<f32>().unwrap();
        assert_eq!(bits(&wide), bits(&narrow), "{length}");
    }
    assert_eq!(wide.embed(&Array::zeros::<i64>([2, 0])).unwrap().shape().dims(), [2, 0, 6]);
}

#[test]
fn damaged_embedders_are_found() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("embedder.safetensors");
    let config = EmbedConfig::new(12, 4).relative(1).temperature(0.75);
    Embedder::new(config).unwrap().save(&path).unwrap();
    let good = std::fs::read(&path).unwrap();
    let mut missed = Vec::new();
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << bit;
            std::fs::write(&path, &bytes).unwrap();
            if Embedder::load(&path).is_ok() {
                missed.push((at, bit));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:?} of {:?}", String::from_utf8_lossy(&good[8..600]));
    for length in (0..good.len()).step_by(7) {
        std::fs::write(&path, &good[..length]).unwrap();
        assert!(Embedder::load(&path).is_err(), "{length}");
    }
    std::fs::write(&path, &good).unwrap();
    assert!(Embedder::load(&path).is_ok());
}

#[test]
fn files_without_a_checksum_are_still_read() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("embedder.safetensors");
    let table = Array::arange(12).reshape([3, 4]).astype(DType::F32);
    let mut settings = vec![
        ("crossover_embed", "1"),
        ("layout", "interleaved"),
        ("precision", "f32"),
        ("fusion", "true"),
        ("seed", "0"),
        ("base", "10000.0"),
        ("scale", "1.0"),
        ("phase", "0.0"),
        ("shift", "0.0"),
        ("temperature", "2.0"),
    ];
    crossover_array::io::save_safetensors(&path, &[("table", &table)], &settings).unwrap();
    let old = Embedder::load(&path).unwrap();
    assert_eq!((old.config().temperature, old.table().to_vec::<f32>().unwrap()[5]), (2.0, 5.0));
    // A window without rows would otherwise be drawn anew, and a large one would take all memory.
    settings.push(("relative", "4611686018427387903"));
    crossover_array::io::save_safetensors(&path, &[("table", &table)], &settings).unwrap();
    assert!(matches!(Embedder::load(&path), Err(Error::Corrupt { .. })));
}

#[test]
fn advice_and_benchmarks_refuse_what_nothing_could_hold() {
    let embedder = Embedder::new(EmbedConfig::new(50, 16).device(Device::Cpu)).unwrap();
    for length in [usize::MAX, usize::MAX / 64, 1 << 50] {
        assert!(matches!(embedder.advise(1 << 30, length), Err(Error::Memory { .. })), "{length}");
    }
    assert!(embedder.advise(1 << 30, 0).is_err());
    assert!(
        embedder.benchmark(usize::MAX, 3, 1).is_err() && embedder.benchmark(1 << 40, 1 << 20, 1).is_err()
    );
    // To the byte.
    let (found, length) = (embedder.advise(1 << 20, 32).unwrap(), 32);
    let exact = embedder.advise(found.peak, length).unwrap();
    assert_eq!((exact.batch, exact.peak), (found.batch, found.peak));
    assert_eq!(embedder.advise(found.peak - 1, length).unwrap().batch, found.batch - 1);
    let one = found.fixed + found.per_sequence;
    assert_eq!(embedder.advise(one, length).unwrap().batch, 1);
    assert!(matches!(embedder.advise(one - 1, length), Err(Error::Memory { needed, .. }) if needed == one));
}

#[test]
fn one_column_and_none_at_all() {
    for (width, wanted) in [(1, vec![0.0f32]), (2, vec![0.0, 1.0]), (3, vec![0.0, 1.0, 0.0])] {
        let zeros = Array::zeros::<f32>([5, width]);
        let embedder = Embedder::from_table(EmbedConfig::new(5, width), &zeros).unwrap();
        assert_eq!(embedder.embed(&Array::from([4i64])).unwrap().to_vec::<f32>().unwrap(), wanted);
    }
}

#[test]
fn tables_in_files_give_rows_and_count() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("table");
    let parts: Vec<Array> = (0..5)
        .map(|part| (Array::arange(1000 * 16) + part * 16_000).reshape([1000, 16]).astype(DType::F32))
        .collect();
    let whole = Array::concat(&parts.iter().collect::<Vec<_>>(), 0);
    Table::write(&path, parts).unwrap();
    // SAFETY: nobody else knows this file.
    let table = unsafe { Table::open(&path, 64) }.unwrap();
    assert_eq!((table.rows(), table.columns(), table.dtype()), (5000, 16, DType::F32));
    let check = |tokens: &Array| {
        let found = table.lookup(tokens).unwrap();
        assert_eq!(found.to_vec::<f32>().unwrap(), whole.take(&tokens.flatten(), 0).to_vec::<f32>().unwrap());
        assert_eq!(found.shape().dims()[..tokens.ndim()], *tokens.shape().dims());
    };
    let few = Array::from([[4999i64, 0, 7], [7, 2500, 0]]);
    check(&few);
    // Rows 0 and 7 share a block, which is verified once.
    let stats = table.stats();
    assert_eq!((stats.hits, stats.misses, stats.served, stats.verified), (3, 3, 0, 3));
    check(&few);
    assert_eq!((table.stats().hits, table.stats().misses), (9, 3));
    check(&(Array::arange(500) * 9));
    assert!(matches!(table.lookup(&Array::from([5000i64])), Err(Error::Token { token: 5000, .. })));
    assert!(matches!(table.lookup(&Array::from([3i64, -1])), Err(Error::Token { token: -1, at: 1, .. })));
    assert!(matches!(table.lookup(&Array::from([1.0f32])), Err(Error::Operand { .. })));
    assert_eq!(table.lookup(&Array::zeros::<i64>([0, 2])).unwrap().shape().dims(), [0, 2, 16]);
    table.verify().unwrap();
}

/// A runtime with a simulated accelerator, and the accelerator.
fn simulated(capacity: usize) -> (Runtime, SimDevice) {
    let cpu: Arc<dyn Backend> = Arc::new(CpuBackend::new());
    let sim = SimDevice::new(cpu.clone(), SimOptions { capacity, ..SimOptions::default() });
    let machine = Machine::new(cpu, vec![Arc::new(sim.clone())]).unwrap();
    (Runtime::from_executor(Executor::new(machine, Options::default(), Placement::Auto)), sim)
}

#[test]
fn a_device_keeps_the_rows_in_use() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("table");
    let whole = Array::arange(5000 * 16).reshape([5000, 16]).astype(DType::F32);
    let rows = whole.to_vec::<f32>().unwrap();
    Table::write(&path, [whole]).unwrap();
    // SAFETY: nobody else knows this file.
    let table = unsafe { Table::open(&path, 64) }.unwrap();
    let (runtime, _) = simulated(1 << 30);
    let moved = || runtime.executor().counts().transferred;
    runtime.scope(|| {
        let check = |tokens: &[i64]| {
            let found = table.lookup(&Array::from_vec(tokens.to_vec(), [tokens.len()])).unwrap();
            let on = found.device();
            let want: Vec<f32> =
                tokens.iter().flat_map(|&t| rows[t as usize * 16..][..16].to_vec()).collect();
            assert_eq!(found.to_vec::<f32>().unwrap(), want);
            on
        };
        assert_eq!(check(&[4999, 0, 7, 7, 2500, 0]), Device::Cuda(0));
        let stats = table.stats();
        assert_eq!((stats.hits, stats.misses, stats.served), (2, 4, 1));
        let sent = moved();
        for _ in 0..3 {
            check(&[0, 7, 7, 4999]);
        }
        // Only tokens: four of eight bytes each.
        assert_eq!(moved() - sent, 3 * 4 * 8);
        assert_eq!((table.stats().misses, table.stats().served), (4, 4));
        // What is looked up before the device says that a token is none is dropped.
        for (outside, at) in [([0, 5000], 1), ([-1, 7], 0)] {
            let error = table.lookup(&Array::from(outside)).unwrap_err();
            assert!(matches!(error, Error::Token { at: found, .. } if found == at), "{error}");
        }
        // One row more: it is sent with its place, and so are its number and the places of all four; the others stay.
        let sent = moved();
        check(&[0, 7, 1234, 4999]);
        assert_eq!(moved() - sent, 4 * 8 + 64 + 8 + (8 + 4) + 4 * 8);
        // More rows than places: from the file, and what is cached stays so.
        let many: Vec<i64> = (0..500).map(|i| i * 9).collect();
        assert_eq!(check(&many), Device::Cpu);
        let misses = table.stats().misses;
        check(&[1234]);
        assert_eq!(table.stats().misses, misses);
        for round in 0..20 {
            let some: Vec<i64> = (0..40).map(|i| i + round * 30).collect();
            check(&some);
            check(&some);
        }
        let stats = table.stats();
        assert!(stats.evictions > 100 && stats.hit_rate() > 0.5, "{stats:?}");
        // Asked for the host, nothing of the device is used.
        assert_eq!(with_device(Device::Cpu, || check(&[1, 2, 3])), Device::Cpu);
    });
}

#[test]
fn damaged_tables_are_found() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("table");
    let rows = Array::arange(4000 * 32).reshape([4000, 32]).astype(DType::F32);
    Table::write(&path, [rows.clone()]).unwrap();
    let good = std::fs::read(&path).unwrap();
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        std::fs::write(&path, bytes).unwrap();
        // SAFETY: nobody else knows this file, and it is not changed before the table is gone.
        unsafe { Table::open(&path, 10) }
    };
    // One bit of row 3000: its block is refused, others are not.
    let table = with(&|bytes| bytes[3000 * 128 + 5] ^= 4).unwrap();
    assert_eq!(
        table.lookup(&Array::from([1i64])).unwrap().to_vec::<f32>().unwrap(),
        rows.slice(s![1]).to_vec::<f32>().unwrap()
    );
    let error = table.lookup(&Array::from([1i64, 3000])).unwrap_err();
    assert!(
        matches!(error, Error::Corrupt { .. }) && error.to_string().contains("a bit has changed"),
        "{error}"
    );
    assert!(table.verify().is_err());
    // The same by way of a device's cache: rows that are fine are looked up afterwards.
    let (runtime, _) = simulated(1 << 30);
    runtime.scope(|| {
        assert!(matches!(table.lookup(&Array::from([1i64, 3000, 2])), Err(Error::Corrupt { .. })));
        assert_eq!(
            table.lookup(&Array::from([2i64, 1])).unwrap().to_vec::<f32>().unwrap(),
            rows.take(&Array::from([2i64, 1]), 0).to_vec::<f32>().unwrap()
        );
    });
    drop(table);
    let length = good.len();
    for (name, change) in [
        ("the footer", &(|bytes: &mut Vec<u8>| bytes[length - 30] ^= 1) as &dyn Fn(&mut Vec<u8>)),
        ("a checksum", &|bytes| bytes[4000 * 128] ^= 1),
        ("its end", &|bytes| bytes.truncate(length - 1)),
        ("almost all", &|bytes| bytes.truncate(10)),
        ("its rows", &|bytes| _ = bytes.drain(..128)),
    ] {
        assert!(matches!(with(change), Err(Error::Corrupt { .. })), "{name}");
    }
    assert!(matches!(Table::write(&path, []), Err(Error::Operand { .. })));
    // What could not be opened is not written, and what was there stays.
    let before = std::fs::read(&path).unwrap();
    for rows in [Array::arange(6).reshape([2, 3]), Array::zeros::<bool>([2, 3])] {
        let error = Table::write(&path, [rows]).unwrap_err();
        assert!(matches!(error, Error::Operand { op: "table", .. }), "{error}");
        assert!(error.to_string().contains("a floating-point dtype is needed"), "{error}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let unlike = [Array::zeros::<f32>([2, 3]), Array::zeros::<f32>([2, 4])];
    assert!(Table::write(&path, unlike).unwrap_err().to_string().contains("parts of one table are alike"));
}

#[test]
fn tables_larger_than_memory_are_read_where_they_lie() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("table");
    // Eight megabytes, written and read with one.
    let (rows, columns) = (32_768i64, 64i64);
    let row = |first: i64, count: i64| {
        (Array::arange(count * columns) + first * columns).reshape([count as usize, columns as usize])
    };
    let tight = Runtime::builder().threads(1).memory_budget(1 << 20).build().unwrap();
    tight.scope(|| {
        let parts = (0..rows / 256).map(|part| row(part * 256, 256).astype(DType::F32));
        Table::write(&path, parts).unwrap();
        assert!(std::fs::metadata(&path).unwrap().len() > 8 << 20);
        let all = row(0, rows).astype(DType::F32);
        assert!(all.eval().unwrap_err().to_string().contains("out of memory"), "it fits into no array");
        // SAFETY: nobody else knows this file.
        let table = unsafe { Table::open(&path, 100) }.unwrap();
        table.verify().unwrap();
        for round in 0..40i64 {
            let wanted: Vec<i64> = (0..500).map(|i| (i * 7919 + round * 131) % rows).collect();
            let found =
                table.lookup(&Array::from_vec(wanted.clone(), [500])).unwrap().to_vec::<f32>().unwrap();
            for (found, token) in found.chunks(columns as usize).zip(wanted) {
                assert!(found.iter().enumerate().all(|(at, &x)| x == (token * columns + at as i64) as f32));
            }
        }
        let (_, peak) = tight.executor().machine().backend(crossover_runtime::Device::HOST).held().unwrap();
        assert!(peak <= 1 << 20, "{peak}");
    });
}

/// Bytes that embedding so many sequences of 64 tokens takes at most, on the simulated device or on a host of its own.
fn embedding_takes(config: &EmbedConfig, batch: usize) -> u64 {
    let cpu = Arc::new(CpuBackend::builder().threads(1).build().unwrap());
    let sim = SimDevice::new(cpu.clone(), SimOptions { capacity: 1 << 30, ..SimOptions::default() });
    let machine = Machine::new(cpu.clone(), vec![Arc::new(sim.clone())]).unwrap();
    let runtime = Runtime::from_executor(Executor::new(machine, Options::default(), Placement::Auto));
    runtime.scope(|| {
        let embedder = Embedder::new(config.clone()).unwrap();
        let tokens = Array::from_vec(vec![3i64; batch * 64], [batch, 64]);
        // What making the embedder left behind is not part of embedding.
        runtime.trim().unwrap();
        embedder.embed(&tokens).unwrap();
        // What is freed and kept for the next is given back where there is no room for it.
        let device: &dyn Backend = if config.device == Device::Cpu { &*cpu } else { &sim };
        device.held().unwrap().1
    })
}

/// What is advised for so much memory, by an embedder on a machine of its own.
fn advised(config: &EmbedConfig, memory: u64) -> Result<crossover_embed::Advice, Error> {
    simulated(1 << 30).0.scope(|| Embedder::new(config.clone()).unwrap().advise(memory, 64))
}

/// That the advised batch runs inside the budget, and one a tenth larger does not.
fn is_right(config: EmbedConfig, memory: u64) -> usize {
    let batch = advised(&config, memory).unwrap().batch;
    let more = batch + batch.div_ceil(10);
    let (inside, outside) = (embedding_takes(&config, batch), embedding_takes(&config, more));
    println!("{memory}: {batch} take {inside}, {more} take {outside}");
    assert!(inside <= memory, "{batch} take {inside} of {memory}: {config:?}");
    assert!(outside > memory, "{more} take {outside} of {memory}: {config:?}");
    batch
}

#[test]
fn advice_is_right_with_a_relative_term_without_fusion_and_on_the_host() {
    let usual = EmbedConfig::new(500, 48).temperature(1.5).device(Device::Cuda(0));
    for relative in [None, Some(5), Some(40)] {
        for fusion in [true, false] {
            for device in [Device::Cuda(0), Device::Cpu] {
                let mut config = usual.clone().fusion(fusion).device(device);
                config.relative = relative;
                assert!(is_right(config, 8 << 20) > 50);
            }
        }
    }
}

#[test]
fn advice_is_right_about_one_sequence() {
    for relative in [None, Some(5)] {
        let mut config = EmbedConfig::new(500, 48).device(Device::Cuda(0));
        config.relative = relative;
        // The least that is enough for any. With a relative term one sequence, all of whose work is one plan, takes more than two.
        let least = (1..).map(|step| 50_000 + step * 64).find(|&memory| advised(&config, memory).is_ok());
        assert_eq!(is_right(config, least.unwrap()), if relative.is_none() { 1 } else { 2 });
    }
}

#[test]
fn the_most_exact_precision_that_keeps_the_device_busy_is_recommended() {
    // A launch of the assumed device takes 4 µs: rows of 80 µs are some hundred megabytes.
    let config = EmbedConfig::new(500, 512).device(Device::Cuda(0));
    let recommended = |memory: u64| {
        let advice = advised(&config, memory).unwrap();
        println!("{advice}");
        (advice.recommended.0, advice)
    };
    let (wide, advice) = recommended(1 << 30);
    assert_eq!((wide, advice.recommended.1), (Precision::F32, advice.batch));
    assert!(advice.why.contains("the most exact"), "{}", advice.why);
    // Too little for any: the one with most sequences, and of two with as many the more exact.
    let (narrow, advice) = recommended(4 << 20);
    assert_eq!(narrow, Precision::MixedF16);
    assert!(
        advice.recommended.1 > advice.batch && advice.why.contains("has room for most"),
        "{}",
        advice.why
    );
    // Numbers beyond f16.
    let table = Array::full([500, 512], 1e5f32);
    let chosen = simulated(1 << 30)
        .0
        .scope(|| Embedder::from_table(config.clone(), &table).unwrap().advise(4 << 20, 64).unwrap());
    assert_eq!(chosen.recommended.0, Precision::MixedBf16);
    assert!(chosen.why.contains("numbers beyond f16"), "{}", chosen.why);
}

#[test]
fn advice_is_right_on_a_device_of_its_own() {
    let measured = |batch: usize, precision: Precision| -> (u64, Option<u64>) {
        let (runtime, sim) = simulated(1 << 30);
        runtime.scope(|| {
            let config =
                EmbedConfig::new(500, 48).temperature(1.5).precision(precision).device(Device::Cuda(0));
            let embedder = Embedder::new(config).unwrap();
            // What advice is about is the embedding alone: it makes embedders in other precisions, whose memory the device keeps.
            let advised = (batch == 0).then(|| embedder.advise(8 << 20, 64).unwrap().batch as u64);
            let tokens = Array::from_vec(vec![3i64; batch.max(1) * 64], [batch.max(1), 64]);
            // What making the embedder left behind is not part of embedding.
            runtime.trim().unwrap();
            if batch > 0 {
                embedder.embed(&tokens).unwrap();
            }
            (sim.peak() as u64, advised)
        })
    };
    for precision in Precision::ALL {
        let batch = measured(0, precision).1.unwrap() as usize;
        assert!(batch > 50, "{batch}");
        let (inside, outside) =
            (measured(batch, precision).0, measured(batch + batch.div_ceil(10), precision).0);
        println!("{}: {batch} take {inside}, a tenth more {outside}", precision.name());
        assert!(inside <= 8 << 20, "{batch} in {}: {inside}", precision.name());
        assert!(outside > 8 << 20, "{batch} and a tenth in {}: {outside}", precision.name());
    }
    let small = Embedder::new(EmbedConfig::new(500, 48).device(Device::Cpu)).unwrap();
    assert!(matches!(small.advise(1000, 64), Err(Error::Memory { budget: 1000, .. })));
}
