//! Embedders in files: safetensors, with the configuration in its metadata.

use std::{collections::BTreeMap, path::Path};

use crossover_array::io;

use crate::{EmbedConfig, Embedder, Error, Layout, Precision, Result};

const FORMAT: (&str, &str) = ("crossover_embed", "1");

impl Embedder {
    /// Saves table, relative rows and configuration to a safetensors file. Where to compute is no part of it.
    ///
    /// ```
    /// use crossover_embed::{EmbedConfig, Embedder, Precision};
    /// let path = std::env::temp_dir().join(format!("crossover-embedder-{}.safetensors", std::process::id()));
    /// let embedder = Embedder::new(EmbedConfig::new(100, 8).relative(3).precision(Precision::MixedF16))?;
    /// embedder.save(&path)?;
    /// let again = Embedder::load(&path)?;
    /// assert_eq!(again.config(), embedder.config());
    /// # std::fs::remove_file(&path).ok();
    /// # Ok::<(), crossover_embed::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.save_with(path.as_ref(), &[])
    }

    /// As [`save`](Embedder::save), with more metadata.
    pub(crate) fn save_with(&self, path: &Path, more: &[(&str, &str)]) -> Result<()> {
        let config = &self.config;
        let mut metadata = vec![
            (FORMAT.0, FORMAT.1.to_string()),
            ("layout", config.layout.name().to_string()),
            ("precision", config.precision.name().to_string()),
            ("fusion", config.fusion.to_string()),
            ("seed", config.seed.to_string()),
        ];
        // Written so that reading gives the same number.
        for (name, value) in numbers(config) {
            metadata.push((name, format!("{value:?}")));
        }
        if let Some(window) = config.relative {
            metadata.push(("relative", window.to_string()));
        }
        let settings = metadata.iter().map(|(name, value)| (*name, value.as_str()));
        let metadata: Vec<(&str, &str)> = settings.chain(more.iter().copied()).collect();
        let mut arrays = vec![("table", &self.table)];
        arrays.extend(self.relative.as_ref().map(|rows| ("relative", rows)));
        Ok(io::save_safetensors(path, &arrays, &metadata)?)
    }

    /// Loads what [`save`](Embedder::save) has saved.
    pub fn load(path: impl AsRef<Path>) -> Result<Embedder> {
        Embedder::load_with(path.as_ref()).map(|(embedder, _)| embedder)
    }

    /// As [`load`](Embedder::load), with all metadata of the file.
    pub(crate) fn load_with(path: &Path) -> Result<(Embedder, BTreeMap<String, String>)> {
        let file = path.display().to_string();
        let wrong = |what: &str| Error::Corrupt { file: file.clone(), what: what.to_string() };
        let metadata = io::safetensors_metadata(path)?;
        let arrays = io::load_safetensors(path)?;
        if metadata.get(FORMAT.0).map(String::as_str) != Some(FORMAT.1) {
            return Err(wrong("its metadata is not that of an embedder"));
        }
        let table = arrays.get("table").ok_or_else(|| wrong("it has no array `table`"))?;
        let &[vocabulary, dimensions] = table.shape().dims() else {
            return Err(wrong("its table does not have two axes"));
        };
        let config = read(&metadata, EmbedConfig::new(vocabulary, dimensions));
        let config = config.ok_or_else(|| wrong("a setting in its metadata cannot be read"))?;
        let mut made = Embedder::from_table(config, table)?;
        if made.config.relative.is_some() {
            made.set_relative(arrays.get("relative").ok_or_else(|| wrong("it has no array `relative`"))?)?;
        }
        Ok((made, metadata))
    }
}

fn numbers(config: &EmbedConfig) -> [(&'static str, f64); 5] {
    [
        ("base", config.base),
        ("scale", config.scale),
        ("phase", config.phase),
        ("shift", config.shift),
        ("temperature", config.temperature),
    ]
}

fn read(metadata: &BTreeMap<String, String>, mut config: EmbedConfig) -> Option<EmbedConfig> {
    let number = |name: &str| metadata.get(name)?.parse::<f64>().ok();
    config.layout = Layout::named(metadata.get("layout")?)?;
    config.precision = Precision::named(metadata.get("precision")?)?;
    config.fusion = metadata.get("fusion")?.parse().ok()?;
    config.seed = metadata.get("seed")?.parse().ok()?;
    config.base = number("base")?;
    config.scale = number("scale")?;
    config.phase = number("phase")?;
    config.shift = number("shift")?;
    config.temperature = number("temperature")?;
    config.relative = match metadata.get("relative") {
        Some(window) => Some(window.parse().ok()?),
        None => None,
    };
    Some(config)
}
