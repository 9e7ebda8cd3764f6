"""The group `functions`: every elementwise function and reduction by itself, small and large, f32 and f64 or what it is for.

One table for the references and for the peers' forms. Ours must reach 0.8 of the best peer in each.
"""

from dataclasses import dataclass
from typing import Callable

import numpy as np

SIZES = {"1e3": 1_000, "1e6": 1_000_000}
DTYPES = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "bool": np.bool_, "c128": np.complex128}
FLOATS = ("f32", "f64")
NUMBERS = ("f32", "f64", "i64")
RATIO_BAR = 0.8
OPERANDS = ("x", "y", "z")


@dataclass(frozen=True)
class Function:
    """A function of one to three operands, evenly random between two numbers."""

    name: str
    low: float
    high: float
    # From the operands, floats as float64.
    truth: Callable
    numpy: Callable | None
    # The name of PyTorch's function, or a function of the module.
    torch: str | Callable | None
    operands: int = 1
    # Elements of the result are as many as those of the operand; a reduction has one.
    reduces: bool = False
    # Other operands than evenly random ones: from a generator and a size.
    make: Callable | None = None
    dtypes: tuple = FLOATS
    # Bytes of an element of the result, where they are not those of the operands.
    result: int | None = None


def exact_factors(rng, size):
    """Signs, and a few factors of two: every product of them is exact, in any order."""
    exponents = rng.integers(-1, 2, size) * (rng.random(size) < 5e-4)
    return rng.choice([-1.0, 1.0], size) * np.exp2(exponents)


def few(rng, size):
    """Few different numbers, so that many are equal."""
    return rng.integers(-2, 3, size).astype(np.float64)


def one_at_the_end(rng, size):
    """What has to be looked at from the first to the last element before anything is found."""
    return np.arange(size) == size - 1


def none_missing(rng, size):
    return np.ones(size)


def with_gaps(rng, size):
    """Numbers with NaN and infinities among them."""
    return rng.choice([1.5, -2.0, 3.0, np.nan, np.inf, -np.inf], size)


def erf(x):
    import math

    return np.vectorize(math.erf)(x)


def erfc(x):
    import math

    return np.vectorize(math.erfc)(x)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def same(name, low, high, torch=None, **more):
    """A function that NumPy and PyTorch both have, under its own name where none is given."""
    function = getattr(np, name)
    return Function(name, low, high, function, function, torch or name, **more)


def compared(name, torch):
    function = getattr(np, name)
    return Function(name, -9, 9, function, function, torch, operands=2, make=few, dtypes=NUMBERS, result=1)


def predicate(name):
    return same(name, -9, 9, make=with_gaps, result=1)


def of_bits(name, torch=None, **more):
    """Whole numbers of any size, and truth values."""
    return same(name, -(2.0**62), 2.0**62, torch, dtypes=more.pop("dtypes", ("i64", "bool")), **more)


def of_truth(name, **more):
    return same(name, -9, 9, dtypes=("bool",), result=1, **more)


def part(name, numpy, torch):
    return Function(name, -9, 9, numpy, numpy, torch, dtypes=("c128",), result=None if name == "conj" else 8)


FUNCTIONS = [
    same("abs", -9, 9),
    Function("acos", -1, 1, np.arccos, np.arccos, "acos"),
    Function("acosh", 1, 90, np.arccosh, np.arccosh, "acosh"),
    Function("asin", -1, 1, np.arcsin, np.arcsin, "asin"),
    Function("asinh", -50, 50, np.arcsinh, np.arcsinh, "asinh"),
    Function("atan", -20, 20, np.arctan, np.arctan, "atan"),
    Function("atanh", -0.99, 0.99, np.arctanh, np.arctanh, "atanh"),
    same("ceil", -9, 9),
    same("cos", -9, 9),
    same("cosh", -9, 9),
    Function("erf", -3, 3, erf, None, "erf"),
    Function("erfc", -3, 3, erfc, None, "erfc"),
    same("exp", -9, 9),
    same("exp2", -9, 9),
    same("expm1", -9, 9),
    same("floor", -9, 9),
    Function("gelu", -3, 3, gelu, None, lambda torch: lambda x: torch.nn.functional.gelu(x, approximate="tanh")),
    Function("gelu_exact", -3, 3, lambda x: x * erfc(-x / np.sqrt(2)) / 2, None, lambda torch: torch.nn.functional.gelu),
    same("log", 0.01, 99),
    same("log10", 0.01, 99),
    same("log1p", -0.9, 99),
    same("log2", 0.01, 99),
    same("negative", -9, 9),
    same("reciprocal", 0.1, 9),
    Function("round", -9, 9, np.rint, np.rint, "round"),
    Function("sigmoid", -9, 9, sigmoid, None, "sigmoid"),
    same("sign", -9, 9),
    Function("silu", -9, 9, lambda x: x * sigmoid(x), None, lambda torch: torch.nn.functional.silu),
    same("sin", -9, 9),
    same("sinh", -9, 9),
    Function("softplus", -9, 9, lambda x: np.logaddexp(0, x), None, lambda torch: torch.nn.functional.softplus),
    same("sqrt", 0, 9),
    same("square", -9, 9),
    same("tan", -1.5, 1.5),
    same("tanh", -3, 3),
    same("trunc", -9, 9),
    same("add", -9, 9, operands=2),
    Function("atan2", -9, 9, np.arctan2, np.arctan2, "atan2", operands=2),
    same("copysign", -9, 9, operands=2),
    Function("cospi", -9, 9, lambda x, y: np.cos(np.pi * (x + y)), None, lambda torch: lambda x, y: torch.cos(torch.pi * (x + y)), operands=2),
    same("divide", 0.5, 9, operands=2),
    same("floor_divide", 0.5, 99, operands=2),
    same("hypot", -9, 9, operands=2),
    same("logaddexp", -9, 9, operands=2),
    same("maximum", -9, 9, operands=2),
    same("minimum", -9, 9, operands=2),
    same("multiply", -9, 9, operands=2),
    same("nextafter", -9, 9, operands=2),
    Function("pow", 0.5, 3, np.power, np.power, "pow", operands=2),
    same("remainder", 0.5, 99, operands=2),
    Function("sinpi", -9, 9, lambda x, y: np.sin(np.pi * (x + y)), None, lambda torch: lambda x, y: torch.sin(torch.pi * (x + y)), operands=2),
    same("subtract", -9, 9, operands=2),
    same("sum", 0, 1, reduces=True),
    Function("prod", -2, 2, np.prod, np.prod, "prod", reduces=True, make=exact_factors),
    Function("min", -9, 9, np.min, np.min, "amin", reduces=True),
    Function("max", -9, 9, np.max, np.max, "amax", reduces=True),
    same("mean", 0, 1, reduces=True),
    Function("var", -9, 9, np.var, np.var, lambda torch: lambda x: torch.var(x, correction=0), reduces=True),
    Function("std", -9, 9, np.std, np.std, lambda torch: lambda x: torch.std(x, correction=0), reduces=True),
    Function("logsumexp", -9, 9, lambda x: np.log(np.sum(np.exp(x))), None, lambda torch: lambda x: torch.logsumexp(x, 0), reduces=True),
    of_bits("bitwise_and", operands=2),
    of_bits("bitwise_or", operands=2),
    of_bits("bitwise_xor", operands=2),
    of_bits("bitwise_invert", "bitwise_not"),
    same("bitwise_left_shift", 0, 60, operands=2, dtypes=("i64",)),
    same("bitwise_right_shift", 0, 60, operands=2, dtypes=("i64",)),
    compared("equal", "eq"),
    compared("not_equal", "ne"),
    compared("less", "lt"),
    compared("less_equal", "le"),
    compared("greater", "gt"),
    compared("greater_equal", "ge"),
    of_truth("logical_and", operands=2),
    of_truth("logical_or", operands=2),
    of_truth("logical_xor", operands=2),
    of_truth("logical_not"),
    predicate("isfinite"),
    predicate("isinf"),
    predicate("isnan"),
    predicate("signbit"),
    Function("fma", -9, 9, lambda x, y, z: x * y + z, lambda x, y, z: x * y + z, lambda torch: lambda x, y, z: torch.addcmul(z, x, y), operands=3),
    Function("clip", -9, 9, lambda x: np.clip(x, -3, 3), lambda x: np.clip(x, -3, 3), lambda torch: lambda x: torch.clamp(x, -3, 3), dtypes=NUMBERS),
    Function("relu", -9, 9, lambda x: np.maximum(x, 0), lambda x: np.maximum(x, 0), "relu"),
    part("conj", np.conj, "conj_physical"),
    # Copies: a view of one part computes nothing.
    part("real", lambda x: x.real.copy(), lambda torch: lambda x: x.real.clone()),
    part("imag", lambda x: x.imag.copy(), lambda torch: lambda x: x.imag.clone()),
    part("modulus", np.abs, "abs"),
    Function("all", -1, 1, np.all, np.all, "all", reduces=True, make=none_missing, dtypes=("bool",)),
    Function("any", -1, 1, np.any, np.any, "any", reduces=True, make=one_at_the_end, dtypes=("bool",)),
    Function("argmax", -9e3, 9e3, np.argmax, np.argmax, "argmax", reduces=True, dtypes=NUMBERS),
    Function("argmin", -9e3, 9e3, np.argmin, np.argmin, "argmin", reduces=True, dtypes=NUMBERS),
    Function("count_nonzero", -9, 9, np.count_nonzero, np.count_nonzero, "count_nonzero", reduces=True, dtypes=NUMBERS + ("bool",)),
    Function("vector_norm", -9, 9, np.linalg.norm, np.linalg.norm, lambda torch: torch.linalg.vector_norm, reduces=True),
    Function("cumulative_prod", -2, 2, np.cumprod, np.cumprod, lambda torch: lambda x: torch.cumprod(x, 0), make=exact_factors),
    Function("diff", -9, 9, np.diff, np.diff, "diff", dtypes=NUMBERS),
    Function("cumulative_sum", 0, 1, np.cumsum, np.cumsum, lambda torch: lambda x: torch.cumsum(x, 0)),
]


def cases():
    """Every function with a dtype and a size: name, function, dtype, elements."""
    for function in FUNCTIONS:
        for dtype_name in function.dtypes:
            dtype = DTYPES[dtype_name]
            for size_name, size in SIZES.items():
                yield f"{function.name}_{dtype_name}_{size_name}", function, dtype, size


def inputs(function, dtype, size):
    """What the operands are made of."""

    draw = function.make or (lambda rng, size: rng.uniform(function.low, function.high, size))

    def one(rng):
        if dtype == np.bool_ and function.make is None:
            return rng.random(size) < 0.5
        drawn = draw(rng, size)
        return drawn + 1j * draw(rng, size) if dtype == np.complex128 else drawn.astype(dtype)

    return lambda rng: {name: one(rng) for name in OPERANDS[: function.operands]}


def values(arrays):
    return [arrays[name] for name in OPERANDS if name in arrays]


def with_numpy():
    """Forms that return a new array, and forms that write into one made before."""

    def fresh(function):
        return lambda i: {"call": lambda: function(*values(i))}

    def reusing(function):
        def make(i):
            out = np.empty_like(function(*values(i)))
            return {"out=": lambda: function(*values(i), out=out)}

        return make

    new = {name: fresh(f.numpy) for name, f, _, _ in cases() if f.numpy}
    # Ufuncs take an output; others would need another form.
    old = {name: reusing(f.numpy) for name, f, _, _ in cases() if isinstance(f.numpy, np.ufunc)}
    return new, old


def with_torch(torch):
    """PyTorch's forms, which return a new tensor."""

    def form(function):
        call = getattr(torch, function.torch) if isinstance(function.torch, str) else function.torch(torch)

        def make(i):
            tensors = [torch.from_numpy(x) for x in values(i)]
            return {"call": lambda: call(*tensors)}

        return make

    return {name: form(f) for name, f, _, _ in cases() if f.torch}
