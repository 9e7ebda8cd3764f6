"""Attention, functions and layers of neural networks: inference for now.

Layers hold parameters with the names that PyTorch's modules use, and read and write safetensors files.
"""

import operator as _operator
import time as _time

from . import _native
from ._native import Layer

__all__ = [
    "Embedding", "FeedForward", "Layer", "LayerNorm", "Linear", "Mlp", "MultiHeadAttention", "RMSNorm", "Sequential", "TransformerLayer",
    "attention", "attention_weights", "benchmark_kernel", "cross_entropy", "gelu", "layer_norm", "linear", "linear_gelu", "rms_norm", "rotary",
    "silu", "softmax", "swiglu",
]


def _whole(name, value, least=None):
    """A whole number, or an error that names the argument."""
    try:
        number = _operator.index(value)
    except TypeError:
        raise TypeError(f"{name} has {value!r}; it takes whole numbers") from None
    if least is not None and number < least:
        raise ValueError(f"{name} has {number}; it takes {least} or more")
    return number


def _options(scale=None, causal=False, window=None, bias=None, mask=None, lengths=None, block_size=None, precision=None):
    """The options of attention, by name."""
    if lengths is not None:
        lengths = [_whole("lengths", length) for length in lengths]
    if window is not None:
        window = tuple(_whole("window", side, 0) for side in window)
        if len(window) != 2:
            raise ValueError(f"window is {window}; it takes how many keys before and how many behind")
    if block_size is not None:
        block_size = _whole("block_size", block_size, 0)
    return {
        "scale": scale, "causal": causal, "window": window, "bias": bias, "mask": mask, "lengths": lengths, "block_size": block_size,
        "precision": precision,
    }


def attention(
    q, k, v, /, *, scale=None, causal=False, window=None, bias=None, mask=None, lengths=None, block_size=None, precision=None, return_lse=False
):
    """softmax(q·kᵀ·scale)·v for each batch and head, without holding all scores.

    `q` is (batch, heads, queries, head size), `k` and `v` are (batch, heads, keys, head size); a divisor of q's heads will do there.
    `causal`: a query sees no key behind its own place, the last query being at the last key. `window`: how many keys before and behind its own
    place a query sees. `bias` is added to scores; `mask` is true where a query sees a key. `lengths`: the keys of each batch. `precision`:
    "exact" or "tf32". With `return_lse` the log-sum-exp of each query comes too.

    >>> q = xo.ones((1, 2, 3, 8), dtype=xo.float32)
    >>> xo.nn.attention(q, q, q, causal=True).shape
    (1, 2, 3, 8)
    """
    options = _options(scale, causal, window, bias, mask, lengths, block_size, precision)
    return (_native.nn_attention_lse if return_lse else _native.nn_attention)(q, k, v, options)


def attention_weights(q, k, /, *, scale=None, causal=False, window=None, bias=None, mask=None, lengths=None):
    """The weights of `attention`, (batch, heads, queries, keys), for inspection.

    >>> q = xo.ones((1, 1, 2, 8), dtype=xo.float32)
    >>> xo.nn.attention_weights(q, q)
    array([[[[0.5, 0.5],
             [0.5, 0.5]]]], dtype=float32)
    """
    return _native.nn_attention_weights(q, k, _options(scale, causal, window, bias, mask, lengths))


def gelu(x, /, *, approximate="tanh"):
    """Gaussian error linear unit; "none" is the form by the error function.

    >>> xo.nn.gelu(xo.asarray([0.0, 100.0]))
    array([  0., 100.])
    """
    return _native.nn_gelu(x, approximate)


def silu(x, /):
    """x·sigmoid(x).

    >>> xo.nn.silu(xo.asarray([0.0, 1.0]))
    array([0.        , 0.73105858])
    """
    return _native.nn_silu(x)


def softmax(x, /, *, axis=-1):
    """Exponentials that add up to one along an axis.

    >>> xo.nn.softmax(xo.asarray([0.0, 0.0]))
    array([0.5, 0.5])
    """
    return _native.nn_softmax(x, axis)


def layer_norm(x, /, weight=None, bias=None, *, eps=1e-5):
    """Rows with mean 0 and variance 1, times `weight` and plus `bias`.

    >>> xo.nn.layer_norm(xo.asarray([1.0, 3.0]), eps=0.0)
    array([-1.,  1.])
    """
    return _native.nn_layer_norm(x, weight, bias, eps)


def rms_norm(x, /, weight=None, *, eps=1e-5):
    """Rows divided by the root of the mean of their squares, times `weight`.

    >>> xo.nn.rms_norm(xo.asarray([3.0, 3.0]), eps=0.0)
    array([1., 1.])
    """
    return _native.nn_rms_norm(x, weight, eps)


def linear(x, weight, bias=None, /):
    """x·weightᵀ + bias; the weight is (outputs, inputs).

    >>> xo.nn.linear(xo.asarray([1.0, 10.0]), xo.asarray([[1.0, 2.0]]))
    array([21.])
    """
    return _native.nn_linear(x, weight, bias, False)


def linear_gelu(x, weight, bias=None, /):
    """`gelu` of `linear`.

    >>> xo.nn.linear_gelu(xo.asarray([1.0, 10.0]), xo.asarray([[1.0, 2.0]]))
    array([21.])
    """
    return _native.nn_linear(x, weight, bias, True)


def swiglu(gate, up=None, /):
    """silu(gate)·up; without `up`, of the two halves of the last axis.

    >>> xo.nn.swiglu(xo.asarray([0.0, 1.0]), xo.asarray([2.0, 2.0]))
    array([0.        , 1.46211716])
    """
    return _native.nn_swiglu(gate, up)


def rotary(x, /, *, offset=0, base=10000.0, interleaved=False):
    """Turns pairs of elements by angles that grow with the place, the last axis but one; pairs are halves, or neighbours.

    >>> xo.nn.rotary(xo.ones((1, 1, 3, 8), dtype=xo.float32)).shape
    (1, 1, 3, 8)
    """
    return _native.nn_rotary(x, offset, base, interleaved)


def cross_entropy(logits, targets, /, *, reduction="mean", ignore_index=None):
    """-log(softmax(logits)[target]) of rows: their mean, their sum, or all ("none").

    >>> xo.nn.cross_entropy(xo.asarray([[0.0, 0.0]]), xo.asarray([1]))
    array(0.69314718)
    """
    return _native.nn_cross_entropy(logits, targets, reduction, ignore_index)


def Linear(inputs, outputs, /, *, bias=True, seed=0):  # noqa: N802 - spelled as the layer is
    """x·weightᵀ + bias, with random parameters.

    >>> xo.nn.Linear(4, 8)(xo.zeros((3, 4), dtype=xo.float32)).shape
    (3, 8)
    """
    return _native.nn_linear_layer(inputs, outputs, bias, seed)


def LayerNorm(size, /, *, eps=1e-5):  # noqa: N802
    """Layer norm with `weight` and `bias`.

    >>> list(xo.nn.LayerNorm(8).parameters())
    ['weight', 'bias']
    """
    return _native.nn_layer_norm_layer(size, eps)


def RMSNorm(size, /, *, eps=1e-5):  # noqa: N802
    """RMS norm with `weight`.

    >>> list(xo.nn.RMSNorm(8).parameters())
    ['weight']
    """
    return _native.nn_rms_norm_layer(size, eps)


def Embedding(rows, columns, /, *, seed=0):  # noqa: N802
    """Rows of a table, by integers.

    >>> xo.nn.Embedding(100, 8)(xo.asarray([[1, 2, 3]])).shape
    (1, 3, 8)
    """
    return _native.nn_embedding_layer(rows, columns, seed)


def MultiHeadAttention(size, heads, /, *, causal=False, window=None, seed=0):  # noqa: N802
    """Attention between the places of a sequence, (batch, length, size), with its projections; of another one with `layer(x, context)`.

    >>> layer = xo.nn.MultiHeadAttention(32, 4)
    >>> layer(xo.ones((2, 3, 32), dtype=xo.float32), xo.ones((2, 7, 32), dtype=xo.float32)).shape
    (2, 3, 32)
    """
    return _native.nn_attention_layer(size, heads, _options(causal=causal, window=window), seed)


def FeedForward(size, hidden, /, *, activation="gelu_tanh", seed=0):  # noqa: N802
    """Two linear maps with an activation between them.

    >>> xo.nn.FeedForward(8, 32)(xo.zeros((3, 8), dtype=xo.float32)).shape
    (3, 8)
    """
    return _native.nn_feed_forward_layer(size, hidden, activation, seed)


def Mlp(size, hidden, /, *, seed=0):  # noqa: N802
    """down(silu(gate(x))·up(x)), with the names of Llama's.

    >>> xo.nn.Mlp(8, 32)(xo.zeros((3, 8), dtype=xo.float32)).shape
    (3, 8)
    """
    return _native.nn_mlp_layer(size, hidden, seed)


def TransformerLayer(size, heads, hidden, /, *, norm_first=True, activation="gelu_tanh", causal=False, window=None, seed=0):  # noqa: N802
    """Attention and feed-forward with norms and sums: PyTorch's TransformerEncoderLayer, without dropout.

    >>> layer = xo.nn.TransformerLayer(32, 4, 64)
    >>> layer(xo.zeros((2, 5, 32), dtype=xo.float32)).shape
    (2, 5, 32)
    >>> sorted(layer.parameters())[0]
    'linear1.bias'
    """
    options = _options(causal=causal, window=window)
    return _native.nn_transformer_layer((size, heads, hidden), options, norm_first, activation, seed)


def Sequential(*layers):  # noqa: N802
    """Layers one after another; parameters are named by the number of their layer.

    >>> model = xo.nn.Sequential(xo.nn.Linear(4, 8), xo.nn.LayerNorm(8))
    >>> list(model.parameters())
    ['0.weight', '0.bias', '1.weight', '1.bias']
    >>> model(xo.zeros((3, 4), dtype=xo.float32)).shape
    (3, 8)
    """
    return _native.nn_sequential_layer(list(layers))


def benchmark_kernel(name, /, *args, num_runs=100, **kwargs):
    """Median seconds of a function of this module on these arguments, computed each time: `benchmark_kernel("gelu", x)`.

    >>> xo.nn.benchmark_kernel("gelu", xo.ones(10), num_runs=3) > 0
    True
    """
    functions = {one: globals()[one] for one in __all__ if one.islower() and one != "benchmark_kernel"}
    functions.update({"layernorm": layer_norm, "fused_linear_gelu": linear_gelu, "flash_attention": attention})
    if name not in functions:
        raise ValueError(f"there is no kernel {name!r}; there are {', '.join(sorted(functions))}")
    times = []
    for _ in range(max(3, num_runs)):
        start = _time.perf_counter()
        result = functions[name](*args, **kwargs)
        for part in result if isinstance(result, tuple) else (result,):
            part.eval()
        times.append(_time.perf_counter() - start)
    return sorted(times)[len(times) // 2]
