"""Embeddings of tokens and positions.

>>> embedder = xo.embed.Embedder(1000, 64, precision="mixed_bf16")
>>> embedder(xo.asarray([[1, 2, 3], [999, 0, 5]])).shape
(2, 3, 64)
>>> xo.embed.sinusoid(xo.arange(2), 4)
array([[0.        , 1.        , 0.        , 1.        ],
       [0.84147096, 0.5403023 , 0.00999983, 0.99995   ]], dtype=float32)

A `Table` is a file of rows that may be larger than memory. It is mapped: do not write to the file while it is open; replacing it by renaming
another over it, as `Table.write` does, is fine.

A `Tokenizer` turns texts into tokens and back. It is a file `tokenizer.json`, or it is trained:

>>> tokenizer = xo.embed.Tokenizer.train(["one fish", "two fish"], 280, special=["<pad>"]).with_padding("<pad>")
>>> tokenizer.decode(tokenizer.encode("red fish"))
'red fish'
>>> tokens, mask = tokenizer.encode_batch(["one fish", "two red fish"])
>>> tokenizer.decode(tokens)
['one fish', 'two red fish']
"""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Optional

from ._native import Embedder, Sinusoid, Table, TextEmbedder, Tokenizer, asarray

if TYPE_CHECKING:
    from . import Array

__all__ = ["EmbedConfig", "Embedder", "Sinusoid", "Table", "TextEmbedder", "Tokenizer", "rotary", "sinusoid"]


@dataclass(frozen=True)
class EmbedConfig:
    """All settings of an embedder, by the names that `Embedder` has for them.

    >>> config = xo.embed.EmbedConfig(1000, 64, precision="mixed_f16", device="cpu")
    >>> config.embedder().info()["precision"]
    'mixed_f16'
    >>> xo.embed.EmbedConfig(**config.embedder().config) == config
    True
    """

    vocabulary: int
    dimensions: int
    layout: str = "interleaved"
    base: float = 10_000.0
    scale: float = 1.0
    phase: float = 0.0
    shift: float = 0.0
    temperature: float = 1.0
    relative: Optional[int] = None
    precision: str = "f32"
    device: Any = None
    fusion: bool = True
    seed: int = 0

    def embedder(self, table: Any = None) -> Embedder:
        """An embedder with these settings, and a table of your own or one that is drawn."""
        return Embedder(table=table, **asdict(self))


def sinusoid(positions, dimensions: int, *, dtype=None, **settings) -> "Array":
    """The sinusoidal encoding of positions, float32 by default; `settings` are those of `Sinusoid`.

    >>> xo.embed.sinusoid(xo.asarray([9_999_999]), 2)
    array([[ 0.99066466, -0.13632151]], dtype=float32)
    """
    return Sinusoid(dimensions, **settings).encode(positions, dtype=dtype)


def rotary(x, positions, *, pairs: str = "interleaved", **settings) -> "Array":
    """Pairs of elements along the last axis, turned by angles that grow with the position.

    >>> xo.embed.rotary(xo.asarray([[1.0, 0.0]]), xo.asarray([0]))
    array([[1., 0.]])
    """
    x = asarray(x)
    if x.ndim == 0:
        raise ValueError("rotary: x has no axis; the pairs lie along its last one")
    return Sinusoid(x.shape[-1], **settings).rotate(x, positions, pairs=pairs)
