//! Writers that die at every step.

use std::process::{Command, Stdio};

use super::{
    file::{Failure, fail_after},
    *,
};
use crate::{AssociativeMemory, ItemMemory, Model, Space, State};

/// What there is before, and a change that is made wholly or not at all.
type Change = (&'static str, fn(&Path), fn(&Path) -> Result<()>);

fn memory(names: &[&str]) -> ItemMemory {
    let mut memory = ItemMemory::new(Space::new(Model::Hrr, 16).unwrap());
    memory.add_all(names).unwrap();
    memory
}

fn state(step: i64) -> State {
    let mut state = State::new();
    state.set("x", Array::from([step, 2]));
    state.set_value("step", step);
    state
}

/// So many pairs in one vector.
fn pairs(count: usize) -> AssociativeMemory {
    let space = Space::new(Model::Map, 16).unwrap();
    let mut pairs = AssociativeMemory::new(space.clone());
    for i in 0..count {
        let (key, value) = (space.named(&format!("key {i}")), space.named(&format!("value {i}")));
        pairs.store_vectors(&key.unwrap(), &value.unwrap()).unwrap();
    }
    pairs
}

const CHANGES: [Change; 9] = [
    (
        "an operation",
        |folder| drop(small(folder)),
        |folder| Store::open(folder)?.append("four", &[("w", &Array::from([5i64, 6]))], Notes::new()),
    ),
    ("a creation", |_| (), |folder| Store::create(folder, "test", Notes::new()).map(drop)),
    ("a first memory", |_| (), |folder| memory(&["a", "b"]).save(folder)),
    (
        "additions",
        |folder| memory(&["a"]).save(folder).unwrap(),
        |folder| {
            let mut memory = ItemMemory::open(folder)?;
            memory.add_all(&["b", "c"])?;
            memory.save(folder)
        },
    ),
    (
        "removals and additions",
        |folder| memory(&["a", "b"]).save(folder).unwrap(),
        |folder| {
            let mut memory = ItemMemory::open(folder)?;
            memory.remove("a")?;
            memory.add("c")?;
            memory.save(folder)
        },
    ),
    ("a first state", |_| (), |folder| state(1).save(folder)),
    ("a next state", |folder| state(1).save(folder).unwrap(), |folder| state(2).save(folder)),
    ("first pairs", |_| (), |folder| pairs(2).save(folder)),
    (
        "another pair",
        |folder| pairs(1).save(folder).unwrap(),
        |folder| {
            let mut memory = AssociativeMemory::open(folder)?;
            let space = memory.space().clone();
            memory.store_vectors(&space.named("key 1")?, &space.named("value 1")?)?;
            memory.save(folder)
        },
    ),
];

/// What a reader finds; nothing where nothing was created, or not wholly.
fn held(folder: &Path) -> Option<Vec<String>> {
    match contents(folder) {
        Ok(all) => {
            assert!(Store::verify_folder(folder).unwrap().is_intact());
            // Without the hash, which tells when it was.
            Some(all[1..].to_vec())
        }
        Err(Error::Io(_)) if !folder.join("head").exists() => None,
        Err(Error::Busy { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Lets a change fail at every step; `at` makes it in a folder until a step and says whether it was finished.
fn at_every_step(at: impl Fn(usize, &Path, usize) -> bool) {
    for (index, (name, prepare, change)) in CHANGES.iter().enumerate() {
        let place = tempdir().unwrap();
        prepare(place.path());
        let before = held(place.path());
        change(place.path()).unwrap();
        let after = held(place.path());
        assert_ne!(before, after);
        let mut outcomes = (0, 0);
        for step in 0.. {
            let place = tempdir().unwrap();
            let folder = place.path();
            prepare(folder);
            let is_finished = at(index, folder, step);
            let found = held(folder);
            assert!(found == before || found == after, "{name}, step {step}: {found:?}");
            assert!(!is_finished || found == after, "{name}: done and not there");
            match found == before {
                true => outcomes.0 += 1,
                false => outcomes.1 += 1,
            }
            // Whatever was left behind is in nobody's way.
            if found == before {
                change(folder).unwrap();
                assert_eq!(held(folder), after, "{name}, step {step}, once more");
            }
            if is_finished {
                break;
            }
        }
        assert!(outcomes.0 >= 4 && outcomes.1 >= 1, "{name}: {outcomes:?}");
    }
}

#[test]
fn a_disk_that_fails_at_any_step_leaves_the_old_or_the_new_state() {
    at_every_step(|index, folder, step| {
        fail_after(Some((step, Failure::Error)));
        let made = CHANGES[index].2(folder);
        fail_after(None);
        made.is_ok()
    });
}

#[test]
fn a_process_that_dies_at_any_step_leaves_the_old_or_the_new_state() {
    const PLACE: &str = "CROSSOVER_HRR_TEST_DIES";
    const NAME: &str =
        "store::tests::killed::a_process_that_dies_at_any_step_leaves_the_old_or_the_new_state";
    if let Ok(place) = std::env::var(PLACE) {
        let mut parts = place.splitn(3, ' ');
        let mut number = || parts.next().unwrap().parse::<usize>().unwrap();
        let (index, step) = (number(), number());
        fail_after(Some((step, Failure::Death)));
        CHANGES[index].2(Path::new(parts.next().unwrap())).unwrap();
        return;
    }
    at_every_step(|index, folder, step| {
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.args([NAME, "--exact", "--nocapture"]).stdout(Stdio::null()).stderr(Stdio::null());
        program.env(PLACE, format!("{index} {step} {}", folder.display())).status().unwrap().success()
    });
}

#[test]
fn a_memory_that_could_not_be_saved_can_be_saved_again() {
    for step in 0.. {
        let folder = tempdir().unwrap();
        let mut memory = memory(&["a", "b"]);
        memory.save(folder.path()).unwrap();
        memory.remove("a").unwrap();
        memory.add("c").unwrap();
        fail_after(Some((step, Failure::Error)));
        let saved = memory.save(folder.path());
        fail_after(None);
        if saved.is_ok() {
            return;
        }
        memory.save(folder.path()).unwrap();
        assert_eq!(ItemMemory::open(folder.path()).unwrap().names(), ["b", "c"], "step {step}");
    }
}

#[test]
fn of_writers_that_create_one_store_one_does() {
    for _ in 0..20 {
        let folder = tempdir().unwrap();
        let made: Vec<bool> = std::thread::scope(|scope| {
            let write = |i: usize| {
                let notes = Notes::from([("writer".to_string(), i.to_string())]);
                Store::create(folder.path(), "test", notes)
            };
            let writers: Vec<_> = (0..4).map(|i| scope.spawn(move || write(i).is_ok())).collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        assert_eq!(made.iter().filter(|made| **made).count(), 1, "{made:?}");
        let store = Store::open(folder.path()).unwrap();
        assert!(made[store.notes()["writer"].parse::<usize>().unwrap()]);
        assert!(store.verify().unwrap().is_intact());
    }
}

#[test]
fn a_process_that_is_killed_leaves_a_state_that_opens() {
    const WRITER: &str = "CROSSOVER_HRR_TEST_WRITER";
    const NAME: &str = "store::tests::killed::a_process_that_is_killed_leaves_a_state_that_opens";
    if let Some(folder) = std::env::var_os(WRITER) {
        let mut store = Store::open(folder).unwrap();
        loop {
            store.append("more", &[("x", &Array::arange(300))], Notes::new()).unwrap();
        }
    }
    let folder = tempdir().unwrap();
    small(folder.path());
    let mut before = Store::open(folder.path()).unwrap().len();
    for round in 0..4u64 {
        let mut writer = std::process::Command::new(std::env::current_exe().unwrap())
            .args([NAME, "--exact", "--nocapture"])
            .env(WRITER, folder.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        // Readers need no lock; one sees the writer at work.
        let start = std::time::Instant::now();
        while Store::open(folder.path()).unwrap().len() <= before && start.elapsed().as_secs() < 60 {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        std::thread::sleep(std::time::Duration::from_micros(700 * round));
        writer.kill().unwrap();
        writer.wait().unwrap();
        let found = contents(folder.path()).unwrap().len() - 1;
        assert!(found > before, "what was done is not undone");
        assert!(Store::verify_folder(folder.path()).unwrap().is_intact());
        before = found;
    }
}
