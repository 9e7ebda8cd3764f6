"""Exceptions of the library. Where NumPy has one of the same name, ours is one of NumPy's too."""

from numpy.linalg import LinAlgError as _LinAlgError

try:
    from numpy.exceptions import AxisError as _AxisError
except ImportError:  # before NumPy 1.25
    from numpy import AxisError as _AxisError  # type: ignore[attr-defined,no-redef,unused-ignore]


class AxisError(_AxisError):
    """An axis that the array does not have.

    >>> try:
    ...     xo.sum(xo.ones(3), axis=1)
    ... except xo.exceptions.AxisError:
    ...     print("one axis only")
    one axis only
    """

    def __init__(self, message):
        super().__init__(message)


class LinAlgError(_LinAlgError):
    """A matrix for which the result does not exist.

    >>> try:
    ...     xo.linalg.inv(xo.zeros((2, 2)))
    ... except xo.exceptions.LinAlgError:
    ...     print("no inverse")
    no inverse
    """


class DeviceError(RuntimeError):
    """A device that is not there, or that failed.

    >>> try:
    ...     xo.ones(3).to_device("cuda:99")
    ... except xo.exceptions.DeviceError:
    ...     print("no such GPU")
    no such GPU
    """
