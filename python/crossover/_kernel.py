"""`@xo.gpu_kernel`: CUDA code of the user's, as an operation on arrays.

CUDA source becomes a kernel of the library: lazy, planned, traced, with a Python function that does the same on the host. A function compiled by
`numba.cuda.jit` is launched as it is, on the memory of arrays.
"""

import functools
import inspect
import re

import numpy as np

from . import _native as _n
from .exceptions import DeviceError

_TYPES = {
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long", "uint8": "unsigned char",
    "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long long", "float32": "float", "float64": "double",
}
_POINTERS = {**_TYPES, "bool": "unsigned char"}
_THREADS = 256


def _three(value):
    """A number of blocks or threads along one to three axes, along three."""
    # NumPy's integers are none of Python's.
    value = (value,) if hasattr(value, "__index__") else tuple(value)
    if not 1 <= len(value) <= 3:
        raise ValueError(f"a launch has blocks and threads along one to three axes; {value} has {len(value)}")
    return [int(n) for n in value] + [1] * (3 - len(value))


def _elementwise(name, statement, inputs, output):
    """A kernel around statements over one element of each operand."""
    for dtype in (*inputs.values(), output[1]):
        if str(dtype) not in _TYPES:
            raise TypeError(f"statements over {dtype} are not supported; there are {', '.join(_TYPES)}")
    pointers = [f"const {_POINTERS[str(dtype)]}* {of}_all" for of, dtype in inputs.items()]
    loads = [f"const {_TYPES[str(dtype)]} {of} = {of}_all[xo_at];" for of, dtype in inputs.items()]
    kind, of = str(output[1]), output[0]
    return (
        f'extern "C" __global__ void {name}({", ".join(pointers)}, {_POINTERS[kind]}* {of}_all, long long xo_count) {{\n'
        f"    for (long long xo_at = blockIdx.x * (long long)blockDim.x + threadIdx.x; xo_at < xo_count; xo_at += (long long)gridDim.x * blockDim.x) {{\n"
        f"        {' '.join(loads)}\n        {_TYPES[kind]} {of};\n        {statement.rstrip(';')};\n        {of}_all[xo_at] = {of};\n    }}\n}}\n"
    )


class Kernel:
    """A kernel of the user's. Calling it on arrays gives an array, still to be computed."""

    def __init__(self, function, source, output, shape, grid, zeroed, out):
        functools.update_wrapper(self, function)
        self._function, self._source, self._output = function, source, output
        self._shape, self._grid, self._zeroed, self._out = shape, grid, zeroed, out
        self._names = list(inspect.signature(function).parameters)
        self._made = {}

    @property
    def _is_elementwise(self):
        return "__global__" not in self._source

    def _native(self, dtypes):
        """The kernel for operands of these dtypes, made once."""
        if dtypes not in self._made:
            output = dtypes[0] if self._output is None else np.dtype(self._output).name
            inputs = dict(zip(self._names, dtypes))
            name = re.sub(r"\W", "_", self.__name__)
            source, shape, grid = self._source, self._shape, self._grid
            if self._is_elementwise:
                source = _elementwise(name, source, inputs, (self._out, output))
                shape, grid = self._first, self._covering
            self._made[dtypes] = _n.CustomKernel(
                name, list(inputs.items()), (self._out, output), source, self._function, shape or self._first,
                functools.partial(_launch, grid or self._covering), self._zeroed,
            )
        return self._made[dtypes]

    @staticmethod
    def _first(*shapes):
        return shapes[0]

    @staticmethod
    def _covering(shapes, output):
        count = int(np.prod(output, dtype=np.int64))
        return max(1, min(-(-count // _THREADS), 1 << 20)), _THREADS, 0, [count]

    def __call__(self, *operands):
        if len(operands) != len(self._names):
            raise TypeError(f"{self.__name__} takes {len(self._names)} arrays, {len(operands)} given")
        foreign = all(not isinstance(operand, _n.Array) for operand in operands) and any(
            isinstance(operand, np.ndarray) for operand in operands)
        arrays = [_n.asarray(operand) for operand in operands]
        if self._is_elementwise:
            arrays = _n.broadcast_arrays(*arrays)
        result = self._native(tuple(str(array.dtype) for array in arrays)).call(arrays)
        return result.numpy() if foreign else result


def _launch(rule, shapes, output):
    """What a launch rule says, filled up: blocks, threads, bytes of shared memory, numbers."""
    given = rule(shapes, output)
    blocks, threads, *rest = given
    shared, numbers = rest[0] if rest else 0, rest[1] if len(rest) > 1 else ()
    return _three(blocks), _three(threads), int(shared), [int(n) for n in numbers]


class Launched:
    """A kernel of Numba's, called on arrays: those it writes to are changed in place."""

    def __init__(self, dispatcher, threads):
        functools.update_wrapper(self, getattr(dispatcher, "py_func", dispatcher))
        self._dispatcher, self._threads = dispatcher, threads

    def __call__(self, *operands):
        size = max((operand.size for operand in operands if hasattr(operand, "size")), default=1)
        inside = [_host(operand) for operand in operands]
        blocks = max(1, -(-size // self._threads))
        try:
            self._dispatcher[blocks, self._threads](*inside)
        except Exception as error:
            if type(error).__name__ in ("CudaSupportError", "CudaAPIError", "NvvmSupportError"):
                raise DeviceError(f"{self.__name__} needs a GPU that Numba can use: {error}; see docs/troubleshooting.md#gpu-not-available") from error
            raise
        for operand, host in zip(operands, inside):
            if isinstance(operand, _n.Array) and not np.array_equal(np.asarray(operand), host, equal_nan=host.dtype.kind in "fc"):
                operand[...] = host


def _host(operand):
    """Memory that a kernel of Numba's may write; Numba carries it to the GPU and back."""
    return operand.numpy() if isinstance(operand, _n.Array) else operand


def gpu_kernel(source=None, *, output=None, shape=None, grid=None, zeroed=False, out="out", threads=_THREADS):
    """A kernel of your own: `@xo.gpu_kernel(SOURCE)` over a function that does the same on the host, or `@xo.gpu_kernel` over `@numba.cuda.jit`.

    `source` is CUDA C++: statements that compute `out` from one element of each operand, by their names, or a whole
    `extern "C" __global__` function named as the decorated one, which takes a pointer per operand, one to the result, and a `long long` per number
    of its launch. Then `shape(*shapes)` is the shape of the result (that of the first operand, if left out) and `grid(shapes, output)` its launch:
    blocks, threads and, if need be, bytes of shared memory and a list of numbers; left out, it covers the result and passes its size. `output` is the
    dtype of the result, that of the first operand if left out; `zeroed` zeroes it first. The function gets NumPy arrays and returns one.

    A function of Numba's is launched with as many threads as the largest array has elements, and writes into its arguments.

    >>> @xo.gpu_kernel("out = a * x + y")
    ... def axpy(a, x, y):
    ...     return a * x + y
    >>> axpy(xo.asarray([2.0]), xo.asarray([1.0, 2.0]), xo.asarray([0.5, 0.5]))
    array([2.5, 4.5])
    """
    if source is not None and not isinstance(source, str):
        if not hasattr(source, "__getitem__"):
            raise TypeError("gpu_kernel takes CUDA source, or a function compiled by numba.cuda.jit")
        return Launched(source, threads)
    if source is None:
        return functools.partial(gpu_kernel, threads=threads)
    return lambda function: Kernel(function, source, output, shape, grid, zeroed, out)
