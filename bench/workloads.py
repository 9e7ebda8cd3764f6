"""The workloads: inputs, float64 references, tolerances and bars. One table, used for every engine.

Inputs are fresh random data in every run (the seed is printed and stored). A workload never contains engine code.
"""

import math
from dataclasses import dataclass, field
from typing import Callable

import numpy as np

import functions

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Workload:
    """One row of the table."""

    name: str
    title: str
    inputs: Callable[[np.random.Generator], Arrays]
    # From the inputs to the float64 answer; None when the answer is random (then `accept` judges).
    reference: Callable[[Arrays], np.ndarray] | None
    # Largest |output - reference| / (1 + |reference|).
    tolerance: float
    # Bytes read and written at the least, for the roofline; 0 when compute bound or tiny.
    bytes: int = 0
    # Floating-point operations, for matrix products.
    flops: int = 0
    # Ours must be at least this many times as fast as the best peer, or as the one named.
    ratio_bar: float | None = None
    # An engine; `NAME-out`, where there is one, counts as it.
    bar_peer: str | None = None
    # Ours must take at most this many seconds.
    seconds_bar: float | None = None
    accept: Callable[[np.ndarray], bool] | None = None
    # Ours is timed, no peer has the notion.
    ours_only: bool = False
    notes: str = field(default="")
    # What `--group` chooses by.
    group: str = "main"


def normal(shape, dtype=np.float32):
    return lambda rng: rng.standard_normal(shape).astype(dtype)


def named(**makers) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: {name: maker(rng) for name, maker in makers.items()}


def f64(array):
    return array.astype(np.float64)


def gelu(x):
    x = f64(x)
    return 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))


def layer_norm(a):
    x = f64(a["x"])
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * a["gamma"] + a["beta"]


def softmax(a):
    e = np.exp(f64(a["x"]) - a["x"].max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def standardise(a):
    x = f64(a["x"])
    return (x - x.mean(0)) / x.std(0)


SINUSOID_D = 512


def sinusoid_frequencies():
    return 10000.0 ** (-2.0 * np.arange(SINUSOID_D // 2) / SINUSOID_D)


def sinusoid(a):
    angles = f64(a["positions"])[..., None] * sinusoid_frequencies()
    out = np.empty((*a["positions"].shape, SINUSOID_D))
    out[..., 0::2] = np.sin(angles)
    out[..., 1::2] = np.cos(angles)
    return out


def positions(rng):
    del rng  # the positions of a batch of eight full sequences; ordinary data to the engines
    return np.tile(np.arange(2048, dtype=np.int32), (8, 1))


def ten_tiny(a):
    y = f64(a["x"])
    for _ in range(5):
        y = y * a["a"] + a["b"]
    return y


def uniform(low, high, shape, dtype):
    return lambda rng: rng.uniform(low, high, shape).astype(dtype)


def random_bytes(shape):
    return lambda rng: rng.integers(0, 256, shape, dtype=np.uint8)


def matmul(n, dtype, name, bar):
    # Error of a k-term product of normals grows like sqrt(k); the entries themselves are of size sqrt(k).
    eps = 1e-5 if dtype == np.float32 else 1e-13
    return Workload(
        name,
        f"matmul {n} {np.dtype(dtype).name}",
        named(a=normal((n, n), dtype), b=normal((n, n), dtype)),
        lambda a: f64(a["a"]) @ f64(a["b"]),
        eps * np.sqrt(n),
        flops=2 * n**3,
        ratio_bar=bar,
    )


def complex_normal(shape):
    return lambda rng: rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def shifted(n):
    """Far from singular, with eigenvalues that are no multiples of each other."""
    return lambda rng: rng.standard_normal((n, n)) + np.diag(np.linspace(1.0, np.sqrt(n), n))


def symmetric(n):
    def make(rng):
        a = rng.standard_normal((n, n))
        return a + a.T

    return make


def convolve_same(a):
    """By transforms in f64; SciPy's mode same."""
    x, k = f64(a["x"]), f64(a["k"])
    shape = [n + m - 1 for n, m in zip(x.shape, k.shape)]
    full = np.fft.irfft2(np.fft.rfft2(x, shape) * np.fft.rfft2(k, shape), shape)
    at = [(m - 1) // 2 for m in k.shape]
    return full[at[0] : at[0] + x.shape[0], at[1] : at[1] + x.shape[1]]


def attention(a):
    q, k, v = (f64(a[name]) for name in "qkv")
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


LAYER = {"batch": 4, "n": 128, "d": 768, "heads": 12}


def layer_inputs(rng):
    """A transformer layer's input and its parameters, by PyTorch's names with `_` for the dots."""
    d = LAYER["d"]
    shapes = {
        "self_attn_in_proj_weight": (3 * d, d),
        "self_attn_in_proj_bias": (3 * d,),
        "self_attn_out_proj_weight": (d, d),
        "self_attn_out_proj_bias": (d,),
        "linear1_weight": (4 * d, d),
        "linear1_bias": (4 * d,),
        "linear2_weight": (d, 4 * d),
        "linear2_bias": (d,),
        "norm1_weight": (d,),
        "norm1_bias": (d,),
        "norm2_weight": (d,),
        "norm2_bias": (d,),
    }
    out = {"x": normal((LAYER["batch"], LAYER["n"], d))(rng)}
    for name, shape in shapes.items():
        # As large as training leaves them: rows of a product keep the size of what goes in.
        out[name] = normal(shape)(rng) / np.float32(np.sqrt(shape[-1]))
        if name.startswith("norm"):
            out[name] += np.float32(1.0 if name.endswith("weight") else 0.0)
    return out


def layer(a):
    """Norms first, GELU by the error function."""
    x = f64(a["x"])
    batch, n, d = x.shape
    norm = lambda x, name: layer_norm({"x": x, "gamma": f64(a[f"{name}_weight"]), "beta": f64(a[f"{name}_bias"])})
    linear = lambda x, name: x @ f64(a[f"{name}_weight"]).T + a[f"{name}_bias"]
    heads = linear(norm(x, "norm1"), "self_attn_in_proj")
    heads = heads.reshape(batch, n, 3, LAYER["heads"], -1).transpose(2, 0, 3, 1, 4)
    joined = attention(dict(zip("qkv", heads))).transpose(0, 2, 1, 3).reshape(batch, n, d)
    x = x + linear(joined, "self_attn_out_proj")
    inner = linear(norm(x, "norm2"), "linear1")
    erf = np.vectorize(math.erf, otypes=[np.float64])
    inner = 0.5 * inner * (1.0 + erf(inner / np.sqrt(2.0)))
    return x + linear(inner, "linear2")


MIB = 1 << 20
N = 10_000_000
M = 1_000_000

WORKLOADS = [
    Workload("gelu", "GELU (tanh) 4096×1024 f32", named(x=normal((4096, 1024))), lambda a: gelu(a["x"]), 2e-6, 2 * 4 * 4 * MIB, ratio_bar=2.5),
    Workload(
        "expression",
        "a*b+sqrt(a)-b/2, 10⁷ f64",
        named(a=uniform(0.1, 2.0, N, np.float64), b=uniform(-2.0, 2.0, N, np.float64)),
        lambda a: a["a"] * a["b"] + np.sqrt(a["a"]) - a["b"] / 2,
        1e-14,
        3 * 8 * N,
        ratio_bar=1.5,
    ),
    Workload(
        "layer_norm",
        "layer norm 1024×768 f32",
        named(x=normal((1024, 768)), gamma=normal(768), beta=normal(768)),
        layer_norm,
        1e-5,
        2 * 4 * 1024 * 768,
        ratio_bar=1.0,
    ),
    Workload("softmax", "softmax 4096×1024 f32", named(x=normal((4096, 1024))), softmax, 1e-6, 2 * 4 * 4 * MIB, ratio_bar=1.0),
    Workload("standardise", "standardise columns 10000×1000 f32", named(x=normal((10000, 1000))), standardise, 1e-4, 3 * 4 * N, ratio_bar=1.5),
    Workload(
        "sinusoid",
        "sinusoid 8×2048×512 f32",
        named(positions=positions),
        sinusoid,
        1e-3,  # peers form p·f in f32, which is off by up to 2048·2⁻²⁴ before the sine
        8 * 2048 * 512 * 4,
        ratio_bar=4.0,
    ),
    Workload(
        "pi",
        "π from 10⁷ samples",
        lambda rng: {},
        None,
        0.0,
        ratio_bar=8.0,
        # Five standard deviations of the estimate: 5·sqrt(π(4-π)/10⁷).
        accept=lambda out: abs(float(out.reshape(-1)[0]) - np.pi) < 0.0026,
    ),
    Workload("sum", "sum of 10⁷ f32", named(x=uniform(0.0, 1.0, N, np.float32)), lambda a: f64(a["x"]).sum(), 1e-5, 4 * N, ratio_bar=1.0),
    Workload(
        "xor",
        "XOR of two 64 MiB u8",
        named(a=random_bytes(64 * MIB), b=random_bytes(64 * MIB)),
        lambda a: a["a"] ^ a["b"],
        0.0,
        3 * 64 * MIB,
        ratio_bar=1.2,
    ),
    Workload(
        "xor_key",
        "XOR of 64 MiB u8 with a repeating 32-byte key",
        named(a=random_bytes((2 * MIB, 32)), key=random_bytes(32)),
        lambda a: a["a"] ^ a["key"],
        0.0,
        2 * 64 * MIB,
    ),
    matmul(64, np.float32, "matmul_f32_64", 0.9),
    matmul(256, np.float32, "matmul_f32_256", 0.9),
    matmul(1024, np.float32, "matmul_f32_1024", 0.9),
    matmul(1024, np.float64, "matmul_f64_1024", 0.9),
    Workload("sort", "sort of 10⁶ f32", named(x=normal(M)), lambda a: np.sort(f64(a["x"])), 1e-9, ratio_bar=1.0, bar_peer="numpy"),
    Workload("top_k", "the 100 largest of 10⁶ f32", named(x=normal(M)), lambda a: -np.sort(-f64(a["x"]))[:100], 1e-9),
    Workload(
        "searchsorted",
        "10⁶ f32 searched for in 10⁶ sorted ones",
        named(line=lambda rng: np.sort(normal(M)(rng)), x=normal(M)),
        lambda a: np.searchsorted(a["line"], a["x"]),
        0.0,
    ),
    Workload(
        "mask",
        "boolean mask of 10⁶ f32, half of it true",
        named(x=normal(M), m=lambda rng: rng.random(M) < 0.5),
        lambda a: f64(a["x"][a["m"]]),
        1e-9,
        4 * M + M + 2 * M,
        ratio_bar=0.9,
    ),
    Workload(
        "gather",
        "10⁶ of 10⁶ f32 by index",
        named(x=normal(M), i=lambda rng: rng.integers(0, M, M)),
        lambda a: f64(a["x"][a["i"]]),
        1e-9,
        (4 + 8 + 4) * M,
        ratio_bar=0.9,
    ),
    Workload(
        "lookup",
        "8×2048 rows of 50000×512 f32",
        named(table=normal((50000, 512)), ids=lambda rng: rng.integers(0, 50000, (8, 2048))),
        lambda a: f64(a["table"][a["ids"]]),
        1e-9,
        2 * 4 * 8 * 2048 * 512,
        ratio_bar=1.0,
    ),
    Workload("fft_rows", "fft of each row of 1024×1024 c128", named(x=complex_normal((1024, 1024))), lambda a: np.fft.fft(a["x"]), 1e-12, 2 * 16 * MIB, ratio_bar=1.0, bar_peer="scipy"),
    Workload("fft_2d", "2-d fft of 1024×1024 c128", named(x=complex_normal((1024, 1024))), lambda a: np.fft.fft2(a["x"]), 1e-11, 4 * 16 * MIB, ratio_bar=1.0, bar_peer="scipy"),
    Workload(
        "convolve",
        "convolution of 1024×1024 with 15×15 f32",
        named(x=normal((1024, 1024)), k=normal((15, 15))),
        convolve_same,
        1e-4,
        flops=2 * 225 * MIB,
        ratio_bar=3.0,
    ),
    # The sum of the squares of all eigenvalues, whose order no engine promises.
    Workload("eigvals", "eigvals 500 f64", named(a=shifted(500)), lambda a: np.trace(a["a"] @ a["a"]), 1e-8, ratio_bar=0.5, bar_peer="numpy"),
    Workload("eigh", "eigh 500 f64", named(a=symmetric(500)), lambda a: np.linalg.eigvalsh(a["a"]), 1e-10, ratio_bar=0.8, bar_peer="numpy"),
    Workload("svd", "svd 500 f64", named(a=shifted(500)), lambda a: np.linalg.svd(a["a"], compute_uv=False), 1e-10, ratio_bar=0.8, bar_peer="numpy"),
    Workload("solve", "solve 500 f64", named(a=shifted(500), b=normal(500, np.float64)), lambda a: np.linalg.solve(a["a"], a["b"]), 1e-8, ratio_bar=0.8, bar_peer="numpy"),
    Workload(
        "attention",
        "attention 1×12×1024×64 f32",
        named(q=normal((1, 12, 1024, 64)), k=normal((1, 12, 1024, 64)), v=normal((1, 12, 1024, 64))),
        attention,
        1e-5,
        flops=4 * 12 * 1024 * 1024 * 64,
        ratio_bar=1.5,
    ),
    Workload(
        "transformer_layer",
        "transformer layer 4×128×768, 12 heads, f32",
        layer_inputs,
        layer,
        2e-5,
        # Four products of d² each and two of 4d², and scores and weighted values.
        flops=2 * 4 * 128 * (12 * 768 * 768 + 2 * 128 * 768),
        ratio_bar=1.0,
    ),
    Workload("gelu_5", "GELU of 5 elements f32", named(x=normal(5)), lambda a: gelu(a["x"]), 2e-6, seconds_bar=1.5e-6),
    Workload(
        "tiny_10",
        "ten dependent ops on 5 elements f32",
        named(x=normal(5), a=uniform(0.5, 1.0, 5, np.float32), b=normal(5)),
        ten_tiny,
        1e-5,
        seconds_bar=6e-6,
    ),
    Workload("plan_100", "planning a new 100-node graph", lambda rng: {}, None, 0.0, seconds_bar=1e-3, ours_only=True, accept=lambda out: True),
]


def function_workload(name, function, dtype, size):
    """One function of the group `functions`."""
    size_name = name.rsplit("_", 1)[1].replace("1e", "10^")
    item = np.dtype(dtype).itemsize
    return Workload(
        name,
        f"{function.name} of {size_name} {np.dtype(dtype).name}",
        functions.inputs(function, dtype, size),
        # Whole numbers beyond 2^53 are no float64.
        lambda a: np.asarray(function.truth(*(f64(x) if x.dtype.kind == "f" else x for x in functions.values(a)))),
        2e-5 if dtype == np.float32 else 1e-12,
        size * (item * function.operands + (0 if function.reduces else function.result or item)),
        ratio_bar=functions.RATIO_BAR,
        group="functions",
    )


WORKLOADS += [function_workload(*case) for case in functions.cases()]


def error_of(workload: Workload, output: np.ndarray, reference: np.ndarray | None) -> float:
    """How far an output is off, in units of the tolerance; at most 1 is right."""
    if workload.accept is not None:
        return 0.0 if workload.accept(output) else float("inf")
    if output.size != reference.size or not np.all(np.isfinite(output)):
        return float("inf")
    if output.dtype.kind == "c":
        output, reference = output.view(output.real.dtype), np.ascontiguousarray(reference, np.complex128).view(np.float64)
    # Integers wrap when subtracted in their own type.
    if output.dtype.kind in "iu":
        return 0.0 if np.array_equal(output.reshape(-1), reference.reshape(-1)) else float("inf")
    difference = np.abs(f64(output).reshape(-1) - np.reshape(reference, -1)) / (1.0 + np.abs(np.reshape(reference, -1)))
    return float(difference.max() / workload.tolerance)
