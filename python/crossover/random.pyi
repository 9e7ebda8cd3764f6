"""Written by python/tools/stubs.py."""

from typing import Any, final

from typing_extensions import Self

from . import Array

__all__ = [
    "Generator", "Key", "choice", "default_rng", "exponential", "normal", "permutation", "poisson", "rand", "randint", "randn",
    "random", "seed", "shuffle", "standard_normal", "uniform",
]

class Generator:
    """Draws random numbers, one part of the stream after the other."""
    def __init__(self, key: Any) -> None: ...
    def choice(self, a: Any, size: Any = ..., replace: Any = ...) -> Array:
        """Entries of `a`, or numbers below it, at random."""
    def exponential(self, scale: Any = ..., size: Any = ...) -> Array:
        """Exponential numbers with mean `scale`."""
    def gamma(self, shape: Any, scale: Any = ..., size: Any = ...) -> Array:
        """Gamma numbers."""
    def integers(self, low: Any, high: Any = ..., size: Any = ..., dtype: Any = ..., endpoint: Any = ...) -> Array:
        """Whole numbers from `low` to below `high`, or with one number from 0 to below it."""
    def normal(self, loc: Any = ..., scale: Any = ..., size: Any = ...) -> Array:
        """Normal numbers around `loc` with deviation `scale`."""
    def permutation(self, x: Any) -> Array:
        """The numbers below x, or the entries of x, in random order."""
    def poisson(self, lam: Any = ..., size: Any = ...) -> Array:
        """Poisson counts with mean `lam`."""
    def random(self, size: Any = ..., dtype: Any = ...) -> Array:
        """Uniform numbers from 0 to below 1."""
    def shuffle(self, x: Any) -> None:
        """Puts the entries of an array or a list in random order, in place."""
    def standard_normal(self, size: Any = ..., dtype: Any = ...) -> Array:
        """Normal numbers around 0 with deviation 1."""
    def uniform(self, low: Any = ..., high: Any = ..., size: Any = ...) -> Array:
        """Uniform numbers from `low` to below `high`."""
    def __getattr__(self, name: str) -> Any: ...

@final
class Key:
    """The place in the stream of random numbers that a draw starts at. The same key and shape give the same numbers on every device."""
    def __new__(cls, seed: Any) -> Self: ...
    def fold(self, /, number: Any) -> Key:
        """The key that belongs to a number, such as a step of a loop."""
    def split(self, /, n: Any = ...) -> list[Key]:
        """Several independent keys."""

def choice(a: Any, size: Any = ..., replace: Any = ...) -> Array:
    """Entries of `a`, or numbers below it, at random."""

def default_rng(seed: Any = ...) -> Generator:
    """A generator, the same one for the same seed."""

def exponential(scale: Any = ..., size: Any = ...) -> Array:
    """Exponential numbers with mean `scale`."""

def normal(loc: Any = ..., scale: Any = ..., size: Any = ...) -> Array:
    """Normal numbers around `loc` with deviation `scale`."""

def permutation(x: Any) -> Array:
    """The numbers below x, or the entries of x, in random order."""

def poisson(lam: Any = ..., size: Any = ...) -> Array:
    """Poisson counts with mean `lam`."""

def rand(*shape: Any) -> Array:
    """Uniform numbers from 0 to below 1."""

def randint(low: Any, high: Any = ..., size: Any = ..., dtype: Any = ...) -> Array:
    """Whole numbers from `low` to below `high`."""

def randn(*shape: Any) -> Array:
    """Normal numbers around 0 with deviation 1."""

def random(size: Any = ...) -> Array:
    """Uniform numbers from 0 to below 1."""

def seed(seed: Any = ...) -> None:
    """Starts the functions of this module anew from a seed, and NumPy's own with it: what this module lacks is drawn by them."""

def shuffle(x: Any) -> None:
    """Puts the entries of an array in random order, in place."""

def standard_normal(size: Any = ...) -> Array:
    """Normal numbers around 0 with deviation 1."""

def uniform(low: Any = ..., high: Any = ..., size: Any = ...) -> Array:
    """Uniform numbers from `low` to below `high`."""
