//! Closures over one element of each operand.

use super::{Inputs, Output};
use crate::{DType, Element, Error, Result};

/// A closure of one to eight elements that gives one: `|a: f32, x: f32| a * x`.
///
/// Implemented for functions and closures of such types; the dtypes are checked against the declared ones when the kernel is
/// built.
///
/// ```
/// use crossover_core::{DType, custom::Each};
/// fn dtypes<A, E: Each<A>>(_: E) -> (&'static [DType], DType) {
///     (E::INPUTS, E::OUTPUT)
/// }
/// assert_eq!(dtypes(|a: f32, n: i64| a.powi(n as i32)), (&[DType::F32, DType::I64][..], DType::F32));
/// ```
pub trait Each<Arguments>: Send + Sync + 'static {
    /// Dtypes of the arguments.
    const INPUTS: &'static [DType];
    /// Dtype of what is returned.
    const OUTPUT: DType;
    /// Calls the closure for every position of operands and result, which are equally long. NaN becomes canonical, as it does
    /// on a GPU.
    fn all(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<()>;
}

macro_rules! each {
    ($($argument:ident $value:ident $position:literal),*) => {
        impl<F, O: Element, $($argument: Element),*> Each<(O, $($argument),*)> for F
        where
            F: Fn($($argument),*) -> O + Send + Sync + 'static,
        {
            const INPUTS: &'static [DType] = &[$($argument::DTYPE),*];
            const OUTPUT: DType = O::DTYPE;

            fn all(&self, inputs: &Inputs<'_>, output: &mut Output<'_>) -> Result<()> {
                $(let $value = inputs.slice::<$argument>($position)?;)*
                let op = output.op;
                let out = output.slice::<O>()?;
                let n = out.len();
                $(let Some($value) = $value.get(..n) else {
                    let what = format!("has {} elements of operand {} for {n}", $value.len(), $position);
                    return Err(Error::Kernel { op, part: "CPU closure", what });
                };)*
                for (at, out) in out.iter_mut().enumerate() {
                    *out = self($($value[at]),*).settled();
                }
                Ok(())
            }
        }
    };
}

each!(A a 0);
each!(A a 0, B b 1);
each!(A a 0, B b 1, C c 2);
each!(A a 0, B b 1, C c 2, D d 3);
each!(A a 0, B b 1, C c 2, D d 3, E e 4);
each!(A a 0, B b 1, C c 2, D d 3, E e 4, G g 5);
each!(A a 0, B b 1, C c 2, D d 3, E e 4, G g 5, H h 6);
each!(A a 0, B b 1, C c 2, D d 3, E e 4, G g 5, H h 6, I i 7);
