"""A little of every public module, as typed code uses it: type checkers pass it, and it runs."""

import tempfile
from typing import List, Tuple

import numpy as np

import crossover as xo


def arrays() -> Tuple[xo.Array, float]:
    x: xo.Array = xo.reshape(xo.arange(6, dtype=xo.float64), (2, 3))
    x[0] = 1.0
    x += x.T.T
    y: xo.ndarray = xo.concat([x, -x], axis=0)
    shape: Tuple[int, ...] = y.shape
    rows: List[xo.Array] = [row for row in y]
    found: xo.Array = xo.where(y > 0, y, xo.abs(y)).astype(xo.float32)
    kind: xo.dtype = xo.result_type(found, xo.float64)
    place: xo.device = y.to_device("cpu").device
    assert len(rows) == shape[0] and kind == xo.float64 and place.type == "cpu" and bool(xo.all(y == y))
    assert y.__array__().shape == y.__dlpack_device__() + (3,) or isinstance(np.asarray(y), np.ndarray)
    assert xo.from_dlpack(y).dtype == np.from_dlpack(y).dtype and y.__dlpack__() is not None
    assert xo.unique_counts(xo.asarray([1, 1])).counts.tolist() == [2] and xo.finfo(xo.float32).bits == 32 and xo.iinfo("int8").max == 127
    assert xo.__array_namespace_info__().default_dtypes()["integral"] == xo.int64 and y.__array_namespace__() is xo
    return y, float(xo.mean(y)) + y.flat[0] + y.strides[0]


def chapters() -> None:
    x = xo.asarray([[2.0, 0.0], [0.0, 4.0]])
    values: xo.Array = xo.linalg.eigh(x).eigenvalues
    sign, logarithm = xo.linalg.slogdet(x)
    assert isinstance(xo.linalg.svd(x).Vh, xo.Array) and values.shape == (2,) and float(sign) == 1.0 and float(logarithm) > 2
    spectrum: xo.Array = xo.fft.ifft(xo.fft.fft(x, axis=0), axis=0)
    rng: xo.random.Generator = xo.random.default_rng(0)
    first, second = xo.random.Key(7).split()
    smooth: xo.Array = xo.signal.convolve(spectrum, xo.ones((1, 3), dtype=xo.complex128), "same", boundary="mirror")
    assert smooth.shape == spectrum.shape == rng.normal(size=(2, 2)).shape and first.fold(1) is not second
    try:
        xo.linalg.inv(xo.zeros((2, 2)))
    except xo.exceptions.LinAlgError:
        pass


def settings() -> None:
    config: xo.Config = xo.Config.builder().threads(1).fusion(False).build()
    assert isinstance(xo.config.Config.builder(), xo.config.ConfigBuilder)
    with config as own:
        assert own.device_count == xo.get_runtime().device_count
    with config.runtime() as runtime, xo.device("cpu"):
        count: int = runtime.device_count
        text: str = xo.explain(xo.exp(xo.ones(3)))
    accelerators = xo.get_runtime().gpu
    if accelerators is not None:
        print(accelerators.get_memory_stats()["used_mb"])
    level: int = xo.events.set_level("warning")
    free: bool = xo.memory.can_allocate(1000)
    with xo.memory.on_pressure(print) as watch:
        watch.close()
    assert count == 0 or free, (text, level, xo.memory.stats()["cpu"]["live"])
    assert xo.ray.batch_rows(rows=100, row_bytes=8, workers=1, free=10**6) == 25 and callable(xo.ray.map_batches)


@xo.gpu
def energy(x: np.ndarray) -> float:
    return float(np.sqrt(np.sum(x * x)))


@xo.profile("step")
def step(x: xo.Array) -> xo.Array:
    return x + 1


def many() -> None:
    doubled: list = xo.par_iter([xo.ones(2), xo.ones(2)]).gpu_map(lambda x: x * 2).collect()
    task: xo.par.Task = xo.par.spawn(sum, [1, 2])
    batch: xo.batch.Batch = xo.batch.create_batch([[1.0, 2.0]])
    assert len(doubled) == 2 and task.join() == 3 and len(batch.map(xo.sum)) == 1 and energy(np.ones(4)) == 2.0
    with xo.profile("block") as seen:
        step(xo.ones(3)).eval()
    summary: str = seen.summary()
    assert summary.startswith("block") and len(seen.bottlenecks(top_n=1)) <= 1


def models() -> None:
    space: xo.hrr.Space = xo.hrr.Space("hrr", d=256)
    words = xo.hrr.ItemMemory(space)
    words.add(["dog", "man"])
    words.save(tempfile.mkdtemp())
    grid: xo.lattice.Lattice = xo.lattice.cube(2, 5)
    steps: int = grid.distance(0, 24)
    embedder: xo.embed.Embedder = xo.embed.EmbedConfig(100, 8).embedder()
    layer: xo.nn.Layer = xo.nn.Sequential(xo.nn.Linear(8, 4), xo.nn.LayerNorm(4))
    out: xo.Array = layer(embedder(xo.asarray([[1, 2, 3]])))
    assert steps == 8 and out.shape == (1, 3, 4) and xo.nn.softmax(out).shape == out.shape


if __name__ == "__main__":
    arrays()
    chapters()
    settings()
    many()
    models()
