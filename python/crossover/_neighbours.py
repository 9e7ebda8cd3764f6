"""Arrays of other libraries, by DLPack: PyTorch's and CuPy's."""

import sys

from . import _native as _n


class _Copy:
    """An array as a producer of DLPack tensors that their consumer may write to."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self._array.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=True)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def neighbour_of(value):
    """'torch:cpu', 'torch:cuda:0', 'cupy:cuda:0', or `None` for anything else."""
    home = type(value).__module__.partition(".")[0]
    if home not in ("torch", "cupy") or not hasattr(value, "__dlpack__"):
        return None
    kind, number = value.__dlpack_device__()
    return f"{home}:cuda:{number}" if kind in (2, 13) else f"{home}:cpu"


def to_neighbour(array, kind):
    """An array of ours as one of the kind that `neighbour_of` names, in memory of its own."""
    home, _, place = kind.partition(":")
    return sys.modules[home].from_dlpack(_Copy(array.to_device(_n.device(place))))
