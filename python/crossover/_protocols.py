"""NumPy functions on our arrays, by NumPy's own protocols.

`numpy.exp(x)` and `ndarray @ x` arrive in `__array_ufunc__`, `numpy.mean(x)` and `numpy.concatenate([x, y])` in `__array_function__`. What the
namespace has is computed by it and stays lazy; anything else runs in NumPy on the same memory, and its result becomes an array again. These
fallbacks are counted, with the line that caused them: `crossover.fallbacks()`.
"""

import collections
import functools
import sys

import numpy as np

from . import _native as _n
from . import _numpy_names as _names
from ._trees import mapped
from .exceptions import LinAlgError

_FALLBACKS = collections.Counter()

# How our functions refuse what NumPy's may take: arguments that they do not have, options that they lack, values. NumPy says what is wrong for it, too.
REFUSALS = (TypeError, NotImplementedError, ValueError, OverflowError)

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


def report(out):
    """Lists what NumPy did, the most frequent first."""
    found = sorted(_FALLBACKS.items(), key=lambda item: -item[1])
    if not found:
        return
    print(f"crossover: NumPy or SciPy computed {sum(count for _, count in found)} calls:", file=out)
    for (name, file, line), count in found[:20]:
        print(f"  {count:6}  {name}  {file}:{line}", file=out)
    if len(found) > 20:
        print(f"  … and {len(found) - 20} other places", file=out)


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
    # Classes that derive from NumPy's have a meaning of their own: matrices multiply, masked arrays leave out, memory maps write to files.
    is_ours = type(value) is np.ndarray and value.dtype.kind in "biufc" and value.dtype.name != "longdouble"
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


@functools.lru_cache(256)
def _foreign_class(kind):
    if issubclass(kind, (_n.Array, np.memmap, np.generic)) or kind is np.ndarray:
        return False
    return issubclass(kind, np.ndarray) or hasattr(kind, "__array_ufunc__") or hasattr(kind, "__array_function__")


def is_foreign(args):
    """Whether there is an array of somebody else's among arguments, such as a masked array or a column of a table, for which NumPy's functions
    mean something of their own."""
    for one in args:
        if type(one) in (list, tuple) and one:
            one = one[0]
        if _foreign_class(type(one)):
            return True
    return False


def _fallback(name, function, args, kwargs):
    result = call_numpy(function, args, kwargs)
    note_fallback(name)
    return result


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
    foreign = is_foreign(inputs)
    if method == "__call__" and not kwargs and not foreign:
        ours = getattr(_n, _UFUNCS.get(name, name), None) or getattr(_names, name, None)
        if ours is not None and ufunc.nout == 1:
            result = ours(*inputs)
            return result if out is None else written(result, out)
    if method == "reduce" and not foreign and name in _REDUCE and len(inputs) == 1 and set(kwargs) <= {"axis", "dtype", "keepdims"}:
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
    from ._forms import form

    module, name = function.__module__ or "", function.__name__
    if name in _OWN_WAY:
        return None
    home = next((home for home in ("numpy.linalg", "numpy.fft") if module.startswith(home)), "numpy")
    return getattr(form(home), name, None)


def array_function(self, func, types, args, kwargs):
    """`__array_function__`."""
    ours = None if is_foreign(args) else _ours(func)
    if ours is not None:
        out = kwargs.pop("out", None)
        try:
            result = ours(*args, **kwargs)
        except REFUSALS as error:
            if isinstance(error, LinAlgError):
                raise
            kwargs = kwargs if out is None else {**kwargs, "out": out}
        else:
            return result if out is None else written(result, out)
    return _fallback(func.__name__, func, args, kwargs)
