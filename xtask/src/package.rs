//! Whether every published crate can be packaged: its manifest is complete, and the files it needs are in it.

use anyhow::{Context, Result};

use crate::{
    step::Finding,
    workspace::{self, Metadata},
};

/// Builds what the registry would get, for all crates at once, and looks at the manifests.
///
/// The crates are not built from their packages here, which takes minutes; `cargo package --workspace --exclude xtask`
/// does so.
pub fn check() -> Result<Finding> {
    let metadata = Metadata::read()?;
    let published: Vec<_> = metadata.packages.iter().filter(|package| package.is_published()).collect();
    let mut offences = Vec::new();
    for package in &published {
        let fields = [
            ("description", &package.description),
            ("license", &package.license),
            ("readme", &package.readme),
            ("rust-version", &package.rust_version),
        ];
        for (name, value) in fields {
            if value.as_ref().is_none_or(String::is_empty) {
                offences.push(format!("{}: no {name} in its Cargo.toml", package.name));
            }
        }
        // A path without a version cannot be published; within the workspace every dependency has both.
        let open =
            package.dependencies.iter().filter(|d| d.kind.as_deref() != Some("dev") && d.requirement == "*");
        offences.extend(open.map(|d| format!("{}: the dependency {} has no version", package.name, d.name)));
    }
    let mut command = workspace::cargo();
    command.args(["package", "--workspace", "--no-verify", "--allow-dirty", "--offline", "--quiet"]);
    for package in metadata.packages.iter().filter(|package| !package.is_published()) {
        command.args(["--exclude", &package.name]);
    }
    let output = command.output().context("could not start cargo")?;
    if !output.status.success() {
        offences.push(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(Finding::judge(&offences, format!("{} crates", published.len()), "complete the manifests named above"))
}
