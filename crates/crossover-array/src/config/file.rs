//! Settings in TOML files: `name = value`, one per line.

use std::path::{Path, PathBuf};

use crossover_runtime::Error;
use toml::de::{DeTable, DeValue};

use super::{
    Layer, Origin,
    keys::{ALIASES, KEYS, nearest},
};

/// The file of a project's, in the current directory.
const PROJECT: &str = "crossover.toml";

/// Where to look, the more important first.
pub(crate) fn paths() -> Vec<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(chosen) = std::env::var_os("CROSSOVER_CONFIG") {
        return if chosen.is_empty() || chosen == "off" { Vec::new() } else { vec![chosen.into()] };
    }
    let base = match std::env::consts::OS {
        "windows" => set("APPDATA"),
        "macos" => set("HOME").map(|home| home.join("Library/Application Support")),
        _ => set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config"))),
    };
    let user = base.map(|base| base.join("crossover").join("config.toml"));
    [Some(PathBuf::from(PROJECT)), user].into_iter().flatten().collect()
}

/// What a file says; `None` if it does not exist, unless it was asked for by name.
pub(crate) fn read(path: &Path) -> Result<Option<Layer>, Error> {
    match std::fs::read_to_string(path) {
        Ok(text) => parse(path, &text).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_named(path) => Ok(None),
        Err(error) => Err(Error::Io {
            file: path.display().to_string(),
            action: "read",
            kind: error.kind(),
            reason: error.to_string(),
        }),
    }
}

fn is_named(path: &Path) -> bool {
    std::env::var_os("CROSSOVER_CONFIG").is_some_and(|named| Path::new(&named) == path)
}

/// What the text of a file says.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Layer, Error> {
    let line = |at: usize| 1 + text.as_bytes().iter().take(at).filter(|&&b| b == b'\n').count();
    let wrong = |at: usize, key: &str, nearest: Option<&'static str>, what: String| Error::Setting {
        place: format!("{}, line {}", path.display(), line(at)),
        key: key.to_string(),
        nearest,
        what,
    };
    let table = DeTable::parse(text).map_err(|error| {
        wrong(error.span().map_or(0, |span| span.start), "", None, error.message().to_string())
    })?;
    let mut layer = Layer::default();
    for (key, value) in table.get_ref().iter() {
        let (name, at): (&str, usize) = (key.get_ref(), key.span().start);
        let known = KEYS.iter().map(|k| k.name).chain(ALIASES.iter().map(|a| a.name)).find(|k| *k == name);
        let Some(known) = known else {
            return Err(wrong(at, name, nearest(name), "there is no such setting".to_string()));
        };
        let value = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(on) => on.to_string(),
            _ => {
                let what = "its value is neither a string, a number nor true or false".to_string();
                return Err(wrong(at, name, None, what));
            }
        };
        let origin = Origin::File(path.to_path_buf(), line(at));
        layer.set(known, &value, origin).map_err(|what| wrong(at, name, None, what))?;
    }
    Ok(layer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse("crossover.toml".as_ref(), text).unwrap_err().to_string()
    }

    #[test]
    fn errors_name_file_line_key_and_the_nearest() {
        let unknown = error("# threads of the pool\n\nthread = 4\n");
        assert_eq!(
            unknown,
            "crossover.toml, line 3: thread: there is no such setting; did you mean threads?"
        );
        let value = error("fusion = true\nthreads = \"four\"\n");
        assert!(
            value.starts_with("crossover.toml, line 2: threads: \"four\" is no number of threads"),
            "{value}"
        );
        let kind = error("threads = [1, 2]\n");
        assert!(kind.contains("line 1: threads: its value is neither"), "{kind}");
        let syntax = error("fusion = true\nthreads = = 4\n");
        assert!(syntax.starts_with("crossover.toml, line 2: "), "{syntax}");
        assert!(error("[device]\n").contains("line 1: device"));
    }

    #[test]
    fn numbers_words_and_switches_are_read() {
        let layer =
            parse("x".as_ref(), "threads = 8\ngpu = false\nthreshold_gain = 12.5\nmemory_limit = '2GiB'\n");
        let settings = layer.unwrap().settings;
        assert_eq!((settings.threads, settings.threshold_gain), (Some(8), Some(12.5)));
        assert_eq!(settings.device, Some(crate::Device::Cpu));
    }
}
