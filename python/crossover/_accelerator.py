"""`runtime.gpu`: the accelerators of a runtime, as one object that is false where there are none."""


class Accelerators:
    """The GPUs that a runtime may use."""

    def __init__(self, runtime):
        self._runtime = runtime

    @property
    def backend(self):
        """What drives them: 'cuda'."""
        return self._runtime.backend

    @property
    def device_count(self):
        """How many there are."""
        return self._runtime.device_count

    def is_available(self, device=0):
        """Whether one can be used."""
        return self._runtime.is_available(f"cuda:{device}")

    def get_memory_stats(self, device=0):
        """Memory of one in megabytes (10⁶ bytes): used_mb, what arrays take; free_mb; total_mb; peak_mb; cached_mb."""
        name = f"cuda:{device}"
        self._runtime.can_allocate(0, name)  # opens it
        found = self._runtime.memory_stats()[name]
        names = {"used_mb": "live", "free_mb": "free", "total_mb": "total", "peak_mb": "peak", "cached_mb": "cached"}
        return {ours: found[theirs] / 1e6 for ours, theirs in names.items()}

    def get_utilization(self, device=0):
        """Percent of the time in which one worked, lately; NaN where its driver does not say."""
        gpus = self._runtime.utilization()["gpus"]
        return 100.0 * gpus[device][1] if gpus and device < len(gpus) else float("nan")

    def __repr__(self):
        return f"<{self.device_count} {self.backend} devices>"


def attach(cls):
    """Gives runtimes their `gpu`."""
    cls.gpu = property(lambda self: Accelerators(self) if self.device_count else None, doc="The GPUs of the runtime; None where it has none.")
