"""NumPy's module as plain NumPy code sees it when it runs accelerated.

A name that the namespace has is ours. Anything else is NumPy's, called on the same memory, with its result made an array again; such calls are
counted with their line, see `crossover.fallbacks()`.
"""

import atexit
import builtins
import sys
import types

import numpy as np

from . import _native as _n
from ._forms import form
from ._protocols import report as listing
from ._protocols import REFUSALS, call_numpy, from_numpy, is_foreign, note_fallback, written
from ._stand_ins import STAND_INS, is_library
from .exceptions import LinAlgError

# Names that are better left to NumPy: they are no functions of arrays.
_PLAIN = {
    "errstate", "seterr", "geterr", "set_printoptions", "get_printoptions", "printoptions", "dtype", "generic", "number",
    "integer", "floating", "inexact", "complexfloating", "signedinteger", "unsignedinteger", "bool", "exceptions", "lib", "version",
    "__version__", "ufunc", "nditer", "ndindex", "ndenumerate", "s_", "index_exp", "ix_", "iterable", "savez", "savez_compressed", "save",
    "savetxt", "broadcast_shapes", "typing", "ma", "polynomial", "char", "rec", "matrix", "poly1d",
}


def _fallback(function, name):
    def call(*args, **kwargs):
        note_fallback(name, depth=1)
        return call_numpy(function, args, kwargs)

    call.__name__ = call.__qualname__ = getattr(function, "__name__", name)
    call.__doc__ = function.__doc__
    return _with_methods(call, function)


def _tried(ours, theirs, name):
    """Ours; what it refuses, and arrays of others, go to theirs, which computes it or says what is wrong."""

    def call(*args, **kwargs):
        out = kwargs.pop("out", None) if kwargs else None
        if not is_foreign(args):
            try:
                result = ours(*args, **kwargs)
            except REFUSALS as error:
                if isinstance(error, LinAlgError):
                    raise
            else:
                return result if out is None else written(result, out)
        result = call_numpy(theirs, args, kwargs if out is None else {**kwargs, "out": out})
        note_fallback(name, depth=1)
        return result

    call.__name__ = call.__qualname__ = name
    call.__doc__ = ours.__doc__
    return _with_methods(call, theirs)


def _with_methods(call, theirs):
    """The function with what NumPy's universal functions have: `np.add.reduce(x)`, `np.add.at(x, i, y)`."""
    if not isinstance(theirs, np.ufunc):
        return call
    for name in ("reduce", "accumulate", "reduceat", "outer", "at"):
        setattr(call, name, _method(getattr(theirs, name)))
    for name in ("nin", "nout", "nargs", "ntypes", "identity", "signature", "types", "resolve_dtypes"):
        setattr(call, name, getattr(theirs, name))
    return call


def _method(method):
    # Our arrays get there by NumPy's protocol; what has none of them is made ours afterwards.
    return lambda *args, **kwargs: from_numpy(method(*args, **kwargs))


class Redirected(types.ModuleType):
    """A module of NumPy's or SciPy's whose functions are ours where we have them."""

    def __init__(self, theirs, ours, plain=()):
        super().__init__(theirs.__name__, theirs.__doc__)
        self.__dict__.update(_theirs=theirs, _ours=ours, _plain=frozenset(plain))

    def __getattr__(self, name):
        theirs = getattr(self._theirs, name)
        if name in self._plain:
            return theirs
        found = self._found(name, theirs)
        self.__dict__[name] = found
        return found

    def _found(self, name, theirs):
        full = f"{self._theirs.__name__}.{name}"
        if full in STAND_INS:
            return STAND_INS[full](theirs)
        if isinstance(theirs, types.ModuleType):
            return redirected(theirs) or theirs
        ours = getattr(self._ours, name, None)
        if isinstance(theirs, type):
            if theirs is np.ndarray:
                return _n.Array
            # Types of numbers stay NumPy's: they are asked for by isinstance, and our functions take them as dtypes.
            return theirs
        if ours is not None and not callable(theirs):
            return ours
        if not callable(theirs):
            return from_numpy(theirs)
        return _fallback(theirs, full) if ours is None else _tried(ours, theirs, full)


_MODULES = {}


def redirected(module):
    """The redirected form of a module of NumPy's or SciPy's; `None` if there is none."""
    name = getattr(module, "__name__", "")
    if name not in _MODULES:
        ours = _counterpart(name)
        if ours is None:
            return None
        _MODULES[name] = Redirected(module, ours, _plain(module))
    return _MODULES[name]


def _plain(module):
    """The names that stay theirs."""
    if module is np.testing:
        return [name for name in dir(module) if f"numpy.testing.{name}" not in STAND_INS]
    return _PLAIN if module is np else ()


def _counterpart(name):
    found = form(name)
    # Everything of SciPy's that we lack runs there, counted.
    return types.SimpleNamespace() if found is None and (name == "numpy.testing" or name.partition(".")[0] == "scipy") else found


def redirecting_import(original):
    """`__import__` that gives redirected modules."""

    def load(name, globals=None, locals=None, fromlist=(), level=0):
        module = original(name, globals, locals, fromlist, level)
        return redirected(module) or module

    return load


def _is_users(globals):
    """Whether an import stands in a script or module of the user's, not in a library."""
    globals = globals or {}
    return not is_library(globals) and (globals.get("__name__") == "__main__" or bool(globals.get("__file__")))


def install(report=True):
    """From now on, modules of the user's that import NumPy or SciPy get the redirected ones.

    Libraries go on with NumPy itself. When the program ends, what NumPy or SciPy computed is listed on stderr, as `python -m crossover script.py`
    does; `report=False` leaves that out, also after an earlier call, and `crossover.fallbacks()` tells it at any time.

    >>> xo.install(report=False)  # doctest: +SKIP
    """
    atexit.unregister(_report)
    if report:
        atexit.register(_report)
    original = builtins.__import__
    if getattr(original, "_redirects", False):
        return

    def load(name, globals=None, locals=None, fromlist=(), level=0):
        module = original(name, globals, locals, fromlist, level)
        return (redirected(module) or module) if _is_users(globals) else module

    load._redirects = True
    builtins.__import__ = load


def _report():
    sys.stdout.flush()
    listing(sys.stderr)
