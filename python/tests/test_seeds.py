"""Lattices, batches, parallel iterators and embeddings."""

import math

import numpy as np
import pytest

import crossover as xo


def test_lattices_answer_like_formulas():
    grid = xo.lattice.Lattice([30, 40])
    assert len(grid) == 1200 and grid.sizes == [30, 40] and not grid.periodic
    assert grid.distance(0, 1199) == 29 + 39
    path = grid.shortest_path(0, 1199)
    assert path[0] == 0 and path[-1] == 1199 and len(path) == 69
    assert grid.vertex([1, 2]) == 42 and grid.coordinates(42) == [1, 2]
    assert xo.lattice.cube(4, 10).analyze_structure()["edges"] == 36_000
    field = np.asarray(grid.distance_field([0]))
    assert field.dtype == np.int32 and field.shape == (30, 40) and field[3, 4] == 7
    ring = xo.lattice.Lattice([10], periodic=True)
    assert ring.shortest_paths([(0, 9), (1, 8)]) == [[0, 9], [1, 0, 9, 8]]


def test_obstacles_and_weights_are_gone_around():
    grid = xo.lattice.Lattice([3, 3])
    wall = np.zeros((3, 3), dtype=bool)
    wall[:2, 1] = True
    for method in ("a_star", "breadth_first"):
        assert grid.shortest_path(0, 2, obstacles=wall, method=method) == [0, 3, 6, 7, 8, 5, 2]
    wall[2, 1] = True
    assert grid.shortest_path(0, 2, obstacles=wall) is None
    assert np.asarray(grid.distance_field([0], obstacles=wall))[0, 2] == -1
    np.testing.assert_array_equal(
        np.asarray(grid.distance_field([0], obstacles=wall)), np.asarray(grid.distance_field([0], obstacles=wall, relax=True))
    )
    weights = np.ones(9)
    weights[1] = 10
    assert grid.shortest_path(0, 2, weights=weights) == [0, 3, 4, 5, 2]
    with pytest.raises(IndexError, match="vertex 9 is out of range"):
        grid.shortest_path(0, 9)
    with pytest.raises(ValueError, match="is blocked"):
        grid.shortest_path(4, 0, obstacles=wall)
    with pytest.raises(ValueError, match="neither 'a_star'"):
        grid.shortest_path(0, 1, weights=weights, method="guess")


def test_transforms_of_lattices():
    data = np.arange(100, dtype=np.uint16)
    key = np.array([1, 2, 3], dtype=np.uint16)
    hidden = xo.lattice.xor_transform(data, key)
    np.testing.assert_array_equal(np.asarray(hidden), data ^ np.resize(key, 100))
    np.testing.assert_array_equal(np.asarray(xo.lattice.xor_transform(hidden, key)), data)
    x = np.random.default_rng(1).normal(size=(2, 8))
    matrix = np.array([[(-1) ** bin(i & j).count("1") for i in range(8)] for j in range(8)])
    np.testing.assert_allclose(np.asarray(xo.lattice.walsh_hadamard(x)), x @ matrix, atol=1e-12)
    wanted = [sum(x[0, i] * x[1, k ^ i] for i in range(8)) for k in range(8)]
    np.testing.assert_allclose(np.asarray(xo.lattice.xor_convolve(x[0], x[1])), wanted, atol=1e-12)
    with pytest.raises(ValueError, match="power of two"):
        xo.lattice.walsh_hadamard(np.ones(6))


def test_batches_give_what_loops_give():
    rng = np.random.default_rng(2)
    left, right = [rng.normal(size=(16, 16)) for _ in range(10)], [rng.normal(size=(16, 16)) for _ in range(10)]
    batch = xo.batch.create_batch(left, max_batch_size=4)
    for found, a, b in zip(batch.matmul(right), left, right):
        np.testing.assert_allclose(np.asarray(found), a @ b, atol=1e-12)
    stats = batch.stats()
    assert (stats["operations"], stats["groups"], stats["largest_group"]) == (1, 3, 4)
    for found, a in zip(batch.normalise(), left):
        np.testing.assert_allclose(np.asarray(found), a / np.linalg.norm(a), rtol=1e-12)
    results = batch.execute_parallel([lambda x, i=i: 1 / (i - 3) for i in range(10)])
    assert isinstance(results[3], ZeroDivisionError) and results[5] == 0.5
    with pytest.raises(ValueError, match="10 arrays and the other list 2"):
        batch.matmul(right[:2])
    assert xo.batch.Batch([]).normalise() == []


def test_functions_that_cannot_be_traced_are_called_for_each():
    rows = [xo.asarray([1.0, 4.0]), xo.asarray([2.0, 8.0]), xo.asarray([5.0])]
    calls = []

    def by_value(x):
        calls.append(1)
        return x / float(x[0])

    found = xo.par_iter(rows).gpu_map(by_value).collect()
    assert [list(np.asarray(one)) for one in found] == [[1.0, 4.0], [1.0, 4.0], [1.0]]
    assert len(calls) == 2 + 3
    weights = xo.asarray([1.0, 2.0])
    results = xo.batch.Batch(rows).try_map(lambda x: xo.sum(x + weights[:2]) if x.shape[0] == 2 else x.reshape((7,)))
    assert float(results[1]) == 13.0 and isinstance(results[2], ValueError)

    def raising(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        xo.par_iter(rows).gpu_map(raising).collect()


def test_iterators_keep_the_order():
    items = xo.par_iter(range(100)).map(lambda n: n * 2).filter(lambda n: n % 3 == 0)
    assert items.collect() == [n for n in range(0, 200, 2) if n % 3 == 0]
    assert xo.par_iter([1, 2]).flat_map(lambda n: [n] * n).collect() == [1, 2, 2]
    assert xo.par_iter("abcde").skip(1).take(3).enumerate().collect() == [(0, "b"), (1, "c"), (2, "d")]
    assert xo.par_iter(range(5)).chunks(2).collect() == [[0, 1], [2, 3], [4]]
    assert xo.par_iter([1, 2]).zip([3, 4]).collect() == [(1, 3), (2, 4)]
    assert (xo.par_iter([3, 1]).min(), xo.par_iter([]).max(), xo.par_iter([3, 1]).sum()) == (1, None, 4)
    assert xo.par_iter([1, 2]).any(lambda n: n == 2) and not xo.par_iter([1, 2]).all(lambda n: n == 2)


def test_runs_have_policies():
    seen = []
    results, told = xo.par_iter(range(20)).run(
        lambda n: 1 // (n - 5), policy="continue", progress=lambda done, total: seen.append((done, total))
    )
    assert isinstance(results[5].error, ZeroDivisionError) and results[6] == 1
    assert (told["succeeded"], told["failed"], told["skipped"]) == (19, 1, 0) and len(seen) == 20
    assert told["p50"] <= told["p95"] <= told["p99"]
    tries = {}

    def third(n):
        tries[n] = tries.get(n, 0) + 1
        if tries[n] < 3:
            raise ValueError(n)
        return n

    results, told = xo.par_iter(range(4)).run(third, policy="continue", retries=2)
    assert results == [0, 1, 2, 3] and told["retries"] == 8
    with pytest.raises(ValueError, match="policy"):
        xo.par_iter([1]).run(int, policy="hope")


def test_sinusoids_are_exact_far_out():
    for position in (1, 1000, 131_072, 9_999_999):
        found = np.asarray(xo.embed.sinusoid(xo.asarray([position]), 64, dtype=xo.float64))[0]
        assert abs(found[0] - math.sin(position)) < 1e-15 and abs(found[1] - math.cos(position)) < 1e-15
    joined = np.asarray(xo.embed.sinusoid(xo.arange(5), 6, layout="concatenated"))
    woven = np.asarray(xo.embed.sinusoid(xo.arange(5), 6))
    np.testing.assert_array_equal(joined, np.concatenate([woven[:, ::2], woven[:, 1::2]], axis=1))
    x = np.random.default_rng(3).normal(size=(2, 5, 8))
    turned = np.asarray(xo.embed.rotary(xo.asarray(x), xo.arange(5), pairs="rotate_half"))
    np.testing.assert_allclose((turned**2).sum(-1), (x**2).sum(-1))
    with pytest.raises(ValueError, match="layout"):
        xo.embed.Sinusoid(4, layout="spiral")
    plain = np.asarray(xo.embed.rotary(x.tolist(), [0, 1, 2, 3, 4], pairs="rotate_half"))
    np.testing.assert_allclose(plain, turned, rtol=1e-5)
    with pytest.raises(ValueError, match="no axis"):
        xo.embed.rotary(1.5, [0])


def test_embedders_embed_save_and_advise(tmp_path):
    embedder = xo.embed.Embedder(100, 8, temperature=2.0, seed=7)
    tokens = xo.asarray([[1, 99], [0, 5]])
    table, encoding = np.asarray(embedder.table), np.asarray(xo.embed.sinusoid(xo.arange(2), 8))
    wanted = (table[np.asarray(tokens)] + encoding) / 2
    np.testing.assert_allclose(np.asarray(embedder(tokens)), wanted, rtol=1e-6)
    with pytest.raises(IndexError, match="token 100 at position 1 is outside the vocabulary of 100"):
        embedder(xo.asarray([[1, 100]]))
    embedder.save(tmp_path / "embedder.safetensors")
    again = xo.embed.Embedder.load(tmp_path / "embedder.safetensors")
    np.testing.assert_array_equal(np.asarray(again(tokens)), np.asarray(embedder(tokens)))
    advice = embedder.advise(1 << 20, 32)
    assert advice["recommended"] in ("f32", "mixed_f16", "mixed_bf16") and advice["recommended_batch"] >= 1 and advice["why"]
    assert advice["batch"] > 0 and advice["peak"] <= 1 << 20 < advice["peak"] + advice["per_sequence"]
    assert embedder.with_precision("mixed_f16")(tokens).dtype == xo.float16
    assert embedder.info()["vocabulary"] == 100 and embedder.benchmark(2, 4, 3)["median"] > 0
    with pytest.raises(MemoryError):
        embedder.advise(100, 32)


def test_tables_are_checked(tmp_path):
    path = tmp_path / "table"
    rows = np.arange(4000 * 32, dtype=np.float32).reshape(4000, 32)
    xo.embed.Table.write(path, [xo.asarray(rows[:1000]), xo.asarray(rows[1000:])])
    table = xo.embed.Table(path, hot_rows=100)
    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(table.lookup(xo.asarray([[5, 3999], [5, 0]]))), rows[[[5, 3999], [5, 0]]])
    stats = table.stats()
    assert len(table) == 4000 and stats["hits"] + stats["misses"] == 12 and stats["misses"] in (2, 3)
    del table
    damaged = bytearray(path.read_bytes())
    damaged[3000 * 128] ^= 1
    other = tmp_path / "damaged"
    other.write_bytes(damaged)
    table = xo.embed.Table(other)
    table.lookup(xo.asarray([1]))
    with pytest.raises(ValueError, match="a bit has changed"):
        table.lookup(xo.asarray([3000]))


def test_tokenizers_give_texts_back(tmp_path):
    texts = ["the lattice has no edges", "the sine of a far angle", "rows of a table, größer als 🙂"]
    tokenizer = xo.embed.Tokenizer.train(texts, 300, special=["<pad>", "<end>"]).with_padding("<pad>")
    assert [name for name, _ in tokenizer.special] == ["<pad>", "<end>"] and tokenizer.vocabulary <= 300
    for text in texts:
        assert tokenizer.decode(tokenizer.encode(text)) == text
    tokens, mask = tokenizer.encode_batch(texts)
    assert tokens.shape == mask.shape and tokens.dtype == xo.int64 and mask.dtype == xo.bool
    assert tokenizer.decode(tokens) == texts
    assert tokenizer.decode(tokenizer.encode("a<end>"), special=True) == "a<end>"
    assert tokenizer.with_truncation(3).encode_batch(texts)[0].shape == (3, 3)
    with pytest.raises(ValueError, match="set a padding"):
        tokenizer.whole().encode_batch(texts)
    with pytest.raises(IndexError, match="token 1000 at position 0"):
        tokenizer.decode([1000])
    with pytest.raises(OSError):
        xo.embed.Tokenizer(tmp_path / "none.json")
    model = xo.embed.TextEmbedder(tokenizer, xo.embed.Embedder(tokenizer.vocabulary, 8))
    model.save(tmp_path / "model")
    again = xo.embed.TextEmbedder.load(tmp_path / "model")
    np.testing.assert_array_equal(np.asarray(again(texts)[0]), np.asarray(model(texts)[0]))
    assert xo.embed.Tokenizer(tmp_path / "model").to_json() == tokenizer.to_json()


def test_maps_read_numpy_where_it_is_and_keep_nothing_of_it():
    items = [np.arange(6, dtype=np.float32).reshape(2, 3) + i for i in range(5)]
    doubled = xo.par_iter(items).gpu_map(lambda x: x * 2, to_host=True).collect()
    same = xo.par_iter(items).gpu_map(lambda x: x).collect()
    wanted = [item.copy() for item in items]
    for item in items:
        item[...] = -1
    for found, kept, want in zip(doubled, same, wanted):
        np.testing.assert_array_equal(np.asarray(found), want * 2)
        np.testing.assert_array_equal(np.asarray(kept), want)


def test_words_are_combined_with_keys_of_any_length():
    rng = np.random.default_rng(3)
    for dtype in (np.uint8, np.int16, np.uint32, np.int64):
        for shape, period in (((7,), 3), ((3, 10), 4), ((2, 2, 9), 9), ((200_001,), 7), ((5,), 8)):
            data, key = rng.integers(0, 100, shape).astype(dtype), rng.integers(0, 100, period).astype(dtype)
            wanted = data ^ np.resize(key, shape[-1])
            found = xo.lattice.xor_transform(xo.asarray(data), xo.asarray(key))
            assert found.dtype == xo.asarray(data).dtype and found.shape == shape
            np.testing.assert_array_equal(np.asarray(found), wanted)
            # Results are arrays like others.
            found[..., 0] = 5
            assert int(np.asarray(found).ravel()[0]) == 5
            pending = xo.lattice.xor_transform(xo.asarray(data) + 0, xo.asarray(key))
            np.testing.assert_array_equal(np.asarray(pending), wanted)
            if data.ndim == 1:
                place = data.copy()
                xo.lattice.xor_in_place(place, key)
                np.testing.assert_array_equal(place, wanted)
    # What is no integer is refused as it is elsewhere, and an expression is traced.
    with pytest.raises((TypeError, ValueError)):
        xo.lattice.xor_transform(xo.asarray([1.0, 2.0, 3.0]), xo.asarray([1.0, 2.0]))
    key = xo.asarray([1, 2])
    rows = [xo.asarray([i, i, i]) for i in range(4)]
    out, told = xo.par_iter(rows).gpu_map(lambda x: xo.lattice.xor_transform(x, key)).try_collect()
    assert told["batched"] == 4 and [int(x) for x in np.asarray(out[3])] == [2, 1, 2]


def test_words_are_combined_where_they_lie():
    memory = bytearray(b"0123456789")
    xo.lattice.xor_in_place(memory, bytearray(b"abc"))
    assert bytes(memory) == bytes(a ^ b for a, b in zip(b"0123456789", b"abcabcabca"))
    memory.extend(b"more")
    grid = np.arange(6, dtype=np.int32).reshape(2, 3)
    xo.lattice.xor_in_place(grid, [1, 2, 4, 8])
    np.testing.assert_array_equal(grid.ravel(), np.arange(6) ^ np.resize([1, 2, 4, 8], 6))
    empty = np.empty(0, np.uint8)
    xo.lattice.xor_in_place(empty, b"a")
    for place, key in ((b"fixed", b"a"), (grid.T, [1]), (grid, b""), (grid, b"a"), (np.ones(3), [1]), (grid, [[1]])):
        with pytest.raises(ValueError, match="xor_in_place"):
            xo.lattice.xor_in_place(place, key)


def test_integers_are_convolved_exactly():
    a, b = np.arange(-8, 8), np.arange(16) * 10**7
    wanted = [sum(int(a[i]) * int(b[k ^ i]) for i in range(16)) for k in range(16)]
    found = xo.lattice.xor_convolve_integers(xo.asarray(a), xo.asarray(b))
    assert found.dtype == xo.int64 and np.asarray(found).tolist() == wanted
    for x, y in (([2**62, 2], [3, 4]), ([1, 2, 3], [1, 2, 3]), ([1.0], [1.0]), (np.array([2**64 - 1], np.uint64), [1])):
        with pytest.raises(ValueError):
            xo.lattice.xor_convolve_integers(x, y)


def test_lattices_name_what_is_wrong():
    grid = xo.lattice.Lattice([4, 4])
    for call in (lambda: grid.distance(-1, 3), lambda: grid.neighbours(-2), lambda: grid.distance_field([-1]), lambda: grid.shortest_paths([(0, -1)])):
        with pytest.raises(IndexError, match="vertex -. is out of range"):
            call()
    for call in (lambda: xo.lattice.Lattice([3, -1]), lambda: grid.vertex([0, -1])):
        with pytest.raises(ValueError, match="-1 is negative"):
            call()
    weights = np.ones(16)
    for bad in (-1, np.nan, np.inf, 1e308):
        weights[5] = bad
        with pytest.raises(ValueError, match="vertex 5 is negative, not finite or too large"):
            grid.shortest_path(0, 15, weights=weights)
    with pytest.raises(ValueError, match=r"shapes \[1\] and \[4\] differ"):
        xo.lattice.xor_convolve([1.0], [1.0, 2.0, 3.0, 4.0])


def test_lattices_answer_many_questions():
    grid, wall = xo.lattice.Lattice([3, 3]), np.zeros(9, bool)
    wall[[1, 4]] = True
    assert grid.route(0, 2, obstacles=wall) == ([0, 3, 6, 7, 8, 5, 2], 6.0)
    assert grid.route(0, 2) == ([0, 1, 2], 2.0)
    assert grid.shortest_paths([(0, 2), (0, 3)], obstacles=wall) == [[0, 3, 6, 7, 8, 5, 2], [0, 3]]
    wall[7] = True
    assert grid.shortest_paths([(0, 2)], obstacles=wall) == [None] and grid.route(0, 2, obstacles=wall) is None
    assert grid.distances([(0, 8), (4, 4)]) == [4, 0]
    fields = grid.distance_fields([0, 8], obstacles=wall)
    assert [int(field[0, 2]) for field in fields] == [-1, 2]
    assert grid.shortest_path(4, 4) == [4]


def test_paths_that_memory_has_no_room_for_are_errors():
    line = xo.lattice.Lattice([1 << 40])
    assert line.distance(0, (1 << 40) - 1) == (1 << 40) - 1
    with pytest.raises(MemoryError, match="a path of 1099511627776 vertices takes 8796093022208 bytes"):
        line.shortest_path(0, (1 << 40) - 1)
    with pytest.raises(ValueError, match="a floating-point dtype is needed"):
        xo.embed.Table.write("never-written", [xo.asarray([[1, 2], [3, 4]])])


def test_scratch_memory_comes_back():
    rng = np.random.default_rng(5)
    memory = rng.integers(0, 256, 4096, dtype=np.uint8)
    before = memory.copy()
    scratch = xo.lattice.Scratch(memory)
    for op, at, other, length in rng.integers([0, 0, 2048, 1], [4, 1900, 3900, 65], (500, 4)):
        if op == 3:
            scratch.write(at, at + length)[:] = op
        else:
            getattr(scratch, ("xor", "add", "swap")[op])(at, at + length, other)
    assert not np.array_equal(memory, before)
    proof = scratch.finish()
    assert np.array_equal(memory, before) and (proof["bytes"], proof["operations"]) == (4096, 500)
    with pytest.raises(KeyError):
        with xo.lattice.Scratch(memory) as scratch:
            scratch.write(0, 4096)[:] = 0
            raise KeyError
    assert np.array_equal(memory, before)
    # What was lent is its owner's alone afterwards.
    full = bytearray(b"data")
    with xo.lattice.Scratch(full) as scratch:
        scratch.write(0, 2)[:] = 1
        assert scratch.bytes[0] == 1
    full.append(1)
    finished = xo.lattice.Scratch(full)
    finished.finish()
    full.extend(b"more")
    assert full == b"data\x01more"
    for use in (lambda: scratch.bytes, lambda: scratch.xor(0, 1, 2), lambda: finished.write(0, 1), finished.finish):
        with pytest.raises(ValueError, match="bytes were given back; borrow them anew"):
            use()
    scratch = xo.lattice.Scratch(bytearray(16))
    with pytest.raises(ValueError, match="xor: bytes 0..8 and 4..12 overlap"):
        scratch.xor(0, 8, 4)
    with pytest.raises(ValueError, match="do not lie within 16"):
        scratch.write(10, 17)
    with pytest.raises(ValueError, match="read-only"):
        xo.lattice.Scratch(b"constant")


def test_embedders_tell_their_settings(tmp_path):
    embedder = xo.embed.Embedder(10, 4, temperature=2.0, relative=1, precision="mixed_f16", seed=3)
    assert embedder.config["temperature"] == 2.0 and embedder.config["relative"] == 1 and embedder.config["precision"] == "mixed_f16"
    assert embedder.relative.shape == (3, 4) and xo.embed.Embedder(10, 4).relative is None
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(np.asarray(embedder.with_relative(rows).relative), rows)
    with pytest.raises(ValueError, match="rows are needed"):
        embedder.with_relative(rows[:2])
    old = xo.embed.Embedder(2, 2, table=[[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(np.asarray(old.recut([[0], [0, 1]]).table), [[1, 2], [2, 3]])
    with pytest.raises(IndexError, match="token 2"):
        old.recut([[2]])
    advice = old.advise(1 << 20, 16)
    assert advice["fixed"] + advice["batch"] * advice["per_sequence"] == advice["peak"] <= 1 << 20
    with pytest.raises(MemoryError):
        old.advise(1 << 30, 1 << 60)
    for wrong in ({"temperature": 1e-300}, {"relative": 1 << 62}):
        with pytest.raises(ValueError, match="is"):
            xo.embed.Embedder(10, 4, **wrong)
    path = tmp_path / "e.safetensors"
    old.save(path)
    damaged = bytearray(path.read_bytes())
    damaged[-3] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match="a bit has changed"):
        xo.embed.Embedder.load(path)
    table = tmp_path / "table"
    xo.embed.Table.write(table, [np.ones((3, 4), np.float32)])
    assert xo.embed.Table(table).dtype == xo.float32
