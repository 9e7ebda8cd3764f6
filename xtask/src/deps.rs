//! Dependency direction: a crate may only depend on crates strictly below it.
//!
//! What always holds when this passes: no cycles of responsibility, backends that do not know each
//! other, planning and code generation without threads or devices.

use anyhow::Result;

use crate::step::Finding;
use crate::workspace::{Metadata, Package};

/// The layers, bottom first. Crates of one layer never see each other.
const LAYERS: [&[&str]; 9] = [
    &["crossover-core", "crossover-macros"],
    &["crossover-io", "crossover-plan"],
    &["crossover-codegen", "crossover-runtime"],
    &["crossover-cpu", "crossover-cuda"],
    &["crossover-array"],
    &[
        "crossover-nn",
        "crossover-hrr",
        "crossover-embed",
        "crossover-lattice",
        "crossover-reservoir",
        "crossover-profile",
    ],
    &["crossover"],
    &["crossover-cli", "crossover-py"],
    // Developer commands start the others as programs; they link none of them.
    &["xtask"],
];

/// Pairs that the layers would allow and the design does not.
const FORBIDDEN: [(&str, &str, &str); 2] = [
    ("crossover-cpu", "crossover-codegen", "CUDA text is no concern of the CPU backend"),
    ("xtask", "*", "developer commands must build when the crates do not"),
];

/// The step of `cargo xtask check`.
pub fn check() -> Result<Finding> {
    let packages = Metadata::read()?.packages;
    let offences = offences(&packages);
    let note = format!("{} crates", packages.len());
    Ok(Finding::judge(
        &offences,
        note,
        "move the shared part down to the lower crate, or invert the call with a trait; the order is in xtask/src/deps.rs",
    ))
}

fn offences(packages: &[Package]) -> Vec<String> {
    let mut found = Vec::new();
    for package in packages {
        let Some(own) = layer(&package.name) else {
            found.push(format!("{} has no layer; give it one in xtask/src/deps.rs", package.name));
            continue;
        };
        for dependency in &package.dependencies {
            let Some(other) = layer(&dependency.name) else { continue };
            let kind = dependency.kind.as_deref().map(|kind| format!(" ({kind})")).unwrap_or_default();
            let edge = format!("{} -> {}{kind}", package.name, dependency.name);
            if other >= own {
                found.push(format!("{edge}: not strictly below it"));
            }
            for (from, to, why) in FORBIDDEN {
                if from == package.name && (to == dependency.name || to == "*") {
                    found.push(format!("{edge}: {why}"));
                }
            }
        }
    }
    found
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Dependency;

    fn package(name: &str, dependencies: &[&str]) -> Package {
        let dependency = |name: &&str| Dependency { name: (*name).to_owned(), ..Dependency::default() };
        let dependencies = dependencies.iter().map(dependency).collect();
        Package { name: name.to_owned(), dependencies, ..Package::default() }
    }

    #[test]
    fn the_designed_edges_are_allowed() {
        let packages = [
            package("crossover-plan", &["crossover-core", "smallvec"]),
            package("crossover-cpu", &["crossover-core", "crossover-plan", "crossover-runtime", "gemm"]),
            package("crossover-cuda", &["crossover-codegen", "crossover-runtime"]),
            package("crossover-array", &["crossover-cpu", "crossover-cuda"]),
            package("crossover-cli", &["crossover"]),
        ];
        assert_eq!(offences(&packages), Vec::<String>::new());
    }

    #[test]
    fn neighbours_and_upward_edges_are_refused() {
        for (from, to) in [
            ("crossover-cpu", "crossover-cuda"),
            ("crossover-codegen", "crossover-runtime"),
            ("crossover-core", "crossover-plan"),
            ("crossover-nn", "crossover-hrr"),
            ("crossover-runtime", "crossover-array"),
            ("crossover-cpu", "crossover-codegen"),
            ("xtask", "crossover-core"),
        ] {
            assert_eq!(offences(&[package(from, &[to])]).len(), 1, "{from} -> {to}");
        }
    }

    #[test]
    fn a_crate_without_a_layer_is_named() {
        assert_eq!(
            offences(&[package("crossover-new", &[])]),
            ["crossover-new has no layer; give it one in xtask/src/deps.rs"]
        );
    }
}
