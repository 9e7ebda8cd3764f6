"""Distinct elements, with the names of the standard."""

from collections import namedtuple

from . import _native

UniqueAllResult = namedtuple("UniqueAllResult", ["values", "indices", "inverse_indices", "counts"])
UniqueCountsResult = namedtuple("UniqueCountsResult", ["values", "counts"])
UniqueInverseResult = namedtuple("UniqueInverseResult", ["values", "inverse_indices"])


def unique_all(x, /):
    """Distinct elements, where each first occurs, which of them each element is, and how often each occurs.

    >>> xo.unique_all(xo.asarray([3, 1, 3])).counts
    array([1, 2])
    """
    return UniqueAllResult(*_native.unique_all(x))


def unique_counts(x, /):
    """Distinct elements and how often each occurs.

    >>> xo.unique_counts(xo.asarray([3, 1, 3])).counts
    array([1, 2])
    """
    return UniqueCountsResult(*_native.unique_counts(x))


def unique_inverse(x, /):
    """Distinct elements and which of them each element is.

    >>> xo.unique_inverse(xo.asarray([3, 1, 3])).inverse_indices
    array([1, 0, 1])
    """
    return UniqueInverseResult(*_native.unique_inverse(x))
