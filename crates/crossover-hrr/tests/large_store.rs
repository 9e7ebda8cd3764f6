//! Random damage to a store that is too large to try all of it: every kind of it, at random places, is noticed.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use crossover_array::Key;
use crossover_hrr::{ItemMemory, Model, Space, Store};
use tempfile::tempdir;

/// Numbers from a fixed seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize * end) >> 31
    }
}

/// Eleven savings of some of 9000 items of 16 numbers, and removals.
fn saved(folder: &Path) -> ItemMemory {
    let mut memory = ItemMemory::new(Space::new(Model::Hrr, 16).unwrap());
    let all = memory.space().random(&Key::new(1), 9000);
    let mut random = Random(1);
    let mut first = 0;
    while first < 9000 {
        let end = (first + 500 + random.below(700)).min(9000);
        let names: Vec<String> = (first..end).map(|i| format!("item {i}")).collect();
        memory.add_vectors(&names, &all.slice(first..end)).unwrap();
        memory.save(folder).unwrap();
        memory.remove(&format!("item {}", first + random.below(end - first))).unwrap();
        first = end;
    }
    memory.save(folder).unwrap();
    memory
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

/// One piece of damage; what it was, or nothing if the bytes are as they were.
fn damage(path: &Path, others: &[PathBuf], random: &mut Random) -> Option<String> {
    let whole = fs::read(path).unwrap();
    let mut bytes = whole.clone();
    let at = random.below(bytes.len());
    let length = 1 + random.below(200.min(bytes.len() - at));
    let what = match random.below(9) {
        0 => {
            bytes[at] ^= 1 << random.below(8);
            "a bit flipped"
        }
        1 => {
            bytes.truncate(at);
            "cut"
        }
        2 => {
            bytes.drain(at..at + length);
            "a piece removed"
        }
        3 => {
            let to = random.below(bytes.len() - length + 1);
            let piece: Vec<u8> = bytes.drain(at..at + length).collect();
            bytes.splice(to..to, piece);
            "a piece moved"
        }
        4 => {
            bytes[at..at + length].fill(0);
            "a piece of zeros"
        }
        5 => {
            let piece: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
            bytes.splice(at..at, piece);
            "a piece put in"
        }
        6 => {
            let mut lines: Vec<&[u8]> = whole.split_inclusive(|&byte| byte == b'\n').collect();
            let (a, b) = (random.below(lines.len()), random.below(lines.len()));
            lines.swap(a, b);
            bytes = lines.concat();
            "lines exchanged"
        }
        7 => {
            bytes = fs::read(&others[random.below(others.len())]).unwrap();
            "another file in its place"
        }
        _ => {
            fs::remove_file(path).unwrap();
            return Some("removed".to_string());
        }
    };
    // What is only put behind the end of the history was never committed, and harmless.
    let is_harmless = path.ends_with("history") && bytes.starts_with(&whole);
    fs::write(path, &bytes).unwrap();
    (bytes != whole && !is_harmless).then(|| format!("{what} at {at}"))
}

#[test]
fn random_damage_to_a_large_store_is_noticed() {
    let folder = tempdir().unwrap();
    let memory = saved(folder.path());
    let files = files(folder.path());
    assert!(files.len() > 8, "{files:?}");
    let mut random = Random(2);
    let mut damaged = 0;
    for round in 0..240 {
        // Head and history in every other round: they are small beside the rest.
        let path = match round % 4 {
            0 => folder.path().join("head"),
            2 => folder.path().join("history"),
            _ => files[random.below(files.len())].clone(),
        };
        let whole = fs::read(&path).unwrap();
        if let Some(what) = damage(&path, &files, &mut random) {
            let what = format!("{}: {what}", path.display());
            assert!(ItemMemory::open(folder.path()).is_err(), "{what}");
            let report = Store::verify_folder(folder.path());
            assert!(!report.is_ok_and(|report| report.is_intact()), "{what}");
            damaged += 1;
        }
        fs::write(&path, &whole).unwrap();
    }
    assert!(damaged > 180, "{damaged}");
    // Two segments exchanged, of which each is whole.
    for _ in 0..10 {
        let (a, b) = (&files[random.below(files.len())], &files[random.below(files.len())]);
        let (first, second) = (fs::read(a).unwrap(), fs::read(b).unwrap());
        fs::write(a, &second).unwrap();
        fs::write(b, &first).unwrap();
        assert_eq!(ItemMemory::open(folder.path()).is_err(), a != b, "{a:?} {b:?}");
        fs::write(a, &first).unwrap();
        fs::write(b, &second).unwrap();
    }
    let again = ItemMemory::open(folder.path()).unwrap();
    assert_eq!(again.names(), memory.names());
    assert_eq!(again.vectors().to_vec::<f32>().unwrap(), memory.vectors().to_vec::<f32>().unwrap());
}
