"""The methods of NumPy's arrays that are made of functions of the namespace, and those that NumPy itself computes."""

import inspect

import numpy as np

from . import _native as _n
from . import _numpy_names as _names
from . import _protocols


def _flatten(self):
    """All elements along one axis, in an array of its own.

    >>> xo.asarray([[1, 2], [3, 4]]).flatten()
    array([1, 2, 3, 4])
    """
    return _n.reshape(self, (-1,), copy=True)


def _ravel(self):
    """All elements along one axis; a view where possible.

    >>> xo.asarray([[1, 2], [3, 4]]).ravel()
    array([1, 2, 3, 4])
    """
    return _n.reshape(self, (-1,))


def _transpose(self, *axes):
    """Axes in another order, or reversed; a view.

    >>> xo.ones((2, 3, 4)).transpose(1, 2, 0).shape
    (3, 4, 2)
    """
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
        axes = axes[0]
    return _names.transpose(self, axes or None)


def _sort(self, axis=-1):
    """Puts the elements in order along an axis, in place.

    >>> x = xo.asarray([3, 9, 1])
    >>> x.sort()
    >>> x
    array([1, 3, 9])
    """
    self[...] = _n.sort(self, axis)


def _dot(self, b):
    """NumPy's product.

    >>> xo.asarray([1.0, 2.0]).dot(xo.asarray([3.0, 4.0]))
    array(11.)
    """
    return _n.dot(self, b)


def _diagonal(self, offset=0):
    """The diagonal of the first two axes.

    >>> xo.asarray([[1, 2], [3, 4]]).diagonal()
    array([1, 4])
    """
    return _n.diagonal(_n.moveaxis(self, (0, 1), (-2, -1)), offset)


def _numpy(self):
    """A `numpy.ndarray` of its own with the same elements.

    >>> type(xo.ones(2).numpy()).__module__
    'numpy'
    """
    return self.__array__(copy=True)


def _html(self):
    """For notebooks."""
    import html

    shape = " × ".join(str(n) for n in self.shape) or "no axes"
    return f"<pre>{html.escape(str(self))}</pre><small>{shape}, {self.dtype}, {self.device}</small>"


def _function(function, name):
    def method(self, *args, **kwargs):
        return function(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = function.__doc__
    method.__signature__ = _as_method(inspect.signature(function))
    return method


def _as_method(signature):
    """The arguments of a function whose first is the array, as its method has them."""
    first, *others = signature.parameters.values()
    return signature.replace(parameters=[first.replace(name="self"), *others])


def _in_place(native, forward):
    """`x += y`: arrays without axes are numbers, which do not change; another name for one keeps what it had."""

    def method(self, other):
        return native(self, other) if self.ndim else forward(self, other)

    method.__name__ = method.__qualname__ = native.__name__
    return method


def _fallback(name):
    """A method that only NumPy's arrays have, called on the same memory, and counted. What it writes is written here."""

    def method(self, *args, **kwargs):
        _protocols.note_fallback(f"ndarray.{name}")
        return _protocols.call_numpy(lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs), (self, *args), kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"NumPy's `{name}`, computed by it."
    return method


def _or_numpys(ours, name):
    """A method of ours; arguments that only NumPy's has go to it, which also says what is wrong with wrong ones."""
    lacking = _fallback(name)

    def method(self, *args, **kwargs):
        try:
            return ours(self, *args, **kwargs)
        except (TypeError, NotImplementedError):
            return lacking(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = ours.__doc__
    method.__wrapped__ = ours
    return method


# What `astype` of ours leaves to NumPy's.
astype_by_numpy = _fallback("astype")


def _repeating(native):
    """`[0] * n`: a whole number repeats a list, as NumPy's do."""

    def method(self, other):
        if isinstance(other, (list, tuple, str, bytes)) and not self.ndim and self.dtype.kind in "iu":
            return other * int(self)
        return native(self, other)

    method.__name__ = method.__qualname__ = "__rmul__"
    return method


def _round(self, digits=None):
    """`round(x)` of an array without axes, as of any number."""
    if self.ndim:
        raise TypeError(f"round() of an array of shape {self.shape}; use xo.round(x)")
    return round(self.item()) if digits is None else _n.round(self, digits)


class _Flat:
    """All elements in row-major order, to be read and written one by one: NumPy's `flat`."""

    def __init__(self, array):
        self._array = array

    def __len__(self):
        return self._array.size

    def __iter__(self):
        return iter(_n.reshape(self._array, (-1,)))

    def __getitem__(self, key):
        return _n.reshape(self._array, (-1,), copy=True)[key]

    def __setitem__(self, key, value):
        whole = _n.reshape(self._array, (-1,), copy=True)
        whole[key] = value
        self._array[...] = _n.reshape(whole, self._array.shape)


class _Flags:
    """How an array lies in memory: NumPy's `flags`, by attribute or key. Arrays can be written, and have memory of their own unless they are views."""

    def __init__(self, array):
        self._flags = array.__array__().flags
        self._here = {"writeable": True, "owndata": array.base is None}

    def __getattr__(self, name):
        return self._here[name] if name in self._here else getattr(self._flags, name)

    def __getitem__(self, key):
        name = {"W": "writeable", "O": "owndata"}.get(key, key.lower())
        return self._here[name] if name in self._here else self._flags[key]

    def __repr__(self):
        text = repr(self._flags)
        for name, value in self._here.items():
            text = text.replace(f"{name.upper()} : {not value}", f"{name.upper()} : {value}")
        return text


def _view(self, dtype=None):
    """Another array of the same memory; of another dtype, a copy of its bits.

    >>> x = xo.zeros(2)
    >>> x.view()[0] = 5.0
    >>> x
    array([5., 0.])
    """
    return self[...] if dtype is None else _fallback("view")(self, dtype)


def _set_flat(self, value):
    self[...] = np.resize(_protocols.to_numpy(value), self.shape)


def _part(cls, name, joined):
    """`x.real` and `x.imag`, which can be assigned to."""
    native = vars(cls)[name]

    def assign(self, value):
        self[...] = joined(self, value)

    return property(native.__get__, assign, doc=native.__doc__)


def _attach_numpys(cls):
    """Gives the class what else NumPy's arrays have."""
    for name in ("argpartition", "byteswap", "choose", "compress", "dump", "dumps", "partition", "put", "tofile"):
        setattr(cls, name, _fallback(name))
    for name in (
        "all", "any", "argmax", "argmin", "argsort", "clip", "copy", "cumprod", "cumsum", "diagonal", "dot", "flatten", "max", "mean",
        "min", "nonzero", "prod", "ptp", "ravel", "repeat", "reshape", "round", "searchsorted", "sort", "squeeze", "std", "sum", "swapaxes", "take",
        "tobytes", "trace", "transpose", "var",
    ):
        if hasattr(np.ndarray, name):
            setattr(cls, name, _or_numpys(getattr(cls, name), name))
    cls.__rmul__ = _repeating(cls.__rmul__)
    cls.__round__ = _round
    cls.view = _view
    cls.flat = property(_Flat, _set_flat, doc=_Flat.__doc__)
    cls.flags = property(_Flags, doc=_Flags.__doc__)
    cls.strides = property(lambda self: self.__array__().strides, doc="Bytes from one element to the next along each axis.")
    cls.real = _part(cls, "real", lambda x, value: value + 1j * x.imag if x.dtype.kind == "c" else value)
    cls.imag = _part(cls, "imag", lambda x, value: x.real + 1j * _n.asarray(value))
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"):
        setattr(cls, f"__i{name}__", _in_place(getattr(cls, f"__i{name}__"), getattr(cls, f"__{name}__")))


def attach(cls):
    """Gives the class its methods."""
    for name, method in {
        "diagonal": _diagonal,
        "flatten": _flatten,
        "ravel": _ravel,
        "transpose": _transpose,
        "sort": _sort,
        "dot": _dot,
        "numpy": _numpy,
        "_repr_html_": _html,
    }.items():
        setattr(cls, name, method)
    for name in ("argmax", "argmin", "argsort", "clip", "conj", "nonzero", "repeat", "round", "searchsorted", "squeeze", "take"):
        setattr(cls, name, _function(getattr(_n, name), name))
    for name in ("cumsum", "cumprod", "ptp", "swapaxes", "trace"):
        setattr(cls, name, _function(getattr(_names, name), name))
    cls.__array_ufunc__ = _protocols.array_ufunc
    cls.__array_function__ = _protocols.array_function
    cls.conjugate = cls.conj
    # By which NumPy's own functions understand our dtypes.
    _n.dtype.dtype = property(lambda self: np.dtype(self.str), doc="The same for NumPy.")
    cls.__format__ = lambda self, spec: format(self.item(), spec) if spec else str(self)
    _attach_numpys(cls)
