//! Arrays from and into the types of other libraries, each behind a feature of the same name.

#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "ndarray")]
mod ndarray;
