"""Written by python/tools/stubs.py."""

import builtins
from typing import Any, Sequence, SupportsIndex, final

from typing_extensions import Self

from . import _typing as _t
from . import Array

__all__ = [
    "Generator", "Key", "choice", "default_rng", "exponential", "normal", "permutation", "poisson", "rand", "randint", "randn",
    "random", "seed", "shuffle", "standard_normal", "uniform",
]

class Generator:
    """Draws random numbers, one part of the stream after the other."""
    def __init__(self, key: Key) -> None: ...
    def choice(self, a: _t.ArrayLike, size: _t.Shape | None = None, replace: builtins.bool = True) -> Array:
        """Entries of `a`, or numbers below it, at random."""
    def exponential(self, scale: _t.ArrayLike = 1.0, size: _t.Shape | None = None) -> Array:
        """Exponential numbers with mean `scale`."""
    def gamma(self, shape: _t.ArrayLike, scale: _t.ArrayLike = 1.0, size: _t.Shape | None = None) -> Array:
        """Gamma numbers."""
    def integers(self, low: _t.ArrayLike, high: _t.ArrayLike | None = None, size: _t.Shape | None = None, dtype: _t.DTypeLike = ..., endpoint: builtins.bool = False) -> Array:
        """Whole numbers from `low` to below `high`, or with one number from 0 to below it."""
    def normal(self, loc: _t.ArrayLike = 0.0, scale: _t.ArrayLike = 1.0, size: _t.Shape | None = None) -> Array:
        """Normal numbers around `loc` with deviation `scale`."""
    def permutation(self, x: _t.ArrayLike) -> Array:
        """The numbers below x, or the entries of x, in random order."""
    def poisson(self, lam: _t.ArrayLike = 1.0, size: _t.Shape | None = None) -> Array:
        """Poisson counts with mean `lam`."""
    def random(self, size: _t.Shape | None = None, dtype: _t.DTypeLike = ...) -> Array:
        """Uniform numbers from 0 to below 1."""
    def shuffle(self, x: Array | list[Any]) -> None:
        """Puts the entries of an array or a list in random order, in place."""
    def standard_normal(self, size: _t.Shape | None = None, dtype: _t.DTypeLike = ...) -> Array:
        """Normal numbers around 0 with deviation 1."""
    def uniform(self, low: _t.ArrayLike = 0.0, high: _t.ArrayLike = 1.0, size: _t.Shape | None = None) -> Array:
        """Uniform numbers from `low` to below `high`."""
    def __getattr__(self, name: str) -> Any: ...

@final
class Key:
    """The place in the stream of random numbers that a draw starts at. The same key and shape give the same numbers on every device."""
    def __new__(cls, seed: SupportsIndex) -> Self: ...
    def fold(self, /, number: SupportsIndex) -> Key:
        """The key that belongs to a number, such as a step of a loop."""
    def split(self, /, n: SupportsIndex = 2) -> list[Key]:
        """Several independent keys."""

def choice(a: _t.ArrayLike, size: _t.Shape | None = None, replace: builtins.bool = True) -> Array:
    """Entries of `a`, or numbers below it, at random."""

def default_rng(seed: SupportsIndex | Sequence[int] | Key | Generator | _t.SupportsArray | None = None) -> Generator:
    """A generator, the same one for the same seed."""

def exponential(scale: _t.ArrayLike = 1.0, size: _t.Shape | None = None) -> Array:
    """Exponential numbers with mean `scale`."""

def normal(loc: _t.ArrayLike = 0.0, scale: _t.ArrayLike = 1.0, size: _t.Shape | None = None) -> Array:
    """Normal numbers around `loc` with deviation `scale`."""

def permutation(x: _t.ArrayLike) -> Array:
    """The numbers below x, or the entries of x, in random order."""

def poisson(lam: _t.ArrayLike = 1.0, size: _t.Shape | None = None) -> Array:
    """Poisson counts with mean `lam`."""

def rand(*shape: SupportsIndex) -> Array:
    """Uniform numbers from 0 to below 1."""

def randint(low: _t.ArrayLike, high: _t.ArrayLike | None = None, size: _t.Shape | None = None, dtype: _t.DTypeLike = ...) -> Array:
    """Whole numbers from `low` to below `high`."""

def randn(*shape: SupportsIndex) -> Array:
    """Normal numbers around 0 with deviation 1."""

def random(size: _t.Shape | None = None) -> Array:
    """Uniform numbers from 0 to below 1."""

def seed(seed: SupportsIndex | Sequence[int] | None = None) -> None:
    """Starts the functions of this module anew from a seed, and NumPy's own with it: what this module lacks is drawn by them."""

def shuffle(x: Array | list[Any]) -> None:
    """Puts the entries of an array in random order, in place."""

def standard_normal(size: _t.Shape | None = None) -> Array:
    """Normal numbers around 0 with deviation 1."""

def uniform(low: _t.ArrayLike = 0.0, high: _t.ArrayLike = 1.0, size: _t.Shape | None = None) -> Array:
    """Uniform numbers from `low` to below `high`."""
