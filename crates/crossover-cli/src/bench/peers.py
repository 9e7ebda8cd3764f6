"""Times other array libraries: one line of JSON in, one line of JSON out. Started by `crossover bench --peers`.

Every form is the fastest one that a user of the library would write; results return to where the library keeps arrays, and the clock
stops when they are there.
"""

import importlib
import json
import math
import os
import sys
import time

# It would take most of a GPU's memory, which others are measured on too.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

NAMES = ["numpy", "numexpr", "torch", "cupy", "jax"]


def load():
    found, missing = {}, {}
    for name in NAMES:
        try:
            found[name] = importlib.import_module(name)
        except Exception as error:
            missing[name] = str(error).splitlines()[0] if str(error) else type(error).__name__
    if "cupy" in found:
        try:
            found["cupy"].zeros(1) + 1
        except Exception as error:
            missing["cupy"] = str(error).splitlines()[0]
            del found["cupy"]
    if "numpy" not in found:
        # Everybody's inputs come from it.
        return {}, {**missing, **{name: "needs numpy" for name in found}}
    return found, missing


def inputs(np, work, p):
    """The operands on the host, as crossover has them."""
    rng = np.random.default_rng(1)
    normal = lambda *shape: rng.standard_normal(shape, dtype=np.float32)
    uniform = lambda *shape: rng.random(shape, dtype=np.float32)
    n, d, batch = p.get("n", 1), p.get("d", 1), p.get("batch", 1)
    return {
        "add": lambda: [normal(n), normal(n)],
        "gelu": lambda: [normal(batch, d)],
        "expression": lambda: [uniform(n), uniform(n)],
        "chain": lambda: [uniform(n), uniform(n), uniform(n)],
        "tiny": lambda: [uniform(n), uniform(n), uniform(n)],
        "sum": lambda: [uniform(n)],
        "column_mean": lambda: [uniform(batch, d)],
        "cumulative_sum": lambda: [uniform(n)],
        "layer_norm": lambda: [normal(batch, d), normal(d), normal(d)],
        "softmax": lambda: [normal(batch, d)],
        "matmul": lambda: [normal(n, n), normal(n, n)],
        "batch_matmul": lambda: [normal(batch, n, n), normal(batch, n, n)],
        "gram_f64": lambda: [rng.random((n, n))],
        "linear_gelu": lambda: [normal(batch, d), normal(d, p.get("out", 1)), normal(p.get("out", 1))],
        "attention": lambda: [normal(batch, p.get("heads", 1), n, d) for _ in range(3)],
        "flash_attention": lambda: [normal(batch, p.get("heads", 1), n, d) for _ in range(3)],
        "fft": lambda: [(normal(batch, d) + 1j * normal(batch, d)).astype(np.complex64)],
        "sort": lambda: [uniform(n)],
        "lookup": lambda: [normal(p.get("vocabulary", 1), d), rng.integers(0, p.get("vocabulary", 1), batch)],
        "xor": lambda: [rng.integers(0, 256, n, dtype=np.uint8), rng.integers(0, 256, n, dtype=np.uint8)],
        "sinusoid": lambda: [
            np.arange(batch, dtype=np.float32)[:, None],
            (10000.0 ** (-np.arange(d // 2) / max(d // 2, 1))).astype(np.float32)[None, :],
        ],
        "bind": lambda: [normal(batch, d), normal(batch, d)],
        "superpose": lambda: [normal(batch, d)],
    }.get(work, lambda: None)()


def arrays(xp, work):
    """The work for libraries that are spelled like NumPy."""

    def gelu(x):
        return 0.5 * x * (1.0 + xp.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))

    def softmax(x):
        powers = xp.exp(x - x.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)

    def layer_norm(x, scale, shift):
        distance = x - x.mean(axis=-1, keepdims=True)
        return distance / xp.sqrt((distance * distance).mean(axis=-1, keepdims=True) + 1e-5) * scale + shift

    def chain(x, a, b):
        for _ in range(5):
            x = x * a
            x = x + b
        return x

    def attention(q, k, v):
        return softmax(q @ xp.swapaxes(k, -1, -2) * (1.0 / math.sqrt(q.shape[-1]))) @ v

    def sinusoid(positions, frequencies):
        angles = positions * frequencies
        return xp.concatenate([xp.sin(angles), xp.cos(angles)], axis=1)

    def superpose(x):
        total = x.sum(axis=0)
        return total / xp.sqrt((total * total).sum())

    return {
        "add": lambda a, b: a + b,
        "gelu": gelu,
        "expression": lambda a, b: a * b + xp.sqrt(a) - b / 2,
        "chain": chain,
        "tiny": chain,
        "sum": lambda x: x.sum(),
        "column_mean": lambda x: x.mean(axis=0),
        "cumulative_sum": lambda x: xp.cumsum(x),
        "layer_norm": layer_norm,
        "softmax": softmax,
        "matmul": lambda a, b: a @ b,
        "batch_matmul": lambda a, b: a @ b,
        "gram_f64": lambda x: x @ x.T,
        "linear_gelu": lambda x, w, b: gelu(x @ w + b),
        "attention": attention,
        "flash_attention": attention,
        "fft": lambda x: xp.fft.fft(x),
        "sort": lambda x: xp.sort(x),
        "lookup": lambda table, ids: xp.take(table, ids, axis=0),
        "xor": lambda a, b: a ^ b,
        "sinusoid": sinusoid,
        "bind": lambda a, b: xp.fft.irfft(xp.fft.rfft(a) * xp.fft.rfft(b), n=a.shape[-1]),
        "superpose": superpose,
    }.get(work)


def torch_form(torch, work):
    functional = torch.nn.functional
    own = {
        "gelu": lambda x: functional.gelu(x, approximate="tanh"),
        "expression": lambda a, b: a * b + torch.sqrt(a) - b / 2,
        "sum": lambda x: x.sum(),
        "column_mean": lambda x: x.mean(dim=0),
        "cumulative_sum": lambda x: torch.cumsum(x, 0),
        "layer_norm": lambda x, scale, shift: functional.layer_norm(x, x.shape[-1:], scale, shift, 1e-5),
        "softmax": lambda x: torch.softmax(x, -1),
        "linear_gelu": lambda x, w, b: functional.gelu(torch.addmm(b, x, w), approximate="tanh"),
        "attention": lambda q, k, v: functional.scaled_dot_product_attention(q, k, v),
        "flash_attention": lambda q, k, v: functional.scaled_dot_product_attention(q, k, v),
        "fft": lambda x: torch.fft.fft(x),
        "sort": lambda x: torch.sort(x).values,
        "lookup": lambda table, ids: functional.embedding(ids, table),
        "sinusoid": lambda p, f: torch.cat([torch.sin(p * f), torch.cos(p * f)], dim=1),
        "bind": lambda a, b: torch.fft.irfft(torch.fft.rfft(a) * torch.fft.rfft(b), n=a.shape[-1]),
        "superpose": lambda x: functional.normalize(x.sum(dim=0), dim=-1),
    }
    return own.get(work) or arrays(torch, work)


def numexpr_form(numexpr, work):
    texts = {
        "add": (["a", "b"], "a + b"),
        "expression": (["a", "b"], "a * b + sqrt(a) - b / 2"),
        "chain": (["x", "a", "b"], "((((x * a + b) * a + b) * a + b) * a + b) * a + b"),
        "gelu": (["x"], "0.5 * x * (1 + tanh(c * (x + k * x * x * x)))"),
    }
    if work not in texts:
        return None
    names, text = texts[work]
    import numpy

    constants = {"c": numpy.float32(math.sqrt(2 / math.pi)), "k": numpy.float32(0.044715)} if work == "gelu" else {}
    return lambda *given: numexpr.evaluate(text, local_dict={**dict(zip(names, given)), **constants})


def forms(modules, work, host):
    """Name of every library that has the work, and what makes it ready: one call of it, and what waits for its end."""
    np, here = modules["numpy"], lambda y: None

    def numexpr():
        form = numexpr_form(modules["numexpr"], work)
        return form and (lambda: form(*host), here)

    def torch(device):
        import torch

        form, there = torch_form(torch, work), [torch.from_numpy(np.ascontiguousarray(x)).to(device) for x in host]
        wait = (lambda y: torch.cuda.synchronize()) if device == "cuda" else here
        return form and (lambda: form(*there), wait)

    def cupy():
        import cupy

        form, there = arrays(cupy, work), [cupy.asarray(x) for x in host]
        return form and (lambda: form(*there), lambda y: cupy.cuda.get_current_stream().synchronize())

    def jax():
        import jax

        form = arrays(jax.numpy, work)
        if not form or work == "gram_f64":
            return None
        there, form = [jax.numpy.asarray(x) for x in host], jax.jit(form)
        return lambda: form(*there), lambda y: y.block_until_ready()

    form = arrays(np, work)
    yield "numpy", lambda: form and (lambda: form(*host), here)
    if "numexpr" in modules:
        yield "numexpr", numexpr
    if "torch" in modules:
        yield "torch", lambda: torch("cpu")
        if modules["torch"].cuda.is_available():
            yield "torch-cuda", lambda: torch("cuda")
    if "cupy" in modules:
        yield "cupy", cupy
    if "jax" in modules:
        yield "jax", jax


def timed(call, wait, request):
    def samples(calls):
        start = time.perf_counter()
        for _ in range(calls):
            wait(call())
        return (time.perf_counter() - start) / calls

    cold = samples(1)
    once = min(samples(1) for _ in range(2))
    calls = max(1, min(100000, math.ceil(200e-6 / max(once, 1e-9))))
    begin, taken = time.perf_counter(), []
    while len(taken) < request["fewest"] or (time.perf_counter() - begin < request["seconds"] and len(taken) < request["most"]):
        taken.append(samples(calls))
    return {"cold": cold, "calls": calls, "samples": taken}


def last_line(error):
    """What went wrong, in a line."""
    return (str(error).strip().splitlines() or [type(error).__name__])[-1]


def main():
    modules, missing = load()
    versions = {name: getattr(module, "__version__", "?") for name, module in modules.items()}
    print(json.dumps({"found": versions, "missing": missing}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        answer, failed = {}, {}
        try:
            host = inputs(modules["numpy"], request["workload"], request["params"]) if modules else None
        except Exception as error:
            host, failed["numpy"] = None, last_line(error)
        if host is not None:
            for name, ready in forms(modules, request["workload"], host):
                # What one library cannot do is no reason for the others not to.
                try:
                    if form := ready():
                        answer[name] = timed(*form, request)
                except Exception as error:
                    failed[name] = last_line(error)
        print(json.dumps({"timings": answer, "failed": failed}), flush=True)


if __name__ == "__main__":
    main()
