"""Where results differ from NumPy's on purpose, each with why. Anything else that differs is a defect.

Keys are counted in the report, per element or per case.
"""

DIFFERENCES = {
    "integer_functions": "functions of integers are computed in f64, as the Array API standard leaves open; NumPy takes f16 for "
    "8 bits and f32 for 16, which loses digits for no gain",
    "integer_negative_power": "an integer to a negative power is 0 unless the base is 1 or -1: kernels never raise; NumPy raises",
    "signed_zero_of_extremes": "minimum and maximum hold -0 < +0, so that the result does not depend on order or vector width; "
    "NumPy returns either zero",
    "saturating_cast": "floats beyond an integer dtype saturate and NaN becomes 0, on every device; NumPy's result is undefined "
    "there and depends on the processor",
    "floor_of_exact_quotient": "floor_divide is the floor of the exact quotient, also where that is too large to be held "
    "exactly; NumPy derives it from a rounded division",
    "complex_specials": "infinities, NaN and overflow in complex arithmetic: Annex G of C99 leaves signs and parts open, and NumPy's "
    "own results differ between platforms",
    "order_of_overflow": "a sum whose partial sums overflow depends on the order of additions; ours is the canonical one",
    "ill_conditioned": "least squares and ranks of matrices whose answer depends on the last digits of the operands are not compared",
    "conversion_rounds_once": "64-bit integers become 16-bit floats through f64, one more rounding than NumPy's direct one at ties",
    "correlate_same": "correlate in mode same is centred as scipy.signal.correlate, for every boundary; correlate2d has another centre "
    "for even kernels",
    "converted_nan": "a conversion makes every NaN the canonical one; NumPy keeps its sign",
    "half_neighbours_of_zero": "nextafter(+0, -0) is its second operand, as C asks and NumPy does for f32 and f64; its float16 returns the "
    "first",
    "infinite_quotient": "floor_divide of or by an infinity is the floor of the quotient, as the Array API standard asks; NumPy gives NaN for an "
    "infinity over a number and -1 for a negative number over infinity",
    "complex_nan_order": "descending sorts put complex numbers with NaN last in the order they came; NumPy has no descending sort",
    "both_refuse": "both sides refuse the operands",
    "distinct_nan": "every NaN is distinct, as the Array API asks",
}
