"""Many arrays at once: operations on a list of arrays as few batched kernels.

>>> matrices = [xo.full((4, 4), float(i)) for i in range(10)]
>>> batch = xo.batch.Batch(matrices, max_batch_size=16)
>>> batch.matmul(matrices)[3][0, 0]
array(36.)
>>> batch.stats()["groups"]
1
"""

import threading
import time
from typing import Any, Callable, Optional, Sequence

from ._dtypes import isdtype
from ._native import abs as absolute
from ._native import max as largest_of
from ._native import asarray, astype, bfloat16, bitwise_xor, equal, float16, float32, float64, gpu_map, matmul, sqrt, square, sum, where
from .par import shared

__all__ = ["Batch", "create_batch"]


class Batch:
    """A list of arrays to be worked on together; arrays of one dtype and shape share kernels. Results come in the order of the arrays.

    >>> xo.batch.Batch([[1.0, 2.0], [3.0, 4.0]]).map(xo.sum)
    [array(3.), array(7.)]
    """

    def __init__(self, items: Sequence[Any], max_batch_size: Optional[int] = None) -> None:
        if max_batch_size is not None and max_batch_size < 0:
            raise ValueError(f"max_batch_size is {max_batch_size}; it is at least 0, which is taken as 1")
        self.items = [asarray(item) for item in items]
        self.max_batch_size = max_batch_size
        self._lock = threading.Lock()
        self._stats = {"operations": 0, "results": 0, "failed": 0, "groups": 0, "largest_group": 0, "single": 0, "seconds": 0.0}

    def __len__(self) -> int:
        return len(self.items)

    def map(self, function: Callable) -> list:
        """A function of each array, called once per shape with arrays that have no values yet; see `par_iter(...).gpu_map`.

        >>> xo.batch.Batch([xo.asarray([1.0, 2.0]), xo.asarray([3.0])]).map(lambda x: x * 2)
        [array([2., 4.]), array([6.])]
        """
        return _values(self.try_map(function))

    def try_map(self, function: Callable) -> list:
        """As `map`, with an exception in the place of a result that failed."""
        return self._run([(item,) for item in self.items], function)

    def zip_map(self, others: Sequence[Any], function: Callable) -> list:
        """A function of each array and one of another list, which is as long."""
        if len(others) != len(self.items):
            raise ValueError(f"the batch has {len(self.items)} arrays and the other list {len(others)}")
        return _values(self._run([(item, asarray(other)) for item, other in zip(self.items, others)], function))

    def matmul(self, others: Sequence[Any]) -> list:
        """The matrix product of each array with that of another list."""
        return self.zip_map(others, matmul)

    def xor(self, key: Any) -> list:
        """Each array combined bit by bit with one key, which broadcasts.

        >>> xo.batch.Batch([xo.asarray([1, 2]), xo.asarray([3, 4])]).xor(xo.asarray([7, 7]))
        [array([6, 5]), array([4, 3])]
        """
        key = asarray(key)
        return self.map(lambda x: bitwise_xor(x, key))

    def normalise(self) -> list:
        """Each array divided by its length, however large or small its elements are; zeros stay zeros. A NaN makes all of the array NaN;
        beside an infinity finite elements become zeros, and it becomes NaN.

        >>> xo.batch.Batch([xo.asarray([3.0, 4.0])]).normalise()
        [array([0.6, 0.8])]
        """
        def unit(x):
            # Wide enough for squares of integers and of 16-bit floats.
            kind = x.dtype
            narrow = kind in (float16, bfloat16)
            real = isdtype(kind, "real floating") or narrow
            if narrow or not isdtype(kind, ("real floating", "complex floating")):
                x = astype(x, float32 if narrow else float64)
            if x.size:
                x = x * _within_squares(absolute(x))
            length = sqrt(sum(square(absolute(x))))
            out = x / where(equal(length, 0), 1.0, length)
            return astype(out, kind) if real else out

        return self.map(unit)

    def execute_parallel(self, functions: Sequence[Callable]) -> list:
        """Calls one function per array on threads; an exception in the place of a result that failed.

        >>> xo.batch.Batch([xo.asarray([1, 2]), xo.asarray([3])]).execute_parallel([lambda x: x.size, lambda x: x.size * 100])
        [2, 100]
        """
        if len(functions) != len(self.items):
            raise ValueError(f"the batch has {len(self.items)} arrays, and {len(functions)} functions were given")
        began = time.perf_counter()

        def call(pair):
            try:
                return pair[0](pair[1])
            except Exception as error:  # noqa: BLE001 - it is that item's result
                return error

        results = shared(call, zip(functions, self.items))
        failed = len([result for result in results if isinstance(result, Exception)])
        self._note(results=len(results) - failed, failed=failed, single=len(results), seconds=time.perf_counter() - began)
        return results

    def stats(self) -> dict:
        """What the batch has done so far."""
        return dict(self._stats)

    def _run(self, items, function):
        results, report = gpu_map(items, function, self.max_batch_size)
        self._note(
            results=report["succeeded"], failed=report["failed"], groups=report["groups"], single=report["single"],
            seconds=report["seconds"], largest_group=report["largest_group"],
        )
        return results

    def _note(self, *, largest_group=0, **counts):
        with self._lock:
            self._stats["operations"] += 1
            self._stats["largest_group"] = max(self._stats["largest_group"], largest_group)
            for name, count in counts.items():
                self._stats[name] += count


def _within_squares(sizes):
    """What an array of these sizes is multiplied by so that squares of its largest elements are neither too large nor too small for the dtype: 1
    for most arrays, and else a power of two, which rounds nothing."""
    end, down, up = (50, -78, 100) if sizes.dtype == float32 else (500, -524, 600)
    largest = largest_of(sizes)
    one, lower, raised = (asarray(2.0**power, dtype=sizes.dtype) for power in (0, down, up))
    return where(largest > 2.0**end, lower, where(largest < 2.0**-end, raised, one))


def create_batch(items: Sequence[Any], max_batch_size: Optional[int] = None) -> Batch:
    """A batch of arrays.

    >>> len(xo.batch.create_batch([[1], [2]], max_batch_size=16))
    2
    """
    return Batch(items, max_batch_size)


def _values(results: list) -> list:
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results
