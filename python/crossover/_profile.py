"""Where the time went."""

import functools
import inspect
import threading
import types

from . import _native


class profile:
    """Records what happens in a `with` block, or in a function; then tells.

    On a GPU, launches of plans that repeat are timed now and then, and the others estimated; with `everything` each is timed, whatever that costs.

    A recorded function may be a method, call itself, and run in several threads at once. A call inside a call is part of what the outer one records;
    of several calls the one that ended last is told of. What is recorded inside a recording is a part of the outer one with its name, and so are the parts that
    `profile.scope` names.

    >>> with xo.profile("demo") as seen:
    ...     total = float(xo.sum(xo.exp(xo.linspace(0, 1, 10_000))))
    >>> seen.summary().startswith("demo: ")
    True
    >>> len(seen.bottlenecks(top_n=3)) >= 1
    True
    """

    def __init__(self, name="profile", *, everything=False):
        self._function = None
        if callable(name):
            function, name = recordable(name), getattr(name, "__qualname__", "profile")
            functools.update_wrapper(self, function)
            self._function = function
        if not isinstance(name, str):
            raise TypeError(f"profile takes a name or a function, and was given {name!r}; put it below @classmethod or @property, beside the function")
        self.name, self.everything = name, everything
        self.trace = None
        # Recordings under way by thread, innermost last.
        self._sessions = {}

    def __call__(self, *args, **kwargs):
        if self._function is None:
            # @xo.profile("name")
            if len(args) != 1 or kwargs or not callable(args[0]):
                raise TypeError(f"xo.profile({self.name!r}) is put on a function, or used in a `with` statement")
            made = profile(args[0], everything=self.everything)
            made.name = self.name
            return made
        if threading.get_ident() in self._sessions:
            with self.scope(self.name):
                return self._function(*args, **kwargs)
        with self:
            return self._function(*args, **kwargs)

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

    def __enter__(self):
        # A part of whatever records already; the session begins inside it and does not see it.
        scope = self.scope(self.name)
        scope.__enter__()
        session = _native.ProfileSession(self.name, self.everything)
        self._sessions.setdefault(threading.get_ident(), []).append((session, scope))
        return self

    def __exit__(self, *why):
        thread = threading.get_ident()
        if thread not in self._sessions:
            raise RuntimeError("this thread records nothing: leave the `with` block in the thread that entered it")
        session, scope = self._sessions[thread].pop()
        if not self._sessions[thread]:
            del self._sessions[thread]
        try:
            self.trace = session.end()
        finally:
            scope.__exit__(*why)
        return False

    @staticmethod
    def scope(name):
        """Names a part of what is recorded: a span of every recording under way, and next to nothing without one.

        >>> with xo.profile("demo") as seen:
        ...     with xo.profile.scope("forward"):
        ...         total = float(xo.sum(xo.ones(1000)))
        >>> "forward" in seen.trace.to_folded()
        True
        """
        return _native.ProfileScope(name)

    def _seen(self):
        if self.trace is None:
            raise RuntimeError("nothing is recorded yet: leave the `with` block, or call the function, first")
        return self.trace

    def summary(self):
        """Parts of the time, kernels and advice, as text."""
        return self._seen().summary()

    def bottlenecks(self, top_n=5):
        """The kernels that took longest, as dictionaries.

        They say the name, what it computes, device, seconds, launches, share of the whole, bytes and operations per second, and as `roof` the share of what the
        device was measured to allow: None where that is unknown, and for sorts, transforms, random numbers and lookups.
        """
        trace = self._seen()
        whole = trace.seconds or 1.0
        keys = ("name", "computes", "device", "seconds", "launches", "bytes_per_second", "flops_per_second", "roof")
        rows = [dict(zip(keys, row)) for row in trace.kernels()[:top_n]]
        for row in rows:
            row["device"] = "cpu" if row["device"] == 0 else f"cuda:{row['device'] - 1}"
            row["share"] = row["seconds"] / whole
        return rows

    def export_json(self, path):
        """Writes the trace, for `crossover report` and for later."""
        write(path, self._seen().to_json())

    def export_chrome(self, path):
        """Writes the trace for Perfetto (ui.perfetto.dev) and `chrome://tracing`."""
        write(path, self._seen().to_chrome())

    def export_speedscope(self, path):
        """Writes the trace for speedscope.app."""
        write(path, self._seen().to_speedscope())

    def export_folded(self, path):
        """Writes folded stacks, for programs that draw flame graphs."""
        write(path, self._seen().to_folded())

    def export_prometheus(self, path):
        """Writes totals as metrics, for the textfile collector of Prometheus."""
        write(path, self._seen().to_prometheus())

    def html(self, path=None):
        """A page that shows the trace: written to a file, or returned."""
        page = self._seen().to_html()
        if path is None:
            return page
        write(path, page)
        return None


def write(path, text):
    """A file with this text, its lines ended alike everywhere."""
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def recordable(function):
    """The function, unless calling it only makes something that runs later."""
    if any(of(function) for of in (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)):
        name = getattr(function, "__qualname__", function)
        raise TypeError(f"{name} runs in pieces, after its call has returned: put `with xo.profile(...)` around what waits for it or walks through it")
    return function
