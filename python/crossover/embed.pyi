"""Written by python/tools/stubs.py."""

import builtins
from typing import Any, Sequence, SupportsIndex, final

from typing_extensions import Self

from . import _typing as _t
from . import Array, dtype as _dtype

__all__ = [
    "EmbedConfig", "Embedder", "Sinusoid", "Table", "TextEmbedder", "Tokenizer", "rotary", "sinusoid",
]

@final
class Sinusoid:
    """A sinusoidal encoding of positions."""
    def __new__(cls, dimensions: SupportsIndex, *, layout: _t.Layout = 'interleaved', base: float = 10000.0, scale: float = 1.0, phase: float = 0.0, offset: SupportsIndex = 0, shift: float = 0.0) -> Self: ...
    def encode(self, /, positions: _t.ArrayLike, *, dtype: _t.DTypeLike | None = None) -> Array:
        """The encoding of positions: one more axis."""
    @property
    def frequencies(self) -> list[float]:
        """The frequencies in radians per position."""
    def grid(self, /, rows: SupportsIndex, columns: SupportsIndex, *, dtype: _t.DTypeLike | None = None) -> Array:
        """The encoding of a grid: that of the row beside that of the column."""
    def rotate(self, /, x: _t.ArrayLike, positions: _t.ArrayLike, *, pairs: _t.Pairs = 'interleaved') -> Array:
        """Turns pairs of elements along the last axis by angles that grow with the position."""

class EmbedConfig:
    """All settings of an embedder, by the names that `Embedder` has for them."""
    vocabulary: int
    dimensions: int
    layout: str
    base: float
    scale: float
    phase: float
    shift: float
    temperature: float
    relative: int | None
    precision: str
    device: Any
    fusion: bool
    seed: int
    def __init__(self, vocabulary: SupportsIndex, dimensions: SupportsIndex, layout: _t.Layout = 'interleaved', base: float = 10000.0, scale: float = 1.0, phase: float = 0.0, shift: float = 0.0, temperature: float = 1.0, relative: SupportsIndex | None = None, precision: _t.EmbedPrecision = 'f32', device: _t.DeviceLike | None = None, fusion: builtins.bool = True, seed: SupportsIndex = 0) -> None: ...
    def embedder(self, table: _t.ArrayLike | None = None) -> Embedder:
        """An embedder with these settings, and a table of your own or one that is drawn."""

@final
class Embedder:
    """Tokens and positions to vectors."""
    def __new__(cls, vocabulary: SupportsIndex, dimensions: SupportsIndex, *, table: _t.ArrayLike | None = None, layout: _t.Layout = 'interleaved', base: float = 10000.0, scale: float = 1.0, phase: float = 0.0, shift: float = 0.0, temperature: float = 1.0, relative: SupportsIndex | None = None, precision: _t.EmbedPrecision = 'f32', device: _t.DeviceLike | None = None, fusion: builtins.bool = True, seed: SupportsIndex = 0) -> Self: ...
    def advise(self, /, memory: SupportsIndex, length: SupportsIndex) -> dict[str, Any]:
        """How many sequences a batch may have within so many bytes, which precision is recommended for them, and why."""
    def benchmark(self, /, batch: SupportsIndex, length: SupportsIndex, iterations: SupportsIndex) -> dict[str, float]:
        """Times embeddings of random tokens."""
    @property
    def config(self) -> dict[str, Any]:
        """All settings, by the names that the constructor has for them."""
    @property
    def dimensions(self) -> int:
        """Number of columns."""
    def embed(self, /, tokens: _t.ArrayLike, position: SupportsIndex = 0) -> Array:
        """The embedding of tokens at positions `position`, `position + 1`, … along the last axis."""
    def info(self, /) -> dict[str, Any]:
        """What the embedder is, and which devices there are for it."""
    @staticmethod
    def load(path: _t.Path) -> Embedder:
        """Loads what `save` has saved."""
    def lookup(self, /, tokens: _t.ArrayLike) -> Array:
        """Only the rows of tokens, without positions."""
    def recut(self, /, parts: Sequence[Sequence[SupportsIndex]]) -> Embedder:
        """The embedder of a vocabulary that cuts texts elsewhere: row `i` is the mean of the old rows in `parts[i]`."""
    @property
    def relative(self) -> Array | None:
        """The rows of the relative term, one per distance from -window to window; `None` without one."""
    def save(self, /, path: _t.Path) -> None:
        """Saves the embedder to a safetensors file."""
    @property
    def table(self) -> Array:
        """The table."""
    @property
    def vocabulary(self) -> int:
        """Number of tokens."""
    def with_dimensions(self, /, dimensions: SupportsIndex) -> Embedder:
        """The embedder with another number of columns."""
    def with_precision(self, /, precision: _t.EmbedPrecision) -> Embedder:
        """The embedder in another precision."""
    def with_relative(self, /, rows: _t.ArrayLike) -> Embedder:
        """The embedder with other rows of the relative term, of which there are 2·window + 1."""
    def with_vocabulary(self, /, vocabulary: SupportsIndex) -> Embedder:
        """The embedder with a vocabulary of another size."""
    def __call__(self, tokens: _t.ArrayLike, position: SupportsIndex = 0) -> Array: ...

@final
class Table:
    """Rows in a file, with checksums and a cache of those in use."""
    def __new__(cls, path: _t.Path, hot_rows: SupportsIndex = 65536) -> Self: ...
    @property
    def columns(self) -> int:
        """Length of a row."""
    @property
    def dtype(self) -> _dtype:
        """Dtype of the elements."""
    def lookup(self, /, tokens: _t.ArrayLike) -> Array:
        """The rows of tokens."""
    def stats(self, /) -> dict[str, float]:
        """What the table has been used for."""
    def verify(self, /) -> None:
        """Verifies all blocks that nobody has touched yet."""
    @staticmethod
    def write(path: _t.Path, parts: _t.Nested[_t.ArrayLike]) -> None:
        """Writes a table: arrays of equal width, one after another."""
    def __len__(self) -> int: ...

@final
class Tokenizer:
    """Texts to tokens and back, by `tokenizer.json`."""
    def __new__(cls, path: _t.Path) -> Self: ...
    def decode(self, /, tokens: _t.ArrayLike, *, special: builtins.bool = False) -> Any:
        """The text of tokens, a list or an array of one axis; or the texts of its rows, where it has two."""
    def encode(self, /, text: str) -> list[int]:
        """The tokens of a text, as a list."""
    def encode_batch(self, /, texts: Sequence[str]) -> tuple[Array, Array]:
        """The tokens of several texts, and which of them do not pad: arrays of one row per text."""
    @staticmethod
    def from_json(text: str) -> Tokenizer:
        """The tokenizer that a text describes."""
    def id(self, /, token: str) -> int | None:
        """The number of a token, or `None`."""
    def save(self, /, path: _t.Path) -> None:
        """Saves the description to a file."""
    @property
    def special(self) -> list[tuple[str, int]]:
        """The special tokens and their numbers."""
    def to_json(self, /) -> str:
        """The text that describes the tokenizer."""
    def token(self, /, id: SupportsIndex) -> str | None:
        """The token of a number, or `None`."""
    @staticmethod
    def train(texts: Sequence[str], vocabulary: SupportsIndex, special: Sequence[str] = ...) -> Tokenizer:
        """A tokenizer of pairs of bytes that occur often in texts."""
    @property
    def vocabulary(self) -> int:
        """Tokens are below this."""
    def whole(self, /) -> Tokenizer:
        """The same tokenizer without padding and truncation."""
    def with_padding(self, /, token: str, to: SupportsIndex | None = None) -> Tokenizer:
        """The same tokenizer, which makes texts of a batch equally long with a token: as long as the longest, or as `to`."""
    def with_truncation(self, /, length: SupportsIndex) -> Tokenizer:
        """The same tokenizer, which keeps at most so many tokens of a text."""

@final
class TextEmbedder:
    """A tokenizer and the embedder of its tokens, saved as one folder."""
    def __new__(cls, tokenizer: Tokenizer, embedder: Embedder) -> Self: ...
    def embed(self, /, texts: Sequence[str]) -> tuple[Array, Array]:
        """The vectors of texts, and which of them do not pad."""
    @property
    def embedder(self) -> Embedder:
        """The embedder."""
    @staticmethod
    def load(folder: _t.Path) -> TextEmbedder:
        """Loads what `save` has saved."""
    def save(self, /, folder: _t.Path) -> None:
        """Saves tokenizer, embedder and configuration into a folder."""
    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer."""
    def __call__(self, texts: Sequence[str]) -> tuple[Array, Array]: ...

def rotary(x: _t.ArrayLike, positions: _t.ArrayLike, *, pairs: _t.Pairs = 'interleaved', **settings: Any) -> Array:
    """Pairs of elements along the last axis, turned by angles that grow with the position."""
def sinusoid(positions: _t.ArrayLike, dimensions: SupportsIndex, *, dtype: _t.DTypeLike | None = None, **settings: Any) -> Array:
    """The sinusoidal encoding of positions, float32 by default; `settings` are those of `Sinusoid`."""
