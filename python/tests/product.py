"""A product of two 5000² float64 matrices, NumPy in and out, beside PyTorch's round trip: needs a GPU and PyTorch.

    PYTHONPATH=… python python/tests/product.py [size]

The runs take turns; the line has the medians and PyTorch's time over ours.
"""

import sys
import time

import numpy as np
import torch

import crossover as xo


@xo.gpu
def ours(a, b):
    """The product by this library."""
    return a @ b


def theirs(a, b):
    """The product by PyTorch: to the GPU, and back."""
    return (torch.from_numpy(a).cuda() @ torch.from_numpy(b).cuda()).cpu().numpy()


def main():
    """Prints one line."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    rng = np.random.default_rng(0)
    a, b = rng.random((size, size)), rng.random((size, size))
    times = {ours: [], theirs: []}
    for turn in range(12):
        for run in (ours, theirs):
            start = time.perf_counter()
            result = run(a, b)
            if turn >= 3:
                times[run].append(time.perf_counter() - start)
            if turn == 0:
                assert np.allclose(result[:3], a[:3] @ b)
    mine, torchs = (sorted(times[run])[len(times[run]) // 2] for run in (ours, theirs))
    flops, moved = 2 * size**3, 3 * size * size * 8
    print(f"{size}² float64: ours {mine * 1e3:.1f} ms, PyTorch {torchs * 1e3:.1f} ms, ratio {torchs / mine:.2f}; {moved / 1e6:.0f} MB moved, {flops / 1e9:.0f} Gflop")


if __name__ == "__main__":
    main()
