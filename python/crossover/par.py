"""Parallel iterators over Python's items, with functions of arrays in as few plans as possible.

>>> xo.par_iter([1, 2, 3, 4]).map(lambda n: n * n).filter(lambda n: n % 2 == 0).collect()
[4, 16]
>>> rows = [xo.asarray([1.0, 2.0]), xo.asarray([3.0]), xo.asarray([4.0, 5.0])]
>>> xo.par_iter(rows).gpu_map(lambda x: xo.sum(x * x)).collect()
[array(5.), array(9.), array(41.)]
"""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import reduce as _reduce
from itertools import chain, islice
from typing import Any, Callable, Iterable, Iterator, Optional

from ._native import gpu_map

__all__ = ["Failure", "ParIter", "par_iter"]


class Failure:
    """An item without a result: its exception, or `None` if it was skipped because another had failed."""

    def __init__(self, error: Optional[Exception]) -> None:
        self.error = error

    def __repr__(self) -> str:
        return f"Failure({self.error!r})"


class ParIter:
    """Items that are worked on by threads, in order. Nothing happens before a result is asked for.

    Functions of Python share the interpreter; what they compute with arrays runs beside others.
    """

    def __init__(self, items: Callable[[], Iterator], workers: Optional[int] = None) -> None:
        self._items = items
        self._workers = workers

    def _then(self, step: Callable[[Iterator], Iterator]) -> "ParIter":
        items = self._items
        return ParIter(lambda: step(items()), self._workers)

    def _shared(self, function: Callable, items: Iterable) -> list:
        with ThreadPoolExecutor(self._workers) as pool:
            return list(pool.map(function, items))

    def map(self, function: Callable) -> "ParIter":
        """A function of each item, on threads."""
        return self._then(lambda items: iter(self._shared(function, items)))

    def filter(self, holds: Callable) -> "ParIter":
        """The items for which a condition holds."""
        def kept(items):
            items = list(items)
            return (item for item, keep in zip(items, self._shared(holds, items)) if keep)

        return self._then(kept)

    def flat_map(self, function: Callable) -> "ParIter":
        """All the items that a function makes of each item."""
        return self._then(lambda items: chain.from_iterable(self._shared(function, items)))

    def enumerate(self) -> "ParIter":
        """Each item with its position."""
        return self._then(enumerate)

    def zip(self, other: Iterable) -> "ParIter":
        """Each item with that of another list at the same position."""
        others = other._items if isinstance(other, ParIter) else lambda: iter(other)
        return self._then(lambda items: zip(items, others()))

    def take(self, count: int) -> "ParIter":
        """The first items."""
        return self._then(lambda items: islice(items, count))

    def skip(self, count: int) -> "ParIter":
        """All but the first items."""
        return self._then(lambda items: islice(items, count, None))

    def chunks(self, length: int) -> "ParIter":
        """Lists of so many items, the last of which may be shorter."""
        if length < 1:
            raise ValueError(f"lists of {length} items; at least 1 is needed")

        def cut(items):
            while part := list(islice(items, length)):
                yield part

        return self._then(cut)

    def gpu_map(self, function: Callable, max_batch_size: Optional[int] = None, to_host: bool = False) -> "ParIter":
        """A function of arrays, for all items in as few plans as possible.

        It is called with arrays that have no values yet, once for each combination of dtypes and shapes; what it computes runs as one plan over
        all items of that kind. One that asks for values is called for each item. Items are arrays, or tuples of arrays. Results stay where they
        were computed; `to_host` brings them to the host while later ones are computed.
        """
        def mapped(items):
            tuples = [item if isinstance(item, tuple) else (item,) for item in items]
            for result in gpu_map(tuples, function, max_batch_size, to_host)[0]:
                if isinstance(result, BaseException):
                    raise result
                yield result

        return self._then(mapped)

    def __iter__(self) -> Iterator:
        return self._items()

    def collect(self) -> list:
        """All items, in order."""
        return list(self._items())

    def for_each(self, function: Callable) -> None:
        """Calls a function for each item, on threads."""
        self.map(function).collect()

    def count(self) -> int:
        """How many items there are."""
        return len(self.collect())

    def fold(self, start: Any, step: Callable) -> Any:
        """Items joined with a start, in order.

        >>> xo.par_iter([1, 2, 3]).fold("", lambda text, n: text + str(n))
        '123'
        """
        return _reduce(step, self._items(), start)

    def reduce(self, join: Callable) -> Any:
        """Items joined in order; there must be one."""
        return _reduce(join, self._items())

    def sum(self) -> Any:
        """The sum of all items, in order."""
        return sum(self._items())

    def min(self) -> Any:
        """The smallest item, or `None`."""
        return min(self._items(), default=None)

    def max(self) -> Any:
        """The largest item, or `None`."""
        return max(self._items(), default=None)

    def any(self, holds: Callable) -> bool:
        """Whether a condition holds for an item."""
        return any(map(holds, self._items()))

    def all(self, holds: Callable) -> bool:
        """Whether a condition holds for all items."""
        return all(map(holds, self._items()))

    def run(self, function: Callable, *, policy: str = "fail_fast", retries: int = 0, progress: Optional[Callable] = None) -> tuple:
        """Work that may fail: a list with a result or a `Failure` for each item, and counts and times.

        `policy` is `fail_fast` (items that have not begun are skipped) or `continue`; each item is tried again `retries` times. `progress` is called with
        the number of items that have ended and that of all.

        >>> results, telemetry = xo.par_iter(["1", "two", "3"]).run(int, policy="continue")
        >>> results[2], type(results[1].error).__name__, telemetry["failed"]
        (3, 'ValueError', 1)
        """
        if policy not in ("fail_fast", "continue"):
            raise ValueError(f"policy {policy!r} is neither 'fail_fast' nor 'continue'")
        items, state, times = self.collect(), {"stop": False, "done": 0, "retries": 0}, []
        began = time.perf_counter()

        def one(item):
            if state["stop"]:
                return Failure(None)
            start = time.perf_counter()
            for attempt in range(retries + 1):
                state["retries"] += attempt > 0
                try:
                    result = function(item)
                    break
                except Exception as error:  # noqa: BLE001 - it is that item's result
                    result = Failure(error)
            times.append(time.perf_counter() - start)
            if isinstance(result, Failure) and policy == "fail_fast":
                state["stop"] = True
            state["done"] += 1
            if progress is not None:
                progress(state["done"], len(items))
            return result

        results = self._shared(one, items)
        wall = time.perf_counter() - began
        failures = [result for result in results if isinstance(result, Failure)]
        skipped = len([failure for failure in failures if failure.error is None])
        succeeded = len(results) - len(failures)
        telemetry = {
            "items": len(items), "succeeded": succeeded, "failed": len(failures) - skipped, "skipped": skipped,
            "retries": state["retries"], "seconds": wall, "throughput": succeeded / wall if wall > 0 else 0.0,
        }
        times.sort()
        for percent in (50, 95, 99):
            at = max(0, -(-len(times) * percent // 100) - 1)
            telemetry[f"p{percent}"] = times[at] if times else 0.0
        return results, telemetry


def par_iter(items: Iterable, workers: Optional[int] = None) -> ParIter:
    """Items for several threads; see `crossover.par`."""
    return ParIter(lambda: iter(items), workers)
