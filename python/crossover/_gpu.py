"""`@xo.gpu`: a plain NumPy function, accelerated.

The function runs with our arrays in the place of NumPy's: its arguments become ours, the modules it knows as `np` or imports inside are
redirected, and what it returns becomes what it was given: NumPy in, `ndarray` out; PyTorch or CuPy in, the same out, on the same device.

NumPy's memory is borrowed, not copied, while the function runs. What outlives the call, or is still to be computed from it, gets a copy then.
What the function assigns to elements of an argument is written into NumPy's array when it returns, and what it assigns to global names is
there for everybody else when it returns, or calls something.
"""

import builtins
import contextlib
import functools
import inspect
import sys
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
        # NumPy's arrays with ours and what these were at first, by identity: one array given twice is one inside.
        self.given = {}

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
        known = self.given.get(id(value))
        if known is not None:
            return known[1]
        # Small ones are copied sooner than lent.
        lent = _n.borrow(value) if value.nbytes > 4096 else None
        if lent is None:
            ours = _n.asarray(value)
        else:
            self.loans.append(lent[1])
            ours = lent[0]
        if value.ndim:
            self.given[id(value)] = (value, ours, _n.Snapshot(ours))
        return ours

    def write_back(self):
        """Brings what was assigned to arguments into the caller's arrays."""
        for theirs, ours, before in self.given.values():
            if before.is_changed(ours):
                theirs[...] = ours.__array__()

    @property
    def kind(self):
        """What results become: what the arguments were. Of mixed kinds, those of a GPU win, then other neighbours, NumPy, and ours last."""

        def rank(kind):
            return 0 if ":cuda:" in kind else 1 if ":" in kind else 2 if kind == "numpy" else 3

        return min(self.kinds, key=rank, default="numpy")

    def given_back(self, value):
        """A value as results become, if it is an array."""
        kind = self.kind if isinstance(value, _n.Array) else "ours"
        return value if kind == "ours" else _given(_held(value)) if kind == "numpy" else _handed(value, kind)

    def settle(self):
        """Ends the loans: whatever outlives the call gets memory of its own."""
        # What only this call holds needs none.
        self.given.clear()
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


class _Builtins(dict):
    """What names mean that are no globals, for code that looks there without asking `_Globals` (class bodies, `eval`): the same."""

    def __init__(self, names):
        super().__init__(__import__=redirecting_import(builtins.__import__))
        self._names = names

    def __missing__(self, name):
        return self._names[name]


class _Globals(dict):
    """The names of a function's module as they are now, with redirected modules among them.

    It stores nothing but what is redirected, which is looked up anew for each call, and what the function has assigned since somebody last asked
    for another name, which goes on to the module then.
    """

    def __init__(self, function):
        super().__init__()
        self._home, self._function, self._itself = function.__globals__, function, None
        # Redirected values by name, with what they stand for.
        self._redirected = {}
        self._assigned = set()
        self._own = _Builtins(self)
        dict.__setitem__(self, "__builtins__", self._own)

    def begin(self, itself):
        """Before a call: names that mean something else by now are looked up again."""
        self._itself = itself
        for name, (theirs, _) in list(self._redirected.items()):
            if self._home.get(name) is not theirs:
                self._redirected.pop(name, None)
                dict.pop(self, name, None)

    def flush(self):
        """Passes on what the function has assigned; the names of all of it since the last call of `taken`."""
        for name, value in list(self.items()):
            ours = self._redirected.get(name)
            if name != "__builtins__" and (ours is None or ours[1] is not value):
                self._home[name] = value
                self._assigned.add(name)
                self._redirected.pop(name, None)
                dict.pop(self, name, None)
        return self._assigned

    def hand_over(self, give):
        """After a call: arrays that the function has assigned to names become what its results become."""
        for name in self.flush():
            if name in self._home:
                self._home[name] = give(self._home[name])
        self._assigned = set()

    def __missing__(self, name):
        if len(self) > 1 + len(self._redirected):
            self.flush()
        try:
            value = self._home[name]
        except KeyError:
            if name in ("__import__", "__builtins__"):
                raise
            theirs = self._home.get("__builtins__", builtins)
            return (theirs if isinstance(theirs, dict) else vars(theirs))[name]
        # So that it finds itself, if it calls itself.
        if name == self._function.__name__ and inspect.unwrap(value, stop=lambda one: one is self._function) is self._function:
            return self._itself
        ours = _counterpart_of(value)
        if ours is not None:
            self._redirected[name] = (value, ours)
            dict.__setitem__(self, name, ours)
            return ours
        return value

    def __contains__(self, name):
        return dict.__contains__(self, name) or name in self._home

    def get(self, name, default=None):
        try:
            return self[name]
        except KeyError:
            return default


_EMPTY = object()


def _contents(cell):
    """What a name of an enclosing function means now; `_EMPTY` before it is assigned."""
    try:
        return cell.cell_contents
    except ValueError:
        return _EMPTY


class _Rebuilt:
    """A function with redirected modules among its globals, in its imports and among the names of the functions around it."""

    def __init__(self, function):
        self.names, self._function, self._inner = _Globals(function), function, None
        # By cell, the module or function of NumPy's that is redirected there; `_EMPTY` where nothing is.
        self._theirs = []

    def begin(self):
        """The function for a call; made anew when a name of an enclosing function means another module by now."""
        held = [_contents(cell) for cell in self._function.__closure__ or ()]
        if self._inner is None or any(map(self._differs, held, self._theirs)):
            self._inner = self._made(held)
        self.names.begin(self._inner)
        return self._inner

    @staticmethod
    def _differs(now, theirs):
        return now is not theirs and (theirs is not _EMPTY or _counterpart_of(now) is not None)

    def _made(self, held):
        function = self._function
        ours = [_counterpart_of(value) for value in held]
        self._theirs = [_EMPTY if one is None else value for one, value in zip(ours, held)]
        # Other names stay the cells that they are, so that assigning to them is seen on both sides.
        cells = tuple(cell if one is None else types.CellType(one) for cell, one in zip(function.__closure__ or (), ours))
        made = types.FunctionType(function.__code__, self.names, function.__name__, function.__defaults__, cells or None)
        made.__kwdefaults__ = function.__kwdefaults__
        return made


class _Called:
    """A callable that is no Python function, such as a builtin: NumPy's is ours, another is called as it is."""

    def __init__(self, function):
        self.names, self._function = self, function

    def begin(self):
        ours = _counterpart_of(self._function)
        return self._function if ours is None else ours

    def hand_over(self, give):
        """There are no names that it assigns to."""


def _counterpart_of(value):
    """Our form of a module, or of a function that was imported by name (`from numpy import exp`); `None` if there is none."""
    if isinstance(value, types.ModuleType):
        return redirected(value)
    home = getattr(value, "__module__", None)
    if not callable(value) or isinstance(value, type) or not isinstance(home, str) or home.partition(".")[0] not in ("numpy", "scipy"):
        return None
    for name in ("numpy", "numpy.linalg", "numpy.fft", "numpy.random", "scipy.special", "scipy.fft", "scipy.linalg", "scipy.ndimage", "scipy.signal"):
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
    if isinstance(function, types.MethodType):
        return types.MethodType(gpu(function.__func__, device=device), function.__self__)
    place = None if device is None else _n.device(device)
    rebuilt = None

    @functools.wraps(function)
    def accelerated(*args, **kwargs):
        nonlocal rebuilt
        if rebuilt is None:
            rebuilt = _Rebuilt(function) if isinstance(function, types.FunctionType) else _Called(function)
        names = rebuilt.names
        call = _Call()
        try:
            args, kwargs = call.inside(args), call.inside(kwargs)
            inner = rebuilt.begin()
            with place or contextlib.nullcontext():
                try:
                    result = inner(*args, **kwargs)
                finally:
                    call.write_back()
                    names.hand_over(call.given_back)
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
