"""What stands for classes and objects of NumPy's in redirected code, where a function cannot.

Each is NumPy's own, told to its users with our arrays in the results, and counted in `crossover.fallbacks()`.
"""

import functools
import sys

import numpy as np

from ._protocols import call_numpy, from_numpy, note_fallback, to_numpy


def is_library(globals):
    """Whether code with these global names is a library's, this one included, and no script or module of the user's."""
    if (globals.get("__name__") or "").partition(".")[0] in ("crossover", "numpy", "scipy"):
        return True
    file = globals.get("__file__") or ""
    return "site-packages" in file or "lib/python" in file


class _Indexed:
    """What is indexed to make an array: `np.r_[1:4, x]`, `np.mgrid[0:3, 0:2]`."""

    def __init__(self, theirs, name):
        self._theirs, self._name = theirs, name

    def __getitem__(self, key):
        note_fallback(self._name, depth=1)
        return from_numpy(self._theirs[to_numpy(key)])

    def __getattr__(self, name):
        return getattr(self._theirs, name)


def _indexed(name):
    return lambda theirs: _Indexed(theirs, f"numpy.{name}")


class _Npz(np.lib.npyio.NpzFile):
    """The arrays of an open file, read when they are asked for."""

    def __getitem__(self, key):
        return from_numpy(super().__getitem__(key))


def _load(theirs):
    def load(*args, **kwargs):
        """NumPy's `load`; what it maps stays a map of the file."""
        note_fallback("numpy.load", depth=1)
        found = theirs(*to_numpy(args), **kwargs)
        if type(found) is np.lib.npyio.NpzFile:
            found.__class__ = _Npz
        return from_numpy(found)

    return load


class _Vectorize(np.vectorize):
    """A function of numbers, called for each element of arrays."""

    def __call__(self, *args, **kwargs):
        result = super().__call__(*to_numpy(args), **to_numpy(kwargs))
        # Under `@np.vectorize(otypes=…)` it is called to be given its function.
        if result is self:
            return self
        note_fallback("numpy.vectorize", depth=1)
        return from_numpy(result)


def _standing(theirs, *others):
    """A metaclass whose classes know instances of NumPy's class, and of others, as theirs."""

    class Standing(type(theirs)):
        def __instancecheck__(cls, one):
            # A class of the user's that derives from it has its own instances only.
            return isinstance(one, (theirs, *others)) if _MADE in vars(cls) else super().__instancecheck__(one)

        def __subclasscheck__(cls, one):
            return issubclass(one, (theirs, *others)) if _MADE in vars(cls) else super().__subclasscheck__(one)

    return Standing


# The mark of the classes that are made here.
_MADE = "_stands_for_numpys"


def _memmap(theirs):
    def new(cls, *args, **kwargs):
        note_fallback("numpy.memmap", depth=1)
        # NumPy's own: it is a file, of which our arrays would be copies.
        return theirs.__new__(theirs if _MADE in vars(cls) else cls, *args, **kwargs)

    body = {"__new__": new, "__doc__": theirs.__doc__, "__module__": theirs.__module__, _MADE: True}
    return _standing(theirs)(theirs.__name__, (theirs,), body)


def _draws(theirs):
    """A generator of NumPy's: the same draws, as our arrays for the user's code and as NumPy's for libraries."""
    from . import random

    def drawn(name, method):
        def draw(self, *args, **kwargs):
            if is_library(sys._getframe(1).f_globals):
                return method(self, *args, **kwargs)
            note_fallback(f"{theirs.__name__}.{name}", depth=1)
            return call_numpy(method, (self, *args), kwargs)

        draw.__name__ = draw.__qualname__ = name
        draw.__doc__ = method.__doc__
        return draw

    body = {"__doc__": theirs.__doc__, "__module__": theirs.__module__, _MADE: True}
    for name, method in vars(theirs).items():
        if callable(method) and not name.startswith("_") and name not in ("get_state", "set_state", "seed", "spawn"):
            body[name] = drawn(name, method)
    others = (random.Generator,) if theirs is np.random.Generator else ()
    return _standing(theirs, *others)(theirs.__name__, (theirs,), body)


def _compared(theirs):
    """A comparison of arrays that asks what is no array of NumPy's whether it is equal, as if it were a number."""

    @functools.wraps(theirs)
    def compare(*args, **kwargs):
        return theirs(*to_numpy(args), **to_numpy(kwargs))

    return compare


# By full name, functions that make what stands for NumPy's from it.
STAND_INS = {
    "numpy.r_": _indexed("r_"), "numpy.c_": _indexed("c_"), "numpy.mgrid": _indexed("mgrid"), "numpy.ogrid": _indexed("ogrid"),
    "numpy.load": _load, "numpy.vectorize": lambda theirs: _Vectorize, "numpy.memmap": _memmap, "numpy.random.RandomState": _draws,
    "numpy.random.Generator": _draws, "numpy.testing.assert_equal": _compared, "numpy.testing.assert_almost_equal": _compared,
}
