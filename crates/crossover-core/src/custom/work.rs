//! What a kernel of the user's has to do, for placement.

/// Amounts of work by class, as devices are measured. Without a rule for them, a few operations for each element are assumed.
///
/// ```
/// use crossover_core::custom::Work;
/// // A product of two matrices of 1000 x 1000.
/// let work = Work { products: 2_000_000_000, ..Work::default() };
/// assert_eq!(work.flops(), 2_000_000_000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// About one instruction each: additions, comparisons, conversions.
    pub simple: u64,
    /// Exponentials, sines and the like.
    pub functions: u64,
    /// Multiplications and additions that run at the speed of matrix products.
    pub products: u64,
    /// Elements moved to or from places that data decides.
    pub lookups: u64,
    /// Operations of Fourier transforms, as textbooks count them.
    pub transforms: u64,
    /// Comparisons of sorts.
    pub sorts: u64,
    /// Bytes read and written, where that is not each operand and the result once.
    pub bytes: Option<u64>,
}

impl Work {
    /// Operations in one unit, for people.
    pub fn flops(&self) -> u64 {
        let functions = self.functions.saturating_mul(crate::ops::Cost::Function.flops());
        [self.simple, functions, self.products, self.lookups, self.transforms, self.sorts]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}
