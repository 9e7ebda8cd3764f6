"""`@xo.gpu`: a plain NumPy function, accelerated.

The function runs with our arrays in the place of NumPy's: its arguments become ours, the modules it knows as `np` or imports inside are
redirected, and what it returns becomes what it was given: NumPy in, `ndarray` out; PyTorch or CuPy in, the same out, on the same device.

NumPy's memory is borrowed, not copied, while the function runs. What outlives the call, or is still to be computed from it, gets a copy then.
"""

import builtins
import contextlib
import functools
import types

import numpy as np

from . import _native as _n
from ._neighbours import neighbour_of, to_neighbour
from ._redirect import redirected, redirecting_import
from ._trees import mapped


class _Call:
    """One call: what was borrowed for it, and what kinds of arrays it was given."""

    def __init__(self):
        self.loans, self.kinds = [], []

    def inside(self, value):
        """Arguments as the function sees them."""
        return mapped(value, self._inside)

    def _inside(self, value):
        if isinstance(value, _n.Array):
            self._note("ours")
            return value
        if isinstance(value, np.ndarray):
            return self._of_numpy(value) if value.dtype.kind in "biufc" else value
        kind = neighbour_of(value)
        if kind is not None:
            self._note(kind)
            return _n.from_dlpack(value.detach() if kind.startswith("torch") else value)
        return value

    def _note(self, kind):
        if kind not in self.kinds:
            self.kinds.append(kind)

    def _of_numpy(self, value):
        self._note("numpy")
        # Small ones are copied sooner than lent.
        lent = _n.borrow(value) if value.nbytes > 4096 else None
        if lent is None:
            return _n.asarray(value)
        self.loans.append(lent[1])
        return lent[0]

    @property
    def kind(self):
        """What results become: what the arguments were. Of mixed kinds, those of a GPU win, then other neighbours, NumPy, and ours last."""

        def rank(kind):
            return 0 if ":cuda:" in kind else 1 if ":" in kind else 2 if kind == "numpy" else 3

        return min(self.kinds, key=rank, default="numpy")

    def settle(self):
        """Ends the loans: whatever outlives the call gets memory of its own."""
        while self.loans:
            self.loans.pop().settle()


def _held(value):
    """A result with its arrays held by nothing but what is returned, so that their memory can be given away."""
    return mapped(value, lambda one: _n.Held(one) if isinstance(one, _n.Array) else one)


def _given(value):
    """What `_held` made, as NumPy's: arrays without axes become NumPy's scalars."""

    def give(one):
        if not isinstance(one, _n.Held):
            return one
        array = one.give()
        return array[()] if array.ndim == 0 else array

    return mapped(value, give)


def _handed(value, kind):
    """A result as arrays of a neighbour, on the device where its arguments were."""
    return mapped(value, lambda one: to_neighbour(one, kind) if isinstance(one, _n.Array) else one)


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
    """Runs a NumPy function on this library: NumPy arrays in, NumPy arrays out; PyTorch's, CuPy's or our arrays in, the same kind out.

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
        call = _Call()
        try:
            args, kwargs = call.inside(args), call.inside(kwargs)
            with place or contextlib.nullcontext():
                result = rebuilt(*args, **kwargs)
                if call.kind == "ours":
                    return result.eval() if place is not None and isinstance(result, _n.Array) else result
                if call.kind != "numpy":
                    return _handed(result, call.kind)
                # From here on nothing of this call holds the arrays themselves.
                result = _held(result)
                return _given(result)
        finally:
            del args, kwargs
            call.settle()

    return accelerated
