//! The five algebras.

use std::{fmt, str::FromStr};

use crossover_array::DType;

/// An algebra of vectors: what binding and superposing are.
///
/// | model | vectors | bind | unbind | superpose |
/// | --- | --- | --- | --- | --- |
/// | `Hrr` | real, N(0, 1/d) | circular convolution | correlation | sum, length 1 |
/// | `Fhrr` | unit complex numbers | product | product with the conjugate | sum |
/// | `Map` | ±1 | product | product | sum |
/// | `Bsc` | bits | exclusive or | exclusive or | majority |
/// | `Hlb` | real, around ±1 | product | quotient | sum, length √d |
///
/// ```
/// use crossover_hrr::Model;
/// assert_eq!("fhrr".parse::<Model>()?, Model::Fhrr);
/// assert_eq!(Model::Map.to_string(), "map");
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Model {
    /// Holographic reduced representations.
    Hrr,
    /// The same in the frequency domain: unit complex numbers.
    Fhrr,
    /// Multiply, add, permute: bipolar vectors.
    Map,
    /// Binary spatter codes.
    Bsc,
    /// Hadamard-derived linear binding.
    Hlb,
}

impl Model {
    /// All models.
    pub const ALL: [Model; 5] = [Model::Hrr, Model::Fhrr, Model::Map, Model::Bsc, Model::Hlb];

    /// The name, as it is parsed and printed.
    ///
    /// ```
    /// use crossover_hrr::Model;
    /// assert_eq!(Model::ALL.map(Model::name), ["hrr", "fhrr", "map", "bsc", "hlb"]);
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Model::Hrr => "hrr",
            Model::Fhrr => "fhrr",
            Model::Map => "map",
            Model::Bsc => "bsc",
            Model::Hlb => "hlb",
        }
    }

    /// The dtype that vectors have unless another one is asked for.
    ///
    /// ```
    /// use crossover_array::DType;
    /// use crossover_hrr::{Model, Space};
    /// assert_eq!(Model::Bsc.default_dtype(), DType::Bool);
    /// assert_eq!(Space::new(Model::Fhrr, 64)?.dtype(), Model::Fhrr.default_dtype());
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn default_dtype(self) -> DType {
        match self {
            Model::Fhrr => DType::C64,
            Model::Bsc => DType::Bool,
            _ => DType::F32,
        }
    }

    /// The dtypes that vectors can have. Complex numbers in `bf16` are their parts in a row; bits are bits.
    ///
    /// ```
    /// use crossover_array::DType;
    /// use crossover_hrr::{Model, Space};
    /// // The models whose vectors can have 16 bits.
    /// let short: Vec<Model> = Model::ALL.into_iter().filter(|model| model.dtypes().contains(&DType::BF16)).collect();
    /// assert_eq!(short, [Model::Hrr, Model::Fhrr, Model::Map, Model::Hlb]);
    /// let error = Space::new(Model::Hrr, 64)?.with_dtype(DType::I32).unwrap_err();
    /// assert_eq!(error.to_string(), "space: vectors of hrr cannot be i32; there are f32, f64, bf16");
    /// # Ok::<(), crossover_hrr::Error>(())
    /// ```
    pub fn dtypes(self) -> &'static [DType] {
        match self {
            Model::Fhrr => &[DType::C64, DType::C128, DType::BF16],
            Model::Bsc => &[DType::Bool],
            _ => &[DType::F32, DType::F64, DType::BF16],
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Model {
    type Err = String;

    fn from_str(text: &str) -> Result<Model, String> {
        let lower = text.trim().to_ascii_lowercase();
        Model::ALL
            .into_iter()
            .find(|m| m.name() == lower)
            .ok_or_else(|| format!("{text:?} is no model; there are hrr, fhrr, map, bsc and hlb"))
    }
}
