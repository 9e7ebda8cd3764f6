"""Holographic memory: vectors that are bound, superposed, compared and remembered.

>>> space = xo.hrr.Space("hrr", d=1024)
>>> roles, fillers = space.named(["subject", "object"]), space.named(["dog", "man"])
>>> sentence = space.bind_superpose(roles, fillers)
>>> words = xo.hrr.ItemMemory(space)
>>> words.add(["dog", "man", "cat"])
>>> words.query(space.unbind(sentence, space.named("object")))[0][0]
'man'

The models are "hrr", "fhrr", "map", "bsc" and "hlb"; docs/hrr.md explains them. A memory is saved with `save` and comes back with `open`, bit for bit or
not at all, or with `map`, which leaves the vectors where they lie; `verify` says what is damaged, `report` what there is beside, and `salvage` brings back
the rest. An `AssociativeMemory` holds pairs of items in one vector, a `State` named arrays and values that are saved together, and a `Store` is what all of them
are saved in.
"""

from ._native import HrrAssociativeMemory as AssociativeMemory
from ._native import HrrExact as Exact
from ._native import HrrFactors as Factors
from ._native import HrrItemMemory as ItemMemory
from ._native import HrrSpace as Space
from ._native import HrrState as State
from ._native import HrrStore as Store
from ._native import hrr_report as report
from ._native import hrr_verify as verify

__all__ = ["AssociativeMemory", "Exact", "Factors", "ItemMemory", "Space", "State", "Store", "report", "verify"]
