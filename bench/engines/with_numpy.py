"""NumPy: intermediate results in place, the output new each time; and a second engine that reuses its output."""

import math

import numpy as np

import functions

from engines import Engine
from workloads import SINUSOID_D, sinusoid_frequencies

C = np.float32(math.sqrt(2.0 / math.pi))
HALF = np.float32(0.5)
ONE = np.float32(1.0)
CUBIC = np.float32(0.044715)


def gelu_into(x, out):
    np.multiply(x, x, out=out)
    out *= CUBIC
    out += ONE
    out *= x
    out *= C
    np.tanh(out, out=out)
    out += ONE
    out *= x
    out *= HALF
    return out


def expression_into(a, b, out, spare):
    np.multiply(a, b, out=out)
    np.sqrt(a, out=spare)
    out += spare
    np.multiply(b, 0.5, out=spare)
    out -= spare
    return out


def layer_norm_into(x, gamma, beta, out):
    np.subtract(x, x.mean(-1, keepdims=True), out=out)
    variance = np.einsum("ij,ij->i", out, out)[:, None] / np.float32(x.shape[1])
    out *= ONE / np.sqrt(variance + np.float32(1e-5))
    out *= gamma
    out += beta
    return out


def softmax_into(x, out):
    np.subtract(x, x.max(-1, keepdims=True), out=out)
    np.exp(out, out=out)
    out /= out.sum(-1, keepdims=True)
    return out


def standardise_into(x, out):
    np.subtract(x, x.mean(0), out=out)
    variance = np.einsum("ij,ij->j", out, out) / np.float32(x.shape[0])
    out *= ONE / np.sqrt(variance)
    return out


def sinusoid_into(positions, frequencies, out):
    angles = positions[..., None].astype(np.float32) * frequencies
    np.sin(angles, out=out[..., 0::2])
    np.cos(angles, out=out[..., 1::2])
    return out


def pi(rng, n=10_000_000):
    x = rng.random(n, dtype=np.float32)
    y = rng.random(n, dtype=np.float32)
    x *= x
    y *= y
    x += y
    return np.float64(4.0 * np.count_nonzero(x <= 1.0) / n)


def ten_tiny(x, a, b):
    y = x
    for _ in range(5):
        y = y * a
        y = y + b
    return y


def xor_words(a, b):
    return (a.view(np.uint64) ^ b.view(np.uint64)).view(np.uint8)


def key_words(a, key):
    return (a.view(np.uint64) ^ key.view(np.uint64)).view(np.uint8)


def matmul(i):
    return {"@": lambda: i["a"] @ i["b"]}


def matmul_out(i):
    out = np.empty_like(i["a"])
    return {"matmul out=": lambda: np.matmul(i["a"], i["b"], out=out)}


def sinusoid_shape(i):
    return (*i["positions"].shape, SINUSOID_D)


def fresh():
    frequencies = sinusoid_frequencies().astype(np.float32)
    rng = np.random.default_rng()
    quick = np.random.Generator(np.random.SFC64())
    like = np.empty_like
    return {
        "gelu": lambda i: {"in place": lambda: gelu_into(i["x"], like(i["x"]))},
        "expression": lambda i: {
            "in place": lambda: expression_into(i["a"], i["b"], like(i["a"]), like(i["a"])),
            "plain": lambda: i["a"] * i["b"] + np.sqrt(i["a"]) - i["b"] / 2,
        },
        "layer_norm": lambda i: {"in place": lambda: layer_norm_into(i["x"], i["gamma"], i["beta"], like(i["x"]))},
        "softmax": lambda i: {"in place": lambda: softmax_into(i["x"], like(i["x"]))},
        "standardise": lambda i: {
            "in place": lambda: standardise_into(i["x"], like(i["x"])),
            "plain": lambda: (i["x"] - i["x"].mean(0)) / i["x"].std(0),
        },
        "sinusoid": lambda i: {
            "in place": lambda: sinusoid_into(i["positions"], frequencies, np.empty(sinusoid_shape(i), np.float32))
        },
        "pi": lambda i: {"PCG64": lambda: pi(rng), "SFC64": lambda: pi(quick)},
        "sum": lambda i: {"sum": lambda: i["x"].sum()},
        "xor": lambda i: {"^": lambda: i["a"] ^ i["b"], "^ as u64": lambda: xor_words(i["a"], i["b"])},
        "xor_key": lambda i: {"^": lambda: i["a"] ^ i["key"], "^ as u64": lambda: key_words(i["a"], i["key"])},
        "matmul_f32_64": matmul,
        "matmul_f32_256": matmul,
        "matmul_f32_1024": matmul,
        "matmul_f64_1024": matmul,
        "sort": lambda i: {"sort": lambda: np.sort(i["x"]), "stable": lambda: np.sort(i["x"], kind="stable")},
        "top_k": lambda i: {"partition": lambda: np.sort(np.partition(i["x"], -100)[-100:])[::-1]},
        "searchsorted": lambda i: {"searchsorted": lambda: np.searchsorted(i["line"], i["x"])},
        "mask": lambda i: {"[m]": lambda: i["x"][i["m"]], "compress": lambda: np.compress(i["m"], i["x"])},
        "gather": lambda i: {"[i]": lambda: i["x"][i["i"]], "take": lambda: np.take(i["x"], i["i"])},
        "lookup": lambda i: {"[ids]": lambda: i["table"][i["ids"]], "take": lambda: np.take(i["table"], i["ids"], axis=0)},
        "fft_rows": lambda i: {"np.fft.fft": lambda: np.fft.fft(i["x"])},
        "fft_2d": lambda i: {"np.fft.fft2": lambda: np.fft.fft2(i["x"])},
        "eigvals": lambda i: {"eigvals": lambda: (np.linalg.eigvals(i["a"]) ** 2).sum().real},
        "eigh": lambda i: {"eigh": lambda: np.linalg.eigh(i["a"])[0]},
        "svd": lambda i: {"svd": lambda: np.linalg.svd(i["a"], full_matrices=False)[1]},
        "solve": lambda i: {"solve": lambda: np.linalg.solve(i["a"], i["b"])},
        "gelu_5": lambda i: {
            "in place": lambda: gelu_into(i["x"], like(i["x"])),
            "plain": lambda: HALF * i["x"] * (ONE + np.tanh(C * (i["x"] + CUBIC * i["x"] * i["x"] * i["x"]))),
        },
        "tiny_10": lambda i: {"plain": lambda: ten_tiny(i["x"], i["a"], i["b"])},
    }


def reusing():
    frequencies = sinusoid_frequencies().astype(np.float32)

    def with_out(shape_of, body):
        def make(i):
            out = shape_of(i)
            return {"out=": lambda: body(i, out)}

        return make

    like_x = lambda i: np.empty_like(i["x"])
    like_a = lambda i: np.empty_like(i["a"])

    def expression(i):
        out, spare = np.empty_like(i["a"]), np.empty_like(i["a"])
        return {"out=": lambda: expression_into(i["a"], i["b"], out, spare)}

    return {
        "gelu": with_out(like_x, lambda i, out: gelu_into(i["x"], out)),
        "expression": expression,
        "layer_norm": with_out(like_x, lambda i, out: layer_norm_into(i["x"], i["gamma"], i["beta"], out)),
        "softmax": with_out(like_x, lambda i, out: softmax_into(i["x"], out)),
        "standardise": with_out(like_x, lambda i, out: standardise_into(i["x"], out)),
        "sinusoid": with_out(
            lambda i: np.empty(sinusoid_shape(i), np.float32),
            lambda i, out: sinusoid_into(i["positions"], frequencies, out),
        ),
        "xor": with_out(like_a, lambda i, out: np.bitwise_xor(i["a"], i["b"], out=out)),
        "xor_key": with_out(like_a, lambda i, out: np.bitwise_xor(i["a"], i["key"], out=out)),
        "matmul_f32_64": matmul_out,
        "matmul_f32_256": matmul_out,
        "matmul_f32_1024": matmul_out,
        "matmul_f64_1024": matmul_out,
        "gather": with_out(like_x, lambda i, out: np.take(i["x"], i["i"], out=out, mode="clip")),
        "lookup": with_out(
            lambda i: np.empty((*i["ids"].shape, i["table"].shape[1]), np.float32),
            lambda i, out: np.take(i["table"], i["ids"], axis=0, out=out, mode="clip"),
        ),
    }


def engines(threads):
    del threads  # OpenBLAS takes its number from the environment, set before the import
    new, old = functions.with_numpy()
    return [
        Engine("numpy", np.__version__, fresh() | new),
        Engine("numpy-out", np.__version__, reusing() | old),
    ]
