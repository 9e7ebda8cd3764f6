//! What the documents say, held against the code.

use crossover_core::ops::MapOp;

fn read(path: &str) -> String {
    let full = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&full).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Names in documents may be shorter than in the table.
fn spoken(op: MapOp) -> &'static str {
    if op == MapOp::Modulus { "abs of a complex number" } else { op.name() }
}

#[test]
fn the_table_of_errors_promises_no_less_than_ops_declare() {
    let page = read("docs/exactness.md");
    let rows: Vec<(&str, &str)> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | "))
        .filter(|(_, error)| error.ends_with("ulp"))
        .collect();
    for &op in MapOp::ALL.iter().filter(|op| op.info().max_ulp > 0.0) {
        let stated = rows.iter().find(|(names, _)| {
            names.split(", ").any(|name| name == spoken(op) || name.starts_with(&format!("{} (", spoken(op))))
        });
        let bound: Option<f64> = stated.and_then(|row| row.1.strip_suffix(" ulp")?.parse().ok());
        let declared = op.info().max_ulp;
        assert!(
            bound.is_some_and(|bound| declared <= bound),
            "{op}: docs/exactness.md says {bound:?}, the op {declared}"
        );
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    for page in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "docs/configuration.md",
        "docs/exactness.md",
        "docs/json.md",
        "docs/memory.md",
        "docs/monitoring.md",
        "docs/profiling.md",
        "docs/python.md",
        "docs/troubleshooting.md",
        "docs/placement.md",
        "crates/crossover-plan/README.md",
    ] {
        let folder = std::path::Path::new(page).parent().expect("a file has a folder");
        for link in read(page).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or("");
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let path =
                std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder).join(target);
            assert!(path.exists(), "{page} links to {link}");
        }
    }
}

#[test]
fn the_readme_has_the_sections_that_commands_fill() {
    let readme = read("README.md");
    for name in ["bench", "tour"] {
        let begin = readme.find(&format!("<!-- {name}:begin -->"));
        let end = readme.find(&format!("<!-- {name}:end -->"));
        assert!(begin.is_some() && begin < end, "{name}");
    }
}

#[test]
fn every_setting_is_in_the_table_with_its_variable() {
    let page = read("docs/configuration.md");
    let settings = crossover::Runtime::builder().build().expect("settings are right").settings();
    for setting in settings {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{}`", setting.name)));
        let row = row.unwrap_or_else(|| panic!("{} is not in docs/configuration.md", setting.name));
        assert!(row.contains(setting.variable), "{row}");
    }
}
