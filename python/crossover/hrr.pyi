"""Written by python/tools/stubs.py."""

from typing import Any, Mapping, Sequence, SupportsIndex, final

from typing_extensions import Self

from . import _typing as _t
from . import Array, dtype as _dtype

__all__ = [
    "AssociativeMemory", "Exact", "Factors", "ItemMemory", "Space", "State", "Store", "report", "verify",
]

@final
class Space:
    """A model, the number of elements of its vectors, their dtype, and a seed for names."""
    def __new__(cls, model: _t.Model = 'hrr', d: SupportsIndex = 1024, dtype: _t.DTypeLike | None = None, seed: SupportsIndex = 0) -> Self: ...
    def bind(self, /, a: _t.ArrayLike, b: _t.ArrayLike) -> Array:
        """Binds two vectors into one that resembles neither."""
    def bind_normalised(self, /, a: _t.ArrayLike, b: _t.ArrayLike) -> Array:
        """`bind`, then `normalise`, in one kernel."""
    def bind_superpose(self, /, keys: _t.ArrayLike, values: _t.ArrayLike) -> Array:
        """Rows bound pairwise and superposed."""
    def capacity(self, /, items: SupportsIndex, wanted: float = 0.99) -> int:
        """The most pairs that can be superposed so that retrieval succeeds with this probability."""
    def cleanup(self, /, queries: _t.ArrayLike, items: _t.ArrayLike, threshold: float = 0.0) -> list[tuple[int, float] | None]:
        """For each query the row of the nearest item and how alike they are, or None below the threshold."""
    def compact(self, /, vectors: _t.ArrayLike, dtype: _t.DTypeLike | None = None) -> Array:
        """Vectors in a quarter to half of the memory, to be kept: numbers rounded to bfloat16, or to float16, those of "fhrr" in rows of 2·d."""
    @property
    def d(self) -> int:
        """Elements of a vector."""
    @property
    def dtype(self) -> _dtype:
        """The type of the elements."""
    def expand(self, /, compact: _t.ArrayLike) -> Array:
        """Vectors of the space from compact ones."""
    def factor(self, /, bound: _t.ArrayLike, codebooks: _t.Nested[_t.ArrayLike], rounds: SupportsIndex = 100) -> list[Factors]:
        """Which items, one of each codebook, were bound: for each of the vectors what was found, in a list."""
    def identity(self, /) -> Array:
        """The vector that binding with leaves every vector as it is."""
    def inverse(self, /, a: _t.ArrayLike) -> Array:
        """The vector that undoes a binding, approximately."""
    def inverse_exact(self, /, a: _t.ArrayLike) -> Exact:
        """The vector that undoes a binding exactly, the places where there is none, and by how much noise can grow."""
    @property
    def model(self) -> str:
        """The model's name."""
    def multi_bind(self, /, vectors: _t.Nested[_t.ArrayLike]) -> Array:
        """Binds any number of vectors."""
    def named(self, /, names: _t.Names) -> Array:
        """The vector of a name, or of each of several names."""
    def nearest(self, /, queries: _t.ArrayLike, items: _t.ArrayLike) -> Array:
        """The rows of the nearest items, one for each query, as an array; -1 where a query is NaN. Lazy, and computed where the vectors are."""
    def ngram(self, /, vectors: _t.ArrayLike) -> Array:
        """One n-gram: the rows bound together, each permuted by its distance from the end. Rows (.., n, d) make (.., d)."""
    def ngrams(self, /, vectors: _t.ArrayLike, n: SupportsIndex) -> Array:
        """All n-grams of the rows, superposed. Rows (.., count, d) make (.., d)."""
    def normalise(self, /, a: _t.ArrayLike) -> Array:
        """Vectors as superpositions should be."""
    def permute(self, /, a: _t.ArrayLike, times: SupportsIndex = 1) -> Array:
        """Moves every element to another place, by a fixed random permutation, so many times."""
    def power(self, /, a: _t.ArrayLike, exponent: float) -> Array:
        """A vector bound with itself so many times; fractions where a root exists."""
    def random(self, /, n: SupportsIndex, seed: SupportsIndex = 0) -> Array:
        """`n` random vectors of a seed, one per row."""
    def record(self, /, pairs: Sequence[tuple[_t.ArrayLike, _t.ArrayLike]]) -> Array:
        """A record of pairs of a role and a filler, superposed; ask it with `unbind`."""
    def retrieval_probability(self, /, pairs: SupportsIndex, items: SupportsIndex) -> float:
        """The probability that the right one of `items` items is found in a superposition of `pairs` pairs."""
    @property
    def seed(self) -> int:
        """The seed of names."""
    def sequence(self, /, vectors: _t.ArrayLike) -> Array:
        """A sequence: rows permuted by their place and superposed. Rows (.., k, d) make (.., d)."""
    def sequence_item(self, /, sequence: _t.ArrayLike, place: SupportsIndex) -> Array:
        """What stands at a place of a sequence, with noise."""
    def similarities(self, /, queries: _t.ArrayLike, items: _t.ArrayLike) -> Array:
        """The similarity of every query with every item, as a matrix."""
    def similarity(self, /, a: _t.ArrayLike, b: _t.ArrayLike) -> Array:
        """How alike vectors are: 1 equal, 0 unrelated, -1 opposite."""
    def superpose(self, /, vectors: _t.ArrayLike, weights: _t.ArrayLike | None = None) -> Array:
        """The superposition of the rows, with weights or without."""
    def top_k(self, /, queries: _t.ArrayLike, items: _t.ArrayLike, k: SupportsIndex) -> list[list[tuple[int, float]]]:
        """For each query the `k` nearest items, nearest first, as (row, similarity); the first is the answer of `cleanup`."""
    def unbind(self, /, bound: _t.ArrayLike, key: _t.ArrayLike) -> Array:
        """What was bound with `key` to give `bound`, with noise."""
    def unbind_exact(self, /, bound: _t.ArrayLike, key: _t.ArrayLike) -> Exact:
        """What was bound with `key`, exactly, the places where that cannot be known, and by how much noise can grow."""
    def unitary(self, /, a: _t.ArrayLike) -> Array:
        """The nearest vector whose inverse is exact."""
    @property
    def width(self) -> int:
        """Numbers of a vector along the last axis of an array: d, and 2·d for "fhrr" in bfloat16, real parts first."""

@final
class ItemMemory:
    """Items by name, one vector each, that grow. With a `dtype`, float16 or bfloat16, vectors are kept and compared in 16 bits: half the memory and half the bytes of"""
    def __new__(cls, space: Space, capacity: SupportsIndex = 0, dtype: _t.DTypeLike | None = None) -> Self: ...
    def add(self, /, names: _t.Names, vector: _t.ArrayLike | None = None) -> None:
        """Adds names with their own vectors, or one name with the vector given."""
    @property
    def capacity(self) -> int:
        """Items that fit without moving."""
    @property
    def kept(self) -> _dtype | None:
        """The type of 16 bits that vectors are kept and compared in; None where they are kept as they are."""
    @staticmethod
    def map(folder: _t.Path) -> ItemMemory:
        """As `open`, but the vectors are used where they lie in the store's files, which are verified all the same: for memories larger than"""
    @property
    def names(self) -> list[str]:
        """The names, in the order of the rows."""
    def nearest(self, /, queries: _t.ArrayLike) -> Array:
        """The rows of the nearest items of queries, one for each, as an array; -1 where a query is NaN, or there are no items. Lazy, and computed where the vectors are."""
    @staticmethod
    def open(folder: _t.Path) -> ItemMemory:
        """The memory of a store, if every byte is as it was written."""
    def query(self, /, queries: _t.ArrayLike, threshold: float = 0.0) -> list[tuple[str, float] | None]:
        """The nearest item of each query as (name, similarity), or None below the threshold."""
    def remove(self, /, name: str) -> None:
        """Removes an item."""
    @staticmethod
    def salvage(folder: _t.Path) -> tuple[ItemMemory, list[str]]:
        """What can be saved of a damaged store: a memory of the items that are as they were written, and what is damaged, as text."""
    def save(self, /, folder: _t.Path) -> None:
        """Saves what is new."""
    @property
    def space(self) -> Space:
        """The space of the vectors."""
    def to_device(self, /, device: _t.DeviceLike) -> None:
        """Keeps the vectors, as queries compare with them, on a device, so that queries there move nothing."""
    def top_k(self, /, queries: _t.ArrayLike, k: SupportsIndex) -> list[list[tuple[str, float]]]:
        """The k nearest items of each query, nearest first."""
    @property
    def vectors(self) -> Array:
        """The vectors as they are now, one per row; what becomes of the memory later does not show in them."""
    def __len__(self) -> int: ...
    def __contains__(self, name: str, /) -> bool: ...
    def __getitem__(self, name: str, /) -> Array: ...

@final
class AssociativeMemory:
    """Pairs of items, superposed in one vector of fixed size, which answers less certainly with every pair. With a `sum` it has the pairs that were added up"""
    def __new__(cls, space: Space, sum: _t.ArrayLike | None = None, pairs: SupportsIndex = 0) -> Self: ...
    def forget(self, /, key: _t.ArrayLike, value: _t.ArrayLike) -> None:
        """Takes pairs of vectors out again that were stored; one that certainly was not is an error."""
    @staticmethod
    def map(folder: _t.Path) -> AssociativeMemory:
        """As `open`, but the sum is used where it lies in the store's file, which is verified all the same. Nobody may change the file meanwhile; this library never does."""
    @staticmethod
    def open(folder: _t.Path) -> AssociativeMemory:
        """The newest version in a store, if every byte of it is as it was written."""
    def recall(self, /, items: ItemMemory, key: _t.Names, threshold: float = 0.0) -> Any:
        """The item that was stored with a key as (name, similarity), or None if no item is as alike as the threshold; of several keys a list of these."""
    def recall_vector(self, /, key: _t.ArrayLike) -> Array:
        """What was stored with vectors, with the noise of the other pairs."""
    def reliability(self, /, items: ItemMemory) -> dict[str, Any]:
        """How much answers can be relied upon: the pairs, the items, the probability that an answer is right, the pairs that could be stored"""
    @staticmethod
    def salvage(folder: _t.Path) -> tuple[AssociativeMemory, list[str]]:
        """What can be saved of a damaged store: the newest version that is as it was written, and what is damaged, as text."""
    def save(self, /, folder: _t.Path) -> None:
        """Saves the memory as one operation of a store: a new one, or the next version in the one that it was opened from or saved as."""
    @property
    def space(self) -> Space:
        """The space of the vector."""
    def store(self, /, items: ItemMemory, key: _t.Names, value: _t.Names) -> None:
        """Stores a pair of items by name, or several: as many keys as values."""
    def store_vectors(self, /, key: _t.ArrayLike, value: _t.ArrayLike) -> None:
        """Stores pairs of vectors, one for each leading axis."""
    @property
    def sum(self) -> Array:
        """The sum of the bound pairs: float32 where vectors are bfloat16 or bits, whose ones count 1 and zeros -1."""
    def to_device(self, /, device: _t.DeviceLike) -> None:
        """Moves the vector to a device."""
    @property
    def trace(self) -> Array:
        """The superposition as a vector of the space: the sum, rounded once where vectors have 16 bits; of bits the majority."""
    def __len__(self) -> int: ...

@final
class Exact:
    """An exact result, and where it is not: `array`; `zeros`, a list of (row, bin) where there is no inverse; and `gain`, by which noise can grow at most."""
    @property
    def array(self) -> Array:
        """The inverse, or what was unbound; zero where there is no inverse."""
    @property
    def gain(self) -> float:
        """The largest magnitude by which noise can grow."""
    @property
    def zeros(self) -> list[tuple[int, int]]:
        """Where there is no inverse, as (row, bin): the frequency for "hrr", else the element. Empty: the result is exact up to rounding."""

@final
class Factors:
    """What a resonator found: `indices`, `similarity`, `rounds` and `is_found`."""
    @property
    def indices(self) -> list[int]:
        """For each codebook, the row that was found."""
    @property
    def is_found(self) -> bool:
        """Whether the product of the items is the vector, or the rounds ran out."""
    @property
    def rounds(self) -> int:
        """Rounds that were made."""
    @property
    def similarity(self) -> float:
        """How alike the vector and the product of these items are."""

@final
class State:
    """A map of names to arrays and to plain values (bool, int, float, str) that moves, is saved and verified as one."""
    def __new__(cls) -> Self: ...
    @staticmethod
    def map(folder: _t.Path) -> State:
        """As `open`, but arrays are used where they lie in the store's file, which is verified all the same. Nobody may change the file meanwhile; this library never does."""
    @property
    def names(self) -> list[str]:
        """The names of arrays and values."""
    @staticmethod
    def open(folder: _t.Path) -> State:
        """The newest version in a store, if every byte of it is as it was written."""
    def save(self, /, folder: _t.Path) -> None:
        """Saves everything as one operation of a store: a new one, or the next version in one that is there."""
    def to_device(self, /, device: _t.DeviceLike) -> State:
        """The same with all arrays on a device."""
    def __len__(self) -> int: ...
    def __contains__(self, name: str, /) -> bool: ...
    def __getitem__(self, name: str, /) -> Any: ...
    def __setitem__(self, name: str, value: Any, /) -> None: ...
    def __delitem__(self, name: str, /) -> None: ...

@final
class Store:
    """Arrays on disk that come back bit for bit, or are refused, with the history of what was done."""
    def append(self, /, operation: str, arrays: Mapping[str, _t.ArrayLike] | None = None, notes: Mapping[str, str] | None = None) -> None:
        """Adds an operation with its arrays, by name. When this returns it is on disk; if it fails, the store is as it was."""
    @staticmethod
    def create(folder: _t.Path, kind: str, notes: Mapping[str, str] | None = None) -> Store:
        """A new store for something of a kind; the folder must not exist, or be empty."""
    @property
    def hash(self) -> str:
        """The hash of the last operation, which fixes all before it."""
    @property
    def history(self) -> list[dict[str, Any]]:
        """What was done, in order: `operation`, `notes`, names of `arrays`, and `time` in seconds since 1970, which old stores do not know."""
    @property
    def kind(self) -> str:
        """What the store is of, as `create` was told."""
    def map(self, /, number: SupportsIndex) -> tuple[dict[str, str], dict[str, Array]]:
        """As `read`, but the arrays' memory is the store's file, which is verified all the same. Nobody may change the file meanwhile; this library never does."""
    @property
    def notes(self) -> dict[str, str]:
        """What was kept at the store's creation."""
    @staticmethod
    def open(folder: _t.Path) -> Store:
        """Opens a store and verifies its head and its history; arrays are verified when they are read."""
    def read(self, /, number: SupportsIndex) -> tuple[dict[str, str], dict[str, Array]]:
        """What an operation kept: its notes, and its arrays by name if they are as they were written."""
    @staticmethod
    def salvage(folder: _t.Path) -> tuple[list[tuple[str, dict[str, str], dict[str, Array]]], list[str]]:
        """What can still be read of a damaged store: for each operation whose line can be trusted its name, its notes, and those of its arrays that are as they"""
    def verify(self, /) -> list[str]:
        """Looks at every byte; what is damaged, as text."""
    @property
    def version(self) -> int:
        """The version of the format that was last written."""
    def __len__(self) -> int: ...

def report(folder: _t.Path) -> dict[str, Any]:
    """What a look at every byte of a store has found: `intact`, `operations` that are as they were written, `bytes` looked at, `damage` as text, and `strays`,"""
def verify(folder: _t.Path) -> list[str]:
    """What is damaged in a store, as text; empty if it is intact."""
