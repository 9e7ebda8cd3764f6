//! `crossover hrr` from outside.
#![allow(clippy::unwrap_used)]

use std::{
    path::PathBuf,
    process::{Command, Output},
};

use serde_json::Value;

fn hrr(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_crossover")).arg("hrr").args(arguments).output().unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = hrr(&[arguments, &["--json"]].concat());
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("crossover-cli-hrr-{name}-{}", std::process::id()));
    std::fs::remove_dir_all(&folder).ok();
    folder
}

#[test]
fn a_memory_is_made_asked_verified_and_exported() {
    let place = folder("life");
    let store = place.join("words");
    let words = store.to_str().unwrap();
    assert_eq!(json(&["create", words, "--d", "2048"])["items"], 0);
    let names = ["capital", "money", "Washington", "dollar", "peso", "Mexico City"];
    assert_eq!(json(&[&["add", words][..], &names].concat())["items"], 6);
    let question = "(capital*Washington + money*dollar) / capital";
    assert_eq!(json(&["query", words, question])["matches"][0]["name"], "Washington");
    let analogy = "(capital*\"Mexico City\" + money*peso) / ((capital*Washington + money*dollar) / dollar)";
    let best = json(&["query", words, analogy, "--top", "2", "--threshold", "0.05"]);
    assert_eq!(best["matches"][0]["name"], "peso", "{best}");
    let unknown = hrr(&["query", words, "capital*money"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stdout).starts_with("unknown"));
    assert_eq!(json(&["verify", words])["intact"], true);
    let file = place.join("words.safetensors");
    assert!(hrr(&["export", words, file.to_str().unwrap()]).status.success());
    assert!(std::fs::metadata(&file).unwrap().len() > 6 * 2048 * 4);
    // Names that are there, and expressions that are none, are refused with what is wrong.
    let taken = hrr(&["add", words, "peso"]);
    assert!(String::from_utf8_lossy(&taken.stderr).contains("named \"peso\" already"));
    let unclosed = hrr(&["query", words, "(peso"]);
    assert!(String::from_utf8_lossy(&unclosed.stderr).contains("bracket"));
    std::fs::remove_dir_all(place).ok();
}

#[test]
fn damage_is_told_and_the_rest_salvaged() {
    let place = folder("damage");
    let store = place.join("words");
    let words = store.to_str().unwrap();
    json(&["create", words, "--d", "64", "--model", "map"]);
    json(&["add", words, "a", "b"]);
    json(&["add", words, "c"]);
    let segment = store.join("000002.safetensors");
    let mut bytes = std::fs::read(&segment).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 4;
    std::fs::write(&segment, bytes).unwrap();
    assert_eq!(hrr(&["query", words, "a"]).status.code(), Some(1));
    let saved = place.join("saved");
    let report = json(&["verify", words, "--salvage", saved.to_str().unwrap()]);
    assert_eq!((&report["intact"], &report["salvaged"]), (&false.into(), &2.into()), "{report}");
    assert_eq!(json(&["query", saved.to_str().unwrap(), "b"])["matches"][0]["name"], "b");
    std::fs::remove_dir_all(place).ok();
}

#[test]
fn what_cannot_be_done_is_told_and_the_rest_is_done() {
    let place = folder("odd");
    let store = place.join("words");
    let words = store.to_str().unwrap();
    // c128 is exported as what the file format has.
    json(&["create", words, "--d", "8", "--model", "fhrr", "--dtype", "c128"]);
    let mut add = Command::new(env!("CARGO_BIN_EXE_crossover"))
        .args(["hrr", "add", words, "--json"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut add.stdin.take().unwrap(), "a\r\n\nb b\n\n".as_bytes()).unwrap();
    let added: Value = serde_json::from_slice(&add.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(added["items"], 2);
    let file = place.join("words.safetensors");
    assert_eq!(json(&["export", words, file.to_str().unwrap()])["items"], 2);
    assert!(std::fs::metadata(&file).unwrap().len() > 2 * 16 * 8);
    let unclosed = hrr(&["query", words, "\"b b"]);
    assert!(String::from_utf8_lossy(&unclosed.stderr).contains("not closed"));
    let again = hrr(&["create", words]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("is a store already"));
    // Nothing can be salvaged, and the damage is told all the same.
    std::fs::write(store.join("history"), "nonsense").unwrap();
    let saved = place.join("saved");
    let report = json(&["verify", words, "--salvage", saved.to_str().unwrap()]);
    assert_eq!((&report["intact"], &report["salvaged"]), (&false.into(), &Value::Null), "{report}");
    let failed = hrr(&["verify", words, "--salvage", saved.to_str().unwrap()]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&failed.stdout).contains("damaged: history"));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("salvaging"));
    assert!(!saved.exists());
    std::fs::remove_dir_all(place).ok();
}

#[test]
fn pairs_are_stored_recalled_verified_and_salvaged() {
    let place = folder("pairs");
    let (store, capitals) = (place.join("words"), place.join("capitals"));
    let (words, pairs) = (store.to_str().unwrap(), capitals.to_str().unwrap());
    json(&["create", words, "--d", "512"]);
    json(&["add", words, "France", "Paris", "Japan", "Tokyo", "Peru"]);
    let stored = json(&["store", pairs, words, "France", "Paris"]);
    assert_eq!(
        (&stored["pairs"], &stored["items"], &stored["reliable"]),
        (&1.into(), &5.into(), &true.into())
    );
    assert_eq!(json(&["store", pairs, words, "Japan", "Tokyo"])["pairs"], 2);
    let recalled = json(&["recall", pairs, words, "Japan", "France"]);
    assert_eq!(
        (&recalled["answers"][0]["value"], &recalled["answers"][1]["value"]),
        (&"Tokyo".into(), &"Paris".into())
    );
    let unknown = hrr(&["recall", pairs, words, "Peru", "--threshold", "0.5"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stdout).starts_with("unknown  Peru"));
    let odd = hrr(&["store", pairs, words, "France", "Paris", "Peru"]);
    assert!(String::from_utf8_lossy(&odd.stderr).contains("\"Peru\" has no value"));
    assert!(
        String::from_utf8_lossy(&hrr(&["store", words, words, "France", "Paris"]).stderr)
            .contains("item memory")
    );
    assert_eq!(json(&["verify", pairs])["intact"], true);
    let segment = capitals.join("000002.safetensors");
    let mut bytes = std::fs::read(&segment).unwrap();
    *bytes.last_mut().unwrap() ^= 4;
    std::fs::write(&segment, bytes).unwrap();
    let saved = place.join("saved");
    let report = json(&["verify", pairs, "--salvage", saved.to_str().unwrap()]);
    assert_eq!((&report["intact"], &report["salvaged"]), (&false.into(), &1.into()), "{report}");
    assert_eq!(json(&["recall", saved.to_str().unwrap(), words, "France"])["answers"][0]["value"], "Paris");
    std::fs::remove_dir_all(place).ok();
}

#[test]
fn expressions_may_be_deep_and_thresholds_negative() {
    let place = folder("deep");
    let words = place.to_str().unwrap();
    json(&["create", words, "--d", "64"]);
    json(&["add", words, "a", "b"]);
    let all = json(&["query", words, "a", "--top", "2", "--threshold", "-1"]);
    assert_eq!(all["matches"].as_array().unwrap().len(), 2, "{all}");
    let deep = hrr(&["query", words, &format!("{}a{}", "(".repeat(60_000), ")".repeat(60_000))]);
    assert_eq!(deep.status.code(), hrr(&["query", words, "nobody"]).status.code());
    assert!(String::from_utf8_lossy(&deep.stderr).contains("100 brackets"));
    std::fs::remove_dir_all(place).ok();
}
