"""Written by python/tools/stubs.py."""

from typing import Any, Callable, Literal, SupportsIndex

from . import _typing as _t

def batch_rows(rows: SupportsIndex, row_bytes: SupportsIndex, workers: SupportsIndex, free: SupportsIndex) -> int:
    """Rows of a batch: as many as memory has room for, and few enough that every worker gets several."""

def map_batches(fn: Callable[..., Any], data: _t.ArrayLike | list[Any], batch_size: int | Literal['auto'] = 'auto', *, workers: SupportsIndex | None = None, retries: SupportsIndex = 3, num_cpus: float = 1, num_gpus: float = 0) -> Any:
    """Applies `fn` to batches of `data`, rows along its first axis, on the workers of a cluster; the results joined, in order."""

def row_bytes(data: _t.ArrayLike | list[Any]) -> int:
    """Bytes of a row of an array, or of the largest of some rows of a list, as they are sent to workers."""
