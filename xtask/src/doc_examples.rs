//! Examples in the documentation of what crate `crossover` exports: names, modules, and other crates as a whole.
//!
//! Reads sources, not compiled documentation: an item counts as shown when its own documentation has a code block, or when
//! that of its type has one in which the item is named. Fields, variants, trait impls, what macros make, and methods of types that
//! their crate keeps to itself are not looked at.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use crate::sources::{self, Source};
use crate::step::Finding;

/// Crates and modules that the facade exports whole, and how many of their items have no example; these numbers may only
/// fall. Names that it lists all have one.
const WHOLE: [(&str, usize); 6] = [
    ("crossover_core::custom", 0),
    ("crossover_embed", 0),
    ("crossover_hrr", 0),
    ("crossover_lattice", 0),
    ("crossover_nn", 0),
    ("crossover_profile", 0),
];
/// The facade, whose list of names says what is exported.
const FACADE: &str = "crates/crossover/src/lib.rs";
/// Where exported items are defined; of a name that two crates have, the first one's is exported.
const CRATES: [&str; 5] =
    ["crossover-array", "crossover-core", "crossover-runtime", "crossover-cpu", "crossover-cuda"];
/// What needs no example, each with why; a type stands for its methods.
const ALLOWED: [(&str, &str); 2] = [("Arrays", "an alias"), ("Result", "an alias")];

/// One public item.
struct Item {
    /// `Type::method`, or a name.
    name: String,
    /// Its documentation.
    doc: String,
}

impl Item {
    fn has_example(&self) -> bool {
        self.doc.contains("```")
    }

    /// Name of the type for a method, its own for anything else.
    fn owner(&self) -> &str {
        self.name.split("::").next().unwrap_or(&self.name)
    }
}

/// Items with an example, and those without by file.
#[derive(Default)]
struct Tally {
    shown: usize,
    lacking: BTreeMap<String, Vec<String>>,
}

impl Tally {
    fn see(&mut self, path: &str, item: &Item, beside: &[Item]) {
        if is_shown(item, beside) {
            self.shown += 1;
        } else {
            self.lacking.entry(path.to_owned()).or_default().push(item.name.clone());
        }
    }

    fn count(&self) -> usize {
        self.lacking.values().map(Vec::len).sum()
    }

    /// What is wrong when at most `most` items may lack an example.
    fn offences(&self, what: &str, most: usize) -> Vec<String> {
        let count = self.count();
        if count < most {
            let fall = "lower its number in xtask/src/doc_examples.rs";
            return vec![format!("{count} items of {what} lack an example: {fall} from {most}")];
        }
        let mut lines = Vec::new();
        if count > most {
            lines.extend(self.lacking.iter().map(|(path, names)| format!("{path}: {}", names.join(", "))));
            lines.push(format!("{count} items of {what} lack an example, at most {most}"));
        }
        lines
    }
}

/// The step of `cargo xtask check`.
pub fn check() -> Result<Finding> {
    let all = sources::with_extensions(&["rs"])?;
    let facade = all.iter().find(|source| source.path.to_str() == Some(FACADE)).context(FACADE)?;
    let listed = listed(&all, &exported(&facade.text));
    let mut offences = listed.offences("the list of names", 0);
    let (mut shown, mut lacking) = (listed.shown, listed.count());
    let found = whole(&facade.text);
    if found.iter().map(String::as_str).ne(WHOLE.iter().map(|(name, _)| *name)) {
        offences.push(format!("{FACADE} exports {found:?} whole: say so in xtask/src/doc_examples.rs"));
    }
    for (name, most) in WHOLE {
        let tally = everything(&all, name);
        offences.extend(tally.offences(name, most));
        (shown, lacking) = (shown + tally.shown, lacking + tally.count());
    }
    Ok(Finding::judge(
        &offences,
        format!("{shown} items have an example, {lacking} have none"),
        "add a short example that runs",
    ))
}

/// What the facade lists by name.
fn listed(all: &[Source], exported: &BTreeSet<String>) -> Tally {
    let mut tally = Tally::default();
    let mut defined = BTreeSet::new();
    for name in CRATES {
        let folder = format!("crates/{name}/src/");
        let mut here = BTreeSet::new();
        for source in all.iter().filter(|source| source.path.starts_with(&folder)) {
            let path = source.path.display().to_string();
            let module = path[folder.len()..].split(['/', '.']).next().unwrap_or_default().to_owned();
            let whole = name == CRATES[0] && exported.contains(&module);
            let items = items(source);
            for item in &items {
                let owner = item.owner();
                // Modules have names in small letters too, and so have functions of other crates.
                let ours = name == CRATES[0] || owner.starts_with(char::is_uppercase);
                let wanted = whole || (ours && exported.contains(owner) && !defined.contains(owner));
                if wanted && !ALLOWED.iter().any(|(allowed, _)| *allowed == owner) {
                    here.insert(owner.to_owned());
                    tally.see(&path, item, &items);
                }
            }
        }
        defined.append(&mut here);
    }
    tally
}

/// All of a crate (`crossover_nn`) or of one of its modules (`crossover_core::custom`).
fn everything(all: &[Source], name: &str) -> Tally {
    let mut tally = Tally::default();
    let (library, module) = name.split_once("::").unwrap_or((name, ""));
    let folder = format!("crates/{}/src/{module}", library.replace('_', "-"));
    let inside = |source: &&Source| source.path.starts_with(&folder) && !is_for_tests(source);
    for source in all.iter().filter(inside) {
        let items = items(source);
        for item in items.iter().filter(|item| !ALLOWED.iter().any(|(allowed, _)| *allowed == item.owner())) {
            tally.see(&source.path.display().to_string(), item, &items);
        }
    }
    tally
}

/// Whether the file is a module of tests.
fn is_for_tests(source: &Source) -> bool {
    let is_tests = |part: &std::ffi::OsStr| part == "tests" || part == "tests.rs";
    source.path.iter().any(is_tests)
}

/// The crates and modules of crates that the facade exports whole, unless it hides them: `pub use crossover_nn as nn`,
/// `pub use crossover_profile::*`, `pub use crossover_core::custom`.
fn whole(facade: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut hidden = false;
    for line in facade.lines().map(str::trim) {
        let rest = line.strip_prefix("pub use crossover_").and_then(|rest| rest.strip_suffix(';'));
        if let Some(rest) = rest.filter(|_| !hidden) {
            let name = rest.split(" as ").next().unwrap_or(rest).trim_end_matches("::*");
            let last = name.rsplit("::").next().unwrap_or(name);
            // A type is one item, shown where it is exported.
            if last.starts_with(char::is_lowercase) {
                found.insert(format!("crossover_{name}"));
            }
        }
        hidden = line == "#[doc(hidden)]" || (hidden && line.starts_with('#'));
    }
    found.remove("crossover_macros::profiled");
    found
}

/// The names in the facade's `pub use crossover_array::{…}`.
fn exported(facade: &str) -> BTreeSet<String> {
    let list = facade.split_once("pub use crossover_array::{").and_then(|(_, rest)| rest.split_once("};"));
    let words = list.map_or("", |(list, _)| list).split(',').map(str::trim);
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn is_shown(item: &Item, beside: &[Item]) -> bool {
    let Some((owner, method)) = item.name.split_once("::") else { return item.has_example() };
    let named =
        |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == method);
    item.has_example() || beside.iter().any(|i| i.name == owner && i.has_example() && named(&code(&i.doc)))
}

/// What stands in code blocks.
fn code(doc: &str) -> String {
    doc.split("```").skip(1).step_by(2).collect()
}

/// The public items of a file and the public methods of its types, but for tests.
fn items(source: &Source) -> Vec<Item> {
    let (mut found, mut doc, mut owner) = (Vec::<Item>::new(), String::new(), None::<String>);
    let mut hidden = BTreeSet::new();
    for line in source.text.lines() {
        if line.starts_with("#[cfg(test)]") {
            break;
        }
        let text = line.trim();
        if text.starts_with("///") || text.starts_with("#[") {
            doc.push_str(text);
            doc.push('\n');
            continue;
        }
        if line.starts_with('}') {
            owner = None;
        } else if line.starts_with("impl") {
            owner = inherent(line);
        } else if let Some(name) = private(line) {
            hidden.insert(name);
        } else if let Some(name) = public(text) {
            let nested = line.starts_with(' ');
            let item = |name: String| Item { name, doc: doc.clone() };
            match &owner {
                Some(owner) if text.contains("fn ") => found.push(item(format!("{owner}::{name}"))),
                None if !nested => found.push(item(name.to_owned())),
                _ => {}
            }
        }
        if !text.is_empty() {
            doc.clear();
        }
    }
    found.retain(|item| !hidden.contains(item.owner()));
    found
}

/// The type of an `impl` that is not one of a trait.
fn inherent(line: &str) -> Option<String> {
    // Bounds may be functions, whose arrows are no end of the parameters.
    let line = line.replace("-> ", "");
    let rest = line.strip_prefix("impl")?;
    let rest = if rest.starts_with('<') { rest.split_once("> ")?.1 } else { rest };
    let one = !rest.contains(" for ") && !line.ends_with('}');
    let name: String = rest.trim_start().chars().take_while(|c| c.is_alphanumeric()).collect();
    (one && !name.is_empty()).then_some(name)
}

/// The name of a type that a line defines for some.
fn private(line: &str) -> Option<&str> {
    let rest = match line.strip_prefix("pub(") {
        Some(rest) => rest.split_once(") ")?.1,
        None => line,
    };
    let rest = rest.strip_prefix("struct ").or_else(|| rest.strip_prefix("enum "))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// The name that a line defines for everybody.
fn public(text: &str) -> Option<&str> {
    let mut rest = text.strip_prefix("pub ")?;
    for word in ["const ", "unsafe "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let kinds = ["fn ", "struct ", "enum ", "trait ", "type "];
    let rest = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_of_the_type_shows_the_methods_it_names() {
        let text = "/// A shape.\n/// ```\n/// Shape::new().rank();\n/// ```\npub struct Shape;\n\nimpl Shape {\n    /// A.\n    pub \
                    fn new() -> Shape {\n    }\n\n    /// Not mentioned.\n    pub const fn size(&self) -> usize {\n    }\n\n    fn own(&self) \
                    {}\n}\n\nimpl Clone for Shape {\n    pub fn odd() {}\n}\n\n/// Free.\npub fn free() {}\n#[cfg(test)]\npub fn test() {}\n";
        let items = items(&Source { path: "a.rs".into(), text: text.to_owned() });
        let names: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
        assert_eq!(names, ["Shape", "Shape::new", "Shape::size", "free"]);
        let shown: Vec<bool> = items.iter().map(|item| is_shown(item, &items)).collect();
        assert_eq!(shown, [true, true, false, false]);
    }

    #[test]
    fn methods_of_types_that_nobody_else_sees_are_left_out() {
        let text = "pub(crate) struct Steps<T> {\n}\n\nimpl<T> Steps<T> {\n    pub fn new() {}\n}\n\nenum Own {\n}\n\nimpl Own {\n    pub fn \
                    of() {}\n}\n\npub struct Shown;\n\nimpl Shown {\n    pub fn all() {}\n}\n";
        let items = items(&Source { path: "a.rs".into(), text: text.to_owned() });
        let names: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
        assert_eq!(names, ["Shown", "Shown::all"]);
    }

    #[test]
    fn the_facade_lists_names() {
        let names =
            exported("pub use crossover_array::{\n    Alert, Array,\n    fft,\n};\npub use other::X;");
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["Alert", "Array", "fft"]);
    }

    #[test]
    fn what_is_exported_whole_is_known_unless_it_is_hidden() {
        let text = "pub use crossover_array::{\n    Alert,\n};\n#[cfg(feature = \"nn\")]\npub use crossover_nn as nn;\n#[doc(hidden)]\npub use \
                    crossover_plan as plan;\npub use crossover_core::custom;\n    pub use crossover_core::Error as Invalid;\nmod profile {\n    pub use crossover_profile::*;\n}\n";
        let names = whole(text);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(names, ["crossover_core::custom", "crossover_nn", "crossover_profile"]);
    }

    #[test]
    fn the_number_without_an_example_may_only_fall() {
        let mut tally = Tally::default();
        let text = "/// Bare.\npub struct Bare;\n/// ```\n/// ```\npub struct Shown;\n";
        let items = items(&Source { path: "a.rs".into(), text: text.to_owned() });
        items.iter().for_each(|item| tally.see("a.rs", item, &items));
        assert_eq!((tally.shown, tally.count()), (1, 1));
        assert_eq!(tally.offences("it", 1), Vec::<String>::new());
        assert_eq!(tally.offences("it", 0).len(), 2);
        assert!(tally.offences("it", 2)[0].contains("from 2"));
    }
}
