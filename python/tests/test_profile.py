"""Recordings of functions as programs use them: recursive, methods, in several threads, and misused."""

import json
import threading

import numpy as np
import pytest

import crossover as xo


def work(n=1000):
    return float(xo.sum(xo.exp(xo.linspace(0, 1, n))))


def test_a_recorded_function_may_call_itself():
    @xo.profile
    def descend(depth):
        return work() + (descend(depth - 1) if depth > 0 else 0)

    assert descend(5) == pytest.approx(6 * work())
    # One recording, of the call that was not inside another.
    assert sum(kernel["launches"] for kernel in descend.bottlenecks(top_n=99)) >= 6
    first = descend.trace
    descend(0)
    assert descend.trace is not first, "each outer call is recorded anew"


def test_recorded_functions_call_each_other():
    @xo.profile
    def even(n):
        return n == 0 or odd(n - 1)

    @xo.profile("odd ones")
    def odd(n):
        return n != 0 and even(n - 1)

    assert even(6) and not even(5)
    assert even.summary().split(": ")[0].endswith("even") and odd.summary().startswith("odd ones: ")


def test_methods_of_every_kind_are_recorded():
    class Model:
        scale = 2

        @xo.profile
        def step(self, n):
            return self.scale * work(n)

        @xo.profile("named")
        def named(self):
            return self.step(1000)

        @classmethod
        @xo.profile
        def of_class(cls, n):
            return cls.scale * work(n)

        @staticmethod
        @xo.profile
        def of_nobody(n):
            return work(n)

        @property
        @xo.profile
        def value(self):
            return self.scale * work()

    model, expected = Model(), work(1000)
    assert model.step(1000) == model.named() == model.value == 2 * expected
    assert Model.of_class(1000) == model.of_class(n=1000) == 2 * expected
    assert Model.of_nobody(1000) == model.of_nobody(1000) == expected
    assert model.step.summary() == Model.step.summary() and "Model.step" in model.step.summary()
    assert Model.step(model, 1000) == 2 * expected and Model.step.__name__ == "step"
    assert model.named.bottlenecks()


def test_threads_record_at_once():
    everyone_is_in = threading.Barrier(4)

    @xo.profile
    def together(n):
        everyone_is_in.wait(timeout=60)
        total = work(n)
        everyone_is_in.wait(timeout=60)
        return total

    found, traces = {}, []

    def run(n):
        found[n] = together(n)
        traces.append(together.trace)

    threads = [threading.Thread(target=run, args=(n,)) for n in (1000, 2000, 3000, 4000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {n: work(n) for n in found} == found and len(found) == 4
    assert all(trace.seconds > 0 for trace in traces) and together.bottlenecks()


def test_a_with_block_may_be_entered_again():
    seen = xo.profile("again")
    with seen:
        work()
        with seen:
            pass
        inner = seen.trace
        work()
    assert seen.trace is not inner and seen.bottlenecks()
    with pytest.raises(ValueError, match="mine"), seen:
        raise ValueError("mine")
    assert seen.trace.seconds >= 0
    with pytest.raises(RuntimeError, match="records nothing"):
        seen.__exit__(None, None, None)


def test_a_function_that_fails_is_recorded_and_can_be_called_again():
    @xo.profile
    def fails(times):
        work()
        if times > 0:
            fails(times - 1)
        raise KeyError(times)

    for _ in range(2):
        with pytest.raises(KeyError):
            fails(3)
    assert fails.bottlenecks()


def test_what_cannot_be_recorded_says_so():
    with pytest.raises(TypeError, match="runs in pieces"):

        @xo.profile
        async def later():
            pass

    with pytest.raises(TypeError, match="runs in pieces"):

        @xo.profile("walk")
        def walk():
            yield 1

    with pytest.raises(TypeError, match="a name or a function, and was given 3"):
        xo.profile(3)
    with pytest.raises(TypeError, match="put on a function"):
        xo.profile("demo")()
    with pytest.raises(TypeError, match="put on a function"):
        xo.profile("demo")(np.ones(3))


def test_parts_have_names_and_nested_recordings_are_parts():
    @xo.profile
    def descend(depth):
        return work() + (descend(depth - 1) if depth > 0 else 0)

    with xo.profile("outer") as outer:
        with xo.profile.scope("forward"):
            work()
        with xo.profile("inner") as inner:
            with xo.profile.scope("deep"):
                work()
        descend(2)
    stacks = [line.rsplit(" ", 1)[0].split(";") for line in outer.trace.to_folded().splitlines()]
    assert any("forward" in stack for stack in stacks)
    assert any(stack[stack.index("inner"):][:2] == ["inner", "deep"] for stack in stacks if "inner" in stack)
    name = descend.name
    assert max(stack.count(name) for stack in stacks) == 3, "each call is a part"
    inside = inner.trace.to_folded()
    assert "deep" in inside and "forward" not in inside and ";inner" not in inside
    scope = xo.profile.scope("nobody records")
    with scope, scope:
        work()
    with pytest.raises(TypeError):
        xo.profile.scope(3)


def test_exports_are_those_of_the_library(tmp_path):
    with xo.profile("exported") as seen:
        with xo.profile.scope("part"):
            work(100_000)
    for form in ("json", "chrome", "speedscope", "folded", "prometheus"):
        getattr(seen, f"export_{form}")(tmp_path / form)
    text = lambda form: (tmp_path / form).read_text(encoding="utf-8")  # noqa: E731
    events = json.loads(text("chrome"))["traceEvents"]
    assert any(event["name"] == "part" and event["ph"] == "X" for event in events)
    assert json.loads(text("speedscope"))["$schema"].endswith("file-format-schema.json")
    assert all(line.rsplit(" ", 1)[1].isdigit() for line in text("folded").splitlines()) and ";part" in text("folded")
    assert 'crossover_trace_seconds{session="exported",part="CPU kernels"}' in text("prometheus")
    assert json.loads(text("json"))["name"] == "exported"
    with pytest.raises(RuntimeError, match="nothing is recorded"):
        xo.profile("never").export_chrome(tmp_path / "never")


def test_bottlenecks_say_what_was_achieved():
    with xo.profile("figures") as seen:
        (xo.arange(1_000_000) ^ 77).eval()
    [first, *_] = seen.bottlenecks()
    assert "bitwise_xor(" in first["computes"] and first["bytes_per_second"] > 0
    assert first["roof"] is None or first["roof"] > 0
