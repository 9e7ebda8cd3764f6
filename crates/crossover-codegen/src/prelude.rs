//! The hand-written part of every source, cut into sections that are included only where they are used.

/// A section of `prelude.cuh` or `reductions.cuh`, in the order of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Section {
    Start,
    Quotient,
    Divide,
    Complex,
    Nan,
    F16,
    Bf16,
    Odd,
    Saturate,
    Trim,
    Apart,
    Philox,
    Pack,
    Stream,
    Entry,
    Table,
    Arg,
    Row,
    Column,
}

/// Both files one after the other: what reduces builds on the rest.
const FILE: &str = concat!(include_str!("prelude.cuh"), "\n", include_str!("reductions.cuh"));

impl Section {
    const ALL: [Section; 19] = [
        Section::Start,
        Section::Quotient,
        Section::Divide,
        Section::Complex,
        Section::Nan,
        Section::F16,
        Section::Bf16,
        Section::Odd,
        Section::Saturate,
        Section::Trim,
        Section::Apart,
        Section::Philox,
        Section::Pack,
        Section::Stream,
        Section::Entry,
        Section::Table,
        Section::Arg,
        Section::Row,
        Section::Column,
    ];

    /// The line that starts the section in the file.
    const fn marker(self) -> &'static str {
        match self {
            Section::Start => "// == start ==\n",
            Section::Quotient => "// == quotient ==\n",
            Section::Divide => "// == divide ==\n",
            Section::Complex => "// == complex ==\n",
            Section::Nan => "// == nan ==\n",
            Section::F16 => "// == f16 ==\n",
            Section::Bf16 => "// == bf16 ==\n",
            Section::Odd => "// == odd ==\n",
            Section::Saturate => "// == saturate ==\n",
            Section::Trim => "// == trim ==\n",
            Section::Apart => "// == apart ==\n",
            Section::Philox => "// == philox ==\n",
            Section::Pack => "// == pack ==\n",
            Section::Stream => "// == stream ==\n",
            Section::Entry => "// == entry ==\n",
            Section::Table => "// == table ==\n",
            Section::Arg => "// == arg ==\n",
            Section::Row => "// == row ==\n",
            Section::Column => "// == column ==\n",
        }
    }

    fn text(self) -> &'static str {
        let (_, after) = FILE.split_once(self.marker()).unwrap_or(("", ""));
        after.split("// == ").next().unwrap_or(after).trim_end()
    }
}

/// The texts of the sections asked for, in the order of the file.
pub(crate) fn text(wanted: &[Section]) -> Vec<String> {
    let chosen = Section::ALL.into_iter().filter(|s| wanted.contains(s));
    chosen.map(|s| format!("{}\n", s.text())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_is_in_the_file_once_and_in_order() {
        let places: Vec<_> = Section::ALL.iter().map(|s| FILE.find(s.marker()).unwrap()).collect();
        assert!(places.is_sorted());
        assert!(Section::ALL.iter().all(|s| FILE.matches(s.marker()).count() == 1 && !s.text().is_empty()));
    }
}
