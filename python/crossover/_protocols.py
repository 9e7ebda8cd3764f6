"""NumPy functions on our arrays, by NumPy's own protocols.

`numpy.exp(x)` and `ndarray @ x` arrive in `__array_ufunc__`, `numpy.mean(x)` and `numpy.concatenate([x, y])` in `__array_function__`. What the
namespace has is computed by it and stays lazy; anything else runs in NumPy on the same memory, and its result becomes an array again. These
fallbacks are counted, with the line that caused them: `crossover.fallbacks()`.
"""

import collections
import sys

import numpy as np

from . import _native as _n
from . import _numpy_names as _names
from ._trees import mapped

_FALLBACKS = collections.Counter()

# Names of NumPy's functions that mean something else here, or take arguments that ours do not.
_OWN_WAY = {"array_repr", "array_str", "array2string", "save", "savez", "savez_compressed", "savetxt", "copyto", "shape", "ndim", "size"}

_UFUNCS = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "conjugate": "conj", "invert": "bitwise_invert", "left_shift": "bitwise_left_shift",
    "power": "pow", "right_shift": "bitwise_right_shift", "true_divide": "divide",
}
# What goes into what, by NumPy's rule 'same_kind': each into itself and those after it.
_KINDS = "buifc"
_REDUCE = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any"}


def fallbacks():
    """How often NumPy did what this library does not, as (function, file, line): count.

    >>> import numpy as np
    >>> before = sum(xo.fallbacks().values())
    >>> np.kron(xo.ones(2), xo.ones(2))
    array([1., 1., 1., 1.])
    >>> sum(xo.fallbacks().values()) > before
    True
    """
    return dict(_FALLBACKS)


def note_fallback(name, depth=2):
    """Counts a call that NumPy computes, with the caller's line."""
    frame = sys._getframe(depth)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("crossover", "numpy"):
        frame = frame.f_back
    place = ("?", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    _FALLBACKS[(name, *place)] += 1


def to_numpy(value):
    """Our arrays as NumPy's, inside lists, tuples and dictionaries too."""
    return mapped(value, lambda one: one.__array__() if isinstance(one, _n.Array) else one)


def _from_numpy(value):
    is_ours = isinstance(value, np.ndarray) and value.dtype.kind in "biufc" and value.dtype.name != "longdouble"
    return _n.asarray(value) if is_ours else value


def from_numpy(value):
    """NumPy's arrays of numbers as ours, inside lists and tuples too."""
    return value if isinstance(value, dict) else mapped(value, _from_numpy)


class _Copies:
    """Copies of our arrays for a function that writes to its arguments."""

    def __init__(self):
        self.pairs = []

    def of(self, value):
        """As `to_numpy`, with memory that may be written."""
        return mapped(value, self._copy)

    def _copy(self, value):
        if not isinstance(value, _n.Array):
            return value
        for ours, copy in self.pairs:
            if ours is value:
                return copy
        self.pairs.append((value, value.__array__(copy=True)))
        return self.pairs[-1][1]

    def written(self, result):
        """Brings what was written back; a result that is one of the copies is the array that it was made of."""
        for ours, copy in self.pairs:
            if not np.array_equal(copy, ours.__array__(), equal_nan=copy.dtype.kind in "fc"):
                ours[...] = copy
        return mapped(result, self._original)

    def _original(self, result):
        for ours, copy in self.pairs:
            if result is copy:
                return ours
        return _from_numpy(result)


def call_numpy(function, args, kwargs):
    """NumPy's function on our arrays: on their memory, or where it writes to them, on copies that are brought back."""
    try:
        return from_numpy(function(*to_numpy(args), **to_numpy(kwargs)))
    except ValueError as error:
        if "read-only" not in str(error):
            raise
    copies = _Copies()
    return copies.written(function(*copies.of(args), **copies.of(kwargs)))


def _fallback(name, function, args, kwargs):
    note_fallback(name)
    return call_numpy(function, args, kwargs)


def written(result, out):
    """Puts a result into the array that `out=` names; NumPy's rule says which dtypes go into which."""
    target = out[0] if isinstance(out, tuple) else out
    # Fewer axes are repeated, as NumPy's universal functions do; lengths are checked by the assignment.
    if result.ndim > target.ndim:
        raise ValueError(f"the result of shape {result.shape} does not go into the array of shape {target.shape} that out= names")
    if _KINDS.index(result.dtype.kind) > _KINDS.index(target.dtype.kind):
        raise TypeError(f"the result of dtype {result.dtype} does not go into the array of dtype {target.dtype} that out= names")
    target[...] = result if isinstance(target, _n.Array) else result.__array__()
    return target


def array_ufunc(self, ufunc, method, *inputs, out=None, **kwargs):
    """`__array_ufunc__`."""
    name = ufunc.__name__
    if method == "__call__" and not kwargs:
        ours = getattr(_n, _UFUNCS.get(name, name), None) or getattr(_names, name, None)
        if ours is not None and ufunc.nout == 1:
            result = ours(*inputs)
            return result if out is None else written(result, out)
    if method == "reduce" and name in _REDUCE and len(inputs) == 1 and set(kwargs) <= {"axis", "dtype", "keepdims"}:
        given = {key: value for key, value in kwargs.items() if value is not None or key == "axis"}
        given.setdefault("axis", 0)
        result = getattr(_n, _REDUCE[name])(inputs[0], **given)
        return result if out is None else written(result, out)
    function = ufunc if method == "__call__" else getattr(ufunc, method)
    if out is not None:
        # A mask leaves elements of the result as they were, so that NumPy itself has to write it.
        kwargs["out"] = out
    result = _fallback(f"{name}.{method}" if method != "__call__" else name, function, inputs, kwargs)
    return out[0] if out is not None and ufunc.nout == 1 else result


def _ours(function):
    """Our function of the same name, if there is one."""
    from . import fft, linalg

    module, name = function.__module__ or "", function.__name__
    if name in _OWN_WAY:
        return None
    if module.startswith("numpy.linalg"):
        return getattr(linalg, name, None)
    if module.startswith("numpy.fft"):
        return getattr(fft, name, None)
    return getattr(sys.modules["crossover"], name, None)


def array_function(self, func, types, args, kwargs):
    """`__array_function__`."""
    ours = _ours(func)
    if ours is not None:
        out = kwargs.pop("out", None)
        try:
            result = ours(*args, **kwargs)
        except TypeError:
            # Arguments that only NumPy's function has; a wrong argument is reported by it, too.
            kwargs = kwargs if out is None else {**kwargs, "out": out}
        else:
            return result if out is None else written(result, out)
    return _fallback(func.__name__, func, args, kwargs)
