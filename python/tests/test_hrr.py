"""Holographic memory from Python."""

import pathlib
import re

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
    with pytest.raises(FileNotFoundError):
        xo.hrr.ItemMemory.map(tmp_path / "nothing")


@pytest.mark.parametrize("dtype", [xo.float16, xo.bfloat16])
def test_a_compact_memory_finds_what_rounded_vectors_say(tmp_path, dtype):
    space = xo.hrr.Space("hrr", d=96)
    memory = xo.hrr.ItemMemory(space, capacity=5, dtype=dtype)
    names = [str(i) for i in range(200)]
    memory.add(names)
    memory.add("again", space.named("7"))
    assert memory.kept == dtype and xo.hrr.ItemMemory(space).kept is None
    asked = xo.concat([space.named(["7", "150"]), space.random(40, seed=3)])

    def rounded(x):
        x = np.asarray(x)
        unit = x / np.maximum(np.sqrt((x * x).sum(-1, keepdims=True, dtype=np.float32)), np.float32(1e-8))
        return np.asarray(xo.asarray(unit).astype(dtype).astype(xo.float64))

    scores = rounded(asked) @ rounded(memory.vectors).T
    found = np.asarray(memory.nearest(asked))
    # Lengths that NumPy adds up in another order may round otherwise.
    assert (scores.max(-1) - scores[np.arange(42), found]).max() < 1e-4
    assert found[:2].tolist() == [7, 150] and memory.query(asked)[0][0] == "7"
    assert [name for name, _ in memory.top_k(asked, 2)[0]] == ["7", "again"]
    memory.save(tmp_path / "store")
    for again in (xo.hrr.ItemMemory.open(tmp_path / "store"), xo.hrr.ItemMemory.map(tmp_path / "store")):
        assert again.kept == dtype
        np.testing.assert_array_equal(np.asarray(again.nearest(asked)), found)
    with pytest.raises(ValueError, match="f16 or bf16"):
        xo.hrr.ItemMemory(space, dtype=xo.float32)


def test_fhrr_in_bfloat16_has_rows_of_parts():
    space = xo.hrr.Space("fhrr", d=300, dtype=xo.bfloat16)
    assert (space.d, space.width) == (300, 600)
    a, b = space.named(["a", "b"])
    assert a.shape == (600,) and a.dtype == xo.bfloat16
    assert float(space.similarity(space.unbind(space.bind(a, b), a), b)) > 0.999
    assert space.compact(xo.hrr.Space("fhrr", d=300, dtype=xo.bfloat16).named("a"), dtype=xo.float16).dtype == xo.float16


def test_pairs_and_states_are_mapped(tmp_path):
    space = xo.hrr.Space("hrr", d=256)
    key, value = space.named(["key", "value"])
    pairs = xo.hrr.AssociativeMemory(space)
    pairs.store_vectors(key, value)
    pairs.save(tmp_path / "pairs")
    mapped = xo.hrr.AssociativeMemory.map(tmp_path / "pairs")
    np.testing.assert_array_equal(np.asarray(mapped.sum), np.asarray(pairs.sum))
    state = xo.hrr.State()
    state["weights"], state["step"] = xo.linspace(0, 1, 5), 12
    state.save(tmp_path / "state")
    again = xo.hrr.State.map(tmp_path / "state")
    assert again["step"] == 12 and np.asarray(again["weights"]).tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]


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
    with pytest.raises(ValueError, match="is not among the 2 that are stored"):
        capitals.forget(words["Peru"], words["Lima"])
    others = xo.hrr.ItemMemory(xo.hrr.Space("hrr", d=2048, seed=1))
    others.add(["France", "Paris"])
    with pytest.raises(ValueError, match="seed 1"):
        capitals.store(others, "France", "Paris")


@pytest.mark.parametrize("model", ["hrr", "fhrr", "map", "bsc", "hlb"])
def test_pairs_are_saved_and_made_again(tmp_path, model):
    space = xo.hrr.Space(model, d=1000)
    words = xo.hrr.ItemMemory(space)
    words.add(["France", "Paris", "Japan", "Tokyo", "Peru", "Lima"])
    capitals = xo.hrr.AssociativeMemory(space)
    capitals.store(words, ["France", "Japan"], ["Paris", "Tokyo"])
    capitals.save(tmp_path / "capitals")
    again = xo.hrr.AssociativeMemory.open(tmp_path / "capitals")
    np.testing.assert_array_equal(np.asarray(again.sum), np.asarray(capitals.sum))
    assert len(again) == 2 and xo.hrr.verify(tmp_path / "capitals") == []
    again.store(words, "Peru", "Lima")
    again.save(tmp_path / "capitals")
    found = again.recall(words, ["Peru", "France", "Lima"], 0.2)
    assert [found[0][0], found[1][0]] == ["Lima", "Paris"] and len(found) == 3
    with pytest.raises(RuntimeError, match="save elsewhere"):
        capitals.save(tmp_path / "capitals")
    other = xo.hrr.AssociativeMemory(space, again.sum, pairs=3)
    assert other.recall(words, "Japan")[0] == "Tokyo" and len(other) == 3
    other.to_device("cpu")
    with pytest.raises(ValueError, match="2 keys and 1 values"):
        other.store(words, ["France", "Peru"], ["Paris"])
    with pytest.raises(ValueError, match="3 pairs without"):
        xo.hrr.AssociativeMemory(space, pairs=3)
    file = tmp_path / "capitals" / "000002.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(ValueError, match="damaged"):
        xo.hrr.AssociativeMemory.open(tmp_path / "capitals")
    saved, damage = xo.hrr.AssociativeMemory.salvage(tmp_path / "capitals")
    assert len(saved) == 2 and "000002" in damage[0]


def test_factors_are_found_for_each_of_many():
    space = xo.hrr.Space("map", d=1500)
    books = [space.random(9, seed=i) for i in range(3)]
    places = [[4, 8, 0], [1, 1, 7], [0, 2, 3]]
    bound = xo.stack([space.multi_bind([book[at] for book, at in zip(books, of)]) for of in places])
    found = space.factor(bound, books)
    assert [one.indices for one in found] == places
    assert all(one.is_found and one.similarity > 0.99 and one.rounds >= 1 for one in found)
    lost = space.factor(space.named("no product"), books, rounds=3)[0]
    assert not lost.is_found and lost.rounds == 3 and "is_found=False" in repr(lost)


def test_vectors_of_a_memory_are_those_of_the_moment():
    space = xo.hrr.Space("map", d=32)
    words = xo.hrr.ItemMemory(space)
    words.add(["first", "second"])
    vectors = words.vectors
    before = np.array(vectors)
    words.remove("first")
    np.testing.assert_array_equal(np.asarray(vectors), before)
    vectors[1] = 7
    np.testing.assert_array_equal(np.asarray(words["second"]), before[1])


def test_a_store_is_mapped_salvaged_and_told_of(tmp_path):
    store = xo.hrr.Store.create(tmp_path, "test")
    store.append("one", {"x": xo.arange(3)}, {"k": "v"})
    store.append("two", {"y": xo.arange(4)})
    notes, arrays = store.map(1)
    assert notes == {"k": "v"} and arrays["x"].tolist() == [0, 1, 2]
    del arrays
    (tmp_path / "left.txt").write_text("left by somebody")
    found = xo.hrr.report(tmp_path)
    assert found["intact"] and found["operations"] == 3 and found["strays"] == ["left.txt"] and found["damage"] == []
    file = tmp_path / "000002.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(ValueError, match="damaged"):
        store.map(2)
    operations, damage = xo.hrr.Store.salvage(tmp_path)
    assert [name for name, _, _ in operations] == ["create", "one", "two"] and len(damage) == 1
    assert operations[1][2]["x"].tolist() == [0, 1, 2] and operations[2][2] == {}
    assert not xo.hrr.report(tmp_path)["intact"]


@pytest.mark.parametrize("model", ["hrr", "fhrr", "map", "bsc", "hlb"])
def test_every_operation_of_a_space_is_there(model):
    space = xo.hrr.Space(model, d=1000, seed=3)
    assert (space.model, space.d, space.seed) == (model, 1000, 3) and space.dtype == space.named("a").dtype
    a, b, c = (space.named(name) for name in "abc")
    assert alike(space, space.bind_normalised(a, b), space.normalise(space.bind(a, b))) > 0.9999
    inverse = space.inverse_exact(a)
    assert inverse.zeros == [] and inverse.gain > 0.2 and alike(space, space.bind(space.bind(a, b), inverse.array), b) > 0.99
    exact = space.unbind_exact(space.bind(a, b), a)
    assert exact.zeros == [] and exact.gain == inverse.gain and alike(space, exact.array, b) > 0.99
    many = xo.stack([xo.stack([a, b, c]), xo.stack([c, b, a])])
    for made in (space.sequence(many), space.ngram(many), space.ngrams(many, 2)):
        assert made.shape == (2, 1000) and alike(space, made[0], made[1]) < 0.7
    abc, cba = space.ngram(xo.stack([a, b, c])), space.ngram(xo.stack([c, b, a]))
    assert abs(alike(space, abc, cba)) < 0.2
    record = space.record([(a, b), (c, a)])
    assert space.cleanup(space.unbind(record, c), xo.stack([a, b, c]))[0][0] == 0
    all_of_them = np.asarray(space.similarities(xo.stack([a, b]), xo.stack([a, b, c])))
    assert all_of_them.shape == (2, 3) and all_of_them[0, 0] > 0.99 > all_of_them[0, 1]
    assert alike(space, space.multi_bind([a, b, c]), space.bind(space.bind(a, b), c)) > 0.999
    with pytest.raises(ValueError, match="no pairs"):
        space.record([])


def test_a_state_of_arrays_and_values_is_saved_as_one(tmp_path):
    state = xo.hrr.State()
    state["weights"] = np.arange(6.0).reshape(2, 3)
    state["spectrum"] = xo.asarray([1 + 2j, 3 - 4j])
    values = {"step": 12, "rate": float("nan"), "done": True, "name": "é\n", "least": -(2**63), "tiny": 5e-324}
    for name, value in values.items():
        state[name] = value
    state["weights"] = 7
    state["weights"] = np.arange(6.0).reshape(2, 3)
    state.save(tmp_path / "state")
    del state["name"]
    with pytest.raises(KeyError):
        state["name"]
    again = xo.hrr.State.open(tmp_path / "state")
    assert again.names == sorted([*values, "weights", "spectrum"]) and len(again) == 8 and "step" in again
    for name, value in values.items():
        assert type(again[name]) is type(value) and (again[name] == value or value != value)
    np.testing.assert_array_equal(np.asarray(again["weights"]), np.arange(6.0).reshape(2, 3))
    assert again["spectrum"].dtype == xo.complex128 and again["spectrum"].tolist() == [1 + 2j, 3 - 4j]
    assert again.to_device("cpu")["weights"].shape == (2, 3)
    with pytest.raises(OverflowError):
        state["large"] = 2**63
    with pytest.raises(KeyError):
        del state["nothing"]
    file = tmp_path / "state" / "000001.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 128
    file.write_bytes(data)
    assert len(xo.hrr.verify(tmp_path / "state")) == 1
    with pytest.raises(ValueError, match="damaged"):
        xo.hrr.State.open(tmp_path / "state")


def test_a_store_tells_its_history(tmp_path):
    store = xo.hrr.Store.create(tmp_path / "store", "test", {"a": "b"})
    store.append("one", {"x": xo.arange(3), "y": np.ones((2, 2))}, {"k": "v"})
    store.append("two")
    again = xo.hrr.Store.open(tmp_path / "store")
    assert (len(again), again.kind, again.hash, again.version) == (3, "test", store.hash, 2) and again.notes["a"] == "b"
    notes, arrays = again.read(1)
    assert notes == {"k": "v"} and arrays["x"].tolist() == [0, 1, 2] and arrays["y"].shape == (2, 2)
    assert [entry["operation"] for entry in again.history] == ["create", "one", "two"]
    assert again.history[1]["arrays"] == ["x", "y"] and again.history[1]["time"] > 1.7e9
    assert again.verify() == []
    store.append("three")
    with pytest.raises(RuntimeError, match="another writer"):
        again.append("four")
    with pytest.raises(ValueError, match="operation 9"):
        again.read(9)


def test_unreliable_associations_are_warned_of(caplog):
    space = xo.hrr.Space("hrr", d=64)
    words = xo.hrr.ItemMemory(space)
    words.add([str(i) for i in range(40)])
    pairs = xo.hrr.AssociativeMemory(space)
    for i in range(20):
        pairs.store(words, str(i), str(i + 20))
    told = [record for record in caplog.records if record.name == "crossover.hrr"]
    assert len(told) == 1 and "unreliable" in told[0].getMessage()


def test_examples_of_the_page_run():
    page = pathlib.Path(__file__).parent.parent.parent / "docs" / "hrr.md"
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 5
    names = {}
    for block in blocks:
        exec(block, names)  # noqa: S102 - the examples are ours
