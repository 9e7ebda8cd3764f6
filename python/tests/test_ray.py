"""Batches on Ray. Ray is large, so these run where it is installed: `cargo xtask python --ray` makes an environment that has it."""

import os
import signal

import numpy as np
import pytest

import crossover as xo

ray = pytest.importorskip("ray", reason="Ray is not installed here; cargo xtask python --ray has it")


@pytest.fixture(scope="module")
def cluster():
    """Two workers of this machine."""
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20)
    yield
    ray.shutdown()


def test_results_come_in_order(cluster, rng):
    def standardised(batch):
        x = xo.asarray(batch)
        return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)

    x = rng.normal(size=(103, 20))
    result = xo.ray.map_batches(standardised, x)
    assert result.shape == x.shape
    assert np.allclose(result, (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True))
    assert xo.ray.map_batches(lambda batch: [n * n for n in batch], list(range(10)), batch_size=3) == [n * n for n in range(10)]
    assert xo.ray.map_batches(lambda batch: batch + 1, xo.ones((0, 3))).shape == (0, 3)


def test_a_worker_killed_in_the_middle_costs_a_retry_and_no_result(cluster, tmp_path):
    marker = str(tmp_path / "killed")

    def fragile(batch):
        if batch[0] == 40 and not os.path.exists(marker):
            open(marker, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return batch * 2

    x = np.arange(100)
    assert np.array_equal(xo.ray.map_batches(fragile, x, batch_size=10), x * 2)
    assert os.path.exists(marker)


def test_exceptions_of_the_function_are_raised_here(cluster):
    def wrong(batch):
        raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        xo.ray.map_batches(wrong, np.arange(4), batch_size=2)
    with pytest.raises(ValueError, match="number of rows"):
        xo.ray.map_batches(wrong, np.arange(4), batch_size="some")
