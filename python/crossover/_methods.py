"""The methods of NumPy's arrays that are made of functions of the namespace."""

from . import _native as _n
from . import _numpy_names as _names


def _flatten(self):
    """All elements along one axis, in an array of its own."""
    return _n.reshape(self, (-1,), copy=True)


def _ravel(self):
    """All elements along one axis; a view where possible."""
    return _n.reshape(self, (-1,))


def _transpose(self, *axes):
    """Axes in another order, or reversed; a view."""
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
        axes = axes[0]
    return _names.transpose(self, axes or None)


def _sort(self, axis=-1):
    """Puts the elements in order along an axis, in place."""
    self[...] = _n.sort(self, axis)


def _dot(self, b):
    """NumPy's product."""
    return _n.dot(self, b)


def _numpy(self):
    """A `numpy.ndarray` of its own with the same elements."""
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
    return method


def attach(cls):
    """Gives the class its methods."""
    for name, method in {
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
    from . import _protocols

    cls.__array_ufunc__ = _protocols.array_ufunc
    cls.__array_function__ = _protocols.array_function
    cls.conjugate = cls.conj
    cls.diagonal = _function(lambda x, offset=0: _n.diagonal(x, offset), "diagonal")
    cls.__format__ = lambda self, spec: format(self.item(), spec) if spec else str(self)
