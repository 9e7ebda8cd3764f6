"""Parallel iterators over Python's items, with functions of arrays in as few plans as possible.

>>> xo.par_iter([1, 2, 3, 4]).map(lambda n: n * n).filter(lambda n: n % 2 == 0).collect()
[4, 16]
>>> rows = [xo.asarray([1.0, 2.0]), xo.asarray([3.0]), xo.asarray([4.0, 5.0])]
>>> xo.par_iter(rows).gpu_map(lambda x: xo.sum(x * x)).collect()
[array(5.), array(9.), array(41.)]

Tasks run by themselves, and what they raise stays with them:

>>> with xo.par.scope() as scope:
...     words = [scope.spawn(len, word) for word in ("parallel", "tasks")]
>>> [word.join() for word in words]
[8, 5]

Results do not depend on the number of threads. Functions see the device and the runtime of the `with` blocks that the caller is in.
"""

import os
import threading
import time
import warnings
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import reduce as _reduce
from itertools import chain, islice
from typing import Any, Callable, Iterable, Iterator, Optional

import numpy as np

from ._native import Array, Carried, Held, gpu_map
from ._tasks import Scope, Task, scope, spawn

__all__ = ["Failure", "GpuMap", "ParIter", "Scope", "Task", "par_iter", "scope", "spawn"]


class Failure:
    """An item without a result: its exception, or `None` if it was skipped because another had failed.

    >>> results, told = xo.par_iter([1, 0]).run(lambda n: 1 // n, policy="continue")
    >>> results[0], type(results[1].error).__name__
    (1, 'ZeroDivisionError')
    """

    def __init__(self, error: Optional[Exception]) -> None:
        self.error = error

    def __repr__(self) -> str:
        return f"Failure({self.error!r})"


def shared(function: Callable, items: Iterable, workers: Optional[int] = None) -> list:
    """A function of each item, on threads that compute where this one does; when one raises, those that have not begun are left out."""
    with ThreadPoolExecutor(workers, initializer=Carried().__enter__) as pool:
        try:
            return list(pool.map(function, items))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


# Items for each thread that are begun before the result of the first of them is taken.
_AHEAD = 16


def ahead(function: Callable, items: Iterator, workers: Optional[int] = None) -> Iterator:
    """A function of each item, on threads that compute where this one does, in order. Few more items are begun than results are taken; those
    before one that raises are given first, and those that have not begun when nobody takes results any more are left out."""
    threads = workers or min(32, (os.cpu_count() or 1) + 4)
    begun: deque = deque()
    failure: Optional[Exception] = None
    left: Optional[Iterator] = items
    pool = ThreadPoolExecutor(threads, initializer=Carried().__enter__)
    try:
        while True:
            while left is not None and len(begun) < _AHEAD * threads:
                try:
                    begun.append(pool.submit(function, next(left)))
                except StopIteration:
                    left = None
                except Exception as error:  # noqa: BLE001 - it is raised where its item would be
                    left, failure = None, error
            if not begun:
                break
            yield begun.popleft().result()
        if failure is not None:
            raise failure
    finally:
        pool.shutdown(cancel_futures=True)


def _least(*counts: Optional[int]) -> Optional[int]:
    """The smallest of some counts, of which `None` is no limit."""
    return min((count for count in counts if count is not None), default=None)


def _count(name: str, count: int) -> int:
    if count < 0:
        raise ValueError(f"{name} of {count} items; 0 or more are needed")
    return count


class ParIter:
    """Items that are worked on by threads, in order. Nothing happens before a result is asked for, and then few items more than it takes:
    lists may be endless where `take`, `any` or `all` ends them.

    >>> from itertools import count
    >>> xo.par_iter(count()).map(lambda n: n * n).filter(lambda n: n % 3 == 1).take(4).collect()
    [1, 4, 16, 25]

    Functions of Python share the interpreter; what they compute with arrays runs beside others.
    """

    def __init__(self, items: Callable[[Optional[int]], Iterator], workers: Optional[int] = None) -> None:
        # Called with how many items will be taken at most, or `None` where that is not known.
        self._items = items
        self._workers = workers

    def _then(self, step: Callable[[Iterator], Iterator], wanted: Callable[[int], Optional[int]] = lambda count: None) -> "ParIter":
        """A step, and how many items it takes at most to give so many."""
        items = self._items
        return ParIter(lambda most: step(items(None if most is None else wanted(most))), self._workers)

    def _ahead(self, function: Callable, items: Iterator) -> Iterator:
        return ahead(function, iter(items), self._workers)

    def map(self, function: Callable) -> "ParIter":
        """A function of each item, on threads."""
        items = self._items
        return ParIter(lambda most: self._ahead(function, islice(items(most), most)), self._workers)

    def filter(self, holds: Callable) -> "ParIter":
        """The items for which a condition holds."""
        def kept(items):
            return (item for item, keep in self._ahead(lambda item: (item, holds(item)), items) if keep)

        return self._then(kept)

    def flat_map(self, function: Callable) -> "ParIter":
        """All the items that a function makes of each item."""
        return self._then(lambda items: chain.from_iterable(self._ahead(function, items)))

    def enumerate(self) -> "ParIter":
        """Each item with its position."""
        return self._then(enumerate, lambda count: count)

    def zip(self, other: Iterable) -> "ParIter":
        """Each item with that of another list at the same position."""
        items, others = self._items, other._items if isinstance(other, ParIter) else lambda most: iter(other)
        return ParIter(lambda most: zip(items(most), others(most)), self._workers)

    def take(self, count: int) -> "ParIter":
        """The first items."""
        _count("take", count)
        items = self._items
        return ParIter(lambda most: islice(items(_least(most, count)), count), self._workers)

    def skip(self, count: int) -> "ParIter":
        """All but the first items."""
        _count("skip", count)
        return self._then(lambda items: islice(items, count, None), lambda more: count + more)

    def chunks(self, length: int) -> "ParIter":
        """Lists of so many items, the last of which may be shorter."""
        if length < 1:
            raise ValueError(f"lists of {length} items; at least 1 is needed")

        def cut(items):
            while part := list(islice(items, length)):
                yield part

        return self._then(cut, lambda count: count * length)

    def gpu_map(
        self, function: Callable, max_batch_size: Optional[int] = None, to_host: bool = False, *,
        policy: str = "continue", retries: int = 0, progress: Optional[Callable] = None,
    ) -> "GpuMap":
        """A function of arrays, for all items in as few plans as possible.

        It is called with arrays that have no values yet, once for each combination of dtypes and shapes; what it computes runs as one plan over
        all items of that kind. One that asks for values is called for each item. Items are arrays, or tuples of arrays. Results stay where they
        were computed; `to_host` brings them to the host while later ones are computed. Items of NumPy's arrays have results of NumPy's, as under
        `@xo.gpu`:

        >>> import numpy as np
        >>> xo.par_iter([np.arange(3.0), np.arange(3.0) + 1]).gpu_map(lambda x: x * 2).collect()[1]
        array([2., 4., 6.])

        `policy` is `continue` (one that fails does not take the others with it) or `fail_fast` (items that have not begun are skipped); each item
        is tried again `retries` times. `progress` is called with the number of items that have ended and that of all, when a group or an item has;
        a GPU may still be computing then. What it raises is a warning, and the work goes on.

        >>> def shown(done, total):
        ...     print(f"{done} of {total}")
        >>> xo.par_iter([xo.ones(2), xo.ones(3)]).gpu_map(lambda x: x + 1, progress=shown).collect()
        1 of 2
        2 of 2
        [array([2., 2.]), array([2., 2., 2.])]

        Random numbers drawn inside the function are drawn once and are the same for all items. Noise of its own comes to an item as a second
        array, drawn before, with a key for each or by one generator:

        >>> rows, rng = [xo.zeros(2) for _ in range(3)], xo.random.default_rng(7)
        >>> out = xo.par_iter([(x, rng.normal(size=2)) for x in rows]).gpu_map(lambda x, noise: x + 0.1 * noise).collect()
        >>> bool(xo.any(out[0] == out[1]))
        False
        """
        return GpuMap(self._items, self._workers, function, max_batch_size, to_host, (policy, retries, progress))

    def __iter__(self) -> Iterator:
        return self._items(None)

    def collect(self) -> list:
        """All items, in order."""
        return list(self)

    def for_each(self, function: Callable) -> None:
        """Calls a function for each item, on threads."""
        deque(self.map(function), maxlen=0)

    def count(self) -> int:
        """How many items there are."""
        return sum(1 for _ in self)

    def fold(self, start: Any, step: Callable) -> Any:
        """Items joined with a start, in order.

        >>> xo.par_iter([1, 2, 3]).fold("", lambda text, n: text + str(n))
        '123'
        """
        return _reduce(step, self, start)

    def reduce(self, join: Callable) -> Any:
        """Items joined in order; there must be one."""
        return _reduce(join, self)

    def sum(self) -> Any:
        """The sum of all items, in order."""
        return sum(self)

    def min(self) -> Any:
        """The smallest item, or `None`."""
        return min(self, default=None)

    def max(self) -> Any:
        """The largest item, or `None`."""
        return max(self, default=None)

    def any(self, holds: Callable) -> bool:
        """Whether a condition holds for an item, on threads; few items are looked at behind the first that decides."""
        return any(self.map(holds))

    def all(self, holds: Callable) -> bool:
        """Whether a condition holds for all items, on threads; few items are looked at behind the first that decides."""
        return all(self.map(holds))

    def run(self, function: Callable, *, policy: str = "fail_fast", retries: int = 0, progress: Optional[Callable] = None) -> tuple:
        """Work that may fail: a list with a result or a `Failure` for each item, and counts and times.

        `policy` is `fail_fast` (items that have not begun are skipped) or `continue`; each item is tried again `retries` times. `progress` is called with
        the number of items that have ended and that of all; what it raises is a warning, and the work goes on.

        >>> results, telemetry = xo.par_iter(["1", "two", "3"]).run(int, policy="continue")
        >>> results[2], type(results[1].error).__name__, telemetry["failed"]
        (3, 'ValueError', 1)
        """
        _check_policy(policy, retries)
        items = self.collect()
        run = _Run(function, policy == "fail_fast", retries, progress, len(items))
        began = time.perf_counter()
        results = shared(run.one, items, self._workers)
        return results, run.telemetry(results, time.perf_counter() - began)


class GpuMap(ParIter):
    """Results of a function of arrays; made by `ParIter.gpu_map`. An iterator ends with the exception of the first item that failed.

    >>> mapped = xo.par_iter([xo.ones(2), xo.zeros(2)]).gpu_map(xo.sum)
    >>> isinstance(mapped, xo.par.GpuMap), mapped.collect()
    (True, [array(2.), array(0.)])
    """

    def __init__(self, items, workers, function, max_batch_size, to_host, failing):
        if max_batch_size is not None and max_batch_size < 0:
            raise ValueError(f"max_batch_size is {max_batch_size}; it is at least 0, which is taken as 1")
        policy, retries, _ = failing
        _check_policy(policy, retries)
        self._arguments = items, function, max_batch_size, to_host, failing
        super().__init__(self._results, workers)

    def try_collect(self) -> tuple:
        """A result or an exception for each item, in order, or `None` for one that was skipped because another had failed, and what was done:
        counts, groups, times, and why items were worked on one by one.

        >>> rows = [xo.ones(2), xo.ones(3), xo.ones(2)]
        >>> results, told = xo.par_iter(rows).gpu_map(lambda x: xo.sum(x.reshape((1, 2)))).try_collect()
        >>> results[2], type(results[1]).__name__, told["batched"], told["failed"]
        (array(2.), 'ValueError', 2, 1)
        """
        return self._computed(None)

    def _computed(self, most):
        items, function, max_batch_size, to_host, (policy, retries, progress) = self._arguments
        tuples = [item if isinstance(item, tuple) else (item,) for item in islice(items(most), most)]
        numpys = [bool(item) and all(type(one) is np.ndarray for one in item) for item in tuples]
        watch = None if progress is None else lambda done, total: _tell(progress, done, total, 5)
        on_host = to_host or bool(numpys) and all(numpys)
        results, told = gpu_map(tuples, function, max_batch_size, on_host, policy == "fail_fast", retries, watch)
        # What holds a result alone gives its memory away.
        held = [Held(result) if numpy and isinstance(result, Array) else result for result, numpy in zip(results, numpys)]
        del results
        return [_given(one) if isinstance(one, Held) else one for one in held], told

    def _results(self, most):
        results = self._computed(most)[0]
        for result in results:
            if result is None:
                # The exception that others were skipped for stands behind it.
                result = next(other for other in results if isinstance(other, BaseException))
            if isinstance(result, BaseException):
                raise result
            yield result


def _given(held: Held) -> Any:
    """A result as NumPy's: one without axes is a scalar there."""
    array = held.give()
    return array if array.ndim else array[()]


def _check_policy(policy, retries):
    if policy not in ("fail_fast", "continue"):
        raise ValueError(f"policy {policy!r} is neither 'fail_fast' nor 'continue'; to try again, give `retries`")
    if retries < 0:
        raise ValueError(f"retries is {retries}; an item is tried again 0 times or more")


def _tell(progress, done, total, level):
    """Tells whoever watches a run. Results are worth more than being told of them."""
    try:
        progress(done, total)
    except Exception as error:  # noqa: BLE001 - it is nobody's result
        warnings.warn(f"progress failed after {done} of {total} items: {error!r}", RuntimeWarning, stacklevel=level)


class _Run:
    """A run of items under a policy, shared by threads."""

    def __init__(self, function, fails_fast, retries, progress, total):
        self.function, self.fails_fast, self.retries, self.progress, self.total = function, fails_fast, retries, progress, total
        self.stopped, self.done, self.again, self.times, self.lock = False, 0, 0, [], threading.Lock()

    def one(self, item):
        """The result of an item, or its failure."""
        if self.stopped:
            return Failure(None)
        start, attempt = time.perf_counter(), 0
        while True:
            try:
                result = self.function(item)
                break
            except Exception as error:  # noqa: BLE001 - it is that item's result
                result = Failure(error)
            if attempt == self.retries:
                self.stopped |= self.fails_fast
                break
            attempt += 1
        with self.lock:
            self.times.append(time.perf_counter() - start)
            self.again += attempt
            self.done += 1
            done = self.done
        if self.progress is not None:
            _tell(self.progress, done, self.total, 3)
        return result

    def telemetry(self, results, wall):
        """Counts and times."""
        failures = [result for result in results if isinstance(result, Failure)]
        skipped = len([failure for failure in failures if failure.error is None])
        succeeded = len(results) - len(failures)
        told = {
            "items": len(results), "succeeded": succeeded, "failed": len(failures) - skipped, "skipped": skipped,
            "retries": self.again, "seconds": wall, "throughput": succeeded / wall if wall > 0 else 0.0,
        }
        times = sorted(self.times)
        for percent in (50, 95, 99):
            at = max(0, -(-len(times) * percent // 100) - 1)
            told[f"p{percent}"] = times[at] if times else 0.0
        return told


def par_iter(items: Iterable, workers: Optional[int] = None) -> ParIter:
    """Items for several threads; see `crossover.par`.

    >>> xo.par_iter([1, 2, 3]).map(lambda n: n * n).collect()
    [1, 4, 9]
    """
    return ParIter(lambda most: iter(items), workers)
