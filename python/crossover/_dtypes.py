"""What dtypes are, become and hold."""

from . import _native
from ._native import Array, dtype

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float16", "bfloat16", "float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


def isdtype(dtype, kind):
    """Whether a dtype is of a kind: a name such as 'real floating', another dtype, or a tuple of these.

    >>> xo.isdtype(xo.float32, "real floating")
    True
    """
    given = _native.dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(given, one) for one in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return given.name in _KINDS[kind]
    if isinstance(kind, str):
        raise ValueError(f"{kind!r} is not a kind of dtype; there are {', '.join(sorted(_KINDS))}")
    return given == _native.dtype(kind)


def can_cast(from_, to, /):
    """Whether every value of a dtype, or of an array's, has its place in another.

    >>> xo.can_cast(xo.int8, xo.int16), xo.can_cast(xo.float64, xo.float32)
    (True, False)
    """
    source = from_.dtype if isinstance(from_, Array) else dtype(from_)
    target = dtype(to)
    return source.promote(target) == target


def _weak(value):
    """The rank of a Python number: it never widens what is of its kind or a higher one."""
    if isinstance(value, bool):
        return 0
    return {int: 1, float: 2, complex: 3}.get(type(value))


_RANKS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


def result_type(*arrays_and_dtypes):
    """The dtype of an operation between arrays, dtypes and Python numbers.

    >>> xo.result_type(xo.uint8, xo.int8)
    crossover.int16
    """
    if not arrays_and_dtypes:
        raise ValueError("result_type needs at least one array or dtype")
    strong, weak = None, -1
    for item in arrays_and_dtypes:
        rank = _weak(item)
        if rank is not None:
            weak = max(weak, rank)
            continue
        found = item.dtype if isinstance(item, Array) else dtype(getattr(item, "dtype", item))
        strong = found if strong is None else strong.promote(found)
    defaults = (_native.bool, _native.int64, _native.float64, _native.complex128)
    if strong is None:
        return defaults[weak]
    if weak <= _RANKS[strong.kind]:
        return strong
    if weak == 3 and strong.name in ("float16", "bfloat16", "float32"):
        return _native.complex64
    return defaults[weak]


class iinfo:
    """What an integer dtype holds.

    >>> xo.iinfo(xo.int8).max
    127
    """

    def __init__(self, type, /):
        found = type.dtype if isinstance(type, Array) else dtype(type)
        if found.name not in _KINDS["integral"]:
            raise ValueError(f"{found} is not an integer dtype")
        signed = found.kind == "i"
        self.dtype = found
        self.bits = 8 * found.itemsize
        self.min = -(1 << (self.bits - 1)) if signed else 0
        self.max = (1 << (self.bits - signed)) - 1

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


# Bits of the fraction, and the largest exponent.
_FLOATS = {"float16": (10, 15), "bfloat16": (7, 127), "float32": (23, 127), "float64": (52, 1023)}


class finfo:
    """What a float dtype, or the parts of a complex one, can tell apart.

    >>> xo.finfo(xo.float32).bits
    32
    """

    def __init__(self, type, /):
        found = type.dtype if isinstance(type, Array) else dtype(type)
        name = {"complex64": "float32", "complex128": "float64"}.get(found.name, found.name)
        if name not in _FLOATS:
            raise ValueError(f"{found} is not a float dtype")
        fraction, exponent = _FLOATS[name]
        self.dtype = dtype(name)
        self.bits = 8 * self.dtype.itemsize
        self.eps = 2.0**-fraction
        self.max = (2.0 - 2.0**-fraction) * 2.0**exponent
        self.min = -self.max
        self.smallest_normal = 2.0 ** (1 - exponent)
        self.tiny = self.smallest_normal
        self.smallest_subnormal = 2.0 ** (1 - exponent - fraction) if name != "float64" else 5e-324
        self.resolution = 10.0 ** -int(fraction * 0.30103)

    def __repr__(self):
        return f"finfo(bits={self.bits}, eps={self.eps}, max={self.max}, dtype={self.dtype})"
