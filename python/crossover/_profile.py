"""Where the time went."""

import functools

from . import _native


class profile:
    """Records what happens in a `with` block, or in a function; then tells.

    On a GPU, launches of plans that repeat are timed now and then, and the others estimated; with `everything` each is timed, whatever that costs.

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
            self._function, name = name, getattr(name, "__qualname__", "profile")
            functools.update_wrapper(self, self._function)
        self.name, self.everything = name, everything
        self.trace = None
        self._session = None

    def __call__(self, *args, **kwargs):
        if self._function is None:
            # @xo.profile("name")
            made = profile(args[0], everything=self.everything)
            made.name = self.name
            return made
        with self:
            return self._function(*args, **kwargs)

    def __enter__(self):
        self._session = _native.ProfileSession(self.name, self.everything)
        return self

    def __exit__(self, *why):
        self.trace, self._session = self._session.end(), None
        return False

    def _seen(self):
        if self.trace is None:
            raise RuntimeError("nothing is recorded yet: leave the `with` block, or call the function, first")
        return self.trace

    def summary(self):
        """Parts of the time, kernels and advice, as text."""
        return self._seen().summary()

    def bottlenecks(self, top_n=5):
        """The kernels that took longest: dictionaries with name, device, seconds, launches and share of the whole."""
        trace = self._seen()
        whole = trace.seconds or 1.0
        found = trace.kernels()[:top_n]
        keys = ("name", "device", "seconds", "launches", "share")
        place = lambda device: "cpu" if device == 0 else f"cuda:{device - 1}"  # noqa: E731
        return [dict(zip(keys, (name, place(device), took, count, took / whole))) for name, device, took, count in found]

    def export_json(self, path):
        """Writes the trace, for `crossover report` and for later."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._seen().to_json())

    def html(self, path=None):
        """A page that shows the trace: written to a file, or returned."""
        page = self._seen().to_html()
        if path is None:
            return page
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)
        return None
