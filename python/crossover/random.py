"""Random numbers.

Keys are explicit: the same key and shape give the same numbers on every device. `default_rng` and the functions of the module keep a key for
the caller, as NumPy's do; their numbers follow the same distributions as NumPy's and are not the same numbers.

>>> rng = xo.random.default_rng(42)
>>> rng.normal(size=3).shape
(3,)
"""

import os as _os
import threading as _threading

from . import _native as _n
from ._native import Key

__all__ = [
    "Generator", "Key", "choice", "default_rng", "exponential", "normal", "permutation", "poisson", "rand", "randint", "randn", "random",
    "seed", "shuffle", "standard_normal", "uniform",
]


def _shape(size):
    return () if size is None else size


class Generator:
    """Draws random numbers, one part of the stream after the other."""

    def __init__(self, key):
        self._key = key
        self._drawn = 0
        self._lock = _threading.Lock()

    def _next(self):
        with self._lock:
            self._drawn += 1
            return self._key.fold(self._drawn)

    def random(self, size=None, dtype=_n.float64):
        """Uniform numbers from 0 to below 1."""
        return _n.random_uniform(self._next(), _shape(size), dtype)

    def uniform(self, low=0.0, high=1.0, size=None):
        """Uniform numbers from `low` to below `high`."""
        return low + (high - low) * self.random(size)

    def standard_normal(self, size=None, dtype=_n.float64):
        """Normal numbers around 0 with deviation 1."""
        return _n.random_normal(self._next(), _shape(size), dtype)

    def normal(self, loc=0.0, scale=1.0, size=None):
        """Normal numbers around `loc` with deviation `scale`."""
        return loc + scale * self.standard_normal(size)

    def exponential(self, scale=1.0, size=None):
        """Exponential numbers with mean `scale`."""
        return scale * _n.random_exponential(self._next(), _shape(size), _n.float64)

    def gamma(self, shape, scale=1.0, size=None):
        """Gamma numbers."""
        return scale * _n.random_gamma(self._next(), _shape(size), shape, _n.float64)

    def poisson(self, lam=1.0, size=None):
        """Poisson counts with mean `lam`."""
        return _n.random_poisson(self._next(), _shape(size), lam, _n.int64)

    def integers(self, low, high=None, size=None, dtype=_n.int64, endpoint=False):
        """Whole numbers from `low` to below `high`, or with one number from 0 to below it."""
        low, high = (0, low) if high is None else (low, high)
        return _n.random_integers(self._next(), _shape(size), int(low), int(high) + bool(endpoint), dtype)

    def permutation(self, x):
        """The numbers below x, or the entries of x, in random order."""
        if isinstance(x, int):
            return _n.random_permutation(self._next(), x)
        return _n.random_shuffle(self._next(), x, 0)

    def shuffle(self, x):
        """Puts the entries of an array in random order, in place."""
        x[...] = _n.random_shuffle(self._next(), x, 0)

    def choice(self, a, size=None, replace=True):
        """Entries of `a`, or numbers below it, at random."""
        a = _n.arange(a) if isinstance(a, int) else _n.asarray(a)
        shape = (size,) if isinstance(size, int) else _shape(size)
        count = 1
        for n in shape:
            count *= n
        if replace:
            at = self.integers(0, a.shape[0], count)
        else:
            if count > a.shape[0]:
                raise ValueError(f"{count} different entries cannot be taken from {a.shape[0]}")
            at = self.permutation(a.shape[0])[:count]
        taken = _n.take(a, at, axis=0)
        return _n.reshape(taken, shape + a.shape[1:])


def default_rng(seed=None):
    """A generator, the same one for the same seed."""
    if seed is None:
        seed = int.from_bytes(_os.urandom(8), "little")
    return Generator(seed if isinstance(seed, Key) else Key(seed))


_shared = default_rng()


def seed(seed=None):
    """Starts the functions of this module anew from a seed."""
    global _shared
    _shared = default_rng(seed)


def random(size=None):
    """Uniform numbers from 0 to below 1."""
    return _shared.random(size)


def rand(*shape):
    """Uniform numbers from 0 to below 1."""
    return _shared.random(shape)


def randn(*shape):
    """Normal numbers around 0 with deviation 1."""
    return _shared.standard_normal(shape)


def standard_normal(size=None):
    """Normal numbers around 0 with deviation 1."""
    return _shared.standard_normal(size)


def normal(loc=0.0, scale=1.0, size=None):
    """Normal numbers around `loc` with deviation `scale`."""
    return _shared.normal(loc, scale, size)


def uniform(low=0.0, high=1.0, size=None):
    """Uniform numbers from `low` to below `high`."""
    return _shared.uniform(low, high, size)


def exponential(scale=1.0, size=None):
    """Exponential numbers with mean `scale`."""
    return _shared.exponential(scale, size)


def poisson(lam=1.0, size=None):
    """Poisson counts with mean `lam`."""
    return _shared.poisson(lam, size)


def randint(low, high=None, size=None, dtype=_n.int64):
    """Whole numbers from `low` to below `high`."""
    return _shared.integers(low, high, size, dtype)


def permutation(x):
    """The numbers below x, or the entries of x, in random order."""
    return _shared.permutation(x)


def shuffle(x):
    """Puts the entries of an array in random order, in place."""
    _shared.shuffle(x)


def choice(a, size=None, replace=True):
    """Entries of `a`, or numbers below it, at random."""
    return _shared.choice(a, size, replace)
