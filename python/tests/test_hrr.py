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


@pytest.mark.parametrize("model", ["hrr", "fhrr", "map", "bsc", "hlb"])
def test_the_nearest_of_many_are_found(model):
    space = xo.hrr.Space(model, d=512)
    items = space.random(50, seed=3)
    asked = items[xo.asarray([7, 31])]
    rows = space.nearest(asked, items)
    assert rows.dtype == xo.int64 and rows.tolist() == [7, 31]
    best = space.top_k(asked, items, 3)
    assert [len(found) for found in best] == [3, 3]
    assert [found[0][0] for found in best] == [7, 31]
    for found in best:
        alikes = [similarity for _, similarity in found]
        assert alikes == sorted(alikes, reverse=True) and alikes[0] > 0.99
    assert space.top_k(asked, items, 0) == [[], []]


@pytest.mark.parametrize("model", ["hrr", "fhrr", "map", "bsc", "hlb"])
def test_compact_vectors_come_back(model):
    space = xo.hrr.Space(model, d=256)
    words = space.named(["a", "b"])
    kept = space.compact(words)
    assert kept.nbytes <= words.nbytes / 2 or model == "bsc"
    again = space.expand(kept)
    assert again.dtype == words.dtype and again.shape == words.shape
    assert float(xo.min(xo.astype(space.similarity(again, words), xo.float64))) > 0.999
    with pytest.raises(ValueError, match="expand: wants"):
        space.expand(xo.zeros(3))


def test_a_mapped_memory_answers_grows_and_is_saved(tmp_path):
    space = xo.hrr.Space("hrr", d=128)
    memory = xo.hrr.ItemMemory(space, capacity=10)
    memory.add(["red", "green", "blue"])
    memory.save(tmp_path / "store")
    assert memory.capacity == 10 and memory.space.d == 128
    mapped = xo.hrr.ItemMemory.map(tmp_path / "store")
    assert mapped.query(space.named("green"), 0.9)[0][0] == "green"
    mapped.add("yellow")
    mapped.save(tmp_path / "store")
    del mapped
    assert xo.hrr.ItemMemory.open(tmp_path / "store").names == ["red", "green", "blue", "yellow"]
    with pytest.raises(OSError):
        xo.hrr.ItemMemory.map(tmp_path / "nothing")


def test_what_is_intact_of_a_damaged_store_is_salvaged(tmp_path):
    space = xo.hrr.Space("hrr", d=64)
    memory = xo.hrr.ItemMemory(space)
    for name in ("first", "second"):
        memory.add(name)
        memory.save(tmp_path / "store")
    file = tmp_path / "store" / "000002.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    saved, damage = xo.hrr.ItemMemory.salvage(tmp_path / "store")
    assert saved.names == ["first"]
    assert "000002" in damage[0] and "lost" in damage[-1], damage
    np.testing.assert_array_equal(np.asarray(saved["first"]), np.asarray(memory["first"]))


def test_pairs_are_recalled_and_forgotten():
    space = xo.hrr.Space("hrr", d=2048)
    words = xo.hrr.ItemMemory(space)
    words.add(["France", "Paris", "Japan", "Tokyo", "Peru", "Lima"])
    capitals = xo.hrr.AssociativeMemory(space)
    for country, capital in (("France", "Paris"), ("Japan", "Tokyo")):
        capitals.store(words, country, capital)
    capitals.store_vectors(words["Peru"], words["Lima"])
    assert len(capitals) == 3 and capitals.trace.shape == (2048,) and capitals.space.model == "hrr"
    assert capitals.recall(words, "Peru", 0.3)[0] == "Lima"
    assert words.query(capitals.recall_vector(words["France"]))[0][0] == "Paris"
    found = capitals.reliability(words)
    assert found["pairs"] == 3 and found["items"] == 6 and found["reliable"] and found["probability"] > 0.99
    assert found["capacity"] > 3
    capitals.forget(words["Peru"], words["Lima"])
    assert len(capitals) == 2 and capitals.recall(words, "Peru", 0.3) is None
    with pytest.raises(KeyError, match="nobody"):
        capitals.recall(words, "nobody")
    with pytest.raises(ValueError, match="bind_superpose"):
        xo.hrr.AssociativeMemory(xo.hrr.Space("bsc"))
