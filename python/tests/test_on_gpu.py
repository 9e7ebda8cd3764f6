"""What needs an NVIDIA GPU: memory shared with PyTorch and CuPy, and pressure. Counted as not run where there is none."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import crossover as xo

pytestmark = pytest.mark.skipif(xo.get_runtime().device_count == 0, reason="no NVIDIA GPU here")


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def cupy():
    return pytest.importorskip("cupy")


DTYPES = ["int8", "int64", "uint8", "float16", "float32", "float64", "complex64", "complex128", "bool"]


def on_gpu(values):
    return xo.asarray(values).to_device("cuda:0")


def test_tensors_go_both_ways_on_the_gpu(torch, rng):
    for dtype in DTYPES:
        theirs = torch.tensor((rng.random((3, 4)) * 9).astype(dtype), device="cuda")
        for view in (theirs, theirs.T, theirs[1:, ::2], theirs[:0]):
            ours = xo.from_dlpack(view)
            assert ours.device == "cuda:0" and np.array_equal(np.asarray(ours), view.cpu().numpy())
            back = torch.from_dlpack(ours)
            assert back.device.type == "cuda" and torch.equal(back, view)
    assert xo.from_dlpack(torch.ones(3, dtype=torch.bfloat16, device="cuda")).dtype == xo.bfloat16


def test_memory_handed_out_does_not_change(torch):
    x = on_gpu([1.0, 2.0])
    seen = torch.from_dlpack(x)
    x += 1
    assert seen.tolist() == [1.0, 2.0] and x.tolist() == [2.0, 3.0]
    assert x.__dlpack_device__() == (2, 0) or x.device == "cpu"
    with pytest.raises(ValueError, match="without a copy"):
        on_gpu([1.0]).__dlpack__(dl_device=(1, 0), copy=False)


def test_cupy_reads_arrays_by_cudas_interface(cupy, rng):
    values = rng.normal(size=(5, 6))
    x = on_gpu(values)
    described = x.__cuda_array_interface__
    assert described["version"] == 3 and described["data"][1] is True
    theirs = cupy.asarray(x)
    assert cupy.allclose(theirs, cupy.asarray(values)) and theirs.data.ptr == described["data"][0]
    x += 1
    assert np.allclose(cupy.asnumpy(theirs), values), "the memory stays as it was"
    assert np.allclose(cupy.asnumpy(cupy.asarray(on_gpu(values).T)), values.T)
    assert not hasattr(xo.ones(3), "__cuda_array_interface__")
    assert np.array_equal(np.asarray(xo.from_dlpack(cupy.arange(5))), np.arange(5))


def test_what_others_have_queued_is_waited_for(torch):
    stream = torch.cuda.Stream()
    for _ in range(20):
        with torch.cuda.stream(stream):
            x = torch.ones(4096, 4096, device="cuda")
            y = (x @ x) / 4096 + 1
            ours = xo.from_dlpack(y)
        assert float(xo.max(ours)) == 2.0 == float(xo.min(ours))
        back = torch.from_dlpack(ours * 2)
        with torch.cuda.stream(stream):
            total = (back @ back).max()
        del back
        xo.full((4096, 4096), 3.0, dtype="float32").to_device("cuda:0").eval()
        assert float(total) == 4096 * 16.0


def test_the_same_kind_comes_out(torch, cupy, rng):
    @xo.gpu
    def standardised(x):
        return (x - np.mean(x, axis=0)) / np.std(x, axis=0), np.sum(x)

    values = rng.normal(size=(50, 4))
    expected = (values - values.mean(0)) / values.std(0)
    there, total = standardised(torch.tensor(values, device="cuda", requires_grad=True))
    assert there.device.type == "cuda" and total.shape == () and np.allclose(there.cpu().numpy(), expected)
    there[0] = 0
    here, _ = standardised(torch.tensor(values))
    assert here.device.type == "cpu" and np.allclose(here.numpy(), expected)
    theirs, _ = standardised(cupy.asarray(values))
    assert isinstance(theirs, cupy.ndarray) and np.allclose(cupy.asnumpy(theirs), expected)
    assert isinstance(standardised(values)[0], np.ndarray)


def test_a_device_that_there_is_not_is_an_error():
    @xo.gpu(device=xo.get_runtime().device_count)
    def twice(x):
        return x * 2

    with pytest.raises(xo.exceptions.DeviceError):
        twice(np.ones(3))


def test_kernels_of_the_users_run_there(rng):
    @xo.gpu_kernel("out = a * x + y")
    def axpy(a, x, y):
        raise AssertionError("the GPU computes")

    x, y = rng.normal(size=1000), rng.normal(size=1000)
    with xo.device("cuda"):
        made = axpy(2.0, xo.asarray(x), xo.asarray(y)).eval()
    assert np.array_equal(np.asarray(made), 2.0 * x + y)


def test_pressure_is_told():
    told = []
    runtime = xo.Config.builder().memory_limit(1 << 30).build().runtime()
    with runtime, xo.memory.on_pressure(lambda device, event: told.append((str(device), event))):
        held = [xo.full((25 << 20,), float(n), dtype="float32").to_device("cuda:0") for n in range(9)]
        xo.exp(held[0]).to_device("cuda:0")
    assert told and told[0][0] == "cuda:0" and told[0][1]["usage"] >= 0.7


LONG = """
import signal, time
import crossover as xo
signal.signal(signal.SIGINT, signal.default_int_handler)
x = xo.full((12000, 12000), 1e-5).to_device("cuda:0")
for _ in range(200):
    x = x @ x
print("ready", flush=True)
start = time.monotonic()
try:
    float(x[0, 0])
except KeyboardInterrupt:
    print(time.monotonic() - start, flush=True)
"""


def test_a_long_call_on_the_gpu_is_interrupted_by_ctrl_c():
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", LONG], stdout=pipe, stderr=pipe, text=True) as child:
        try:
            assert child.stdout.readline() == "ready\n"
            time.sleep(2.0)
            child.send_signal(signal.SIGINT)
            said, wrong = child.communicate(timeout=100)
        finally:
            child.kill()
    assert child.returncode == 0 and float(said) < 6.0, (said, wrong)
