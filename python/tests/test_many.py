"""Many things at once: what fails does not take the rest with it, and threads compute where their caller does."""

import threading
import time
from itertools import count

import numpy as np
import pytest

import crossover as xo


def test_threads_compute_where_the_caller_does():
    def fails(n):
        try:
            float(xo.sum(xo.arange(n + 1) * 2))
        except Exception:
            return True
        return False

    with xo.device("cuda:99"):
        assert xo.par_iter(range(20)).map(fails).collect() == [True] * 20
        assert xo.par_iter(range(3)).run(fails)[0] == [True] * 3
        assert xo.par.spawn(fails, 3).join()
        assert xo.batch.Batch([xo.ones(2)]).execute_parallel([lambda x: fails(2)]) == [True]
    assert xo.par_iter(range(20)).map(fails).collect() == [False] * 20
    small = xo.config._native.build_runtime({"memory_budget": 1 << 16})

    def too_large(n):
        try:
            return bool(xo.sum(xo.asarray(np.ones(1_000_000)) + n) < 0)
        except MemoryError:
            return True

    with small:
        assert too_large(1) and xo.par_iter(range(5)).map(too_large).collect() == [True] * 5
    assert not xo.par.spawn(too_large, 1).join()


def test_watching_does_not_lose_results():
    def watch(done, total):
        raise OSError("no terminal")

    with pytest.warns(RuntimeWarning, match="progress failed after .* of 50 items: OSError"):
        results, told = xo.par_iter(range(50)).run(lambda n: n, progress=watch)
    assert results == list(range(50)) and told["succeeded"] == 50
    seen = []
    xo.par_iter(range(2000), workers=8).run(lambda n: n, progress=lambda done, total: seen.append(done))
    assert sorted(seen) == list(range(1, 2001))
    with pytest.raises(ValueError, match="retries is -1"):
        xo.par_iter([1]).run(int, retries=-1)
    assert xo.par_iter([]).run(int)[1]["throughput"] == 0.0
    with pytest.raises(ValueError, match="take of -1"):
        xo.par_iter([1]).take(-1)


def test_one_that_raises_stops_those_that_have_not_begun():
    begun = []

    def slow(n):
        begun.append(n)
        if n == 0:
            raise KeyError(n)
        time.sleep(0.001)

    with pytest.raises(KeyError):
        xo.par_iter(range(2000), workers=2).for_each(slow)
    assert len(begun) < 1000


def test_few_more_items_are_begun_than_are_taken():
    begun = []

    def noted(n):
        begun.append(n)
        return n

    assert xo.par_iter(count()).map(noted).take(5).collect() == [0, 1, 2, 3, 4]
    assert sorted(begun) == [0, 1, 2, 3, 4]
    begun.clear()
    assert xo.par_iter(count(), workers=2).map(noted).enumerate().skip(3).chunks(2).take(2).collect() == [[(3, 3), (4, 4)], [(5, 5), (6, 6)]]
    assert sorted(begun) == list(range(7))
    begun.clear()
    assert xo.par_iter(count(), workers=2).filter(lambda n: noted(n) % 2).map(noted).take(3).collect() == [1, 3, 5]
    assert len(begun) < 200
    assert xo.par_iter(count(), workers=2).flat_map(lambda n: [n] * n).take(3).collect() == [1, 2, 2]
    assert xo.par_iter(count()).zip(xo.par_iter(count(1)).map(noted)).take(2).collect() == [(0, 1), (1, 2)]
    rows = xo.par_iter(xo.asarray([float(n)]) for n in count())
    assert [float(x[0]) for x in rows.gpu_map(lambda x: x * 2).take(3)] == [0.0, 2.0, 4.0]
    # Results that come before an error are given, and the error after them.
    results = iter(xo.par_iter([4, 2, 0, 1]).map(lambda n: 8 // n).map(lambda n: n + 1))
    assert [next(results), next(results)] == [3, 5]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_conditions_are_looked_at_on_threads_and_end_early():
    meeting = threading.Barrier(2)

    def met(n):
        # Only two threads at once come past this.
        meeting.wait(10)
        return n == 1

    assert xo.par_iter(range(2), workers=2).any(met) and not xo.par_iter(range(2), workers=2).all(met)
    assert xo.par_iter(count(), workers=2).any(lambda n: n == 1000)
    assert not xo.par_iter(count(), workers=2).all(lambda n: n < 1000)
    with pytest.raises(TypeError):
        xo.par_iter([1, "two"]).all(lambda n: n + 1)


def test_lengths_do_not_depend_on_size():
    half = 0.5**0.5
    for dtype, sizes in {xo.float32: [1e-45, 1e-30, 1.0, 1e20, 3e38], xo.float64: [5e-324, 1e-200, 1e300], xo.bfloat16: [1e-30, 1e20]}.items():
        for size in sizes:
            found = xo.batch.Batch([xo.full((2,), size, dtype=dtype)] * 2).normalise()
            assert all(x.dtype == dtype and abs(float(x[0]) - half) < 0.01 for x in found), (dtype, size)
    assert xo.batch.Batch([xo.zeros(0)]).normalise()[0].shape == (0,)
    infinite = xo.batch.Batch([xo.asarray([float("inf"), 1.0])]).normalise()[0].tolist()
    assert infinite[0] != infinite[0] and infinite[1] == 0.0


def test_lengths_are_those_of_numbers_of_any_dtype():
    items = [xo.asarray([3j, 4.0]), xo.asarray([100, 0], dtype=xo.int8), xo.asarray([300.0, 400.0], dtype=xo.float16), xo.asarray([3.0, 4.0])]
    found = xo.batch.Batch([*items, xo.asarray([True, False])]).normalise()
    assert abs(complex(found[0][0]) - 0.6j) < 1e-15 and found[1].tolist() == [1.0, 0.0] and found[4].tolist() == [1.0, 0.0]
    assert found[2].dtype == xo.float16 and abs(float(found[2][0]) - 0.6) < 1e-3 and found[3].tolist() == [0.6, 0.8]


def test_maps_tell_what_failed():
    rows = [xo.ones(2), xo.ones(3), xo.ones(2)]
    results, told = xo.par_iter(rows).gpu_map(lambda x: xo.sum(x.reshape((1, 2)))).try_collect()
    assert float(results[0]) == float(results[2]) == 2.0 and isinstance(results[1], ValueError)
    assert (told["items"], told["succeeded"], told["failed"], told["batched"]) == (3, 2, 1, 2)
    assert 0 <= told["p50"] <= told["p95"] <= told["p99"] and told["throughput"] > 0
    assert xo.par_iter([]).gpu_map(lambda x: x).try_collect()[0] == []
    assert xo.par_iter(rows).gpu_map(lambda x: x * 2).map(float_of).collect() == [4.0, 6.0, 4.0]
    for made in (lambda: xo.par_iter(rows).gpu_map(abs, -1), lambda: xo.batch.Batch(rows, -1)):
        with pytest.raises(ValueError, match="max_batch_size is -1"):
            made()
    assert len(xo.batch.Batch(rows, 0).map(lambda x: x + 1)) == 3


def float_of(x):
    return float(xo.sum(x))


def test_tasks_may_wait_for_tasks():
    def tree(depth):
        if depth == 0:
            return 1
        with xo.par.scope() as scope:
            both = [scope.spawn(tree, depth - 1) for _ in range(2)]
        return sum(task.join() for task in both)

    assert xo.par.spawn(tree, 7).join() == 128
    done = []
    with pytest.raises(RuntimeError, match="body"):
        with xo.par.scope() as scope:
            tasks = [scope.spawn(lambda n=n: done.append(1 // (n - 3))) for n in range(10)]
            raise RuntimeError("body")
    assert all(task.is_finished() for task in tasks) and len(done) == 9
    with pytest.raises(ZeroDivisionError):
        tasks[3].join()
    assert tasks[4].join() is None


def test_numpys_items_have_results_of_numpys(rng):
    items = [rng.normal(size=n) for n in (3, 3, 4)]
    found = xo.par_iter(items).gpu_map(lambda x: x * 2).collect()
    assert all(type(one) is np.ndarray and one.flags.writeable and np.array_equal(one, 2 * item) for one, item in zip(found, items))
    sums = xo.par_iter(items).gpu_map(lambda x: xo.sum(x)).collect()
    assert all(isinstance(one, np.float64) and np.isclose(one, item.sum()) for one, item in zip(sums, items))
    ours = xo.asarray(items[0])
    mixed = xo.par_iter([ours, items[1], (items[0], ours)]).gpu_map(lambda x, *more: x + 1).collect()
    assert [type(one) for one in mixed] == [xo.Array, np.ndarray, xo.Array]
    results, _ = xo.par_iter(items).gpu_map(lambda x: x.reshape((3, 1))).try_collect()
    assert type(results[0]) is np.ndarray and isinstance(results[2], ValueError)


def test_items_of_a_map_fail_by_a_policy():
    rows = [xo.ones(2), xo.ones(3), xo.ones(4), xo.ones(2)]

    def fitting(x):
        return x.reshape((2, 1))

    results, told = xo.par_iter(rows).gpu_map(fitting, policy="fail_fast").try_collect()
    assert results[1].args and results[2] is None and told["skipped"] == 1 and told["failed"] == 1
    assert results[0].shape == results[3].shape == (2, 1)
    # The list in another order: what was skipped stands before what failed.
    mixed = [xo.ones((1, 2)), xo.ones(3), xo.ones((1, 2))]
    calls = []

    def once(x):
        calls.append(x.ndim)
        raise KeyError(x.ndim)

    results, told = xo.par_iter(mixed).gpu_map(once, policy="fail_fast", retries=2).try_collect()
    assert isinstance(results[0], KeyError) and results[1] is None and results[2] is None
    # Traced once, then tried three times.
    assert len(calls) == 4 and told["retries"] == 2
    with pytest.raises(KeyError):
        xo.par_iter(mixed).gpu_map(once, policy="fail_fast").collect()
    results, told = xo.par_iter(rows).gpu_map(fitting).try_collect()
    assert told["skipped"] == 0 and told["failed"] == 2 and isinstance(results[2], ValueError)
    for wrong in ({"policy": "stop"}, {"retries": -1}):
        with pytest.raises(ValueError):
            xo.par_iter(rows).gpu_map(fitting, **wrong)


def test_progress_of_a_map_is_told():
    seen = []
    rows = [xo.ones(3) for _ in range(6)] + [xo.ones(4)]
    xo.par_iter(rows).gpu_map(lambda x: x + 1, max_batch_size=2, progress=lambda done, total: seen.append((done, total))).collect()
    assert seen == [(2, 7), (4, 7), (6, 7), (7, 7)]

    def broken(done, total):
        raise OSError("no screen")

    with pytest.warns(RuntimeWarning, match="progress failed after [67] of 7"):
        out = xo.par_iter(rows).gpu_map(lambda x: x + 1, progress=broken).collect()
    assert len(out) == 7
