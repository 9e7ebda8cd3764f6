"""How long tiny operations take: `cargo xtask python --release --overhead`.

The bars: adding two arrays of 5 elements 1.5 µs, `float(a.sum())` 3 µs.
"""

import time

import numpy as np

import crossover as xo


def microseconds(call):
    """Median over batches of the microseconds of one call."""
    batch, times = 500, []
    for _ in range(41):
        start = time.perf_counter()
        for _ in range(batch):
            call()
        times.append((time.perf_counter() - start) / batch * 1e6)
    return sorted(times)[len(times) // 2]


def main():
    """Prints one line per operation: us, NumPy."""
    a, b = xo.asarray([1.0, 2.0, 3.0, 4.0, 5.0]), xo.asarray([5.0, 4.0, 3.0, 2.0, 1.0])
    x, y = np.asarray(a), np.asarray(b)
    rows = [
        ("a + b, 5 elements, lazy", lambda: a + b, lambda: x + y),
        ("(a + b).eval()", lambda: (a + b).eval(), lambda: x + y),
        ("float(a.sum())", lambda: float(a.sum()), lambda: float(x.sum())),
        ("a[2]", lambda: a[2], lambda: x[2]),
        ("float(a[2])", lambda: float(a[2]), lambda: float(x[2])),
        ("asarray of a list of 5", lambda: xo.asarray([1.0, 2.0, 3.0, 4.0, 5.0]), lambda: np.asarray([1.0, 2.0, 3.0, 4.0, 5.0])),
        ("asarray of a NumPy array of 5", lambda: xo.asarray(x), lambda: np.array(x)),
        ("numpy.asarray(a)", lambda: np.asarray(a), lambda: np.asarray(x)),
    ]
    for name, ours, theirs in rows:
        print(f"{name:32} {microseconds(ours):6.2f} µs   NumPy {microseconds(theirs):6.2f} µs")


if __name__ == "__main__":
    main()
