"""Written by python/tools/stubs.py."""

from typing import Any

from . import Array, dtype as _dtype

class Space:
    """A model, the number of elements of its vectors, their dtype, and a seed for names."""
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def bind(self, /, a: Any, b: Any) -> Array:
        """Binds two vectors into one that resembles neither."""
    def bind_normalised(self, /, a: Any, b: Any) -> Array:
        """`bind`, then `normalise`, in one kernel."""
    def bind_superpose(self, /, keys: Any, values: Any) -> Array:
        """Rows bound pairwise and superposed."""
    def capacity(self, /, items: Any, wanted: Any = ...) -> int:
        """The most pairs that can be superposed so that retrieval succeeds with this probability."""
    def cleanup(self, /, queries: Any, items: Any, threshold: Any = ...) -> list[tuple[int, float] | None]:
        """For each query the row of the nearest item and how alike they are, or None below the threshold."""
    def compact(self, /, vectors: Any) -> Array:
        """Vectors in a quarter to half of the memory, to be kept: numbers rounded to bfloat16, those of "fhrr" in rows of 2·d."""
    @property
    def d(self) -> int:
        """Elements of a vector."""
    @property
    def dtype(self) -> _dtype:
        """The type of the elements."""
    def expand(self, /, compact: Any) -> Array:
        """Vectors of the space from compact ones."""
    def factor(self, /, bound: Any, codebooks: Any, rounds: Any = ...) -> list[int] | None:
        """Which items, one of each codebook, were bound: their rows, or None if that was not found."""
    def identity(self, /) -> Array:
        """The vector that binding with leaves every vector as it is."""
    def inverse(self, /, a: Any) -> Array:
        """The vector that undoes a binding, approximately."""
    def inverse_exact(self, /, a: Any) -> tuple[Array, list[tuple[int, int]]]:
        """The vector that undoes a binding exactly, and a list of (row, bin) where there is none."""
    @property
    def model(self) -> str:
        """The model's name."""
    def multi_bind(self, /, vectors: Any) -> Array:
        """Binds any number of vectors."""
    def named(self, /, names: Any) -> Array:
        """The vector of a name, or of each of several names."""
    def nearest(self, /, queries: Any, items: Any) -> Array:
        """The rows of the nearest items, one for each query, as an array; -1 where a query is NaN. Lazy, and computed where the vectors are."""
    def ngram(self, /, vectors: Any) -> Array:
        """One n-gram: the rows bound together, each permuted by its distance from the end."""
    def ngrams(self, /, vectors: Any, n: Any) -> Array:
        """All n-grams of the rows, superposed."""
    def normalise(self, /, a: Any) -> Array:
        """Vectors as superpositions should be."""
    def permute(self, /, a: Any, times: Any = ...) -> Array:
        """Moves every element to another place, by a fixed random permutation, so many times."""
    def power(self, /, a: Any, exponent: Any) -> Array:
        """A vector bound with itself so many times; fractions where a root exists."""
    def random(self, /, n: Any, seed: Any = ...) -> Array:
        """`n` random vectors of a seed, one per row."""
    def record(self, /, pairs: Any) -> Array:
        """A record of pairs of a role and a filler, superposed; ask it with `unbind`."""
    def retrieval_probability(self, /, pairs: Any, items: Any) -> float:
        """The probability that the right one of `items` items is found in a superposition of `pairs` pairs."""
    @property
    def seed(self) -> int:
        """The seed of names."""
    def sequence(self, /, vectors: Any) -> Array:
        """A sequence: rows permuted by their place and superposed."""
    def sequence_item(self, /, sequence: Any, place: Any) -> Array:
        """What stands at a place of a sequence, with noise."""
    def similarities(self, /, queries: Any, items: Any) -> Array:
        """The similarity of every query with every item, as a matrix."""
    def similarity(self, /, a: Any, b: Any) -> Array:
        """How alike vectors are: 1 equal, 0 unrelated, -1 opposite."""
    def superpose(self, /, vectors: Any, weights: Any = ...) -> Array:
        """The superposition of the rows, with weights or without."""
    def top_k(self, /, queries: Any, items: Any, k: Any) -> list[list[tuple[int, float]]]:
        """For each query the `k` nearest items, nearest first, as (row, similarity)."""
    def unbind(self, /, bound: Any, key: Any) -> Array:
        """What was bound with `key` to give `bound`, with noise."""
    def unbind_exact(self, /, bound: Any, key: Any) -> tuple[Array, list[tuple[int, int]]]:
        """What was bound with `key`, exactly, and a list of (row, bin) where that cannot be known."""
    def unitary(self, /, a: Any) -> Array:
        """The nearest vector whose inverse is exact."""

class ItemMemory:
    """Items by name, one vector each, that grow."""
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def add(self, /, names: Any, vector: Any = ...) -> None:
        """Adds names with their own vectors, or one name with the vector given."""
    @property
    def capacity(self) -> int:
        """Items that fit without moving."""
    @staticmethod
    def map(folder: Any) -> ItemMemory:
        """As `open`, but the vectors are used where they lie in the store's files, which are verified all the same: for memories larger than"""
    @property
    def names(self) -> list[str]:
        """The names, in the order of the rows."""
    @staticmethod
    def open(folder: Any) -> ItemMemory:
        """The memory of a store, if every byte is as it was written."""
    def query(self, /, queries: Any, threshold: Any = ...) -> list[tuple[str, float] | None]:
        """The nearest item of each query as (name, similarity), or None below the threshold."""
    def remove(self, /, name: Any) -> None:
        """Removes an item."""
    @staticmethod
    def salvage(folder: Any) -> tuple[ItemMemory, list[str]]:
        """What can be saved of a damaged store: a memory of the items that are as they were written, and what is damaged, as text."""
    def save(self, /, folder: Any) -> None:
        """Saves what is new."""
    @property
    def space(self) -> Space:
        """The space of the vectors."""
    def to_device(self, /, device: Any) -> None:
        """Keeps the vectors, as queries compare with them, on a device, so that queries there move nothing."""
    def top_k(self, /, queries: Any, k: Any) -> list[list[tuple[str, float]]]:
        """The k nearest items of each query, nearest first."""
    @property
    def vectors(self) -> Array:
        """The vectors, one per row."""
    def __len__(self) -> int: ...
    def __contains__(self, name: str, /) -> bool: ...
    def __getitem__(self, name: str, /) -> Array: ...

class AssociativeMemory:
    """Pairs of items, superposed in one vector of fixed size, which answers less certainly with every pair."""
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def forget(self, /, key: Any, value: Any) -> None:
        """Takes a pair of vectors out again that was stored."""
    def recall(self, /, items: Any, key: Any, threshold: Any = ...) -> tuple[str, float] | None:
        """The item that was stored with a key as (name, similarity), or None if no item is as alike as the threshold."""
    def recall_vector(self, /, key: Any) -> Array:
        """What was stored with a vector, with the noise of the other pairs."""
    def reliability(self, /, items: Any) -> dict[str, Any]:
        """How much answers can be relied upon: the pairs, the items, the probability that an answer is right, the pairs that could be stored"""
    @property
    def space(self) -> Space:
        """The space of the vector."""
    def store(self, /, items: Any, key: Any, value: Any) -> None:
        """Stores a pair of items by name."""
    def store_vectors(self, /, key: Any, value: Any) -> None:
        """Stores a pair of vectors."""
    @property
    def trace(self) -> Array:
        """The superposition."""
    def __len__(self) -> int: ...

class State:
    """A map of names to arrays and to plain values (bool, int, float, str) that moves, is saved and verified as one."""
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @property
    def names(self) -> list[str]:
        """The names of arrays and values."""
    @staticmethod
    def open(folder: Any) -> State:
        """The newest version in a store, if every byte of it is as it was written."""
    def save(self, /, folder: Any) -> None:
        """Saves everything as one operation of a store: a new one, or the next version in one that is there."""
    def to_device(self, /, device: Any) -> State:
        """The same with all arrays on a device."""
    def __len__(self) -> int: ...
    def __contains__(self, name: str, /) -> bool: ...
    def __getitem__(self, name: str, /) -> Any: ...
    def __setitem__(self, name: str, value: Any, /) -> None: ...
    def __delitem__(self, name: str, /) -> None: ...

class Store:
    """Arrays on disk that come back bit for bit, or are refused, with the history of what was done."""
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def append(self, /, operation: Any, arrays: Any = ..., notes: Any = ...) -> None:
        """Adds an operation with its arrays, by name. When this returns it is on disk; if it fails, the store is as it was."""
    @staticmethod
    def create(folder: Any, kind: Any, notes: Any = ...) -> Store:
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
    @property
    def notes(self) -> dict[str, str]:
        """What was kept at the store's creation."""
    @staticmethod
    def open(folder: Any) -> Store:
        """Opens a store and verifies its head and its history; arrays are verified when they are read."""
    def read(self, /, number: Any) -> tuple[dict[str, str], dict[str, Array]]:
        """What an operation kept: its notes, and its arrays by name if they are as they were written."""
    def verify(self, /) -> list[str]:
        """Looks at every byte; what is damaged, as text."""
    @property
    def version(self) -> int:
        """The version of the format that was last written."""
    def __len__(self) -> int: ...

def verify(folder: Any) -> list[str]:
    """What is damaged in a store, as text; empty if it is intact."""
