"""Batches on the workers of a Ray cluster: `xo.ray.map_batches`.

Needs `ray`, which is not installed with this package: `pip install ray`. Where no cluster is connected, one is started on this machine.
"""

import pickle

import numpy as np

from . import _native as _n

# Share of a worker's memory that the rows of a batch may take: there are its result and what lies between, too.
_SHARE = 4
# Rows of a list that are looked at to learn how large rows are.
_SAMPLE = 32
# Batches per worker at least, so that a slow one does not keep the others waiting.
_PER_WORKER = 4


def _ray():
    try:
        import ray
    except ImportError as error:
        raise ImportError("crossover.ray needs Ray: pip install ray") from error
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False)
    return ray


def _run(fn, batch):
    """One batch on a worker; what it returns is NumPy's, which Ray stores without copying."""
    result = fn(batch)
    return result.numpy() if isinstance(result, _n.Array) else result


def batch_rows(rows, row_bytes, workers, free):
    """Rows of a batch: as many as memory has room for, and few enough that every worker gets several.

    >>> xo.ray.batch_rows(rows=1000, row_bytes=8, workers=2, free=10**9)
    125
    >>> xo.ray.batch_rows(rows=1000, row_bytes=10**7, workers=2, free=10**9)
    25
    """
    even = -(-rows // (max(workers, 1) * _PER_WORKER))
    fits = free // (_SHARE * max(row_bytes, 1))
    return int(max(1, min(even, fits, max(rows, 1))))


def row_bytes(data):
    """Bytes of a row of an array, or of the largest of some rows of a list, as they are sent to workers.

    >>> import numpy as np
    >>> xo.ray.row_bytes(np.zeros((10, 100)))
    800
    >>> xo.ray.row_bytes([b"-" * 10**6] * 5) // 1000
    1000
    """
    if not isinstance(data, list):
        return data.nbytes // max(len(data), 1)
    step = max(1, len(data) // _SAMPLE)
    return max((len(pickle.dumps(row, protocol=5)) for row in data[::step]), default=1)


def _room(nodes, num_cpus, num_gpus):
    """Bytes that a worker has on the node where they are fewest, and on the device of this machine if workers have GPUs, which are taken to be alike."""
    rooms = []
    for node in nodes:
        resources = node.get("Resources", {})
        if node.get("Alive") and resources.get("CPU") and resources.get("memory"):
            rooms.append(resources["memory"] / max(1, resources["CPU"] // max(num_cpus, 1)))
    if num_gpus or not rooms:
        rooms += [device["free"] for device in _n.get_runtime().memory_stats().values()]
    return int(min(rooms, default=1 << 30))


def map_batches(fn, data, batch_size="auto", *, workers=None, retries=3, num_cpus=1, num_gpus=0):
    """Applies `fn` to batches of `data`, rows along its first axis, on the workers of a cluster; the results joined, in order.

    `data` is an array, ours or NumPy's, or a list; `fn` gets a NumPy array (a part of the list) and returns an array whose first axis is that of the
    batch, or a list. `batch_size` is a number of rows, or 'auto': sized by rows as they are, by the memory that
    a worker has, and by the number of workers. A worker that dies costs
    a retry, up to `retries` for each batch, and no result; an exception of `fn` is raised here. `num_cpus` and `num_gpus` are what a batch
    takes of a worker. At most two batches per worker are on their way at a time.

    >>> xo.ray.map_batches(lambda rows: rows * 2, xo.arange(4), workers=2)  # doctest: +SKIP
    """
    ray = _ray()
    array = data if isinstance(data, list) else np.asarray(data)
    rows = len(array)
    if workers is None:
        workers = max(1, int(ray.cluster_resources().get("CPU", 1) // max(num_cpus, 1)))
    if batch_size == "auto":
        batch_size = batch_rows(rows, row_bytes(array), workers, _room(ray.nodes(), num_cpus, num_gpus))
    if not isinstance(batch_size, int) or batch_size < 1:
        raise ValueError(f"batch_size is a number of rows or 'auto', not {batch_size!r}")
    task = ray.remote(_run).options(max_retries=retries, num_cpus=num_cpus, num_gpus=num_gpus)
    function = ray.put(fn)
    starts = list(range(0, rows, batch_size)) or [0]
    results, running = [None] * len(starts), {}
    for at, start in enumerate(starts):
        running[task.remote(function, array[start:start + batch_size])] = at
        while len(running) >= 2 * workers:
            _collect(ray, running, results)
    while running:
        _collect(ray, running, results)
    if isinstance(results[0], list):
        return [item for part in results for item in part]
    return np.concatenate([np.asarray(part) for part in results])


def _collect(ray, running, results):
    """Takes the next result that is there."""
    [ready], _ = ray.wait(list(running), num_returns=1)
    results[running.pop(ready)] = ray.get(ready)
