"""Written by python/tools/stubs.py."""

from typing import Any, Callable, SupportsIndex

from . import _typing as _t
from ._native import PressureWatch as _PressureWatch

def can_allocate(nbytes: SupportsIndex, device: _t.DeviceLike = 'cpu') -> bool:
    """Whether an array of so many bytes could be made on a device now."""

def on_pressure(callback: Callable[..., Any]) -> _PressureWatch:
    """Calls `callback(device, event)` whenever the memory of a GPU gets near the end of its budget or away from it."""

def peak(device: _t.DeviceLike = 'cpu') -> int:
    """Most bytes that arrays have held on a device at a time."""

def stats() -> dict[str, dict[str, Any]]:
    """For each device in use: bytes live, peak, cached, free, budget and total, the share used and the level of pressure."""

def trim() -> None:
    """Gives memory back that arrays have freed and that is kept for the next ones."""
