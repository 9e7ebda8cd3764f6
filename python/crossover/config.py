"""Settings of runtimes, and what a computation will run."""

from . import _native


class Config:
    """Settings for a runtime. Made by `Config.builder()`, used by `xo.init` or as a `with` block, which makes a runtime for its thread.

    >>> config = xo.Config.builder().threads(1).fusion(False).build()
    >>> with config:
    ...     float(xo.sum(xo.ones(3)))
    3.0
    """

    def __init__(self, **settings):
        self.settings = settings
        self._entered = []

    @staticmethod
    def builder():
        """An empty list of settings, to which methods add.

        >>> xo.Config.builder().threads(2).build()
        Config(threads=2)
        """
        return ConfigBuilder()

    def runtime(self):
        """A runtime with these settings.

        >>> xo.Config.builder().gpu(False).build().runtime().device_count
        0
        """
        return _native.build_runtime(self.settings)

    def __enter__(self):
        """Makes a runtime and gives it, as `with config.runtime() as runtime` does."""
        runtime = self.runtime()
        self._entered.append(runtime)
        return runtime.__enter__()

    def __exit__(self, *why):
        return self._entered.pop().__exit__(*why)

    def __repr__(self):
        return f"Config({', '.join(f'{name}={value!r}' for name, value in self.settings.items())})"


def _setting(name, text):
    def add(self, value):
        self.settings[name] = value
        return self

    add.__name__ = add.__qualname__ = name
    add.__doc__ = text
    return add


class ConfigBuilder:
    """Settings, one method each; `build` makes the `Config`.

    >>> xo.Config.builder().threads(2).deterministic(True).build()
    Config(threads=2, deterministic=True)
    """

    def __init__(self):
        self.settings = {}

    device = _setting("device", "Where to compute: 'auto', 'cpu', 'cuda:N'.")
    threads = _setting("threads", "Number of threads.")
    gpu = _setting("gpu", "Whether a GPU may be used.")
    fusion = _setting("fusion", "Whether operations share kernels; results do not change.")
    eager = _setting("eager", "Whether every operation is computed where it is written, for debugging.")
    refuse_nan = _setting("refuse_nan", "Whether a NaN made of operands without one is an error.")
    deterministic = _setting("deterministic", "Whether products and decompositions are placed by a rule that knows no times.")
    precision = _setting("precision", "Products of float32 matrices on a GPU: 'exact' or 'tf32'.")
    memory_limit = _setting("memory_limit", "Share of a GPU's memory up to 1, or bytes.")
    memory_growth = _setting("memory_growth", "Whether GPU memory is taken as it is needed.")
    memory_budget = _setting("memory_budget", "Bytes of host memory that arrays may take.")
    threshold_small = _setting("threshold_small", "Bytes up to which a plan stays on the host unexamined.")
    profiling = _setting("profiling", "Whether kernels are recorded for `crossover top`.")

    def build(self):
        """The settings."""
        return Config(**self.settings)


def init(config=None, **settings):
    """Makes the runtime of all threads: from a `Config`, or from settings by name. Returns it.

    >>> runtime = xo.init(threads=1)
    >>> [value for name, value, origin in runtime.settings() if name == "threads"]
    ['1']
    """
    if config is not None and settings:
        raise TypeError("init takes a Config or settings by name, not both")
    runtime = _native.build_runtime(settings if config is None else config.settings)
    _native.share_runtime(runtime)
    return runtime


def explain(array):
    """The plan that computing an array would run, as text.

    >>> print(xo.explain(xo.exp(xo.ones(3))).splitlines()[0].split(",")[0])
    plan: 1 kernel
    """
    return _native.asarray(array).explain()
