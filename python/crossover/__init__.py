"""Arrays that run where they run fastest.

The namespace is the Python Array API standard (2024.12), with NumPy's spellings beside it. Operations are lazy: they build a graph, which
runs as few fused kernels when values are needed, with results that do not depend on threads or device.

>>> import crossover as xo
>>> x = xo.linspace(0, 1, 5)
>>> xo.sum(x * x)
array(1.875)
"""

import math as _math

from . import batch as batch
from . import embed as embed
from . import events as events
from . import exceptions as exceptions
from . import fft as fft
from . import hrr as hrr, lattice as lattice
from . import linalg as linalg
from . import memory as memory
from . import nn as nn
from . import random as random
from . import ray as ray
from . import signal as signal
from ._accelerator import attach as _attach_gpu
from ._dtypes import can_cast, finfo, iinfo, isdtype, result_type
from ._gpu import gpu
from ._info import __array_namespace_info__
from ._kernel import gpu_kernel
from ._methods import attach as _attach
from ._native import (
    Array, Runtime, __version__, abs, acos, acosh, add, all, any, arange, argmax, argmin, argsort, asarray, asin, asinh, astype, atan,
    atan2, atanh, bfloat16, bincount, bitwise_and, bitwise_invert, bitwise_left_shift, bitwise_or, bitwise_right_shift, bitwise_xor,
    bool, broadcast_arrays, broadcast_to, ceil, clip, complex64, complex128, concat, conj, copysign, cos, cosh, cospi,
    count_nonzero, cumulative_prod, cumulative_sum, device, diff, divide, dot, dtype, einsum, empty, empty_like, equal, erf, erfc, exp, exp2,
    expand_dims, expm1, eye, flip, float16, float32, float64, floor, floor_divide, from_dlpack, full, full_like, gelu, gelu_exact,
    get_runtime, greater, greater_equal, histogram, hypot, imag, int8, int16, int32, int64, isfinite, isin, isinf, isnan, less,
    less_equal, linspace, list_devices, log, log1p, log2, log10, logaddexp, logical_and, logical_not, logical_or, logical_xor,
    logsumexp, matmul, matrix_transpose, max, maximum, mean, meshgrid, min, minimum, moveaxis, multiply, negative, nextafter, nonzero,
    not_equal, ones, ones_like, pad, permute_dims, positive, pow, prod, real, reciprocal, relu, remainder, repeat, reshape, roll,
    round, searchsorted, sigmoid, sign, signbit, silu, sin, sinh, sinpi, softmax, softplus, sort, sqrt, square, squeeze, stack, std, subtract,
    sum, take, take_along_axis, tan, tanh, tensordot, tile, tril, triu, trunc, uint8, uint16, uint32, uint64, unique_values, unstack,
    var, vecdot, where, zeros, zeros_like,
)
from ._numpy_names import *  # noqa: F403
from ._profile import profile
from ._protocols import fallbacks
from ._redirect import install
from ._sets import unique_all, unique_counts, unique_inverse
from .config import Config, explain, init
from .par import par_iter

__array_api_version__ = "2024.12"

e = _math.e
inf = _math.inf
nan = _math.nan
newaxis = None
pi = _math.pi

_attach(Array)
_attach_gpu(Runtime)


def __dir__():
    return sorted(name for name in globals() if not name.startswith("_") or name.startswith("__array"))
