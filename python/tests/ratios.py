"""Speed beside NumPy, interleaved: `cargo xtask python --release --ratios`.

Every elementwise function and reduction of the namespace, at 10³ and 10⁶ elements, in the dtypes that it is for, and some in all others and along axes. A ratio is NumPy's time over
ours, computed at once (`.eval()`); above 1 we are faster. NumPy's side is the call that a user of NumPy writes. The bar is 0.7 everywhere, and
2 for the fused expression at 10⁶; what is below comes first. Order statistics have none.

    cargo xtask python --release --ratios -- --only isfinite,any     these functions
    cargo xtask python --release --ratios -- --json FILE             also into a file, with what it was measured on
"""

import argparse
import datetime
import functools
import json
import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from scipy import special

import crossover as xo

ROOT = Path(__file__).resolve().parents[2]
SIZES = {"1e3": 1_000, "1e6": 1_000_000}
DTYPES = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128, "i8": np.int8, "i16": np.int16,
    "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "bool": np.bool_,
}
BAR = 0.7
# Each side's turn lasts about this long, so that neither the clock nor the loop around the call counts.
TURN_SECONDS = 5e-4
TURNS = 25


class Case:
    """A function of arrays that are drawn evenly between two numbers, or made by `make`; the first may be a mask. Of those with `rows` the first axis
    is as long as the second, or a tenth of it."""

    def __init__(self, name, ours, numpys, operands=1, dtypes="f32 f64", between=(0.5, 2.0), make=None, masked=False, bars=None, rows=False):
        self.name, self.ours, self.numpys, self.operands = name, ours, numpys, operands
        self.dtypes, self.between, self.make, self.masked, self.rows = dtypes.split(), between, make, masked, rows
        self.bars = bars or dict.fromkeys(SIZES, BAR)

    def arrays(self, rng, dtype, size):
        truth = lambda rng, size: rng.random(size) < 0.5
        draw = self.make or (truth if dtype == np.bool_ else lambda rng, size: rng.uniform(*self.between, size))
        arrays = [np.asarray(draw(rng, size)).astype(dtype) for _ in range(self.operands)]
        if self.rows:
            arrays = [array.reshape(10 if size == 1_000 else 1_000, -1) for array in arrays]
        return [truth(rng, size), *arrays] if self.masked else arrays


def same(names, **more):
    """Functions that both have, under one name."""
    return [Case(name, getattr(xo, name), getattr(np, name), **more) for name in names.split()]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def logsumexp(x):
    top = np.max(x)
    return np.log(np.sum(np.exp(x - top))) + top


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


def fused(m):
    """Several operations that become one kernel."""
    return lambda x: m.sqrt(x * x + 1.0) * 0.5 + m.exp(-x) / (1.0 + x * x)


def zeros(rng, size):
    return np.zeros(size)


def ones(rng, size):
    return np.ones(size)


FLOATS, REALS, WHOLE, ALL = "f32 f64", "f32 f64 i32 i64", "i32 i64", "f32 f64 i64 bool"
WIDE = dict(between=(-9, 9))
UNIT = dict(between=(-0.99, 0.99))

UNARY = [
    *same("abs square sign", dtypes=REALS, **WIDE),
    *same("absolute negative positive", dtypes=REALS, **WIDE),
    *same("ceil floor trunc rint fabs", **WIDE),
    Case("round", xo.round, np.round, **WIDE),
    Case("round to 2 decimals", lambda x: xo.round(x, 2), lambda x: np.round(x, 2), **WIDE),
    *same("cos sin cosh sinh asinh tanh exp exp2 expm1", **WIDE),
    *same("tan", between=(-1.5, 1.5)),
    *same("acos asin atanh arccos arcsin arctanh", **UNIT),
    *same("atan arctan arcsinh", between=(-20, 20)),
    *same("acosh arccosh", between=(1, 90)),
    *same("log log10 log2 log1p sqrt reciprocal"),
    *same("isnan isinf isfinite signbit", dtypes=FLOATS, **WIDE),
    *same("conj real imag", **WIDE),
    *same("logical_not", dtypes=ALL, **WIDE),
    *same("bitwise_invert", dtypes=WHOLE + " bool", **WIDE),
    Case("erf", xo.erf, special.erf, **WIDE),
    Case("erfc", xo.erfc, special.erfc, **WIDE),
    Case("gelu", xo.gelu, gelu, **WIDE),
    Case("gelu_exact", xo.gelu_exact, lambda x: x * special.erfc(-x / np.sqrt(2)) / 2, **WIDE),
    Case("relu", xo.relu, lambda x: np.maximum(x, 0), **WIDE),
    Case("sigmoid", xo.sigmoid, sigmoid, **WIDE),
    Case("silu", xo.silu, lambda x: x * sigmoid(x), **WIDE),
    Case("softplus", xo.softplus, lambda x: np.logaddexp(0, x), **WIDE),
    Case("astype float64", lambda x: x.astype(xo.float64), lambda x: x.astype(np.float64), dtypes="f32 i64 bool", **WIDE),
    Case("astype float32", lambda x: x.astype(xo.float32), lambda x: x.astype(np.float32), dtypes="f64 i64 bool", **WIDE),
    Case("astype int64", lambda x: x.astype(xo.int64), lambda x: x.astype(np.int64), dtypes="f32 f64 bool", **WIDE),
    Case("astype bool", lambda x: x.astype(xo.bool), lambda x: x.astype(np.bool_), dtypes="f32 f64 i64", **WIDE),
]

BINARY = [
    *same("add subtract multiply maximum minimum", operands=2, dtypes=REALS, **WIDE),
    *same("divide floor_divide remainder fmod", operands=2, dtypes=FLOATS + " i64", between=(1, 99)),
    *same("pow float_power hypot atan2 arctan2 copysign logaddexp nextafter", operands=2),
    Case("pow", xo.pow, np.pow, operands=2, dtypes="i64", between=(1, 5)),
    Case("sinpi", xo.sinpi, lambda x, y: np.sin(np.pi * (x + y)), operands=2, **WIDE),
    Case("cospi", xo.cospi, lambda x, y: np.cos(np.pi * (x + y)), operands=2, **WIDE),
    *same("equal not_equal less less_equal greater greater_equal", operands=2, dtypes=REALS + " bool", **WIDE),
    *same("logical_and logical_or logical_xor", operands=2, dtypes=ALL, **WIDE),
    *same("bitwise_and bitwise_or bitwise_xor", operands=2, dtypes=WHOLE + " bool", **WIDE),
    *same("bitwise_left_shift bitwise_right_shift", operands=2, dtypes=WHOLE, between=(0, 9)),
    *same("isclose", operands=2),
    *same("where", operands=2, dtypes=ALL, masked=True),
    Case("add a number", lambda x: xo.add(x, 2), lambda x: np.add(x, 2), dtypes=REALS),
    Case("less than a number", lambda x: xo.less(x, 2), lambda x: np.less(x, 2), dtypes=REALS),
    Case("where, by a comparison", lambda x, y: xo.where(x > y, x, y), lambda x, y: np.where(x > y, x, y), operands=2, dtypes=REALS),
    Case("clip", lambda x: xo.clip(x, -1, 1), lambda x: np.clip(x, -1, 1), dtypes=REALS, **WIDE),
    Case("clip, one bound", lambda x: xo.clip(x, -1, None), lambda x: np.clip(x, -1, None), dtypes=REALS, **WIDE),
    Case("clip by arrays", xo.clip, np.clip, operands=3, **WIDE),
    Case("fused", fused(xo), fused(np), bars={"1e3": BAR, "1e6": 2.0}),
]

REDUCE = [
    *same("sum prod", dtypes="f32 f64 i32 i64 bool", between=(0.999, 1.001)),
    *same("min max argmin argmax", dtypes="f32 f64 i32 i64", **WIDE),
    *same("amin amax ptp", **WIDE),
    *same("mean", dtypes="f32 f64 i64 bool", **WIDE),
    *same("var std average nansum nanmean nanmin nanmax", **WIDE),
    *same("count_nonzero", dtypes=ALL, **WIDE),
    # Of what decides at the first element, and of what has to be looked at as a whole.
    Case("any, true at once", xo.any, np.any, dtypes=ALL, make=ones),
    Case("any of zeros", xo.any, np.any, dtypes=ALL, make=zeros),
    Case("all, false at once", xo.all, np.all, dtypes=ALL, make=zeros),
    Case("all of ones", xo.all, np.all, dtypes=ALL, make=ones),
    Case("argmax, true at once", xo.argmax, np.argmax, dtypes="bool", make=ones),
    Case("argmax of zeros", xo.argmax, np.argmax, dtypes="bool", make=zeros),
    Case("argmin, false at once", xo.argmin, np.argmin, dtypes="bool", make=zeros),
    Case("argmin of ones", xo.argmin, np.argmin, dtypes="bool", make=ones),
    Case("logsumexp", xo.logsumexp, logsumexp, **WIDE),
    Case("softmax", xo.softmax, softmax, **WIDE),
    Case("linalg.vector_norm", xo.linalg.vector_norm, np.linalg.vector_norm, **WIDE),
    Case("cumulative_sum", xo.cumulative_sum, np.cumsum, dtypes=FLOATS + " i64", between=(0, 1)),
    Case("cumulative_prod", xo.cumulative_prod, np.cumprod, dtypes=FLOATS + " i64", between=(0.999, 1.001)),
    *same("cumsum cumprod", between=(0.999, 1.001)),
    *same("diff", dtypes=REALS, **WIDE),
    *same("array_equal allclose", operands=2, make=ones),
]

SMALL, UNSIGNED, COMPLEX = "i8 i16 f16", "u8 u16 u32 u64", "c64 c128"
FEW = dict(between=(0, 9))

# The same of the other dtypes, and along axes.
WIDER = [
    *same("abs negative square", dtypes=f"{SMALL} {COMPLEX}", **WIDE),
    *same("exp sin sqrt", dtypes=f"f16 {COMPLEX}", between=(0.5, 2)),
    *same("isnan isfinite isinf", dtypes=f"f16 {COMPLEX}", **WIDE),
    *same("conj real imag", dtypes=COMPLEX, **WIDE),
    *same("add multiply equal", operands=2, dtypes=f"{SMALL} {UNSIGNED} {COMPLEX}", **FEW),
    *same("maximum less", operands=2, dtypes=f"{SMALL} {UNSIGNED}", **FEW),
    *same("divide", operands=2, dtypes=f"f16 u8 u32 {COMPLEX}", between=(1, 9)),
    *same("floor_divide remainder", operands=2, dtypes=f"{SMALL} {UNSIGNED}", between=(1, 9)),
    *same("bitwise_and bitwise_left_shift", operands=2, dtypes=f"i8 i16 {UNSIGNED}", between=(0, 5)),
    *same("logical_and", operands=2, dtypes=f"{SMALL} u8 u32", **FEW),
    *same("where", operands=2, dtypes=f"{SMALL} {UNSIGNED} {COMPLEX}", masked=True, **FEW),
    Case("astype float64", lambda x: x.astype(xo.float64), lambda x: x.astype(np.float64), dtypes=f"{SMALL} {UNSIGNED}", **FEW),
    Case("astype float16", lambda x: x.astype(xo.float16), lambda x: x.astype(np.float16), dtypes="f32 f64 u8", **FEW),
    Case("astype complex128", lambda x: x.astype(xo.complex128), lambda x: x.astype(np.complex128), dtypes="f64 i32", **FEW),
    *same("sum prod", dtypes=f"{SMALL} {UNSIGNED} {COMPLEX}", between=(0.999, 1.001)),
    *same("min max argmax", dtypes=f"{SMALL} {UNSIGNED}", **FEW),
    *same("mean", dtypes=f"i32 u8 f16 {COMPLEX}", **FEW),
    *same("count_nonzero", dtypes=f"{SMALL} u8 u32 {COMPLEX}", **FEW),
    *(
        Case(f"{name}, axis={axis}", functools.partial(getattr(xo, name), axis=axis), functools.partial(getattr(np, name), axis=axis), rows=True, **more)
        for axis in (0, 1)
        for name, more in {
            **dict.fromkeys(("sum", "prod", "mean", "std", "min", "max", "argmax"), dict(dtypes="f32 f64 i32", between=(0.999, 1.001))),
            **dict.fromkeys(("any", "all", "count_nonzero"), dict(dtypes="f64 bool", between=(-9, 9))),
        }.items()
    ),
    Case("add a row", lambda x, y: xo.add(x, y[0]), lambda x, y: np.add(x, y[0]), operands=2, dtypes="f32 f64", rows=True),
]

# Neither elementwise nor reductions here: they sort, where NumPy selects. Without a bar.
BY_ORDER = [
    *same("median", **WIDE),
    Case("quantile", lambda x: xo.quantile(x, 0.3), lambda x: np.quantile(x, 0.3), **WIDE),
    Case("percentile", lambda x: xo.percentile(x, 30), lambda x: np.percentile(x, 30), **WIDE),
]


def seconds(call, repeat):
    """Seconds of one call."""
    start = time.perf_counter()
    for _ in range(repeat):
        call()
    return (time.perf_counter() - start) / repeat


def called(f, arrays, is_lazy=False):
    """A call as users write it, with its operands one by one; lazy results are computed."""
    x, y, z = (*arrays, None, None)[:3]
    lazily = [lambda: f(x).eval(), lambda: f(x, y).eval(), lambda: f(x, y, z).eval()]
    at_once = [lambda: f(x), lambda: f(x, y), lambda: f(x, y, z)]
    return (lazily if is_lazy else at_once)[len(arrays) - 1]


def measured(case, dtype, size, rng):
    """Medians of turns that ours and NumPy's take, in seconds."""
    arrays = case.arrays(rng, DTYPES[dtype], size)
    mine = [xo.asarray(x) for x in arrays]
    # Those that answer with a truth value of Python's have computed it.
    ours, theirs = called(case.ours, mine, isinstance(case.ours(*mine), xo.Array)), called(case.numpys, arrays)
    repeats = []
    for call in (ours, theirs):
        # Long enough that what runs often has its machine code.
        began, calls = time.perf_counter(), 0
        while calls < 3 or (time.perf_counter() - began < 5e-3 and calls < 1000):
            call()
            calls += 1
        repeats.append(max(1, round(TURN_SECONDS / seconds(call, calls))))
    turns = [(seconds(ours, repeats[0]), seconds(theirs, repeats[1])) for _ in range(TURNS)]
    return [statistics.median(times) for times in zip(*turns)]


def results(wanted, seed):
    """One dictionary per function, dtype and size."""
    rng = np.random.default_rng(seed)
    for case in UNARY + BINARY + REDUCE + WIDER + BY_ORDER:
        if wanted and case.name not in wanted and case.name.split()[0].rstrip(",") not in wanted:
            continue
        for dtype in case.dtypes:
            for size_name, size in SIZES.items():
                with np.errstate(all="ignore"):
                    ours, numpys = measured(case, dtype, size, rng)
                found = {"function": case.name, "dtype": dtype, "size": size_name, "ours_s": ours, "numpy_s": numpys}
                yield {**found, "ratio": numpys / ours, "bar": None if case in BY_ORDER else case.bars[size_name]}


def is_below(result):
    return result["bar"] is not None and result["ratio"] < result["bar"]


def line(result):
    microseconds = f"{result['ours_s'] * 1e6:10.2f} µs, NumPy {result['numpy_s'] * 1e6:10.2f} µs"
    return f"{result['ratio']:7.2f}  {result['function']:24} {result['dtype']:5} {result['size']}  {microseconds}"


def write(path, found, seed):
    """The results, with what they were measured on."""
    sys.path.insert(0, str(ROOT / "bench"))
    import machine

    facts = {
        "command": " ".join(["cargo xtask python --release --ratios --", *sys.argv[1:]]),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": machine.commit(),
        "seed": seed,
        "processor": machine.processor(),
        "simd": machine.simd(),
        "threads": len(os.sched_getaffinity(0)),
        "versions": {"python": sys.version.split()[0], "numpy": np.__version__, "crossover": xo.__version__},
        "below": sum(map(is_below, found)),
        "results": found,
    }
    path.write_text(json.dumps(facts, indent=1) + "\n")


def main():
    """Prints one line per function, dtype and size: those below the bar first, then all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names of functions, with commas between them")
    parser.add_argument("--json", type=Path, help="also write the results into this file")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    found = list(results({name for name in arguments.only.split(",") if name}, arguments.seed))
    below = sorted(filter(is_below, found), key=lambda result: result["ratio"])
    print(f"{len(below)} of {len(found)} below {BAR}: NumPy's time over ours")
    for result in below + [None] + found:
        print(line(result) if result else "")
    if arguments.json:
        write(arguments.json, found, arguments.seed)


if __name__ == "__main__":
    main()
