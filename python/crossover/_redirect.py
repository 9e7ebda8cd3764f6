"""NumPy's module as plain NumPy code sees it when it runs accelerated.

A name that the namespace has is ours. Anything else is NumPy's, called on the same memory, with its result made an array again; such calls are
counted with their line, see `crossover.fallbacks()`.
"""

import sys
import types

import numpy as np

from . import _native as _n
from ._protocols import call_numpy, from_numpy, note_fallback, written

# Names that are better left to NumPy: they are no functions of arrays.
_PLAIN = {
    "errstate", "seterr", "geterr", "set_printoptions", "get_printoptions", "printoptions", "testing", "dtype", "generic", "number",
    "integer", "floating", "inexact", "complexfloating", "signedinteger", "unsignedinteger", "bool", "exceptions", "lib", "version",
    "__version__", "ufunc", "vectorize", "nditer", "ndindex", "ndenumerate", "s_", "index_exp", "r_", "c_", "ix_", "iterable", "load",
    "savez", "savez_compressed", "save", "savetxt", "loadtxt", "genfromtxt", "broadcast_shapes", "typing", "ma", "polynomial", "char", "rec",
    "memmap", "matrix", "poly1d",
}


def _fallback(function, name):
    def call(*args, **kwargs):
        note_fallback(name, depth=1)
        return call_numpy(function, args, kwargs)

    call.__name__ = call.__qualname__ = getattr(function, "__name__", name)
    call.__doc__ = function.__doc__
    return _with_methods(call, function)


def _tried(ours, theirs, name):
    """Ours; arguments that only NumPy's function takes go to it."""

    def call(*args, **kwargs):
        out = kwargs.pop("out", None) if kwargs else None
        try:
            result = ours(*args, **kwargs)
        except TypeError:
            note_fallback(name, depth=1)
            return call_numpy(theirs, args, kwargs if out is None else {**kwargs, "out": out})
        return result if out is None else written(result, out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = ours.__doc__
    return _with_methods(call, theirs)


def _with_methods(call, theirs):
    """The function with what NumPy's universal functions have: `np.add.reduce(x)`, `np.add.at(x, i, y)`."""
    if not isinstance(theirs, np.ufunc):
        return call
    for name in ("reduce", "accumulate", "reduceat", "outer", "at"):
        setattr(call, name, _method(getattr(theirs, name)))
    for name in ("nin", "nout", "nargs", "identity", "types"):
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
        _MODULES[name] = Redirected(module, ours, _PLAIN if name == "numpy" else ())
    return _MODULES[name]


def _counterpart(name):
    package = sys.modules["crossover"]
    known = {
        "numpy": package, "numpy.linalg": package.linalg, "numpy.fft": package.fft, "numpy.random": package.random,
        "scipy.fft": package.fft, "scipy.linalg": package.linalg, "scipy.special": package,
    }
    if name in known:
        return known[name]
    # Everything of SciPy's that we lack runs there, counted.
    return types.SimpleNamespace() if name.partition(".")[0] == "scipy" else None


def redirecting_import(original):
    """`__import__` that gives redirected modules."""

    def load(name, globals=None, locals=None, fromlist=(), level=0):
        module = original(name, globals, locals, fromlist, level)
        return redirected(module) or module

    return load


def _is_users(globals):
    """Whether an import stands in a script or module of the user's, not in a library."""
    name = (globals or {}).get("__name__", "")
    if name.partition(".")[0] in ("crossover", "numpy", "scipy"):
        return False
    file = (globals or {}).get("__file__") or ""
    return name == "__main__" or bool(file) and "site-packages" not in file and "lib/python" not in file


def install():
    """From now on, modules of the user's that import NumPy or SciPy get the redirected ones.

    Libraries go on with NumPy itself. `python -m crossover script.py` does this before it runs the script.

    >>> xo.install()  # doctest: +SKIP
    """
    import builtins

    original = builtins.__import__
    if getattr(original, "_redirects", False):
        return

    def load(name, globals=None, locals=None, fromlist=(), level=0):
        module = original(name, globals, locals, fromlist, level)
        return (redirected(module) or module) if _is_users(globals) else module

    load._redirects = True
    builtins.__import__ = load
