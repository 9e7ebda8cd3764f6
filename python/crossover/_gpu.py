"""`@xo.gpu`: a plain NumPy function, accelerated.

The function runs with our arrays in the place of NumPy's: its arguments become ours, the modules it knows as `np` or imports inside are
redirected, and what it returns becomes what it was given: NumPy in, `ndarray` out.
"""

import builtins
import functools
import types

import numpy as np

from . import _native as _n
from ._redirect import redirected, redirecting_import


def _inside(value):
    """An argument as the function sees it, and whether it was NumPy's."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return _n.asarray(value), True
    if type(value) in (list, tuple):
        pairs = [_inside(item) for item in value]
        return type(value)(item for item, _ in pairs), any(flag for _, flag in pairs)
    if type(value) is dict:
        pairs = {key: _inside(item) for key, item in value.items()}
        return {key: item for key, (item, _) in pairs.items()}, any(flag for _, flag in pairs.values())
    return value, False


def _outside(value):
    """A result as NumPy's: arrays without axes become NumPy's scalars."""
    if isinstance(value, _n.Array):
        array = value.__array__(copy=True)
        return array[()] if array.ndim == 0 else array
    if isinstance(value, (list, tuple)):
        items = [_outside(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {key: _outside(item) for key, item in value.items()}
    return value


def _rebuilt(function):
    """The function with redirected modules among its globals and in its imports."""
    known = dict(function.__globals__)
    for name, value in known.items():
        if isinstance(value, types.ModuleType):
            known[name] = redirected(value) or value
        elif callable(value) and getattr(value, "__module__", "") and not isinstance(value, type):
            home = value.__module__.partition(".")[0]
            if home in ("numpy", "scipy"):
                known[name] = _counterpart_of(value) or value
    inner = dict(vars(builtins))
    inner["__import__"] = redirecting_import(builtins.__import__)
    known["__builtins__"] = inner
    made = types.FunctionType(function.__code__, known, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    # So that it finds itself, if it calls itself.
    known[function.__name__] = made
    return made


def _counterpart_of(value):
    """Our form of a function that was imported by name: `from numpy import exp`."""
    import sys

    for name in ("numpy", "numpy.linalg", "numpy.fft", "numpy.random", "scipy.special", "scipy.fft", "scipy.linalg", "scipy.ndimage"):
        module = sys.modules.get(name)
        if module is not None and getattr(module, value.__name__, None) is value:
            return getattr(redirected(module), value.__name__)
    return None


def gpu(function=None, *, device=None):
    """Runs a NumPy function on this library: NumPy arrays in, NumPy arrays out; our arrays in, our arrays out.

    `device` says where ('auto', 'cpu', 'cuda:N' or a number); without it, each kernel runs where it is expected to end soonest.

    >>> import numpy as np
    >>> @xo.gpu
    ... def length(x):
    ...     return np.sqrt(np.sum(x * x))
    >>> float(length(np.array([3.0, 4.0])))
    5.0
    """
    if function is None:
        return functools.partial(gpu, device=device)
    place = None if device is None else _n.device(device)
    rebuilt = None

    @functools.wraps(function)
    def accelerated(*args, **kwargs):
        nonlocal rebuilt
        if rebuilt is None:
            rebuilt = _rebuilt(function)
        args, some = _inside(args)
        kwargs, more = _inside(kwargs)
        ours = any(isinstance(value, _n.Array) for value in (*args, *kwargs.values())) and not (some or more)
        if place is None:
            result = rebuilt(*args, **kwargs)
            return result if ours else _outside(result)
        with place:
            result = rebuilt(*args, **kwargs)
            if not ours:
                return _outside(result)
            return result.eval() if isinstance(result, _n.Array) else result

    return accelerated
