"""Speed beside NumPy, interleaved: `cargo xtask python --release --ratios`.

Each line is NumPy's time over ours, at 10³ and 10⁶ float64 elements; above 1 we are faster. The bar is 0.7 everywhere, and 2 for the fused
expressions at 10⁶.
"""

import time

import numpy as np

import crossover as xo

UNARY = ["abs", "sqrt", "exp", "log", "sin", "tanh", "floor", "square", "expm1", "arctan"]
BINARY = ["add", "multiply", "divide", "maximum", "power", "less"]
REDUCE = ["sum", "mean", "max", "std", "argmax", "prod"]


def fused(m, x):
    """Several operations that become one kernel."""
    return m.sqrt(x * x + 1.0) * 0.5 + m.exp(-x) / (1.0 + x * x)


def once(call, repeat):
    """Seconds of one call."""
    start = time.perf_counter()
    for _ in range(repeat):
        call()
    return (time.perf_counter() - start) / repeat


def ratio(ours, theirs, repeat):
    """NumPy's time over ours: medians of runs that take turns."""
    pairs = [(once(ours, repeat), once(theirs, repeat)) for _ in range(9)]
    mine, numpys = (sorted(times)[4] for times in zip(*pairs))
    return numpys / mine


def main():
    """Prints one line per function."""
    rng = np.random.default_rng(0)
    calls = {name: (lambda m, x, y, name=name: getattr(m, name)(x)) for name in UNARY + REDUCE}
    calls.update({name: (lambda m, x, y, name=name: getattr(m, name)(x, y)) for name in BINARY})
    calls["fused"] = lambda m, x, y: fused(m, x)
    for name, call in calls.items():
        found = []
        for size, repeat in ((1000, 200), (1_000_000, 2)):
            x, y = rng.uniform(0.5, 2, size), rng.uniform(0.5, 2, size)
            a, b = xo.asarray(x), xo.asarray(y)
            found.append(ratio(lambda: call(xo, a, b).eval(), lambda: call(np, x, y), repeat))
        print(f"{name:10} {found[0]:6.2f} {found[1]:6.2f}")


if __name__ == "__main__":
    main()
