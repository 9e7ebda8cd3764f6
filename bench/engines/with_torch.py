"""PyTorch on the CPU: eager library calls, and torch.compile, which writes and compiles C++ per workload."""

import torch
import torch.nn.functional as F

import functions
from engines import Engine
from workloads import LAYER, SINUSOID_D, sinusoid_frequencies


def expression(a, b):
    return a * b + torch.sqrt(a) - b / 2


def standardise(x):
    variance, mean = torch.var_mean(x, dim=0, correction=0)
    return (x - mean) * torch.rsqrt(variance)


def sinusoid_stacked(positions, frequencies):
    angles = positions[..., None] * frequencies
    return torch.stack((torch.sin(angles), torch.cos(angles)), -1).flatten(-2)


def sinusoid_strided(positions, frequencies):
    angles = positions[..., None] * frequencies
    out = torch.empty((*positions.shape, SINUSOID_D))
    torch.sin(angles, out=out[..., 0::2])
    torch.cos(angles, out=out[..., 1::2])
    return out


def pi(n=10_000_000):
    x, y = torch.rand(n), torch.rand(n)
    return 4.0 * torch.count_nonzero(x * x + y * y <= 1.0).double() / n


def pi_in_place(n=10_000_000):
    x, y = torch.rand(n), torch.rand(n)
    x.mul_(x).addcmul_(y, y)
    return 4.0 * torch.count_nonzero(x <= 1.0).double() / n


def ten_tiny(x, a, b):
    y = x
    for _ in range(5):
        y = y * a
        y = y + b
    return y


def encoder_layer(t):
    """PyTorch's own layer with the workload's parameters."""
    size = t["x"].shape[-1]
    layer = torch.nn.TransformerEncoderLayer(
        size, LAYER["heads"], 4 * size, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    )
    layer.load_state_dict({name: t[name.replace(".", "_")] for name in layer.state_dict()})
    return layer.eval()


def tensors(i):
    return {name: torch.from_numpy(array) for name, array in i.items()}


def eager(frequencies):
    def make(body):
        return lambda i: {name: (lambda form=form, t=tensors(i): form(t)) for name, form in body.items()}

    def eager_layer(i):
        t = tensors(i)
        layer = encoder_layer(t)
        return {"TransformerEncoderLayer": lambda: layer(t["x"])}

    matmul = make({"@": lambda t: t["a"] @ t["b"]})
    return {
        "gelu": make({"F.gelu": lambda t: F.gelu(t["x"], approximate="tanh")}),
        "expression": make(
            {
                "plain": lambda t: expression(t["a"], t["b"]),
                "in place": lambda t: (t["a"] * t["b"]).add_(torch.sqrt(t["a"])).sub_(t["b"], alpha=0.5),
            }
        ),
        "layer_norm": make({"F.layer_norm": lambda t: F.layer_norm(t["x"], (768,), t["gamma"], t["beta"], 1e-5)}),
        "softmax": make({"softmax": lambda t: torch.softmax(t["x"], -1)}),
        "standardise": make(
            {
                "var_mean": lambda t: standardise(t["x"]),
                "batch_norm": lambda t: F.batch_norm(t["x"], None, None, training=True, eps=1e-12),
            }
        ),
        "sinusoid": make(
            {
                "stack": lambda t: sinusoid_stacked(t["positions"], frequencies),
                "strided": lambda t: sinusoid_strided(t["positions"], frequencies),
            }
        ),
        "pi": make({"rand": lambda t: pi(), "in place": lambda t: pi_in_place()}),
        "sum": make({"sum": lambda t: t["x"].sum()}),
        "xor": make({"^": lambda t: t["a"] ^ t["b"]}),
        "xor_key": make({"^": lambda t: t["a"] ^ t["key"]}),
        "matmul_f32_64": matmul,
        "matmul_f32_256": matmul,
        "matmul_f32_1024": matmul,
        "matmul_f64_1024": matmul,
        "sort": make({"sort": lambda t: torch.sort(t["x"]).values}),
        "top_k": make({"topk": lambda t: torch.topk(t["x"], 100).values}),
        "searchsorted": make({"searchsorted": lambda t: torch.searchsorted(t["line"], t["x"])}),
        "mask": make({"[m]": lambda t: t["x"][t["m"]], "masked_select": lambda t: torch.masked_select(t["x"], t["m"])}),
        "gather": make({"[i]": lambda t: t["x"][t["i"]], "index_select": lambda t: torch.index_select(t["x"], 0, t["i"])}),
        "lookup": make({"F.embedding": lambda t: F.embedding(t["ids"], t["table"]), "[ids]": lambda t: t["table"][t["ids"]]}),
        "fft_rows": make({"fft.fft": lambda t: torch.fft.fft(t["x"])}),
        "fft_2d": make({"fft.fft2": lambda t: torch.fft.fft2(t["x"])}),
        "convolve": make({"F.conv2d": lambda t: F.conv2d(t["x"][None, None], t["k"].flip(0, 1)[None, None], padding=7)}),
        "eigvals": make({"linalg.eigvals": lambda t: (torch.linalg.eigvals(t["a"]) ** 2).sum().real}),
        "eigh": make({"linalg.eigh": lambda t: torch.linalg.eigh(t["a"])[0]}),
        "svd": make({"linalg.svd": lambda t: torch.linalg.svd(t["a"], full_matrices=False)[1]}),
        "solve": make({"linalg.solve": lambda t: torch.linalg.solve(t["a"], t["b"])}),
        "attention": make({"F.scaled_dot_product_attention": lambda t: F.scaled_dot_product_attention(t["q"], t["k"], t["v"])}),
        "transformer_layer": eager_layer,
        "gelu_5": make({"F.gelu": lambda t: F.gelu(t["x"], approximate="tanh")}),
        "tiny_10": make({"plain": lambda t: ten_tiny(t["x"], t["a"], t["b"])}),
    }


def reusing():
    def make(body):
        def forms(i):
            t = tensors(i)
            out = torch.empty_like(t["x"] if "x" in t else t["a"])
            return {"out=": lambda: body(t, out)}

        return forms

    matmul = make(lambda t, out: torch.mm(t["a"], t["b"], out=out))
    return {
        "expression": make(lambda t, out: torch.mul(t["a"], t["b"], out=out).add_(torch.sqrt(t["a"])).sub_(t["b"], alpha=0.5)),
        "softmax": make(lambda t, out: torch.softmax(t["x"], -1, out=out)),
        "gelu": make(lambda t, out: torch._C._nn.gelu(t["x"], approximate="tanh", out=out)),
        "xor": make(lambda t, out: torch.bitwise_xor(t["a"], t["b"], out=out)),
        "xor_key": make(lambda t, out: torch.bitwise_xor(t["a"], t["key"], out=out)),
        "matmul_f32_64": matmul,
        "matmul_f32_256": matmul,
        "matmul_f32_1024": matmul,
        "matmul_f64_1024": matmul,
    }


def compiled(frequencies):
    def make(function, *names):
        def forms(i):
            t = tensors(i)
            # A fresh wrapper: torch.compile keeps its cache per code object and recompiles on other shapes.
            program = torch.compile(function, dynamic=False, fullgraph=True)
            arguments = [t[name] for name in names]
            return {"compile": lambda: program(*arguments)}

        return forms

    def compiled_layer(i):
        t = tensors(i)
        program = torch.compile(encoder_layer(t), dynamic=False)
        return {"compile": lambda: program(t["x"])}

    return {
        "gelu": make(lambda x: F.gelu(x, approximate="tanh"), "x"),
        "attention": make(F.scaled_dot_product_attention, "q", "k", "v"),
        "transformer_layer": compiled_layer,
        "expression": make(expression, "a", "b"),
        "layer_norm": make(lambda x, g, b: F.layer_norm(x, (768,), g, b, 1e-5), "x", "gamma", "beta"),
        "softmax": make(lambda x: torch.softmax(x, -1), "x"),
        "standardise": make(standardise, "x"),
        "sinusoid": make(lambda p: sinusoid_stacked(p, frequencies), "positions"),
        "pi": make(pi),
        "sum": make(lambda x: x.sum(), "x"),
        "xor": make(lambda a, b: a ^ b, "a", "b"),
        "xor_key": make(lambda a, key: a ^ key, "a", "key"),
        "gelu_5": make(lambda x: F.gelu(x, approximate="tanh"), "x"),
        "tiny_10": make(ten_tiny, "x", "a", "b"),
    }


def engines(threads):
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    torch._dynamo.config.cache_size_limit = 64
    frequencies = torch.from_numpy(sinusoid_frequencies()).float()
    version = torch.__version__
    return [
        Engine("torch", version, eager(frequencies) | functions.with_torch(torch)),
        Engine("torch-out", version, reusing()),
        Engine("torch.compile", version, compiled(frequencies)),
    ]
