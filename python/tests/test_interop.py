"""Neighbours: DLPack, NumPy's protocols, threads."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import crossover as xo


def test_dlpack_both_ways(rng):
    for dtype in ("i2", "u8", "f4", "f8", "c16", "bool"):
        theirs = (rng.random((3, 4)) * 9).astype(dtype)
        for view in (theirs, theirs.T, theirs[::-1, 1::2], theirs[:0]):
            if view.flags.writeable and dtype != "bool":
                assert np.array_equal(np.asarray(xo.from_dlpack(view)), view)
        ours = xo.asarray(theirs)
        assert np.array_equal(np.from_dlpack(ours), theirs)
        assert np.array_equal(np.from_dlpack(ours.T), theirs.T)
    assert xo.ones(2).__dlpack_device__() == (1, 0)


class Legacy:
    """A producer that knows no versions."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack_hands_out_memory_that_does_not_change():
    x = xo.asarray([1.0, 2.0])
    shared = np.from_dlpack(x)
    x += 1
    assert shared.tolist() == [1.0, 2.0] and not shared.flags.writeable
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, xo.get_runtime().device_count))
    assert np.from_dlpack(Legacy(x)).tolist() == [2.0, 3.0]
    assert xo.from_dlpack(Legacy(x)).tolist() == [2.0, 3.0]
    x.__dlpack__()  # nobody consumes it: freed with the capsule


def test_numpy_ufuncs_and_functions_stay_with_us():
    x = xo.asarray([1.0, 4.0, 9.0])
    for made in (
        np.sqrt(x), np.add(x, 1), np.ones(3) + x, np.ones((2, 3)) @ x, np.mean(x), np.where(x > 2, x, 0), np.concatenate([x, x]),
        np.linalg.norm(x), np.fft.fft(x), np.add.reduce(x), np.einsum("i,i->", x, x), np.sum(x, axis=0), np.clip(x, 2, 5),
    ):
        assert isinstance(made, xo.Array)
    before = len(xo.fallbacks())
    assert isinstance(np.cov(xo.ones((2, 5))), (xo.Array, float))
    found = xo.fallbacks()
    assert len(found) == before + 1
    assert any(name == "cov" and file == __file__ for name, file, _ in found)


def test_numpy_arrays_are_written_through_out():
    x, target = xo.asarray([1.0, 2.0]), np.zeros(2)
    target += x
    assert isinstance(target, np.ndarray) and target.tolist() == [1.0, 2.0]
    np.exp(x, out=target)
    assert np.allclose(target, np.exp([1.0, 2.0]))


def test_other_threads_run_while_we_compute():
    counted, stop = 0, threading.Event()

    def count():
        nonlocal counted
        while not stop.is_set():
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    x = xo.random.Generator(xo.random.Key(1)).normal(size=(400, 400))
    before = counted
    for _ in range(5):
        (x @ x).eval()
    stop.set()
    thread.join()
    assert counted > before


LOOP = """
import signal
import crossover as xo
# A program that was started in the background may have inherited that it ignores interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)
x = xo.ones((300, 300)).eval()
print("ready", flush=True)
while True:
    (x @ x).eval()
"""


CALL = """
import signal, time
import crossover as xo
signal.signal(signal.SIGINT, signal.default_int_handler)
x, y = xo.full((1500, 1500), 1e-3).eval(), xo.zeros(3)
for _ in range(200):
    x = xo.tanh(x @ x)
print("ready", flush=True)
start = time.monotonic()
try:
    {call}
except KeyboardInterrupt:
    print(time.monotonic() - start, y.tolist(), flush=True)
    # Nothing is lost: what was interrupted is pending as before, and others can be computed.
    assert float(xo.sum(xo.ones(4))) == 4.0
"""


@pytest.mark.parametrize("call", ["x.eval()", "float(x.sum())", "y[:1] = x[0, :1]", "x.tolist()", "[x := x @ x for _ in range(400)]"])
def test_one_long_call_is_interrupted_by_ctrl_c(call):
    program, slowly = CALL.format(call=call), {**os.environ, "CROSSOVER_DEVICE": "cpu"}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", program], stdout=pipe, stderr=pipe, text=True, env=slowly) as child:
        try:
            assert child.stdout.readline() == "ready\n"
            # Far into a call that takes minutes.
            time.sleep(1.0)
            child.send_signal(signal.SIGINT)
            said, wrong = child.communicate(timeout=60)
        finally:
            child.kill()
    assert child.returncode == 0, wrong
    took, unchanged = said.split(maxsplit=1)
    assert float(took) < 5.0 and unchanged == "[0.0, 0.0, 0.0]\n", said


def test_loops_are_interrupted_by_ctrl_c():
    with subprocess.Popen([sys.executable, "-c", LOOP], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "ready\n"
            child.send_signal(signal.SIGINT)
            said = child.communicate(timeout=60)[1]
        finally:
            child.kill()
    assert child.returncode != 0 and "KeyboardInterrupt" in said


def test_devices_and_runtimes_are_scopes():
    assert xo.ones(3).device == "cpu"
    with xo.device("cpu") as device:
        assert device.type == "cpu" and float(xo.sum(xo.ones(4))) == 4.0
    with pytest.raises(xo.exceptions.DeviceError):
        with xo.device("cuda:99"):
            xo.exp(xo.ones(3)).eval()
    runtime = xo.Config.builder().threads(1).device("cpu").build().runtime()
    with runtime:
        xo.exp(xo.ones(3)).eval()
    assert runtime.stats()["launches"] == 1
    assert ("threads", "1", "the program") in runtime.settings()
    with pytest.raises(ValueError, match="no setting"):
        xo.Config(wheels=4).runtime()


def test_memory_is_told():
    x = xo.ones(100_000).eval()
    assert sum(device["live"] for device in xo.memory.stats().values()) >= x.nbytes
    assert xo.memory.peak() >= x.nbytes and xo.memory.can_allocate(8)
    xo.memory.trim()


def test_plans_are_explained():
    assert xo.explain(xo.exp(xo.ones(3)) * 2).startswith("plan: 1 kernel")


def test_profiles_tell_where_the_time_went(tmp_path):
    @xo.profile
    def work(n):
        return float(xo.sum(xo.exp(xo.linspace(0, 1, n))))

    with pytest.raises(RuntimeError, match="nothing is recorded"):
        work.summary()
    assert work(100_000) > 1.0 and work.__name__ == "work"
    assert "CPU kernels" in work.summary()
    [first, *_] = work.bottlenecks(top_n=2)
    assert first["device"] == "cpu" and first["launches"] >= 1 and 0 < first["share"] <= 1
    work.export_json(tmp_path / "trace.json")
    work.html(tmp_path / "trace.html")
    assert (tmp_path / "trace.json").read_text().startswith("{")
    assert work.html().lower().startswith("<!doctype html>")

    @xo.profile("every launch", everything=True)
    def again():
        return float(xo.sum(xo.ones(1000)))

    assert again() == 1000.0 and again.name == "every launch" and again.summary().startswith("every launch: ")


def test_copies_that_are_refused_are_not_made():
    x = xo.asarray([1.0, 2.0])
    assert np.asarray(x, dtype=np.float64, copy=False).tolist() == [1.0, 2.0]
    assert np.shares_memory(x.__array__(np.float64, copy=False), x.__array__())
    for dtype in (np.float32, "int64"):
        with pytest.raises(ValueError, match="copy=False"):
            x.__array__(dtype, copy=False)
    assert x.__array__(np.float32).dtype == x.__array__(np.float32, copy=True).dtype == np.float32
