"""JAX on the CPU: one jit program per workload."""

import jax
import jax.numpy as jnp
import numpy as np

from engines import Engine
from workloads import sinusoid_frequencies


def standardise(x):
    mean = x.mean(0)
    centred = x - mean
    return centred * jax.lax.rsqrt((centred * centred).mean(0))


def layer_norm(x, gamma, beta):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * gamma + beta


def sinusoid(positions):
    angles = positions[..., None].astype(jnp.float32) * sinusoid_frequencies().astype(np.float32)
    out = jnp.stack((jnp.sin(angles), jnp.cos(angles)), -1)
    return out.reshape(*positions.shape, -1)


def pi(key, n=10_000_000):
    left, right = jax.random.split(key)
    x = jax.random.uniform(left, (n,), jnp.float32)
    y = jax.random.uniform(right, (n,), jnp.float32)
    return 4.0 * jnp.count_nonzero(x * x + y * y <= 1.0).astype(jnp.float64) / n


def pi_form(implementation):
    program = jax.jit(pi)
    state = {"count": 0}

    def run():
        # A new key each time: the same key would give the same answer, and no one asks twice.
        state["count"] += 1
        return program(jax.random.key(state["count"], impl=implementation)).block_until_ready()

    return run


def ten_tiny(x, a, b):
    y = x
    for _ in range(5):
        y = y * a
        y = y + b
    return y


def make(function, *names):
    def forms(i):
        program = jax.jit(function)
        arguments = [jnp.asarray(i[name]) for name in names]
        return {"jit": lambda: program(*arguments).block_until_ready()}

    return forms


def engines(threads):
    del threads  # XLA counts the cores of the process's affinity mask, set before the import
    jax.config.update("jax_enable_x64", True)
    matmul = make(lambda a, b: a @ b, "a", "b")
    forms = {
        "gelu": make(lambda x: jax.nn.gelu(x, approximate=True), "x"),
        "expression": make(lambda a, b: a * b + jnp.sqrt(a) - b / 2, "a", "b"),
        "layer_norm": make(layer_norm, "x", "gamma", "beta"),
        "softmax": make(lambda x: jax.nn.softmax(x, -1), "x"),
        "standardise": make(standardise, "x"),
        "sinusoid": make(sinusoid, "positions"),
        "pi": lambda i: {name: pi_form(name) for name in ("threefry2x32", "rbg", "unsafe_rbg")},
        "sum": make(lambda x: x.sum(), "x"),
        "xor": make(lambda a, b: a ^ b, "a", "b"),
        "xor_key": make(lambda a, key: a ^ key, "a", "key"),
        "matmul_f32_64": matmul,
        "matmul_f32_256": matmul,
        "matmul_f32_1024": matmul,
        "matmul_f64_1024": matmul,
        "sort": make(jnp.sort, "x"),
        "gather": make(lambda x, i: x[i], "x", "i"),
        "lookup": make(lambda table, ids: table[ids], "table", "ids"),
        "gelu_5": make(lambda x: jax.nn.gelu(x, approximate=True), "x"),
        "tiny_10": make(ten_tiny, "x", "a", "b"),
    }
    return [Engine("jax", jax.__version__, forms)]
