//! Embedders in files: safetensors, with the configuration and a checksum of everything in its metadata.

use std::{collections::BTreeMap, path::Path};

use crossover_array::{Array, io};
use xxhash_rust::xxh3::Xxh3;

use crate::{EmbedConfig, Embedder, Error, Layout, Precision, Result};

/// The name of the format, and its version: files of version 1 have no checksum.
const FORMAT: (&str, [&str; 2]) = ("crossover_embed", ["1", "2"]);
const CHECKSUM: &str = "checksum";

impl Embedder {
    /// Saves table, relative rows and configuration to a safetensors file, with a checksum that [`load`](Embedder::load) verifies. Where to
    /// compute is no part of it.
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
            (FORMAT.0, FORMAT.1[1].to_string()),
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
        let mut arrays = vec![("table", &self.table)];
        arrays.extend(self.relative.as_ref().map(|rows| ("relative", rows)));
        metadata.extend(more.iter().map(|(name, value)| (*name, value.to_string())));
        let settings: BTreeMap<&str, &str> =
            metadata.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let sum = checksum(&settings, &arrays)?;
        metadata.push((CHECKSUM, sum));
        let metadata: Vec<(&str, &str)> =
            metadata.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Ok(io::save_safetensors(path, &arrays, &metadata)?)
    }

    /// Loads what [`save`](Embedder::save) has saved. A file of which a bit has changed is refused.
    ///
    /// ```
    /// use crossover_embed::{EmbedConfig, Embedder, Error};
    /// # let path = std::env::temp_dir().join(format!("crossover-embedder-load-{}.safetensors", std::process::id()));
    /// Embedder::new(EmbedConfig::new(10, 4))?.save(&path)?;
    /// let mut bytes = std::fs::read(&path)?;
    /// *bytes.last_mut().expect("a table") ^= 1; // a bit that a disk has lost
    /// std::fs::write(&path, bytes)?;
    /// assert!(matches!(Embedder::load(&path), Err(Error::Corrupt { .. })));
    /// # std::fs::remove_file(&path).ok();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load(path: impl AsRef<Path>) -> Result<Embedder> {
        Embedder::load_with(path.as_ref()).map(|(embedder, _)| embedder)
    }

    /// As [`load`](Embedder::load), with all metadata of the file.
    pub(crate) fn load_with(path: &Path) -> Result<(Embedder, BTreeMap<String, String>)> {
        let file = path.display().to_string();
        let wrong = |what: &str| Error::Corrupt { file: file.clone(), what: what.to_string() };
        let metadata = io::safetensors_metadata(path)?;
        let arrays = io::load_safetensors(path)?;
        let version =
            metadata.get(FORMAT.0).and_then(|found| FORMAT.1.iter().position(|known| known == found));
        let version = version.ok_or_else(|| wrong("its metadata is not that of an embedder"))?;
        if version > 0 {
            let settings = metadata.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            let settings: BTreeMap<&str, &str> = settings.filter(|(name, _)| *name != CHECKSUM).collect();
            let parts: Vec<(&str, &Array)> = ["table", "relative"]
                .into_iter()
                .filter_map(|name| arrays.get(name).map(|array| (name, array)))
                .collect();
            let (found, wanted) = (checksum(&settings, &parts)?, metadata.get(CHECKSUM));
            if wanted != Some(&found) {
                let wanted = wanted.map_or("none", String::as_str);
                return Err(wrong(&format!("its checksum is {found} and not {wanted}: a bit has changed")));
            }
        }
        let table = arrays.get("table").ok_or_else(|| wrong("it has no array `table`"))?;
        let &[vocabulary, dimensions] = table.shape().dims() else {
            return Err(wrong("its table does not have two axes"));
        };
        let config = read(&metadata, EmbedConfig::new(vocabulary, dimensions));
        let config = config.ok_or_else(|| wrong("a setting in its metadata cannot be read"))?;
        // Before rows are drawn, which could be any number of them.
        let rows =
            arrays.get("relative").map(|rows| rows.shape().dims().first().map_or(0, |&rows| rows as u128));
        if config.relative.map(|window| 2 * window as u128 + 1) != rows {
            return Err(wrong("its array `relative` and the setting of that name do not belong together"));
        }
        let mut made = Embedder::from_table(config, table)?;
        if let Some(rows) = arrays.get("relative") {
            made.set_relative(rows)?;
        }
        Ok((made, metadata))
    }
}

/// A checksum of settings, in the order of their names, and of arrays with their names, dtypes and shapes.
fn checksum(settings: &BTreeMap<&str, &str>, arrays: &[(&str, &Array)]) -> Result<String> {
    let mut sum = Xxh3::new();
    // Lengths keep what belongs to one text from being taken for the next one's.
    let text = |text: &str, sum: &mut Xxh3| {
        sum.update(&(text.len() as u64).to_le_bytes());
        sum.update(text.as_bytes());
    };
    for (name, value) in settings {
        text(name, &mut sum);
        text(value, &mut sum);
    }
    for (name, array) in arrays {
        text(name, &mut sum);
        text(&format!("{}{}", array.dtype(), array.shape()), &mut sum);
        let view = array.host_view()?;
        match view.bytes()? {
            Some(bytes) => sum.update(bytes),
            None => {
                let whole = Array::concat(&[array], 0).host_view()?;
                sum.update(whole.bytes()?.unwrap_or_default());
            }
        }
    }
    Ok(format!("{:032x}", sum.digest128()))
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
