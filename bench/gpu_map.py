"""`gpu_map` and `Batch` beside PyTorch on a GPU, from host memory to host memory: `python bench/gpu_map.py`.

Results are compared before anything is timed; medians of seven rounds that take turns. Needs PyTorch with CUDA and the package installed.
"""

import statistics
import time

import numpy as np
import torch

import crossover as xo

ROUNDS, WARM = 7, 4


def in_turns(*functions, rounds=ROUNDS):
    """Median milliseconds of each function."""
    for function in functions:
        for _ in range(WARM):
            function()
    times = [[] for _ in functions]
    for _ in range(rounds):
        for function, took in zip(functions, times):
            start = time.perf_counter()
            function()
            took.append(time.perf_counter() - start)
    return [1e3 * statistics.median(took) for took in times]


def row(name, items, theirs, ours):
    """One row of the table in docs/parallel.md."""
    tensors = [torch.from_numpy(item) for item in items]

    def one_by_one():
        return [theirs(tensor.cuda()).cpu() for tensor in tensors]

    def stacked():
        return theirs(torch.stack(tensors).cuda()).cpu().unbind(0)

    def mapped():
        return [np.asarray(result) for result in xo.par_iter(items).gpu_map(ours, to_host=True).collect()]

    with xo.device("cuda"):
        apart = max(float(np.abs(a - b.numpy()).max()) for a, b in zip(mapped(), one_by_one()))
        loop, hand, gpu_map = in_turns(one_by_one, stacked, mapped)
    print(f"| {name} | {loop:.1f} ms | {hand:.1f} ms | {gpu_map:.1f} ms | largest difference {apart:.1e}")


def main():
    torch.set_grad_enabled(False)
    random = np.random.default_rng(0)
    vectors = [random.normal(size=10_000).astype(np.float32) for _ in range(1000)]
    matrices = [random.normal(size=(256, 256)).astype(np.float32) for _ in range(100)]
    row(
        "1,000 vectors of 10⁴, standardised", vectors,
        lambda x: (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, unbiased=False),
        lambda x: (x - xo.mean(x)) / xo.std(x),
    )
    for count in (100, 10):
        row(f"{count} products of 256 × 256", matrices[:count], lambda m: m @ m, lambda m: m @ m)
    resident = [xo.asarray(matrix) for matrix in matrices[:10]]
    batch = xo.batch.create_batch(resident, max_batch_size=16)
    with xo.device("cuda"):
        loop, batched = in_turns(
            lambda: [np.asarray(m @ m) for m in resident], lambda: [np.asarray(m) for m in batch.matmul(resident)], rounds=31,
        )
    print(f"10 products on the GPU: one by one {loop:.2f} ms, Batch.matmul {batched:.2f} ms")


if __name__ == "__main__":
    main()
