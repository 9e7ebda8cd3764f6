"""Functions of the native half; the package documents them."""

from typing import Any

def __getattr__(name: str) -> Any: ...
