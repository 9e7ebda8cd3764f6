"""Memory of the devices, of the current runtime."""

from ._native import get_runtime


def stats():
    """For each device in use: bytes live, peak, cached, free, budget and total, the share used and the level of pressure.

    >>> sorted(xo.memory.stats()["cpu"])
    ['budget', 'cached', 'free', 'level', 'live', 'peak', 'total', 'usage']
    """
    return get_runtime().memory_stats()


def peak(device="cpu"):
    """Most bytes that arrays have held on a device at a time.

    >>> xo.memory.peak() >= 0
    True
    """
    found = stats().get(str(device))
    return 0 if found is None else found["peak"]


def can_allocate(nbytes, device="cpu"):
    """Whether an array of so many bytes could be made on a device now.

    >>> xo.memory.can_allocate(1000)
    True
    """
    return get_runtime().can_allocate(nbytes, device)


def trim():
    """Gives memory back that arrays have freed and that is kept for the next ones.

    >>> xo.memory.trim()
    """
    get_runtime().trim()


def on_pressure(callback):
    """Calls `callback(device, event)` whenever the memory of a GPU gets near the end of its budget or away from it.

    Levels change at 70, 85 and 95 percent, and five points below on the way down. `event` is a dictionary with level, before, usage and budget. The
    callback may evaluate arrays and drop them; what it raises is printed. Closing what is returned, or leaving its `with` block, ends it.

    >>> with xo.memory.on_pressure(lambda device, event: print(device, event["level"])):
    ...     y = xo.exp(xo.ones(3)).eval()
    """
    return get_runtime().on_pressure(callback)
