"""What the namespace can do, as the standard asks."""

from . import _native
from ._dtypes import isdtype

_NAMES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64", "complex128",
)


class __array_namespace_info__:
    """Capabilities, devices and dtypes of the namespace.

    >>> info = xo.__array_namespace_info__()
    >>> info.capabilities()["max dimensions"]
    64
    """

    def capabilities(self):
        """What the standard leaves open: shapes may depend on data, masks may be indices, and there may be 64 axes.

        >>> xo.__array_namespace_info__().capabilities()["boolean indexing"]
        True
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        """Where arrays are unless a device is asked for.

        >>> xo.__array_namespace_info__().default_device()
        device('cpu')
        """
        return _native.device("cpu")

    def devices(self):
        """All devices.

        >>> xo.__array_namespace_info__().devices()[0]
        device('cpu')
        """
        return _native.list_devices()

    def default_dtypes(self, *, device=None):
        """Dtypes of arrays that are made without one.

        >>> xo.__array_namespace_info__().default_dtypes()["integral"]
        crossover.int64
        """
        return {
            "real floating": _native.float64,
            "complex floating": _native.complex128,
            "integral": _native.int64,
            "indexing": _native.int64,
        }

    def dtypes(self, *, device=None, kind=None):
        """All dtypes of the standard, or those of a kind.

        >>> sorted(xo.__array_namespace_info__().dtypes(kind="complex floating"))
        ['complex128', 'complex64']
        """
        known = {name: getattr(_native, name) for name in _NAMES}
        if kind is None:
            return known
        return {name: dtype for name, dtype in known.items() if isdtype(dtype, kind)}
