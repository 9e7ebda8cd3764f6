"""Our side of the table: a long-lived child process that speaks the line protocol of README.md."""

import subprocess
import time
from pathlib import Path

import numpy as np


class WorkerError(Exception):
    """The worker refused a request, or died."""


class Worker:
    """One child process; requests are answered one at a time, in order."""

    def __init__(self, binary: Path, threads: int, folder: Path):
        self.folder = folder
        command = [str(binary), "bench-worker", "--threads", str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.version = self.ask("hello")
        self.workloads = set(self.ask("list").split())

    def ask(self, request: str) -> str:
        try:
            self.process.stdin.write(request + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().rstrip("\n")
        except BrokenPipeError:
            answer = ""
        word, _, rest = answer.partition(" ")
        if word == "ok":
            return rest
        if word == "error":
            raise WorkerError(rest)
        raise WorkerError(f"answered {answer!r} to {request!r}" if answer else f"died on {request!r}")

    def prepare(self, name: str, inputs: dict[str, np.ndarray]) -> None:
        for key, array in inputs.items():
            np.ascontiguousarray(array).tofile(self.folder / f"{key}.bin")
        self.ask(f"prepare {name} {self.folder}")

    def run(self, name: str, count: int) -> float:
        return float(self.ask(f"run {name} {count}"))

    def output(self, name: str) -> np.ndarray:
        path = self.folder / "output.bin"
        dtype = self.ask(f"output {name} {path}").split()[0]
        return np.fromfile(path, dtype=np.dtype(dtype))

    def drop(self, name: str) -> None:
        self.ask(f"drop {name}")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.stdin.close()
            deadline = time.monotonic() + 5.0
            while self.process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            if self.process.poll() is None:
                self.process.kill()
