"""Written by python/tools/stubs.py."""

import builtins
from typing import Any, Literal

from . import _typing as _t
from . import Runtime

class Config:
    """Settings for a runtime. Made by `Config.builder()`, used by `xo.init` or as a `with` block, which makes a runtime for its thread."""
    settings: dict[str, Any]
    def __init__(self, **settings: Any) -> None: ...
    @staticmethod
    def builder() -> ConfigBuilder:
        """An empty list of settings, to which methods add."""
    def runtime(self) -> Runtime:
        """A runtime with these settings."""
    def __enter__(self) -> Runtime: ...
    def __exit__(self, *why: Any) -> bool: ...

class ConfigBuilder:
    """Settings, one method each; `build` makes the `Config`."""
    settings: dict[str, Any]
    def __init__(self) -> None: ...
    def build(self) -> Config:
        """The settings."""
    def deterministic(self, value: builtins.bool) -> ConfigBuilder:
        """Whether products and decompositions are placed by a rule that knows no times."""
    def device(self, value: _t.DeviceLike) -> ConfigBuilder:
        """Where to compute: 'auto', 'cpu', 'cuda:N'."""
    def eager(self, value: builtins.bool) -> ConfigBuilder:
        """Whether every operation is computed where it is written, for debugging."""
    def fusion(self, value: builtins.bool) -> ConfigBuilder:
        """Whether operations share kernels; results do not change."""
    def gpu(self, value: builtins.bool) -> ConfigBuilder:
        """Whether a GPU may be used."""
    def memory_budget(self, value: int) -> ConfigBuilder:
        """Bytes of host memory that arrays may take."""
    def memory_growth(self, value: builtins.bool) -> ConfigBuilder:
        """Whether GPU memory is taken as it is needed."""
    def memory_limit(self, value: float) -> ConfigBuilder:
        """Share of a GPU's memory up to 1, or bytes."""
    def precision(self, value: Literal['exact', 'tf32']) -> ConfigBuilder:
        """Products of float32 matrices on a GPU: 'exact' or 'tf32'."""
    def profiling(self, value: builtins.bool) -> ConfigBuilder:
        """Whether kernels are recorded for `crossover top`."""
    def refuse_nan(self, value: builtins.bool) -> ConfigBuilder:
        """Whether a NaN made of operands without one is an error."""
    def threads(self, value: int) -> ConfigBuilder:
        """Number of threads."""
    def threshold_small(self, value: int) -> ConfigBuilder:
        """Bytes up to which a plan stays on the host unexamined."""

def explain(array: _t.ArrayLike) -> str:
    """The plan that computing an array would run, as text."""

def init(config: Config | None = None, **settings: Any) -> Runtime:
    """Makes the runtime of all threads: from a `Config`, or from settings by name. Returns it."""
