//! Errors that travel inside arrays and surface where the host asks for bytes.

use std::{fmt, panic::Location, sync::Arc};

/// An error with the place in the caller's code that caused it.
///
/// Operators on arrays do not return `Result`: the error stays in the array, spreads to whatever is made from it,
/// and surfaces at [`eval`](crate::Array::eval), [`to_vec`](crate::Array::to_vec) or, at once,
/// [`check`](crate::Array::check).
///
/// ```
/// use crossover_array::Array;
/// let a = Array::from([1.0f32, 2.0]);
/// let b = Array::from([1.0f32, 2.0, 3.0]);
/// let error = (&a + &b).check().unwrap_err();
/// assert!(error.to_string().contains("[2] and [3]"));
/// ```
#[derive(Debug, Clone)]
pub struct Error {
    inner: Arc<crossover_runtime::Error>,
    location: &'static Location<'static>,
}

/// Result of an array operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn new(
        error: impl Into<crossover_runtime::Error>,
        location: &'static Location<'static>,
    ) -> Error {
        Error { inner: Arc::new(error.into()), location }
    }

    /// What went wrong.
    ///
    /// ```
    /// use crossover_array::Array;
    /// let error = Array::arange(3).index(5).check().unwrap_err();
    /// assert!(error.kind().to_string().starts_with("slice: index 5 is out of range"));
    /// ```
    pub fn kind(&self) -> &crossover_runtime::Error {
        &self.inner
    }

    /// Where the failing operation was called.
    ///
    /// ```
    /// use crossover_array::Array;
    /// let error = Array::arange(3).index(5).check().unwrap_err();
    /// assert!(error.location().line() > 0);
    /// ```
    pub fn location(&self) -> &'static Location<'static> {
        self.location
    }
}

/// For definitions of [custom kernels](crate::CustomKernel) beside array code; the place is that of the `?`.
impl From<crossover_core::Error> for Error {
    #[track_caller]
    fn from(error: crossover_core::Error) -> Error {
        Error::new(error, Location::caller())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at {}:{})", self.inner, self.location.file(), self.location.line())
    }
}

impl std::error::Error for Error {
    /// What lies below [`kind`](Error::kind), which the message shows already.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&*self.inner)
    }
}

#[cfg(test)]
mod tests {
    use crate::Array;

    #[test]
    fn an_error_and_what_lies_below_it_do_not_say_the_same() {
        let mut said = Vec::new();
        let error = Array::arange(3).index(5).check().unwrap_err();
        let mut next: Option<&dyn std::error::Error> = Some(&error);
        while let Some(error) = next {
            said.push(error.to_string());
            next = error.source();
        }
        assert_eq!(said.concat().matches("index 5 is out of range").count(), 1, "{said:?}");
    }
}
