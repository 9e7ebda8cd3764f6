"""Written by python/tools/stubs.py."""

from typing import Any

def batch_rows(rows: Any, row_bytes: Any, workers: Any, free: Any) -> int:
    """Rows of a batch: as many as memory has room for, and few enough that every worker gets several."""

def map_batches(fn: Any, data: Any, batch_size: Any = ..., *, workers: Any = ..., retries: Any = ..., num_cpus: Any = ..., num_gpus: Any = ...) -> Any:
    """Applies `fn` to batches of `data`, rows along its first axis, on the workers of a cluster; the results joined, in order."""

def row_bytes(data: Any) -> int:
    """Bytes of a row of an array, or of the largest of some rows of a list, as they are sent to workers."""
