//! `where`: one of two values by a boolean. Bits pass unchanged, so it works on every dtype by size alone.

use crate::Scalar;

/// Name in text and messages.
pub const NAME: &str = "where";

/// The reference: `yes` where `mask` holds, `no` elsewhere.
pub fn scalar(mask: Scalar, yes: Scalar, no: Scalar) -> Scalar {
    if mask.bits()[0] != 0 { yes } else { no }
}
