"""Random expressions, computed by NumPy and by us: `python python/tests/expressions.py --cases 5000`.

Dtypes and shapes must be equal. Elements of booleans, integers and whatever was computed exactly must be equal too; other elements may differ by
1e-12 (float64, complex128) or 2e-5 (float32, complex64) of the largest number that occurred on the way. Functions that jump are applied to
exact values only.
"""

import argparse
import warnings

import numpy as np

import crossover as xo

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float32", "float64", "complex64", "complex128"]
SMOOTH = ["sin", "cos", "tanh", "exp", "arctan", "expm1", "sinh", "cosh", "arcsinh"]
POSITIVE = ["sqrt", "log", "log1p", "log2", "log10"]
JUMPING = ["floor", "ceil", "trunc", "sign", "rint"]
COMPARE = ["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"]


class Value:
    """What both sides have, whether it is exact, and the largest number on the way."""

    def __init__(self, theirs, ours, text, exact, scale=0.0):
        self.theirs, self.ours, self.text, self.exact = theirs, ours, text, exact
        finite = np.abs(theirs[np.isfinite(theirs)]) if theirs.size else theirs
        self.scale = max(scale, float(finite.max()) if finite.size else 0.0, 1.0)


class Case:
    """One random expression."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        rank = int(self.rng.integers(0, 4))
        self.shape = tuple(int(n) for n in self.rng.integers(1, 6, rank))
        if rank and self.rng.random() < 0.05:
            self.shape = (0, *self.shape[1:])
        self.pool = [self.leaf() for _ in range(3)]

    def choose(self, items):
        return items[int(self.rng.integers(len(items)))]

    def leaf(self):
        dtype = self.choose(DTYPES)
        shape = tuple(n if self.rng.random() < 0.8 else 1 for n in self.shape)
        if dtype == "bool":
            theirs = np.asarray(self.rng.random(shape) < 0.5)
        elif dtype.startswith("u"):
            theirs = self.rng.integers(0, 12, shape).astype(dtype)
        elif dtype.startswith("int"):
            theirs = self.rng.integers(-12, 12, shape).astype(dtype)
        else:
            theirs = (self.rng.integers(-24, 24, shape) / 4).astype(dtype)
            if dtype.startswith("complex"):
                theirs = (theirs + 1j * self.rng.integers(-24, 24, shape) / 4).astype(dtype)
        theirs = np.asarray(theirs)
        return Value(theirs, xo.asarray(theirs), f"{dtype}{list(shape)}", True)

    def apply(self, text, function, *values, exact=True):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            theirs = np.asarray(function(np, *(value.theirs for value in values)))
        ours = function(xo, *(value.ours for value in values))
        text = text.format(*(value.text for value in values))
        exact = exact and all(value.exact for value in values)
        made = Value(theirs, ours, text, exact, max(value.scale for value in values))
        # Exactness ends where numbers outgrow a float32.
        made.exact = made.exact and made.scale < 1e5
        return made

    def of(self, kinds, exact=False):
        found = [v for v in self.pool if v.theirs.dtype.kind in kinds and (v.exact or not exact) and v.scale < 1e6]
        return self.choose(found) if found else None

    def smooth(self):
        x = self.of("f")
        if x is None or x.scale > 30:
            return None
        name = self.choose(SMOOTH)
        return self.apply(name + "({})", lambda m, x: getattr(m, name)(x), x, exact=False)

    def positive(self):
        x = self.of("f")
        if x is None:
            return None
        name = self.choose(POSITIVE)
        return self.apply(name + "(abs({})+1)", lambda m, x: getattr(m, name)(abs(x) + 1), x, exact=False)

    def jump(self):
        x = self.of("f", exact=True)
        name = self.choose(JUMPING)
        return x and self.apply(name + "({})", lambda m, x: getattr(m, name)(x), x)

    def binary(self):
        x, y = self.of("biufc"), self.of("biufc")
        if x is None or y is None:
            return None
        name = self.choose(["add", "subtract", "multiply", "maximum", "minimum", "divide", "floor_divide", "remainder", "hypot", "arctan2"])
        kinds = x.theirs.dtype.kind + y.theirs.dtype.kind
        if "c" in kinds and name not in ("add", "subtract", "multiply", "divide"):
            return None
        if kinds == "bb" and name in ("subtract", "divide", "floor_divide", "remainder", "hypot", "arctan2"):
            return None
        if name in ("hypot", "arctan2") and set(kinds) != {"f"}:
            return None
        if name in ("floor_divide", "remainder"):
            if not (x.exact and y.exact) or "f" in kinds and (np.asarray(y.theirs) == 0).any():
                return None
        exact = name in ("add", "subtract", "multiply", "maximum", "minimum", "floor_divide", "remainder") and "c" not in kinds
        if name == "divide" and (np.abs(y.theirs) < 0.2).any():
            return None
        return self.apply(name + "({}, {})", lambda m, x, y: getattr(m, name)(x, y), x, y, exact=exact)

    def compare(self):
        x, y = self.of("biuf", exact=True), self.of("biuf", exact=True)
        if x is None or y is None:
            return None
        name = self.choose(COMPARE)
        return self.apply(name + "({}, {})", lambda m, x, y: getattr(m, name)(x, y), x, y)

    def reduce(self):
        x = self.of("biufc")
        if x is None:
            return None
        name = self.choose(["sum", "mean", "max", "min", "std", "var", "any", "all", "prod", "argmax", "argmin", "cumsum"])
        kind, shape = x.theirs.dtype.kind, x.theirs.shape
        axis = None if not shape or self.rng.random() < 0.4 else int(self.rng.integers(-len(shape), len(shape)))
        if kind == "c" and name in ("max", "min", "argmax", "argmin"):
            return None
        if name in ("argmax", "argmin") and not x.exact or name == "prod" and x.scale > 8:
            return None
        if 0 in shape and name in ("max", "min", "argmax", "argmin", "mean", "std", "var"):
            return None
        if name == "cumsum":
            return self.apply(f"cumsum({{}}, axis={axis})", lambda m, x: m.cumsum(x, axis=axis), x)
        keep = bool(self.rng.random() < 0.3)
        exact = name not in ("mean", "std", "var", "prod")
        text = f"{name}({{}}, axis={axis}, keepdims={keep})"
        return self.apply(text, lambda m, x: getattr(m, name)(x, axis=axis, keepdims=keep), x, exact=exact)

    def shape_key(self, shape):
        key = []
        for n in shape:
            draw = self.rng.random()
            if draw < 0.3 and n:
                key.append(int(self.rng.integers(-n, n)))
            elif draw < 0.8:
                start, stop = (None if self.rng.random() < 0.4 else int(v) for v in self.rng.integers(-n - 1, n + 2, 2))
                key.append(slice(start, stop, self.choose([None, 1, 2, -1, -2])))
            else:
                key.append(slice(None))
        if self.rng.random() < 0.3:
            key.insert(int(self.rng.integers(len(key) + 1)), None)
        return tuple(key)

    def rearrange(self):
        x = self.choose(self.pool)
        shape = x.theirs.shape
        name = self.choose(["T", "reshape", "index", "index", "flip", "roll", "expand", "concat", "stack", "tile", "repeat", "take"])
        if name == "T":
            return self.apply("{}.T", lambda m, x: x.T, x)
        if name == "reshape":
            return self.apply("reshape({}, -1)", lambda m, x: m.reshape(x, (-1,)), x) if x.theirs.size else None
        if name == "index":
            key = self.shape_key(shape)
            return self.apply(f"{{}}[{key}]", lambda m, x: x[key], x)
        if name == "flip":
            return self.apply("flip({})", lambda m, x: m.flip(x), x)
        if name == "roll":
            shift = int(self.rng.integers(-3, 4))
            return self.apply(f"roll({{}}, {shift})", lambda m, x: m.roll(x, shift), x)
        if name == "expand":
            return self.apply("expand_dims({}, 0)", lambda m, x: m.expand_dims(x, 0), x)
        if name == "tile":
            return self.apply("tile({}, 2)", lambda m, x: m.tile(x, (2,)), x)
        if name == "repeat":
            return self.apply("repeat({}, 2)", lambda m, x: m.repeat(x, 2), x)
        if name == "take":
            if not shape or not shape[0]:
                return None
            at = self.rng.integers(-shape[0], shape[0], 3)
            return self.apply(f"{{}}[{at.tolist()}]", lambda m, x: x[m.asarray(at)], x)
        y = self.choose(self.pool)
        if not shape or y.theirs.shape != shape:
            return None
        if name == "concat":
            return self.apply("concatenate({}, {})", lambda m, x, y: m.concatenate([x, y], axis=0), x, y)
        return self.apply("stack({}, {})", lambda m, x, y: m.stack([x, y], axis=-1), x, y)

    def select(self):
        mask, x, y = self.of("b"), self.of("biufc"), self.of("biufc")
        if mask is None or x is None or y is None:
            return None
        try:
            np.broadcast_shapes(mask.theirs.shape, x.theirs.shape, y.theirs.shape)
        except ValueError:
            return None
        if self.rng.random() < 0.3 and mask.theirs.shape == x.theirs.shape and mask.theirs.ndim:
            return self.apply("{1}[{0}]", lambda m, mask, x: x[mask], mask, x)
        return self.apply("where({}, {}, {})", lambda m, mask, x, y: m.where(mask, x, y), mask, x, y)

    def number(self):
        x = self.of("iufc")
        if x is None:
            return None
        number = self.choose([1, 2, 3, 0.5, 2.0])
        name = self.choose(["add", "multiply", "divide", "subtract"])
        side = self.rng.random() < 0.5 and name != "divide"
        text = f"{name}({number}, {{}})" if side else f"{name}({{}}, {number})"
        exact = name != "divide"
        if side:
            return self.apply(text, lambda m, x: getattr(m, name)(number, x), x, exact=exact)
        return self.apply(text, lambda m, x: getattr(m, name)(x, number), x, exact=exact)

    def order(self):
        x = self.of("biuf", exact=True)
        if x is None or not x.theirs.ndim:
            return None
        name = self.choose(["sort", "argsort", "unique", "clip"])
        if name == "unique":
            return self.apply("unique({})", lambda m, x: m.unique(x), x)
        if name == "clip":
            low, high = (1, 5) if x.theirs.dtype.kind == "u" else (-2, 3)
            return None if x.theirs.dtype.kind == "b" else self.apply("clip({})", lambda m, x: m.clip(x, low, high), x)
        if name == "sort":
            return self.apply("sort({})", lambda m, x: m.sort(x), x)
        return self.apply("argsort({})", lambda m, x: m.argsort(x, stable=True), x)

    def check(self, value):
        theirs, ours = value.theirs, value.ours
        assert isinstance(ours, xo.Array), value.text
        assert ours.shape == theirs.shape, f"{value.text}: shape {ours.shape}, NumPy {theirs.shape}"
        assert ours.dtype.name == theirs.dtype.name, f"{value.text}: dtype {ours.dtype}, NumPy {theirs.dtype}"
        back = np.asarray(ours)
        if theirs.dtype.kind in "biu" or value.exact:
            same = np.array_equal(back, theirs, equal_nan=theirs.dtype.kind in "fc")
            assert same, f"{value.text}: {back!r}, NumPy {theirs!r}"
            return
        narrow = any(part in value.text for part in ("float32", "complex64")) or theirs.dtype.itemsize in (4,)
        tolerance = (2e-5 if narrow else 1e-12) * value.scale
        with np.errstate(all="ignore"):
            near = np.abs(back - theirs) <= tolerance
        near |= (back == theirs) | (np.isnan(back) & np.isnan(theirs))
        assert near.all(), f"{value.text}: {back!r}, NumPy {theirs!r}"

    def run(self):
        steps = int(self.rng.integers(1, 7))
        made = 0
        for _ in range(60):
            if made == steps:
                break
            names = ["smooth", "positive", "jump", "binary", "binary", "compare", "reduce", "reduce", "rearrange", "select", "number", "order"]
            try:
                value = getattr(self, self.choose(names))()
            except ValueError as error:
                # Shapes that do not fit are an error on both sides; NumPy's comes first.
                if "broadcast" in str(error):
                    continue
                raise
            if value is not None:
                self.pool.append(value)
                made += 1
        for value in self.pool[3:]:
            self.check(value)
        return made


def run(cases, first=0):
    """Runs cases; how many operations they had."""
    operations = 0
    for seed in range(first, first + cases):
        try:
            operations += Case(seed).run()
        except Exception as error:
            raise AssertionError(f"case {seed}: {error}") from error
    return operations


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    print(f"{given.cases} expressions of {run(given.cases, given.first)} operations agree with NumPy {np.__version__}")
