//! Damage of every kind to a small store, and stores of other versions.

mod killed;
mod salvaged;

use std::{fs, path::Path};

use tempfile::tempdir;

use super::*;

fn small(folder: &Path) -> Store {
    let mut store = Store::create(folder, "test", Notes::from([("a".to_string(), "b".to_string())])).unwrap();
    store.append("one", &[("x", &Array::from([1.0f32, -2.0, 3.5]))], Notes::new()).unwrap();
    store.append("two", &[("y", &Array::from([7u8, 8])), ("z", &Array::from([true]))], Notes::new()).unwrap();
    store.append("three", &[], Notes::from([("k".to_string(), "v".to_string())])).unwrap();
    store
}

/// What a reader gets: everything, or a refusal.
fn contents(folder: &Path) -> Result<Vec<String>> {
    let store = Store::open(folder)?;
    let mut all = vec![store.hash()];
    for number in 0..store.len() {
        let (notes, arrays) = store.read(number)?;
        all.push(format!(
            "{notes:?} {:?}",
            arrays.iter().map(|(n, a)| (n, a.to_string())).collect::<Vec<_>>()
        ));
    }
    Ok(all)
}

fn refuses(folder: &Path, what: &str) {
    assert!(contents(folder).is_err(), "{what} was not noticed by a reader");
    let report = Store::verify_folder(folder).unwrap();
    assert!(!report.is_intact(), "{what} was not noticed by verify");
}

#[test]
fn what_is_written_comes_back() {
    let folder = tempdir().unwrap();
    let store = small(folder.path());
    assert_eq!(store.len(), 4);
    let again = Store::open(folder.path()).unwrap();
    assert_eq!((again.kind(), again.hash()), ("test", store.hash()));
    let (_, arrays) = again.read(1).unwrap();
    assert_eq!(arrays["x"].to_vec::<f32>().unwrap(), [1.0, -2.0, 3.5]);
    // SAFETY: nobody else knows this store.
    #[allow(unsafe_code)]
    let mapped = unsafe { again.map(2) }.unwrap().1;
    assert_eq!(mapped["y"].to_vec::<u8>().unwrap(), [7, 8]);
    assert_eq!(again.read(3).unwrap().0["k"], "v");
    let report = again.verify().unwrap();
    assert!(report.is_intact() && report.strays.is_empty() && report.operations == 4, "{report:?}");
    assert!(matches!(Store::create(folder.path(), "test", Notes::new()), Err(Error::Value { .. })));
}

#[test]
fn every_flipped_bit_is_noticed() {
    let folder = tempdir().unwrap();
    small(folder.path());
    let mut flipped = 0;
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let whole = fs::read(&path).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bytes).unwrap();
            refuses(folder.path(), &format!("{}: bit {bit}", path.display()));
            flipped += 1;
        }
        fs::write(&path, &whole).unwrap();
    }
    assert!(flipped > 8000, "{flipped}");
    assert!(contents(folder.path()).is_ok());
}

#[test]
fn every_cut_is_noticed() {
    let folder = tempdir().unwrap();
    small(folder.path());
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let whole = fs::read(&path).unwrap();
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            refuses(folder.path(), &format!("{}: cut to {length}", path.display()));
        }
        fs::remove_file(&path).unwrap();
        refuses(folder.path(), &format!("{}: removed", path.display()));
        fs::write(&path, &whole).unwrap();
    }
    assert!(contents(folder.path()).is_ok());
}

#[test]
fn lines_and_segments_that_change_places_or_vanish_are_noticed() {
    let folder = tempdir().unwrap();
    small(folder.path());
    let history = folder.path().join("history");
    let text = fs::read_to_string(&history).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for a in 0..lines.len() {
        let mut without = lines.clone();
        without.remove(a);
        fs::write(&history, without.concat()).unwrap();
        refuses(folder.path(), "a line removed");
        for b in 0..a {
            let mut swapped = lines.clone();
            swapped.swap(a, b);
            fs::write(&history, swapped.concat()).unwrap();
            refuses(folder.path(), "lines swapped");
        }
    }
    fs::write(&history, &text).unwrap();
    let (one, two) = (folder.path().join("000001.safetensors"), folder.path().join("000002.safetensors"));
    let (first, second) = (fs::read(&one).unwrap(), fs::read(&two).unwrap());
    fs::write(&one, &second).unwrap();
    fs::write(&two, &first).unwrap();
    refuses(folder.path(), "segments swapped");
}

#[test]
fn a_torn_line_at_any_byte_is_ignored() {
    let folder = tempdir().unwrap();
    let mut store = small(folder.path());
    let history = folder.path().join("history");
    let (head, text) = (fs::read(folder.path().join("head")).unwrap(), fs::read(&history).unwrap());
    store.append("four", &[], Notes::new()).unwrap();
    let longer = fs::read(&history).unwrap();
    fs::write(folder.path().join("head"), &head).unwrap();
    for length in text.len()..=longer.len() {
        fs::write(&history, &longer[..length]).unwrap();
        assert_eq!(contents(folder.path()).unwrap().len(), 5, "cut at {length}");
        let report = Store::verify_folder(folder.path()).unwrap();
        assert!(report.is_intact());
        assert_eq!(report.strays.len(), usize::from(length > text.len()));
    }
}

#[test]
fn two_writers_do_not_fork_a_history() {
    let folder = tempdir().unwrap();
    let mut first = small(folder.path());
    let mut second = Store::open(folder.path()).unwrap();
    first.append("mine", &[], Notes::new()).unwrap();
    let error = second.append("theirs", &[], Notes::new()).unwrap_err();
    assert!(matches!(error, Error::Busy { .. }), "{error}");
    let _held = file::lock(folder.path(), false).unwrap();
    assert!(matches!(first.append("more", &[], Notes::new()), Err(Error::Busy { .. })));
}

#[test]
fn newer_formats_are_refused_by_number() {
    let folder = tempdir().unwrap();
    small(folder.path());
    let path = folder.path().join("head");
    let text = fs::read_to_string(&path).unwrap();
    let body = text.rsplit_once("check ").unwrap().0.replace("version 2", "version 9");
    fs::write(&path, format!("{body}check {}\n", blake3::hash(body.as_bytes()).to_hex())).unwrap();
    assert!(matches!(Store::open(folder.path()), Err(Error::Version { found: 9, newest: 2, .. })));
    let body = body.replace("version 9", "version 0");
    fs::write(&path, format!("{body}check {}\n", blake3::hash(body.as_bytes()).to_hex())).unwrap();
    assert!(matches!(Store::open(folder.path()), Err(Error::Corrupt { .. })));
}

#[test]
fn a_store_of_version_1_is_read_and_becomes_one_of_version_2_with_the_next_operation() {
    let folder = tempdir().unwrap();
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store-version-1");
    for file in ["head", "history", "000001.safetensors", "000002.safetensors"] {
        fs::copy(old.join(file), folder.path().join(file)).unwrap();
    }
    let store = Store::open(folder.path()).unwrap();
    assert_eq!((store.version(), store.len()), (1, 3));
    assert!(store.history().all(|entry| entry.time.is_none()));
    assert!(store.verify().unwrap().is_intact());
    assert_eq!(Store::salvage(folder.path()).unwrap().operations.len(), 3);
    let before: Vec<Vec<u8>> =
        ["history", "000001.safetensors"].map(|file| fs::read(folder.path().join(file)).unwrap()).into();

    let mut memory = crate::ItemMemory::open(folder.path()).unwrap();
    assert_eq!(memory.names(), ["a", "b", "c"]);
    let vectors = memory.vectors().to_vec::<f32>().unwrap();
    assert_eq!(vectors, memory.space().named_all(&["a", "b", "c"]).unwrap().to_vec::<f32>().unwrap());
    memory.add("d").unwrap();
    memory.save(folder.path()).unwrap();

    let store = Store::open(folder.path()).unwrap();
    assert_eq!((store.version(), store.len()), (2, 4));
    let known: Vec<bool> = store.history().map(|entry| entry.time.is_some()).collect();
    assert_eq!(known, [false, false, false, true]);
    assert!(store.verify().unwrap().is_intact());
    assert!(
        fs::read(folder.path().join("history")).unwrap().starts_with(&before[0]),
        "lines stay as they were"
    );
    assert_eq!(fs::read(folder.path().join("000001.safetensors")).unwrap(), before[1]);
    assert_eq!(crate::ItemMemory::open(folder.path()).unwrap().names(), ["a", "b", "c", "d"]);
}

#[test]
fn a_history_that_names_a_file_of_somebody_else_is_refused() {
    let folder = tempdir().unwrap();
    let store = Store::create(folder.path(), "test", Notes::new()).unwrap();
    let arrays = std::collections::BTreeMap::new();
    let file = "../elsewhere.safetensors".to_string();
    let segment =
        history::Segment { file, bytes: 1, hash: "0".repeat(64), arrays, places: Default::default() };
    let (name, notes) = ("add".to_string(), Notes::new());
    let record = Record { number: 1, operation: name, notes, segment: Some(segment), time: None };
    let (line, chain) = record.line(&store.head.chain);
    history::write_lines(folder.path(), store.head.bytes, line.as_bytes()).unwrap();
    let bytes = store.head.bytes + line.len() as u64;
    history::write_head(folder.path(), &Head { version: VERSION, records: 2, bytes, chain }).unwrap();
    refuses(folder.path(), "a segment elsewhere");
    assert_eq!(Store::salvage(folder.path()).unwrap().operations.len(), 1);
}
