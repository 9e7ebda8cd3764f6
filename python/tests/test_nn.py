"""Neural networks against NumPy."""

import ast
import inspect
import pathlib

import numpy as np
import pytest

import crossover as xo


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_attention_is_its_definition():
    q, k, v = (numbers(2, 3, 20, 16, seed=i) for i in range(3))
    scores = (q @ k.swapaxes(-1, -2)).astype(np.float64) / 4
    want = softmax(scores) @ v
    assert np.abs(np.asarray(xo.nn.attention(xo.asarray(q), xo.asarray(k), xo.asarray(v))) - want).max() < 1e-5
    hidden = np.triu(np.ones((20, 20), bool), 1)
    want = softmax(np.where(hidden, -np.inf, scores)) @ v
    out, lse = xo.nn.attention(q, k, v, causal=True, return_lse=True)
    assert np.abs(np.asarray(out) - want).max() < 1e-5 and lse.shape == (2, 3, 20)
    assert np.abs(np.asarray(xo.nn.attention(q, k, v, mask=xo.asarray(~hidden))) - want).max() < 1e-5
    weights = xo.nn.attention_weights(q, k, causal=True)
    assert np.abs(np.asarray(weights) @ v - want).max() < 1e-5


def test_what_is_wrong_names_the_argument():
    q = xo.ones((2, 4, 10, 16), dtype=xo.float32)
    with pytest.raises(ValueError, match="lengths has -1"):
        xo.nn.attention(q, q, q, lengths=[3, -1])
    with pytest.raises(ValueError, match="k has 3 heads"):
        xo.nn.attention(q, q[:, :3], q[:, :3])
    with pytest.raises(ValueError, match="block_size is 48"):
        xo.nn.attention(q, q, q, block_size=48)
    with pytest.raises(ValueError, match="block_size has -16"):
        xo.nn.attention(q, q, q, block_size=-16)
    with pytest.raises(ValueError, match="window has -1; it takes 0 or more"):
        xo.nn.attention(q, q, q, window=(-1, 0))
    with pytest.raises(ValueError, match=r"window is \(3,\)"):
        xo.nn.attention(q, q, q, window=(3,))
    with pytest.raises(TypeError, match="lengths has 2.5; it takes whole numbers"):
        xo.nn.attention(q, q, q, lengths=[3, 2.5])
    with pytest.raises(ValueError, match="weight has the shape"):
        xo.nn.layer_norm(q, xo.ones(3, dtype=xo.float32))
    with pytest.raises(ValueError, match="there is no kernel 'gleu'"):
        xo.nn.benchmark_kernel("gleu", q)


def test_functions_are_their_definitions():
    x, w, b = numbers(5, 8), numbers(6, 8, seed=1), numbers(6, seed=2)
    assert np.allclose(np.asarray(xo.nn.linear(x, w, b)), x @ w.T + b, atol=1e-5)
    assert np.allclose(np.asarray(xo.nn.rms_norm(x)), x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5), atol=1e-5)
    gate, up = x[:, :4], x[:, 4:]
    assert np.allclose(np.asarray(xo.nn.swiglu(x)), gate / (1 + np.exp(-gate)) * up, atol=1e-5)
    targets = np.array([0, 3, 7, 2, 1])
    want = -np.log(softmax(x.astype(np.float64))[np.arange(5), targets])
    assert np.allclose(np.asarray(xo.nn.cross_entropy(x, targets, reduction="none")), want, atol=1e-5)
    assert abs(float(xo.nn.cross_entropy(x, targets)) - want.mean()) < 1e-5
    turned = np.asarray(xo.nn.rotary(x, interleaved=True))
    assert np.allclose((turned**2).sum(-1), (x**2).sum(-1), atol=1e-4) and np.array_equal(turned[0], x[0])


def test_layers_move_through_files(tmp_path):
    layer = xo.nn.TransformerLayer(16, 2, 32, seed=1)
    other = xo.nn.TransformerLayer(16, 2, 32, seed=2)
    x = xo.asarray(numbers(2, 5, 16))
    assert not np.array_equal(np.asarray(layer(x)), np.asarray(other(x)))
    layer.save(tmp_path / "layer.safetensors")
    other.load(tmp_path / "layer.safetensors")
    assert np.array_equal(np.asarray(layer(x)), np.asarray(other(x)))
    assert layer.parameters()["self_attn.in_proj_weight"].shape == (48, 16)
    with pytest.raises(ValueError, match="has no `weight`"):
        xo.nn.Linear(3, 4).load(tmp_path / "layer.safetensors")
    other.to_dtype(xo.bfloat16)
    assert other.parameters()["norm1.weight"].dtype == xo.bfloat16


def test_layers_stand_in_a_row(tmp_path):
    make = lambda seed: xo.nn.Sequential(xo.nn.Linear(16, 8, seed=seed), xo.nn.TransformerLayer(8, 2, 16, seed=seed))
    first, second = make(1), make(2)
    x = xo.asarray(numbers(2, 5, 16))
    first.save(tmp_path / "all.safetensors")
    second.load(tmp_path / "all.safetensors")
    assert np.array_equal(np.asarray(first(x)), np.asarray(second(x))) and first.size == 16 * 8 + 8 + xo.nn.TransformerLayer(8, 2, 16).size
    # Layers are the caller's still.
    inner = xo.nn.Linear(3, 3)
    both = xo.nn.Sequential(inner, xo.nn.Sequential(inner))
    inner.set_parameters({"weight": 2 * np.eye(3, dtype=np.float32), "bias": np.zeros(3, np.float32)})
    assert np.array_equal(np.asarray(both(np.ones(3, np.float32))), [4, 4, 4])
    assert list(both.parameters()) == ["0.weight", "0.bias", "1.0.weight", "1.0.bias"]
    with pytest.raises(TypeError):
        xo.nn.Sequential(3)


def test_attention_looks_at_another_sequence():
    rng = np.random.default_rng(5)
    layer = xo.nn.MultiHeadAttention(12, 3, seed=4)
    x, context = (rng.standard_normal((2, n, 12)).astype(np.float32) for n in (4, 7))
    own = {name: np.asarray(value, np.float64) for name, value in layer.parameters().items()}

    def heads(y, part):
        rows = slice(12 * part, 12 * part + 12)
        y = y @ own["in_proj_weight"][rows].T + own["in_proj_bias"][rows]
        return y.reshape(2, -1, 3, 4).transpose(0, 2, 1, 3)

    q, k, v = heads(x, 0), heads(context, 1), heads(context, 2)
    weights = np.exp(q @ k.transpose(0, 1, 3, 2) / 2)
    joined = (weights / weights.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3).reshape(2, 4, 12)
    want = joined @ own["out_proj.weight"].T + own["out_proj.bias"]
    np.testing.assert_allclose(np.asarray(layer(x, context)), want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.asarray(layer(x, x)), np.asarray(layer(x)), rtol=1e-5, atol=1e-6)
    with pytest.raises(TypeError, match="Linear takes one array"):
        xo.nn.Linear(12, 4)(x, context)


def test_kernels_are_timed():
    assert 0 < xo.nn.benchmark_kernel("gelu", xo.asarray(numbers(64, 64)), num_runs=5) < 10


def test_the_stub_says_what_there_is():
    stub = ast.parse(pathlib.Path(xo.nn.__file__).with_suffix(".pyi").read_text())
    told = {node.name: node for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert sorted(told) == sorted(xo.nn.__all__)
    for name, node in told.items():
        if isinstance(node, ast.ClassDef):
            methods = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
            assert methods == {one for one in dir(xo.nn.Layer) if not one.startswith("_")} | {"__call__"}
            continue
        arguments = node.args
        extra = [one for one in (arguments.vararg, arguments.kwarg) if one]
        names = [one.arg for one in arguments.posonlyargs + arguments.args + arguments.kwonlyargs + extra]
        assert sorted(names) == sorted(inspect.signature(getattr(xo.nn, name)).parameters), name
