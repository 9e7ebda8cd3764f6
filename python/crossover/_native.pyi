"""Written by python/tools/stubs.py."""

import builtins
from typing import Any, final


def __getattr__(name: str) -> Any: ...

@final
class PressureWatch:
    """Somebody who is told about the pressure on memory; a `with` block, or `close()`, ends it."""
    def close(self, /) -> None:
        """Nobody is told any more."""
    def __enter__(self) -> PressureWatch: ...
    def __exit__(self, *why: Any) -> builtins.bool: ...
