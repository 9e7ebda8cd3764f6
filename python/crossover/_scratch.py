"""Catalytic computing: memory that is full of something else serves as scratch, and is given back bit for bit."""

import hashlib

import numpy as np


class Scratch:
    """Borrowed memory, anything that can be written as bytes; reversible steps are noted, writes are saved first, and all of it is undone.

    After the `with` block, or `finish`, the memory is its owner's alone: a bytearray may grow again. What `bytes` and `write` gave is part of it
    and must be gone by then.

    >>> full = bytearray(b'data of somebody')
    >>> with xo.lattice.Scratch(full) as scratch:
    ...     scratch.xor(0, 4, 8)
    ...     scratch.write(4, 6)[:] = 42
    >>> full
    bytearray(b'data of somebody')
    """

    def __init__(self, memory):
        view = memoryview(memory)
        if view.readonly or not view.c_contiguous:
            raise ValueError("scratch: the memory is read-only or has gaps; a bytearray or a contiguous array is needed")
        self._all, self._length = np.frombuffer(view, dtype=np.uint8), view.nbytes
        self._hash, self._done, self._saved = self._hashed(), [], 0

    def _held(self):
        """The memory, which whoever lent it may not resize as long as this refers to it."""
        if self._all is None:
            raise ValueError(f"scratch: the {self._length} bytes were given back; borrow them anew")
        return self._all

    def _hashed(self):
        return hashlib.blake2b(self._held(), digest_size=16).hexdigest()

    @property
    def bytes(self):
        """The memory as it is now, not to be written to."""
        view = self._held().view()
        view.flags.writeable = False
        return view

    def xor(self, start, stop, other):
        """`to ^= from`: combines bytes `start` to `stop` with as many that start at `other`."""
        to, by = self._apart("xor", start, stop, other)
        to ^= by
        self._done.append(("xor", start, stop, other))

    def add(self, start, stop, other):
        """`to += from` byte by byte, modulo 256."""
        to, by = self._apart("add", start, stop, other)
        to += by
        self._done.append(("add", start, stop, other))

    def swap(self, start, stop, other):
        """Exchanges bytes `start` to `stop` with as many that start at `other`."""
        one, two = self._apart("swap", start, stop, other)
        one[:], two[:] = two.copy(), one.copy()
        self._done.append(("swap", start, stop, other))

    def write(self, start, stop):
        """Bytes `start` to `stop`, to write anything to. They are saved first."""
        found = self._inside("write", start, stop)
        self._saved += len(found)
        self._done.append(("write", start, stop, found.copy()))
        return found

    def finish(self):
        """Gives the memory back and proves that it is as it was: its hash, its length, operations that were undone, bytes that were saved."""
        self._held()
        operations, saved = len(self._done), self._saved
        self._undo()
        found = self._hashed()
        self._all = None
        if found != self._hash:
            raise RuntimeError(f"the borrowed {self._length} bytes hash to {found} and not to {self._hash} as before")
        return {"hash": found, "bytes": self._length, "operations": operations, "saved": saved}

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self._undo()
        self._all = None

    def __del__(self):
        if hasattr(self, "_done"):
            self._undo()

    def _undo(self):
        while self._done:
            op, start, stop, other = self._done.pop()
            to = self._all[start:stop]
            if op == "write":
                to[:] = other
                continue
            by = self._all[other:other + stop - start]
            if op == "xor":
                to ^= by
            elif op == "add":
                to -= by
            else:
                to[:], by[:] = by.copy(), to.copy()

    def _inside(self, op, start, stop):
        held = self._held()
        if not 0 <= start <= stop <= len(held):
            raise ValueError(f"{op}: bytes {start}..{stop} do not lie within {len(held)}")
        return held[start:stop]

    def _apart(self, op, start, stop, other):
        """Two ranges that must not meet: what is combined with itself cannot be undone."""
        to = self._inside(op, start, stop)
        end = other + len(to)
        by = self._inside(op, other, end)
        if start < end and other < stop:
            raise ValueError(f"{op}: bytes {start}..{stop} and {other}..{end} overlap")
        return to, by
