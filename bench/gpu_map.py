"""`gpu_map` and `Batch` beside PyTorch on a GPU, from host memory to host memory: `python bench/gpu_map.py`.

Results are compared before anything is timed; medians of seven rounds that take turns. Needs PyTorch with CUDA. Without the package only PyTorch is timed.
`--program PATH` runs `crossover-gpu-test --only modules`, the same work from Rust, between two rounds of PyTorch; `--out FILE` writes all of it as JSON, with
`--commit HASH` beside it.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
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
        return {"name": name, "torch_loop_ms": loop, "torch_stacked_ms": hand}
    with xo.device("cuda"):
        apart = max(float(np.abs(a - b.numpy()).max()) for a, b in zip(mapped(), one_by_one()))
        loop, hand, gpu_map = in_turns(one_by_one, stacked, mapped)
    print(f"| {name} | {loop:.2f} ms | {hand:.2f} ms | {gpu_map:.2f} ms | largest difference {apart:.1e}")
    return {"name": name, "torch_loop_ms": loop, "torch_stacked_ms": hand, "gpu_map_ms": gpu_map, "apart": apart}


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
    found = {"name": f"{len(matrices)} products on the GPU", "torch_loop_ms": loop, "torch_stacked_ms": hand}
    if xo is None:
        return found
    with xo.device("cuda"):
        arrays = [xo.asarray(matrix) for matrix in matrices]
        batch = xo.batch.create_batch(arrays, max_batch_size=16)
        loop, batched = in_turns(
            lambda: [np.asarray(m @ m) for m in arrays], lambda: [np.asarray(m) for m in batch.matmul(arrays)], rounds=31,
        )
    print(f"{len(matrices)} products, brought to the host: one by one {loop:.3f} ms, Batch.matmul {batched:.3f} ms")
    return found | {"fetched_loop_ms": loop, "fetched_batch_ms": batched}


def compared():
    """All rows once."""
    random = np.random.default_rng(0)
    vectors = [random.normal(size=10_000).astype(np.float32) for _ in range(1000)]
    matrices = [random.normal(size=(256, 256)).astype(np.float32) for _ in range(100)]
    rows = [row(
        "1,000 vectors of 10⁴, standardised", vectors,
        lambda x: (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, unbiased=False),
        lambda x: (x - xo.mean(x)) / xo.std(x),
    )]
    for count in (100, 10):
        rows.append(row(f"{count} products of 256 × 256", matrices[:count], lambda m: m @ m, lambda m: m @ m))
    return [*rows, resident(matrices[:10])]


def from_rust(program):
    """What the program checks and times."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([program, folder, "--only", "modules"], stdout=subprocess.PIPE, text=True, check=False)
        print(done.stdout, end="")
        return json.loads(pathlib.Path(folder, "gpu-test.json").read_text())


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", help="crossover-gpu-test")
    arguments.add_argument("--out", help="where the figures go")
    arguments.add_argument("--commit", help="what the program was built from")
    given = arguments.parse_args()
    torch.set_grad_enabled(False)
    rounds = [compared()]
    command = "python bench/gpu_map.py"
    found = {"torch": torch.__version__, "device": torch.cuda.get_device_name()}
    if given.program:
        command += " --program crossover-gpu-test"
        found |= from_rust(given.program)
        rounds.append(compared())
    if given.out:
        found = {"command": command, "commit": given.commit, **found, "peers": rounds}
        pathlib.Path(given.out).write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
