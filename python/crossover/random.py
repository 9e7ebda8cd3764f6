"""Random numbers.

Keys are explicit: the same key and shape give the same numbers on every device. `default_rng` and the functions of the module keep a key for
the caller, as NumPy's do; their numbers follow the same distributions as NumPy's and are not the same numbers.

>>> rng = xo.random.default_rng(42)
>>> rng.normal(size=3).shape
(3,)
"""

import functools as _functools
import operator as _operator
import os as _os
import threading as _threading

import numpy as _np

from . import _native as _n
from . import _protocols
from ._native import Key

__all__ = [
    "Generator", "Key", "choice", "default_rng", "exponential", "normal", "permutation", "poisson", "rand", "randint", "randn", "random",
    "seed", "shuffle", "standard_normal", "uniform",
]


def _whole(value):
    """A whole number; None for anything else, such as an array of several."""
    try:
        return _operator.index(value)
    except TypeError:
        return None


def _parameters(*values):
    """Numbers as they are, anything else as arrays."""
    return [value if isinstance(value, (int, float)) else _n.asarray(value) for value in values]


def _shape(size, *parameters):
    """The shape that is asked for, or else the one that the parameters have together: one draw for each."""
    shapes = [one.shape for one in parameters if isinstance(one, _n.Array)]
    if size is None:
        return _np.broadcast_shapes(*shapes)
    one = _whole(size)
    shape = tuple(size) if one is None else (one,)
    if shapes and _np.broadcast_shapes(shape, *shapes) != shape:
        raise ValueError(f"parameters of shape {_np.broadcast_shapes(*shapes)} do not fit draws of shape {shape}")
    return shape


def _or_numpys(method):
    """A method of ours; arguments that only NumPy's generator takes go to it, which also says what is wrong with wrong ones."""

    @_functools.wraps(method)
    def call(self, *args, **kwargs):
        try:
            return method(self, *args, **kwargs)
        except (TypeError, NotImplementedError):
            return self._by_numpy(method.__name__, args, kwargs)

    return call


class Generator:
    """Draws random numbers, one part of the stream after the other.

    What it lacks of NumPy's generator is drawn by one of NumPy's with a seed from the same key, and counted in `crossover.fallbacks()`.

    >>> xo.random.default_rng(0).binomial(5, 0.5, 3).shape
    (3,)
    """

    def __init__(self, key):
        self._key = key
        self._drawn = 0
        self._lock = _threading.Lock()
        self._theirs = None

    def _next(self):
        with self._lock:
            self._drawn += 1
            return self._key.fold(self._drawn)

    def _numpys(self):
        """NumPy's generator beside this one."""
        with self._lock:
            if self._theirs is None:
                # No draw of ours has this number.
                seed = _n.random_integers(self._key.fold(0), (2,), 0, 1 << 62, _n.int64)
                self._theirs = _np.random.Generator(_np.random.PCG64(seed.tolist()))
            return self._theirs

    def _by_numpy(self, name, args, kwargs):
        _protocols.note_fallback(f"Generator.{name}")
        return _protocols.call_numpy(getattr(self._numpys(), name), args, kwargs)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        theirs = getattr(_np.random.Generator, name)
        if not callable(theirs):
            return getattr(self._numpys(), name)
        return lambda *args, **kwargs: self._by_numpy(name, args, kwargs)

    @_or_numpys
    def random(self, size=None, dtype=_n.float64):
        """Uniform numbers from 0 to below 1.

        >>> xo.random.default_rng(0).random((2, 3)).shape
        (2, 3)
        """
        return _n.random_uniform(self._next(), _shape(size), dtype)

    @_or_numpys
    def uniform(self, low=0.0, high=1.0, size=None):
        """Uniform numbers from `low` to below `high`.

        >>> bool(xo.all(xo.random.default_rng(0).uniform(5.0, 6.0, 100) < 6.0))
        True
        """
        low, high = _parameters(low, high)
        return low + (high - low) * self.random(_shape(size, low, high))

    @_or_numpys
    def standard_normal(self, size=None, dtype=_n.float64):
        """Normal numbers around 0 with deviation 1.

        >>> xo.random.default_rng(0).standard_normal(3, dtype=xo.float32).dtype
        crossover.float32
        """
        return _n.random_normal(self._next(), _shape(size), dtype)

    @_or_numpys
    def normal(self, loc=0.0, scale=1.0, size=None):
        """Normal numbers around `loc` with deviation `scale`.

        >>> xo.random.default_rng(0).normal([0.0, 100.0], 1.0, (5, 2)).shape
        (5, 2)
        """
        loc, scale = _parameters(loc, scale)
        return loc + scale * self.standard_normal(_shape(size, loc, scale))

    @_or_numpys
    def exponential(self, scale=1.0, size=None):
        """Exponential numbers with mean `scale`.

        >>> bool(xo.all(xo.random.default_rng(0).exponential(2.0, 100) >= 0.0))
        True
        """
        [scale] = _parameters(scale)
        return scale * _n.random_exponential(self._next(), _shape(size, scale), _n.float64)

    @_or_numpys
    def gamma(self, shape, scale=1.0, size=None):
        """Gamma numbers.

        >>> bool(xo.all(xo.random.default_rng(0).gamma(3.0, 2.0, 100) >= 0.0))
        True
        """
        shape, scale = _parameters(shape, scale)
        return scale * _n.random_gamma(self._next(), _shape(size, shape, scale), shape, _n.float64)

    @_or_numpys
    def poisson(self, lam=1.0, size=None):
        """Poisson counts with mean `lam`.

        >>> xo.random.default_rng(0).poisson(4.0, 3).dtype
        crossover.int64
        """
        [lam] = _parameters(lam)
        return _n.random_poisson(self._next(), _shape(size, lam), lam, _n.int64)

    @_or_numpys
    def integers(self, low, high=None, size=None, dtype=_n.int64, endpoint=False):
        """Whole numbers from `low` to below `high`, or with one number from 0 to below it.

        >>> bool(xo.all(xo.random.default_rng(0).integers(1, 6, 100, endpoint=True) <= 6))
        True
        """
        low, high = (0, low) if high is None else (low, high)
        low, high = _operator.index(low), _operator.index(high)
        return _n.random_integers(self._next(), _shape(size), low, high + bool(endpoint), dtype)

    @_or_numpys
    def permutation(self, x):
        """The numbers below x, or the entries of x, in random order.

        >>> xo.sort(xo.random.default_rng(0).permutation(4))
        array([0, 1, 2, 3])
        """
        count = _whole(x)
        if count is not None:
            return _n.random_permutation(self._next(), count)
        return _n.random_shuffle(self._next(), x, 0)

    @_or_numpys
    def shuffle(self, x):
        """Puts the entries of an array or a list in random order, in place.

        >>> cards = ["a", "b", "c"]
        >>> xo.random.default_rng(0).shuffle(cards)
        >>> sorted(cards)
        ['a', 'b', 'c']
        """
        if isinstance(x, list):
            x[:] = [x[at] for at in self.permutation(len(x)).tolist()]
        else:
            x[...] = _n.random_shuffle(self._next(), x, 0)

    @_or_numpys
    def choice(self, a, size=None, replace=True):
        """Entries of `a`, or numbers below it, at random.

        >>> xo.sort(xo.random.default_rng(0).choice(4, 4, replace=False))
        array([0, 1, 2, 3])
        """
        below = _whole(a)
        a = _n.asarray(a) if below is None else _n.arange(below)
        shape = _shape(size)
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


def _key(seed):
    """The key that belongs to a seed: a whole number, several, or NumPy's `SeedSequence`."""
    if isinstance(seed, Key):
        return seed
    number = _whole(seed)
    if number is not None and number < 0:
        raise ValueError(f"a seed is a whole number from 0 on, not {number}")
    if number is None or number >= 1 << 64:
        sequence = seed if isinstance(seed, _np.random.SeedSequence) else _np.random.SeedSequence(_protocols.to_numpy(seed))
        number = int(sequence.generate_state(1, _np.uint64)[0])
    return Key(number)


def default_rng(seed=None):
    """A generator, the same one for the same seed.

    >>> xo.random.default_rng(42).random(3).shape
    (3,)
    """
    if isinstance(seed, (Generator, _np.random.Generator)):
        return seed
    if seed is None:
        seed = int.from_bytes(_os.urandom(8), "little")
    return Generator(_key(seed))


_shared = default_rng()


def seed(seed=None):
    """Starts the functions of this module anew from a seed, and NumPy's own with it: what this module lacks is drawn by them.

    >>> xo.random.seed(1)
    >>> first = xo.random.random()
    >>> xo.random.seed(1)
    >>> bool(first == xo.random.random())
    True
    """
    global _shared
    _np.random.seed(_protocols.to_numpy(seed))
    _shared = default_rng(seed)


def random(size=None):
    """Uniform numbers from 0 to below 1.

    >>> bool(0 <= xo.random.random() < 1)
    True
    """
    return _shared.random(size)


def rand(*shape):
    """Uniform numbers from 0 to below 1.

    >>> xo.random.rand(2, 3).shape
    (2, 3)
    """
    return _shared.random(shape)


def randn(*shape):
    """Normal numbers around 0 with deviation 1.

    >>> xo.random.randn(2, 3).shape
    (2, 3)
    """
    return _shared.standard_normal(shape)


def standard_normal(size=None):
    """Normal numbers around 0 with deviation 1.

    >>> xo.random.standard_normal((2, 3)).shape
    (2, 3)
    """
    return _shared.standard_normal(size)


def normal(loc=0.0, scale=1.0, size=None):
    """Normal numbers around `loc` with deviation `scale`.

    >>> xo.random.normal(10.0, 0.1, 4).shape
    (4,)
    """
    return _shared.normal(loc, scale, size)


def uniform(low=0.0, high=1.0, size=None):
    """Uniform numbers from `low` to below `high`.

    >>> bool(xo.all(xo.random.uniform(5.0, 6.0, 100) >= 5.0))
    True
    """
    return _shared.uniform(low, high, size)


def exponential(scale=1.0, size=None):
    """Exponential numbers with mean `scale`.

    >>> bool(xo.all(xo.random.exponential(2.0, 100) >= 0.0))
    True
    """
    return _shared.exponential(scale, size)


def poisson(lam=1.0, size=None):
    """Poisson counts with mean `lam`.

    >>> xo.random.poisson(4.0, 3).dtype
    crossover.int64
    """
    return _shared.poisson(lam, size)


def randint(low, high=None, size=None, dtype=_n.int64):
    """Whole numbers from `low` to below `high`.

    >>> bool(xo.all(xo.random.randint(1, 7, 100) <= 6))
    True
    """
    return _shared.integers(low, high, size, dtype)


def permutation(x):
    """The numbers below x, or the entries of x, in random order.

    >>> xo.sort(xo.random.permutation(4))
    array([0, 1, 2, 3])
    """
    return _shared.permutation(x)


def shuffle(x):
    """Puts the entries of an array in random order, in place.

    >>> x = xo.arange(4)
    >>> xo.random.shuffle(x)
    >>> xo.sort(x)
    array([0, 1, 2, 3])
    """
    _shared.shuffle(x)


def choice(a, size=None, replace=True):
    """Entries of `a`, or numbers below it, at random.

    >>> int(xo.random.choice([10, 20])) in (10, 20)
    True
    """
    return _shared.choice(a, size, replace)
