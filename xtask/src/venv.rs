//! A Python virtual environment inside the checkout, filled once and kept.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::workspace;

/// A virtual environment with known packages in it.
pub struct Venv {
    folder: PathBuf,
}

impl Venv {
    /// Makes the environment at `folder` (relative to the root) hold `requirements`, given as pip arguments. Does
    /// nothing when they were installed by an earlier call.
    pub fn with(folder: &str, requirements: &[&str]) -> Result<Self> {
        let venv = Self { folder: workspace::root().join(folder) };
        let mark = venv.folder.join(format!("installed-{}", key(requirements)?));
        if mark.exists() {
            return Ok(venv);
        }
        if !venv.python().exists() {
            venv.create()?;
        }
        eprintln!("installing {} into {folder}", requirements.join(" "));
        let mut install = workspace::command(venv.python());
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(requirements);
        let output = install.output().context("could not start pip")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().rfind(|line| line.contains("ERROR")).unwrap_or("pip failed");
            bail!("could not install {}: {last}", requirements.join(" "));
        }
        std::fs::write(&mark, "")?;
        Ok(venv)
    }

    /// The environment's interpreter.
    pub fn python(&self) -> PathBuf {
        self.folder.join("bin/python")
    }

    /// `site-packages`.
    pub fn packages(&self) -> Result<PathBuf> {
        let mut ask = workspace::command(self.python());
        ask.args(["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]);
        let output = ask.output().context("could not start the environment's python")?;
        Ok(PathBuf::from(String::from_utf8(output.stdout).context("its path is not UTF-8")?.trim()))
    }

    fn create(&self) -> Result<()> {
        let mut make = workspace::command("python3");
        make.args(["-m", "venv"]).arg(&self.folder);
        let output = make.output().context("could not start python3")?;
        if !output.status.success() {
            bail!("`{}` failed: {}", workspace::spell(&make), String::from_utf8_lossy(&output.stdout).trim());
        }
        Ok(())
    }
}

/// Names a set of requirements; a requirements file counts by its content, so that an edit reinstalls.
fn key(requirements: &[&str]) -> Result<String> {
    let mut text = String::new();
    for word in requirements {
        text.push_str(word);
        text.push('\n');
        if Path::new(word).extension().is_some_and(|extension| extension == "txt") {
            let file = workspace::root().join(word);
            text += &std::fs::read_to_string(&file).with_context(|| format!("could not read {word}"))?;
        }
    }
    // FNV-1a: a name, not a secret, and the same in every version of Rust.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Ok(format!("{hash:016x}"))
}
