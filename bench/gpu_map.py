"""`gpu_map` and `Batch` beside PyTorch on a GPU, from host memory to host memory: `python bench/gpu_map.py`.

Results are compared before anything is timed; medians of seven rounds that take turns. Needs PyTorch with CUDA. Without the package only PyTorch is timed;
`crossover-gpu-test --only modules` has the same work from Rust.
"""

import statistics
import time

import numpy as np
import torch

try:
    import crossover as xo
except ImportError:
    xo = None

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

    if xo is None:
        loop, hand = in_turns(one_by_one, stacked)
        print(f"| {name} | {loop:.2f} ms | {hand:.2f} ms | the package is not installed")
        return
    with xo.device("cuda"):
        apart = max(float(np.abs(a - b.numpy()).max()) for a, b in zip(mapped(), one_by_one()))
        loop, hand, gpu_map = in_turns(one_by_one, stacked, mapped)
    print(f"| {name} | {loop:.2f} ms | {hand:.2f} ms | {gpu_map:.2f} ms | largest difference {apart:.1e}")


def resident(matrices):
    """Products of matrices that are on the GPU already."""
    tensors = [torch.from_numpy(matrix).cuda() for matrix in matrices]

    def one_by_one():
        products = [tensor @ tensor for tensor in tensors]
        torch.cuda.synchronize()
        return products

    def stacked():
        whole = torch.stack(tensors)
        products = torch.bmm(whole, whole)
        torch.cuda.synchronize()
        return products

    loop, hand = in_turns(one_by_one, stacked, rounds=31)
    print(f"{len(matrices)} products on the GPU: PyTorch one by one {loop:.3f} ms, stacked {hand:.3f} ms")
    if xo is None:
        return
    with xo.device("cuda"):
        arrays = [xo.asarray(matrix) for matrix in matrices]
        batch = xo.batch.create_batch(arrays, max_batch_size=16)
        loop, batched = in_turns(
            lambda: [np.asarray(m @ m) for m in arrays], lambda: [np.asarray(m) for m in batch.matmul(arrays)], rounds=31,
        )
    print(f"{len(matrices)} products, brought to the host: one by one {loop:.3f} ms, Batch.matmul {batched:.3f} ms")


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
    resident(matrices[:10])


if __name__ == "__main__":
    main()
