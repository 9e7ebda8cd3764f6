"""Holographic memory from Python."""

import numpy as np
import pytest

import crossover as xo


def alike(space, a, b):
    return float(space.similarity(a, b))


@pytest.mark.parametrize("d", [64, 65, 97])
def test_binding_is_circular_convolution(d):
    space = xo.hrr.Space("hrr", d=d, dtype=xo.float64)
    a, b = space.random(5, seed=1), space.random(5, seed=2)
    wanted = np.fft.irfft(np.fft.rfft(np.asarray(a)) * np.fft.rfft(np.asarray(b)), n=d)
    np.testing.assert_allclose(np.asarray(space.bind(a, b)), wanted, atol=1e-14)


@pytest.mark.parametrize("model", ["hrr", "fhrr", "map", "bsc", "hlb"])
def test_pairs_are_found_again_and_order_matters(model):
    space = xo.hrr.Space(model, d=2000)
    keys, values = space.named(["a", "b", "c"]), space.named(["x", "y", "z"])
    found = space.cleanup(space.unbind(space.bind_superpose(keys, values), keys[1]), values)
    assert found[0][0] == 1
    assert abs(alike(space, space.ngrams(keys, 3), space.ngrams(keys[::-1], 3))) < 0.2


def test_memories_are_saved_verified_and_refused(tmp_path):
    space = xo.hrr.Space("hrr", d=128)
    memory = xo.hrr.ItemMemory(space)
    memory.add(["red", "green"])
    memory.add("mixed", space.superpose(space.named(["red", "green"])))
    memory.save(tmp_path / "store")
    again = xo.hrr.ItemMemory.open(tmp_path / "store")
    assert again.names == ["red", "green", "mixed"] and len(again) == 3 and "red" in again
    np.testing.assert_array_equal(np.asarray(again["mixed"]), np.asarray(memory["mixed"]))
    assert again.query(space.named("red"), 0.9)[0][0] == "red"
    assert again.query(space.named("blue"), 0.9) == [None]
    assert xo.hrr.verify(tmp_path / "store") == []
    file = tmp_path / "store" / "000001.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    assert len(xo.hrr.verify(tmp_path / "store")) == 1
    with pytest.raises(ValueError, match="damaged"):
        xo.hrr.ItemMemory.open(tmp_path / "store")
    with pytest.raises(KeyError):
        again["nobody"]


def test_wrong_vectors_are_refused():
    space = xo.hrr.Space("hrr", d=8)
    with pytest.raises(ValueError, match="wants float32 vectors of 8|wants f32 vectors of 8"):
        space.bind(space.named("a"), xo.zeros(7))
    with pytest.raises(ValueError, match="no model"):
        xo.hrr.Space("nothing")
