"""Traces as a profiling session would write them, from a seed: a small model trained on a machine with one GPU.

The host and two streams are simulated: a kernel starts when it was queued, its stream is free and its data is there. So
copies overlap kernels, the host runs ahead and waits, and the breakdown is computed from the spans as docs/trace-format.md
defines it. Times of kernels come from their bytes and operations, the roofs of the machine and noise.

    python generate.py --spans 100000 --seed 1 -o trace.json
"""

import argparse
import json
import random
from pathlib import Path

MIB = 1 << 20
GPU_BANDWIDTH, GPU_F32 = 4.1e12, 5.0e13
CPU_BANDWIDTH, CPU_F32, CPU_F64 = 3.0e10, 2.1e11, 1.0e11
PINNED = 5.5e10

# name, form, text, elements read, elements written, operations, dtype
KERNELS = [
    ("matmul", "call", "a @ b  1024x512 by 512x2048", 1.6e6, 2.1e6, 2.1e9, "f32"),
    ("add+gelu", "map", "gelu(x + bias)", 8.4e6, 8.4e6, 1.3e8, "f32"),
    ("mean+subtract+square+mean+rsqrt", "row", "layer_norm(x) over 1024", 4.2e6, 4.2e6, 3.4e7, "f32"),
    ("max+subtract+exp+sum+divide", "row", "softmax(x) over 1024", 4.2e6, 4.2e6, 4.2e7, "f32"),
    ("attention", "custom", "attention(q, k, v)  16 heads of 64", 3.1e6, 1.0e6, 4.3e9, "f32"),
    ("sum", "column", "sum(x, axis=0)", 8.4e6, 4096, 8.4e6, "f32"),
    ("multiply+add", "map", "w - rate * g", 8.4e6, 4.2e6, 8.4e6, "f32"),
    ("multiply+add+sqrt+divide", "map", "adam(w, g, m, v)", 16.8e6, 12.6e6, 4.6e7, "f32"),
    ("gather", "call", "embedding[tokens]", 2.1e6, 2.1e6, 0, "f32"),
    ("mean", "column", "mean(loss)", 4096, 1, 4096, "f32"),
    ("cumulative_sum", "row", "cumulative_sum(x)", 8192, 8192, 8192, "f64"),
    ("sort", "call", "sort(x)  8192", 8192, 8192, 1.1e5, "f64"),
]
# Bound by products, and what has other limits than bytes and products.
PRODUCTS, NO_ROOF = {"matmul", "attention"}, {"gather", "cumulative_sum", "sort"}
ON_GPU = "faster there: its data is there already"
ON_CPU = "too small: the launch costs more than the work"
NO_CHOICE = "pinned by the caller"


class Recorder:
    """The columns of a trace, and the clocks of a host and two streams."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.strings, self.index = [], {}
        self.spans, self.launches, self.transfers, self.samples, self.events = [], [], [], [], []
        self.now = 0
        self.free = {1: 0, 2: 0}

    def name(self, text):
        if text not in self.index:
            self.index[text] = len(self.strings)
            self.strings.append(text)
        return self.index[text]

    def pause(self, least, most):
        self.now += round(self.random.uniform(least, most))

    def span(self, kind, name, parent, track=0, start=None, duration=0, kernel=-1, launch=-1, size=0):
        """Adds a span and gives its identity; rows are numbered when all are known."""
        begin = self.now if start is None else start
        self.spans.append([track, kind, self.name(name), begin, duration, parent, kernel, launch, size])
        return len(self.spans) - 1

    def close(self, identity):
        self.spans[identity][4] = self.now - self.spans[identity][3]

    def kernel(self, number, parent, after=0):
        """Queues one kernel on the device where it is predicted to be faster. Gives its end."""
        name, _, _, read, written, flops, dtype = KERNELS[number]
        width = 8 if dtype == "f64" else 4
        size = (read + written) * width
        peak = CPU_F64 if dtype == "f64" else CPU_F32
        cpu = 400 + 1e9 * max(size / CPU_BANDWIDTH, flops / peak)
        gpu = 6000 + 1e9 * max(size / GPU_BANDWIDTH, flops / GPU_F32)
        noise = self.random.lognormvariate(0.12, 0.09)
        launch = len(self.launches)
        decided = self.random.random() > 0.02
        reason = (ON_GPU if gpu < cpu else ON_CPU) if decided else NO_CHOICE
        predicted = [round(cpu), round(gpu)] if decided else []
        queued = self.now
        if gpu < cpu:
            self.pause(3200, 4800)
            start = max(self.now, self.free[1], after)
            duration = max(1800, round((gpu - 5200) * noise))
            self.free[1] = start + duration
            self.span("k", name, parent, 1, start, duration, number, launch, round(size))
        else:
            duration = round(cpu * noise)
            self.span("k", name, parent, 0, None, duration, number, launch, round(size))
            self.now += duration
        self.launches.append([number, 1 if gpu < cpu else 0, queued, self.name(reason), predicted, 0, parent, number, [0, 0] if decided else []])
        return self.free[1]

    def copy(self, what, size, parent, back=False):
        start = max(self.now, self.free[2])
        duration = round(4000 + 1e9 * size / (PINNED * self.random.uniform(0.82, 0.99)))
        self.free[2] = start + duration
        span = self.span("t", what, parent, 2, start, duration, size=size)
        self.transfers.append([span, 1 if back else 0, 0 if back else 1])
        return self.free[2]

    def wait(self, until, parent):
        if until > self.now:
            self.span("w", "wait for the GPU", parent, 0, None, until - self.now)
            self.now = until

    def sample(self, live, cached, others, budget):
        used = (live + cached + others) / budget
        level = 3 if used >= 0.95 else 2 if used >= 0.85 else 1 if used >= 0.7 else 0
        if self.samples and self.samples[-1][6] != level:
            names = ["normal", "elevated", "high", "critical"]
            self.events.append([self.now, "pressure", f"{names[self.samples[-1][6]]} to {names[level]}"])
        self.samples.append([self.now, 1, live, cached, others, budget, level])


def train(recorder, spans, slow):
    """Training steps until there are so many spans. `slow` > 1 makes attention take longer: a regression to find."""
    if slow != 1:
        name, form, text, read, written, flops, dtype = KERNELS[4]
        KERNELS[4] = (name, form, text, read, written, flops * slow, dtype)
    budget = 141 * (1 << 30)
    load = recorder.span("s", "load", -1)
    recorder.pause(2e5, 3e5)
    evaluation = recorder.span("e", "evaluate", load)
    for number in range(4):
        compiling = recorder.span("c", f"compile {KERNELS[number + 1][0]}", evaluation)
        recorder.pause(3e5, 9e5)
        recorder.close(compiling)
    for what, size in [("weights", 96 * MIB), ("embedding", 64 * MIB)]:
        recorder.copy(what, size, evaluation)
    recorder.wait(recorder.free[2], evaluation)
    recorder.close(evaluation)
    recorder.close(load)
    live, cached, step = 20 * (1 << 30), 2 * (1 << 30), 0
    growth = round(1.6 * budget / (spans / 36))
    while len(recorder.spans) < spans:
        step += 1
        outer = recorder.span("s", "train step", -1)
        recorder.pause(14000, 39000)
        ready = 0
        for scope, kernels in [
            ("forward", [8, 2, 0, 1, 2, 0, 4, 3, 0, 1]),
            ("backward", [0, 0, 5, 1, 3, 4, 0, 2, 5]),
            ("update", [6, 7, 7, 6]),
        ]:
            inner = recorder.span("s", scope, outer)
            recorder.pause(1500, 4000)
            evaluation = recorder.span("e", "evaluate", inner)
            planning = recorder.span("p", "plan", evaluation)
            recorder.pause(20000, 60000)
            recorder.close(planning)
            if scope == "forward":
                ready = recorder.copy("batch", 3 * MIB, evaluation)
            for number in kernels:
                ready = recorder.kernel(number, evaluation, ready)
            recorder.close(evaluation)
            recorder.close(inner)
        live = max(1 << 30, live + round(growth * recorder.random.uniform(-0.6, 1.6)))
        if live + cached > 0.93 * budget:
            recorder.events.append([recorder.now, "spill", "4.3 GB of optimiser state moved to the host"])
            live = round(live * 0.6)
        cached = min((budget - live) // 2, max(1 << 28, cached + round(growth * recorder.random.uniform(-0.8, 0.84))))
        recorder.sample(live, cached, 3 * (1 << 30), budget)
        if step % 4 == 0:
            metrics = recorder.span("s", "metrics", outer)
            evaluation = recorder.span("e", "evaluate", metrics)
            ready = recorder.kernel(9, evaluation, ready)
            ready = recorder.copy("loss", 4096, evaluation, back=True)
            recorder.wait(max(ready, recorder.free[1]), evaluation)
            for number in (10, 11):
                recorder.kernel(number, evaluation)
            recorder.close(evaluation)
            recorder.close(metrics)
        recorder.wait(recorder.free[1] - 120_000, outer)
        recorder.close(outer)
        recorder.pause(2000, 190000)
    recorder.now = max(recorder.now, *recorder.free.values()) + 20_000


def breakdown(spans, wall):
    """The definition of docs/trace-format.md: at each moment the first of the classes that is at work."""
    order = ["cpu_ns", "gpu_ns", "transfer_ns", "compile_ns", "overhead_ns"]

    def of(span):
        if span[1] == "k":
            return 0 if span[0] == 0 else 1
        return {"t": 2, "c": 3, "e": 4, "p": 4, "w": 4}.get(span[1])

    edges = sorted(
        edge
        for span in spans
        if of(span) is not None
        for edge in ((span[3], 1, of(span)), (span[3] + span[4], -1, of(span)))
    )
    total, open_, last = dict.fromkeys([*order, "rest_ns"], 0), [0] * 5, 0
    for time, change, which in edges:
        running = next((name for name, count in zip(order, open_) if count), "rest_ns")
        total[running] += time - last
        open_[which] += change
        last = time
    total["rest_ns"] += wall - last
    return total


def columns(names, rows):
    return {name: [row[index] for row in rows] for index, name in enumerate(names)}


def advice(trace, spans):
    """The heaviest kernel, and the time during which nothing of ours ran."""
    totals = {}
    for span in spans:
        if span[1] == "k":
            totals[span[6]] = totals.get(span[6], 0) + span[4]
    heavy = max(totals, key=totals.get)
    wall, rest = trace["wall_ns"], trace["breakdown"]["overhead_ns"]
    name = KERNELS[heavy][0]
    return [
        {
            "share": round(totals[heavy] / wall, 4),
            "title": f"{name} takes most of the time",
            "evidence": f"{name} ran for {totals[heavy] / 1e6:.1f} ms of {wall / 1e6:.1f} ms.",
            "suggestion": "Try bf16 inputs: half the bytes, and the tensor cores.",
            "kernel": heavy,
        },
        {
            "share": round(rest / wall, 4),
            "title": "The host waits for the loss every fourth step",
            "evidence": f"Planning and waiting take {rest / 1e6:.1f} ms while no kernel runs.",
            "suggestion": "Read the loss of the step before instead: it is ready then.",
            "kernel": -1,
        },
    ]


def trace(spans=2000, seed=1, slow=1.0, name="train step"):
    """One trace as an object."""
    recorder = Recorder(seed)
    kept = KERNELS[4]
    try:
        train(recorder, spans, slow)
        kernels = list(KERNELS)
    finally:
        KERNELS[4] = kept
    order = sorted(range(len(recorder.spans)), key=lambda row: (recorder.spans[row][3], row))
    place = {old: new for new, old in enumerate(order)}
    rows = []
    for old in order:
        row = list(recorder.spans[old])
        row[5] = place.get(row[5], -1)
        rows.append(row)
    wide = {"f32": 4, "f64": 8}
    table = [
        [recorder.name(n), recorder.name(form), recorder.name(text), round(r * wide[d]), round(w * wide[d]), round(f), recorder.name(d),
         round(f) if n in PRODUCTS else 0, int(n not in NO_ROOF)]
        for n, form, text, r, w, f, d in kernels
    ]
    line = recorder.name("train.py:42")
    # The evaluations of a scope repeat their plan.
    plans = {}
    for launch in recorder.launches:
        scope = recorder.spans[recorder.spans[launch[6]][5]][2]
        launch[6] = plans.setdefault(scope, len(plans))
    result = {
        "format": "crossover-trace", "version": 1, "name": name, "created": "2026-11-15T20:00:00Z",
        "crossover": "0.1.0", "command": "target/release/train --quick",
        "wall_ns": recorder.now, "dropped": 0,
        "machine": {
            "cpu": "AMD EPYC 9B14", "threads": 16, "memory": 128 * (1 << 30),
            "devices": [
                {"name": "CPU", "kind": "cpu", "bandwidth": CPU_BANDWIDTH, "flops": {"f32": CPU_F32, "f64": CPU_F64}},
                {"name": "NVIDIA H200", "kind": "cuda", "bandwidth": GPU_BANDWIDTH, "flops": {"f32": GPU_F32, "f64": 3.0e13}},
            ],
        },
        "breakdown": breakdown(rows, recorder.now),
        "strings": recorder.strings,
        "tracks": [
            {"name": "main", "kind": "thread", "device": 0},
            {"name": "NVIDIA H200 compute", "kind": "stream", "device": 1},
            {"name": "NVIDIA H200 copies", "kind": "stream", "device": 1},
        ],
        "spans": columns(["track", "kind", "name", "start", "duration", "parent", "kernel", "launch", "bytes", "place"],
                         [[*row, line if row[1] in "et" else -1] for row in rows]),
        "kernels": columns(["name", "form", "text", "read", "written", "flops", "dtype", "products", "roof"], table),
        "launches": columns(["kernel", "device", "queued", "reason", "predicted", "moved", "plan", "step", "moving", "live", "peak"],
                            [[*launch, 3 << 28, 1 << 30] for launch in recorder.launches]),
        "transfers": columns(["span", "from", "to"], sorted([place[s], a, b] for s, a, b in recorder.transfers)),
        "memory": columns(["time", "device", "live", "cached", "others", "budget", "level"], recorder.samples),
        "events": columns(["time", "kind", "text"], [[t, recorder.name(k), recorder.name(x)] for t, k, x in recorder.events]),
    }
    result["advice"] = advice(result, rows)
    return result


def text(trace):
    """As the recorder writes it: no blanks."""
    return json.dumps(trace, separators=(",", ":"), ensure_ascii=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slow", type=float, default=1.0, help="factor on the work of attention")
    parser.add_argument("--name", default="train step")
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.output.write_text(text(trace(arguments.spans, arguments.seed, arguments.slow, arguments.name)))


if __name__ == "__main__":
    main()
