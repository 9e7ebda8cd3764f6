"""numexpr: one fused, threaded pass per elementwise expression; reductions along rows stay with NumPy.

Its own sum adds in f32 from left to right, on one thread, and misses the tolerance; it is left out."""

import math

import numexpr
import numpy as np

from engines import Engine
from workloads import SINUSOID_D, sinusoid_frequencies

# Constants as arrays of the right type keep the computation in f32.
C = np.float32(math.sqrt(2.0 / math.pi))
HALF = np.float32(0.5)
ONE = np.float32(1.0)
CUBIC = np.float32(0.044715)
GELU = "h * x * (one + tanh(c * (x + k * x * x * x)))"


def evaluate(text, values, out=None):
    return numexpr.evaluate(text, local_dict=values, global_dict={}, out=out)


def gelu(i, out=None):
    return evaluate(GELU, {"x": i["x"], "h": HALF, "one": ONE, "c": C, "k": CUBIC}, out)


def expression(i, out=None):
    return evaluate("a * b + sqrt(a) - b / 2", {"a": i["a"], "b": i["b"]}, out)


def softmax(i):
    x = i["x"]
    e = evaluate("exp(x - m)", {"x": x, "m": x.max(-1, keepdims=True)})
    return evaluate("e / s", {"e": e, "s": e.sum(-1, keepdims=True)}, out=e)


def layer_norm(i):
    x = i["x"]
    mean = x.mean(-1, keepdims=True)
    centred = x - mean
    scale = ONE / np.sqrt(np.einsum("ij,ij->i", centred, centred)[:, None] / np.float32(x.shape[1]) + np.float32(1e-5))
    return evaluate("d * s * g + b", {"d": centred, "s": scale, "g": i["gamma"], "b": i["beta"]}, out=centred)


def standardise(i):
    x = i["x"]
    mean = x.mean(0)
    centred = evaluate("x - m", {"x": x, "m": mean})
    scale = ONE / np.sqrt(np.einsum("ij,ij->j", centred, centred) / np.float32(x.shape[0]))
    return evaluate("d * s", {"d": centred, "s": scale}, out=centred)


def sinusoid(i, frequencies):
    p = i["positions"].astype(np.float32)[..., None]
    out = np.empty((*i["positions"].shape, SINUSOID_D), np.float32)
    evaluate("sin(p * f)", {"p": p, "f": frequencies}, out=out[..., 0::2])
    evaluate("cos(p * f)", {"p": p, "f": frequencies}, out=out[..., 1::2])
    return out


def pi(rng, n=10_000_000):
    x = rng.random(n, dtype=np.float32)
    y = rng.random(n, dtype=np.float32)
    return np.float64(4.0 * np.count_nonzero(evaluate("x * x + y * y <= one", {"x": x, "y": y, "one": ONE})) / n)


def xor(i):
    # numexpr has no u8; signed words of 8 bytes carry the same bits.
    words = evaluate("a ^ b", {"a": i["a"].view(np.int64), "b": i["b"].view(np.int64)})
    return words.view(np.uint8)


def engines(threads):
    numexpr.set_num_threads(threads)
    frequencies = sinusoid_frequencies().astype(np.float32)
    quick = np.random.Generator(np.random.SFC64())

    def reusing(body):
        def make(i):
            out = np.empty_like(i["x"] if "x" in i else i["a"])
            return {"out=": lambda: body(i, out)}

        return make

    one = lambda name, body: lambda i: {name: lambda: body(i)}
    forms = {
        "gelu": one("evaluate", gelu),
        "expression": one("evaluate", expression),
        "softmax": one("evaluate", softmax),
        "layer_norm": one("evaluate", layer_norm),
        "standardise": one("evaluate", standardise),
        "sinusoid": one("evaluate", lambda i: sinusoid(i, frequencies)),
        "pi": one("evaluate", lambda i: pi(quick)),
        "xor": one("as i64", xor),
        "gelu_5": one("evaluate", gelu),
    }
    version = numexpr.__version__
    return [
        Engine("numexpr", version, forms),
        Engine("numexpr-out", version, {"gelu": reusing(gelu), "expression": reusing(expression)}),
    ]
