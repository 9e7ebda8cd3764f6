"""One engine in its own process, spoken to by the line protocol of README.md; ours and the peers' alike.

Each engine has a process of its own because their thread pools disturb each other: with all peers in one process a sum
that PyTorch does in 0.45 ms took 8. For the same reason a worker is stopped between requests: the idle threads of some
pools spin for long after their last work, on a core that the next engine should have.
"""

import json
import signal
import subprocess
import time
from pathlib import Path

import numpy as np


class WorkerError(Exception):
    """The worker refused a request, or died."""


def write_inputs(folder: Path, inputs: dict[str, np.ndarray]) -> None:
    """Raw little-endian bytes in C order, with dtypes and shapes beside them."""
    for name, array in inputs.items():
        np.ascontiguousarray(array).tofile(folder / f"{name}.bin")
    described = {name: {"dtype": array.dtype.name, "shape": array.shape} for name, array in inputs.items()}
    (folder / "inputs.json").write_text(json.dumps(described))


class Worker:
    """A child process; requests are answered one at a time, in order."""

    def __init__(self, command: list[str]):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        # `hello` answers with a name and a version.
        self.name, _, self.version = self.ask("hello").partition(" ")
        self.workloads = set(self.ask("list").split())
        self.reuses_output = self.name.endswith("-out")

    def signal(self, name: str) -> None:
        # Windows has neither of the two.
        if hasattr(signal, name) and self.process.poll() is None:
            self.process.send_signal(getattr(signal, name))

    def ask(self, request: str) -> str:
        self.signal("SIGCONT")
        try:
            self.process.stdin.write(request + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().rstrip("\n")
        except BrokenPipeError:
            answer = ""
        self.signal("SIGSTOP")
        word, _, rest = answer.partition(" ")
        if word == "ok":
            return rest
        if word == "error":
            raise WorkerError(rest)
        raise WorkerError(f"answered {answer!r} to {request!r}" if answer else f"died on {request!r}")

    def prepare(self, workload: str, folder: Path) -> str:
        return self.ask(f"prepare {workload} {folder}")

    def run(self, workload: str, count: int) -> float:
        return float(self.ask(f"run {workload} {count}"))

    def output(self, workload: str, folder: Path) -> np.ndarray:
        path = folder / "output.bin"
        dtype = self.ask(f"output {workload} {path}").split()[0]
        return np.fromfile(path, dtype=np.dtype(dtype))

    def drop(self, workload: str) -> None:
        self.ask(f"drop {workload}")

    def close(self) -> None:
        if self.process.poll() is None:
            self.signal("SIGCONT")
            self.process.stdin.close()
            deadline = time.monotonic() + 5.0
            while self.process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            if self.process.poll() is None:
                self.process.kill()
