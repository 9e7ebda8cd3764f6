//! What is left of a store that is damaged.

use super::*;

/// What can be salvaged, in a form that can be compared.
fn salvaged(folder: &Path) -> Vec<(String, Notes, BTreeMap<String, String>)> {
    let found = Store::salvage(folder).unwrap();
    let text =
        |arrays: BTreeMap<String, Array>| arrays.into_iter().map(|(n, a)| (n, a.to_string())).collect();
    found.operations.into_iter().map(|(operation, notes, arrays)| (operation, notes, text(arrays))).collect()
}

/// How many arrays and lines of `all` are there; nothing else may be.
fn kept(folder: &Path, all: &[(String, Notes, BTreeMap<String, String>)], what: &str) -> (usize, usize) {
    let found = salvaged(folder);
    for (operation, notes, arrays) in &found {
        let (_, _, whole) = all.iter().find(|(o, n, _)| (o, n) == (operation, notes)).expect(what);
        assert!(arrays.iter().all(|(name, array)| whole.get(name) == Some(array)), "{what}: {found:?}");
    }
    (found.len(), found.iter().map(|(_, _, arrays)| arrays.len()).sum())
}

#[test]
fn damage_is_named_and_the_rest_is_salvaged() {
    let folder = tempdir().unwrap();
    small(folder.path());
    let path = folder.path().join("000002.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    // The last byte is the bool of z; y before it is intact.
    bytes[last] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let report = Store::verify_folder(folder.path()).unwrap();
    assert_eq!(report.damage.len(), 1);
    let text = report.damage[0].to_string();
    assert_eq!(text, "000002.safetensors, array \"z\": its elements are not those that were written");
    let names = |folder: &Path| -> Vec<Vec<String>> {
        salvaged(folder).into_iter().map(|(_, _, arrays)| arrays.into_keys().collect()).collect()
    };
    assert_eq!(names(folder.path()), [vec![], vec!["x"], vec!["y"], vec![]]);
    // Without a head the lines are still there, and damage of segments is still found.
    fs::remove_file(folder.path().join("head")).unwrap();
    assert_eq!(names(folder.path()), [vec![], vec!["x"], vec!["y"], vec![]]);
    let report = Store::verify_folder(folder.path()).unwrap();
    let files: Vec<&str> = report.damage.iter().map(|damage| &*damage.file).collect();
    assert_eq!((files, report.operations), (vec!["head", "000002.safetensors"], 3));
}

#[test]
fn a_flipped_bit_costs_one_line_or_one_array() {
    let folder = tempdir().unwrap();
    small(folder.path());
    let all = salvaged(folder.path());
    assert_eq!((all.len(), all.iter().map(|(_, _, arrays)| arrays.len()).sum::<usize>()), (4, 3));
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let whole = fs::read(&path).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bytes).unwrap();
            let what = format!("{file}: bit {bit}");
            let (lines, arrays) = kept(folder.path(), &all, &what);
            let least = match &*file {
                "head" => (4, 3),
                // A line with its arrays, of which there are two at most.
                "history" => (3, 1),
                // The header is told by the history too.
                _ => (4, 2),
            };
            assert!(lines >= least.0 && arrays >= least.1, "{what}: {lines} lines, {arrays} arrays");
        }
        fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn a_damaged_header_costs_no_array() {
    let folder = tempdir().unwrap();
    small(folder.path());
    let all = salvaged(folder.path());
    let path = folder.path().join("000002.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    bytes[..40].fill(0xff);
    fs::write(&path, &bytes).unwrap();
    assert_eq!(kept(folder.path(), &all, "a header of nonsense"), (4, 3));
    let damage = Store::verify_folder(folder.path()).unwrap().damage;
    let texts: Vec<String> = damage.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["000002.safetensors: its header cannot be read"]);
    // The arrays before the end of a file that was cut are there.
    bytes.truncate(bytes.len() - 1);
    fs::write(&path, &bytes).unwrap();
    assert_eq!(kept(folder.path(), &all, "cut"), (4, 2));
}

#[test]
fn lines_around_a_damaged_one_are_kept() {
    let folder = tempdir().unwrap();
    small(folder.path());
    let all = salvaged(folder.path());
    let history = folder.path().join("history");
    let text = fs::read_to_string(&history).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for a in 0..lines.len() {
        let mut without = lines.clone();
        without.remove(a);
        fs::write(&history, without.concat()).unwrap();
        let (found, _) = kept(folder.path(), &all, "a line removed");
        // The line after it cannot be told from one that was made up.
        let wanted = lines.len() - 1 - usize::from(a + 1 < lines.len());
        assert!(found >= wanted, "line {a}: {found}");
        for b in 0..a {
            let mut swapped = lines.clone();
            swapped.swap(a, b);
            fs::write(&history, swapped.concat()).unwrap();
            assert_eq!(kept(folder.path(), &all, "lines swapped").0, lines.len());
        }
    }
    // A line that nobody committed is none of the store, damaged or not.
    let mut store = { fs::write(&history, &text).map(|()| Store::open(folder.path()).unwrap()).unwrap() };
    let head = fs::read(folder.path().join("head")).unwrap();
    store.append("four", &[], Notes::new()).unwrap();
    fs::write(folder.path().join("head"), head).unwrap();
    let mut longer = fs::read(&history).unwrap();
    longer[100] ^= 1;
    fs::write(&history, longer).unwrap();
    assert_eq!(kept(folder.path(), &all, "a line that was not committed").0, 3);
}

#[test]
fn items_are_salvaged_whatever_line_is_damaged() {
    let folder = tempdir().unwrap();
    let mut memory = crate::ItemMemory::new(crate::Space::new(crate::Model::Map, 64).unwrap());
    for names in [["a", "b"], ["c", "d"], ["e", "f"]] {
        memory.add_all(&names).unwrap();
        memory.save(folder.path()).unwrap();
    }
    memory.remove("c").unwrap();
    memory.add("c").unwrap();
    memory.save(folder.path()).unwrap();
    let history = folder.path().join("history");
    let text = fs::read_to_string(&history).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    assert_eq!(lines.len(), 6);
    for (at, lost) in
        [vec![], vec!["a", "b"], vec!["d"], vec!["e", "f"], vec![], vec!["c"]].iter().enumerate()
    {
        let mut damaged: Vec<String> = lines.iter().map(ToString::to_string).collect();
        damaged[at] = damaged[at].replace("\"operation\"", "\"operatiom\"");
        fs::write(&history, damaged.concat()).unwrap();
        let (found, report) = crate::ItemMemory::salvage(folder.path()).unwrap();
        let mut wanted = vec!["a", "b", "c", "d", "e", "f"];
        wanted.retain(|name| !lost.contains(name));
        let mut names = found.names().to_vec();
        names.sort();
        assert_eq!(names, wanted, "line {at}");
        assert_eq!(found.space(), memory.space());
        assert!(report.damage.iter().any(|damage| damage.place == Some(format!("line {at}"))), "{report:?}");
    }
}
