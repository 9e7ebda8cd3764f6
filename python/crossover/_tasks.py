"""Tasks: functions that run by themselves; what they raise stays with them, and `join` says it.

A task that nobody has begun is run by who waits for it, so that tasks may wait for tasks whatever the number of threads.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

from ._native import Carried

_LOCK = threading.Lock()
_POOL = None


def _pool():
    global _POOL
    with _LOCK:
        if _POOL is None:
            _POOL = ThreadPoolExecutor(thread_name_prefix="crossover-task")
        return _POOL


class Task:
    """A function that was started; made by `spawn` and `Scope.spawn`. Dropping it leaves the function alone.

    >>> task = xo.par.spawn(len, "word")
    >>> task.join(), task.is_finished()
    (4, True)
    """

    def __init__(self, function: Callable, arguments: tuple, named: dict) -> None:
        self._work = function, arguments, named, Carried()
        self._begun, self._ended = threading.Lock(), threading.Event()
        self._result, self._error = None, None

    def _run(self):
        """Runs it, unless somebody has begun."""
        if not self._begun.acquire(blocking=False):
            return
        (function, arguments, named, carried), self._work = self._work, None
        try:
            with carried:
                self._result = function(*arguments, **named)
        except BaseException as error:  # noqa: BLE001 - it is this task's result
            self._error = error
        finally:
            self._ended.set()

    def _wait(self):
        self._run()
        self._ended.wait()

    def is_finished(self) -> bool:
        """Whether waiting would take no time."""
        return self._ended.is_set()

    def join(self) -> Any:
        """Waits for what the function returns, or raises what it raised."""
        self._wait()
        if self._error is not None:
            raise self._error
        return self._result


class Scope:
    """Where tasks can be started that end before it does; made by `scope`.

    >>> with xo.par.scope() as scope:
    ...     task = scope.spawn(len, "word")
    >>> task.join()
    4
    """

    def __init__(self) -> None:
        self._tasks: list = []

    def spawn(self, function: Callable, *arguments: Any, **named: Any) -> Task:
        """Starts a task that ends before the scope does."""
        task = spawn(function, *arguments, **named)
        self._tasks.append(task)
        return task

    def __enter__(self) -> "Scope":
        return self

    def __exit__(self, *why: Any) -> None:
        # Tasks may start others meanwhile.
        while self._tasks:
            self._tasks.pop()._wait()


def spawn(function: Callable, *arguments: Any, **named: Any) -> Task:
    """Starts a function on a thread, with the device and the runtime of this one.

    >>> xo.par.spawn(sum, [1, 2, 3]).join()
    6
    """
    task = Task(function, arguments, named)
    _pool().submit(task._run)
    return task


def scope() -> Scope:
    """A `with` block that ends when all tasks started in it have ended. One that raises ends alone; its `join` says so.

    >>> with xo.par.scope() as scope:
    ...     task = scope.spawn(lambda: 1 / 0)
    >>> task.is_finished()
    True
    """
    return Scope()
