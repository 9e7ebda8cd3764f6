//! Settings of a runtime and where they come from: the [`Builder`](crate::Builder), the environment, a file of the project's, a
//! file of the user's, in this order. What none of them says has a default.
//!
//! Environment and files are read once, when the first runtime is made. A name that does not exist or a value that makes no sense is
//! an error of that runtime, and nothing is computed until it is mended: a setting that is silently ignored is worse.

mod file;
mod keys;

use std::{fmt, path::PathBuf, sync::OnceLock};

use crossover_runtime::Error;

pub use keys::Precision;
pub(crate) use keys::Settings;
use keys::{ALIASES, KEYS};

/// Who set something.
///
/// ```
/// use crossover_array::{Origin, Runtime};
/// let runtime = Runtime::builder().threads(2).build()?;
/// let threads = runtime.settings().into_iter().find(|setting| setting.name == "threads").unwrap();
/// assert_eq!((&threads.origin, threads.origin.to_string().as_str()), (&Origin::Builder, "the program"));
/// # Ok::<(), crossover_array::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// Nobody did.
    Default,
    /// A file, with the line.
    File(PathBuf, usize),
    /// A variable of the environment.
    Environment(&'static str),
    /// The program, by [`Builder`](crate::Builder).
    Builder,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File(path, line) => write!(f, "{}, line {line}", path.display()),
            Origin::Environment(variable) => f.write_str(variable),
            Origin::Builder => f.write_str("the program"),
        }
    }
}

/// A setting of a runtime, as [`Runtime::settings`](crate::Runtime::settings) lists it.
///
/// ```
/// for setting in crossover_array::Runtime::current().settings() {
///     println!("{} = {} ({}): {}", setting.name, setting.value, setting.origin, setting.about);
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setting {
    /// What it is called in files.
    pub name: &'static str,
    /// The variable of the environment that sets it.
    pub variable: &'static str,
    /// The value in effect.
    pub value: String,
    /// Who set it.
    pub origin: Origin,
    /// What it does.
    pub about: &'static str,
    /// Which values it takes.
    pub values: &'static str,
}

/// What one source says, with the place of each setting.
#[derive(Debug, Default)]
pub(crate) struct Layer {
    settings: Settings,
    origins: Vec<(&'static str, Origin)>,
}

impl Layer {
    /// Sets something by its name or another name of it; the text that is wrong with it otherwise.
    fn set(&mut self, name: &'static str, text: &str, origin: Origin) -> Result<(), String> {
        let alias = ALIASES.iter().find(|alias| alias.name == name);
        let (name, text) = match alias {
            Some(alias) => (alias.setting, (alias.translate)(text)?),
            None => (name, text.to_string()),
        };
        let Some(key) = KEYS.iter().find(|key| key.name == name) else {
            return Err("there is no such setting".to_string());
        };
        if let Some((_, other)) = self.origins.iter().find(|(set, _)| *set == name) {
            return Err(format!("{name} is set twice, also by {other}"));
        }
        (key.read)(&mut self.settings, &text).map_err(|what| format!("{what}; it takes {}", key.values))?;
        self.origins.push((key.name, origin));
        Ok(())
    }
}

/// What the environment says.
pub(crate) fn environment(variable: impl Fn(&str) -> Option<String>) -> Result<Layer, Error> {
    let mut layer = Layer::default();
    let own = KEYS.iter().map(|key| (key.name, key.variable));
    for (name, asked) in own.chain(ALIASES.iter().map(|alias| (alias.name, alias.variable))) {
        let Some(text) = variable(asked).filter(|text| !text.is_empty()) else { continue };
        layer.set(name, &text, Origin::Environment(asked)).map_err(|what| Error::Setting {
            place: format!("the variable {asked}"),
            key: name.to_string(),
            nearest: None,
            what,
        })?;
    }
    Ok(layer)
}

/// Everything but the program's own settings, what is most important first. Read once.
fn ambient() -> &'static Result<Vec<Layer>, Error> {
    static READ: OnceLock<Result<Vec<Layer>, Error>> = OnceLock::new();
    READ.get_or_init(|| {
        let mut layers = vec![environment(|name| std::env::var(name).ok())?];
        for path in file::paths() {
            layers.extend(file::read(&path)?);
        }
        Ok(layers)
    })
}

/// The files that are looked for, the more important first.
///
/// `CROSSOVER_CONFIG` names the only one; empty or `off` means none. Without it they are `crossover.toml` in the current directory, and
/// `crossover/config.toml` in the user's configuration directory.
///
/// ```
/// for path in crossover_array::config_files() {
///     println!("{} {}", path.display(), if path.exists() { "is read" } else { "does not exist" });
/// }
/// ```
pub fn config_files() -> Vec<PathBuf> {
    file::paths()
}

/// What is in effect, and who set it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Resolved {
    pub settings: Settings,
    /// In the order of the keys.
    origins: Vec<Origin>,
}

/// What is in effect for a runtime whose program asks for some settings.
pub(crate) fn resolve(asked: &Settings) -> Result<Resolved, Error> {
    let layers = ambient().as_ref().map_err(Error::clone)?;
    Ok(merge(asked, layers))
}

fn merge(asked: &Settings, layers: &[Layer]) -> Resolved {
    let mut settings = Settings::default();
    let origin = |key: &keys::Key| {
        if (key.fill)(asked, &mut settings) {
            return Origin::Builder;
        }
        for layer in layers {
            if (key.fill)(&layer.settings, &mut settings) {
                let found = layer.origins.iter().find(|(name, _)| *name == key.name);
                return found.map_or(Origin::Default, |(_, origin)| origin.clone());
            }
        }
        Origin::Default
    };
    let origins = KEYS.iter().map(origin).collect();
    Resolved { settings, origins }
}

impl Resolved {
    /// Fills in what nobody set, without changing who set the rest.
    pub fn complete(&mut self, defaults: &Settings) {
        for key in &KEYS {
            (key.fill)(defaults, &mut self.settings);
        }
    }

    /// For people.
    pub fn list(&self) -> Vec<Setting> {
        let one = |(at, key): (usize, &keys::Key)| Setting {
            name: key.name,
            variable: key.variable,
            value: (key.show)(&self.settings).unwrap_or_else(|| "-".to_string()),
            origin: self.origins.get(at).cloned().unwrap_or(Origin::Default),
            about: key.about,
            values: key.values,
        };
        KEYS.iter().enumerate().map(one).collect()
    }
}

/// Whether runtimes that the program says nothing about are eager.
pub(crate) fn is_eager() -> bool {
    let on = |settings: &Settings| settings.eager == Some(true) || settings.refuse_nan == Some(true);
    resolve(&Settings::default()).is_ok_and(|resolved| on(&resolved.settings))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    fn variables<'a>(set: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| set.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_string())
    }

    #[test]
    fn the_program_comes_before_the_environment_and_that_before_files() {
        let file =
            file::parse("a.toml".as_ref(), "threads = 2\nfusion = false\nmemory_limit = \"50%\"\n").unwrap();
        let env = environment(variables(&[("CROSSOVER_THREADS", "4"), ("CROSSOVER_FUSION", "")])).unwrap();
        let asked = Settings { deterministic: Some(true), ..Settings::default() };
        let mut found = merge(&asked, &[env, file]);
        assert_eq!((found.settings.threads, found.settings.fusion), (Some(4), Some(false)));
        found.complete(&Settings { eager: Some(false), threads: Some(99), ..Settings::default() });
        let list = found.list();
        let of = |name: &str| list.iter().find(|s| s.name == name).unwrap();
        assert_eq!(of("threads").origin, Origin::Environment("CROSSOVER_THREADS"));
        assert_eq!(of("fusion").origin.to_string(), "a.toml, line 2");
        assert_eq!(
            (of("memory_limit").value.as_str(), &of("deterministic").origin),
            ("50%", &Origin::Builder)
        );
        assert_eq!((of("eager").value.as_str(), &of("eager").origin), ("false", &Origin::Default));
    }

    #[test]
    fn wrong_values_name_their_variable_and_what_it_takes() {
        let error = environment(variables(&[("CROSSOVER_THREADS", "many")])).unwrap_err().to_string();
        assert!(error.contains("CROSSOVER_THREADS") && error.contains("from 1 on"), "{error}");
        let twice = environment(variables(&[("CROSSOVER_DEVICE", "cpu"), ("CROSSOVER_GPU", "1")]));
        assert!(twice.unwrap_err().to_string().contains("also by CROSSOVER_DEVICE"));
    }

    #[test]
    fn other_names_mean_the_same() {
        let found = environment(variables(&[("CROSSOVER_GPU", "off"), ("CROSSOVER_TF32", "1")])).unwrap();
        assert_eq!(found.settings.device, Some(Device::Cpu));
        assert_eq!(found.settings.precision, Some(Precision::Tf32));
        let device = environment(variables(&[("CROSSOVER_GPU", "cuda:1")])).unwrap();
        assert_eq!(device.settings.device, Some(Device::Cuda(1)));
    }
}
