"""Writes the type stubs `python/crossover/*.pyi` from the package itself: `python python/tools/stubs.py`, or `--check` to compare."""

import inspect
import pathlib
import sys

import crossover as xo

FOLDER = pathlib.Path(__file__).parent.parent / "crossover"
HEAD = "\"\"\"Written by python/tools/stubs.py.\"\"\"\n\nimport builtins\nfrom typing import Any, Iterator\n\n"

# What does not return an array.
RETURNS = {
    "allclose": "builtins.bool", "array_equal": "builtins.bool", "can_cast": "builtins.bool", "isdtype": "builtins.bool", "broadcast_arrays": "list[Array]", "meshgrid": "list[Array]",
    "nonzero": "tuple[Array, ...]", "unstack": "tuple[Array, ...]", "split": "list[Array]", "result_type": "dtype", "explain": "str",
    "fallbacks": "dict[tuple[str, str, int], int]", "get_runtime": "Runtime", "init": "Runtime", "install": "None", "gpu": "Any", "gpu_kernel": "Any", "par_iter": "par.ParIter",
    "histogram": "tuple[Array, Array]", "unique": "Any", "list_devices": "list[device]", "tolist": "Any", "item": "Any", "tobytes": "bytes",
    "fill": "None", "sort": "None", "numpy": "Any", "__len__": "int", "__bool__": "builtins.bool", "__float__": "float", "__complex__": "complex",
    "__index__": "int", "__int__": "int", "__iter__": "Iterator[Array]", "__setitem__": "None", "__contains__": "builtins.bool", "__repr__": "str",
    "__str__": "str", "__array__": "Any", "__dlpack__": "Any", "__dlpack_device__": "tuple[int, int]", "__array_namespace__": "Any",
    "__array_ufunc__": "Any", "__array_function__": "Any",
}
ARITHMETIC = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
METHODS = {"__len__", "__bool__", "__float__", "__complex__", "__index__", "__int__", "__iter__", "__contains__"}


def signature(function, method=False):
    """The arguments as text, without their types."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return "(self, *args: Any, **kwargs: Any)" if method else "(*args: Any, **kwargs: Any)"
    parts = []
    for one in found.parameters.values():
        default = inspect.Parameter.empty if one.default is inspect.Parameter.empty else ...
        kind = Any if one.name != "self" else inspect.Parameter.empty
        parts.append(one.replace(annotation=kind, default=default))
    text = str(found.replace(parameters=parts, return_annotation=inspect.Signature.empty))
    return text.replace("typing.Any", "Any").replace("Ellipsis", "...")


class Any:  # noqa: N801 - only its name is written
    """Stands for `typing.Any` in signatures."""


def summary(thing):
    """The first line of its documentation."""
    return (inspect.getdoc(thing) or "").split("\n")[0].replace('"""', "'''")


def function(name, thing, indent="", method=False):
    """The stub of a function."""
    returns = RETURNS.get(name, "Array") if method or name not in ("sort", "numpy") else "Array"
    text = signature(thing, method).replace("<class '__main__.Any'>", "Any").replace("__main__.Any", "Any")
    return f'{indent}def {name}{text} -> {returns}:\n{indent}    """{summary(thing)}"""\n'


def array():
    """The stub of the class."""
    lines = ["class Array:", f'    """{summary(xo.Array)}"""', ""]
    for name, kind in {
        "dtype": "_dtype", "shape": "tuple[int, ...]", "ndim": "int", "size": "int", "itemsize": "int", "nbytes": "int", "device": "_device",
        "T": "Array", "mT": "Array", "real": "Array", "imag": "Array", "base": "Array | None",
    }.items():
        lines += ["    @property", f"    def {name}(self) -> {kind}:", f'        """{summary(getattr(xo.Array, name))}"""']
    for name in sorted(vars(xo.Array)):
        thing = getattr(xo.Array, name)
        if callable(thing) and not name.startswith("_"):
            lines.append(function(name, thing, "    ", method=True).rstrip())
    for name in ARITHMETIC:
        for prefix in ("", "r", "i"):
            lines.append(f"    def __{prefix}{name}__(self, other: Any, /) -> Array: ...")
    for name in ("lt", "le", "gt", "ge"):
        lines.append(f"    def __{name}__(self, other: Any, /) -> Array: ...")
    for name in ("eq", "ne"):
        lines.append(f"    def __{name}__(self, other: Any, /) -> Array: ...  # type: ignore[override]")
    for name in ("neg", "pos", "abs", "invert"):
        lines.append(f"    def __{name}__(self) -> Array: ...")
    lines += ["    def __getitem__(self, key: Any, /) -> Array: ...", "    def __setitem__(self, key: Any, value: Any, /) -> None: ..."]
    for name in sorted(METHODS):
        argument = ", value: Any, /" if name == "__contains__" else ""
        lines.append(f"    def {name}(self{argument}) -> {RETURNS[name]}: ...")
    return "\n".join(lines) + "\n\n"


def plain_class(name, thing):
    """The stub of another class."""
    lines = [f"class {name}:", f'    """{summary(thing)}"""', f"    def __init__(self, *args: Any, **kwargs: Any) -> None: ..."]
    lines.append("    def __getattr__(self, name: str) -> Any: ...")
    if "__call__" in vars(thing):
        lines.append("    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...")
    if hasattr(thing, "__enter__"):
        lines += [f"    def __enter__(self) -> {name}: ...", "    def __exit__(self, *why: Any) -> builtins.bool: ..."]
    return "\n".join(lines) + "\n\n"


def stub():
    """The stub of the package."""
    text = HEAD + "from . import batch as batch, embed as embed, exceptions as exceptions, fft as fft, hrr as hrr, lattice as lattice\n"
    text, late = text + "from . import linalg as linalg, memory as memory, nn as nn, par as par, random as random\n\n", ""
    text += array()
    for name in sorted(set(dir(xo)) - {"Array"}):
        thing = getattr(xo, name)
        if inspect.ismodule(thing) or name in ("annotations",):
            continue
        if name == "ndarray":
            late += "ndarray = Array\n"
        elif thing is xo.profile:
            fields = "    name: str\n    everything: builtins.bool\n    trace: Any\n    def __init__"
            text += native_class(name, thing, PROFILE, RECORDING).replace("    def __init__", fields, 1)
        elif isinstance(thing, type):
            text += plain_class(name, thing)
        elif isinstance(thing, xo.dtype):
            late += f"{name}: dtype\n"
        elif callable(thing):
            text += function(name, thing) + "\n"
        else:
            late += f"{name}: {'None' if thing is None else type(thing).__name__}\n"
    # Inside the class, the names of these are attributes.
    return text + late + "_dtype = dtype\n_device = device\n"


# What methods of `crossover.profile` return, and those with underscores.
PROFILE = {
    "summary": "str", "bottlenecks": "list[dict[str, Any]]", "html": "str | None", "scope": "Any", "export_json": "None", "export_chrome": "None",
    "export_speedscope": "None", "export_folded": "None", "export_prometheus": "None",
}
RECORDING = [
    ("__call__", ", *args: Any, **kwargs: Any", "Any"), ("__get__", ", instance: Any, owner: Any = ...", "Any"), ("__enter__", "", "profile"),
    ("__exit__", ", *why: Any", "builtins.bool"),
]

# What methods and attributes of `crossover.hrr` return that is no array.
HRR = {
    "Space": {
        "model": "str", "d": "int", "width": "int", "dtype": "_dtype", "seed": "int", "inverse_exact": "Exact", "unbind_exact": "Exact",
        "cleanup": "list[tuple[int, float] | None]",
        "top_k": "list[list[tuple[int, float]]]", "factor": "list[Factors]", "retrieval_probability": "float", "capacity": "int",
    },
    "ItemMemory": {
        "open": "ItemMemory", "map": "ItemMemory", "salvage": "tuple[ItemMemory, list[str]]", "space": "Space", "capacity": "int", "names": "list[str]",
        "add": "None", "remove": "None", "save": "None", "to_device": "None", "query": "list[tuple[str, float] | None]",
        "top_k": "list[list[tuple[str, float]]]", "kept": "_dtype | None",
    },
    "AssociativeMemory": {
        "space": "Space", "store": "None", "store_vectors": "None", "forget": "None", "recall": "Any",
        "reliability": "dict[str, Any]", "open": "AssociativeMemory", "map": "AssociativeMemory", "salvage": "tuple[AssociativeMemory, list[str]]", "save": "None", "to_device": "None",
    },
    "Exact": {"zeros": "list[tuple[int, int]]", "gain": "float"},
    "Factors": {"indices": "list[int]", "similarity": "float", "rounds": "int", "is_found": "bool"},
    "State": {"open": "State", "map": "State", "save": "None", "to_device": "State", "names": "list[str]"},
    "Store": {
        "create": "Store", "open": "Store", "append": "None", "read": "tuple[dict[str, str], dict[str, Array]]", "history": "list[dict[str, Any]]",
        "kind": "str", "notes": "dict[str, str]", "hash": "str", "version": "int", "verify": "list[str]",
        "map": "tuple[dict[str, str], dict[str, Array]]",
        "salvage": "tuple[list[tuple[str, dict[str, str], dict[str, Array]]], list[str]]",
    },
}


# The same of `crossover.embed`; `-> Any` in the package is what these say here.
EMBED = {
    "Sinusoid": {"frequencies": "list[float]"},
    "EmbedConfig": {
        "vocabulary": "int", "dimensions": "int", "layout": "str", "base": "float", "scale": "float", "phase": "float", "shift": "float",
        "temperature": "float", "relative": "int | None", "precision": "str", "device": "Any", "fusion": "bool", "seed": "int", "embedder": "Embedder",
    },
    "Embedder": {
        "with_vocabulary": "Embedder", "with_dimensions": "Embedder", "with_precision": "Embedder", "with_relative": "Embedder", "recut": "Embedder",
        "load": "Embedder", "relative": "Array | None", "config": "dict[str, Any]", "info": "dict[str, Any]", "benchmark": "dict[str, float]",
        "advise": "dict[str, Any]", "vocabulary": "int", "dimensions": "int", "save": "None",
    },
    "Table": {"write": "None", "columns": "int", "dtype": "_dtype", "verify": "None", "stats": "dict[str, float]"},
    "Tokenizer": {
        "from_json": "Tokenizer", "train": "Tokenizer", "with_padding": "Tokenizer", "with_truncation": "Tokenizer", "whole": "Tokenizer",
        "vocabulary": "int", "special": "list[tuple[str, int]]", "id": "int | None", "token": "str | None", "encode": "list[int]",
        "encode_batch": "tuple[Array, Array]", "decode": "Any", "to_json": "str", "save": "None",
    },
    "TextEmbedder": {"tokenizer": "Tokenizer", "embedder": "Embedder", "embed": "tuple[Array, Array]", "save": "None", "load": "TextEmbedder"},
}
LATTICE = {
    "Lattice": {
        "sizes": "list[int]", "periodic": "bool", "vertex": "int", "coordinates": "list[int]", "neighbours": "list[int]", "distance": "int",
        "shortest_path": "list[int] | None", "route": "tuple[list[int], float] | None", "shortest_paths": "list[list[int] | None]",
        "distances": "list[int]", "distance_fields": "list[Array]", "analyze_structure": "dict[str, Any]",
    },
    "Scratch": {
        "bytes": "Any", "xor": "None", "add": "None", "swap": "None", "write": "Any", "finish": "dict[str, Any]",
    },
}
LATTICE_FUNCTIONS = {"walsh_hadamard": "Array", "xor_convolve": "Array", "xor_convolve_integers": "Array", "xor_in_place": "None", "xor_transform": "Array"}


def native_class(name, thing, returns, special=()):
    """The stub of a class of which each method is known; `special` are methods with underscores, what follows `self`, and what they return."""
    text = f'class {name}:\n    """{summary(thing)}"""\n    def __init__{constructor(thing)} -> None: ...\n'
    fields = getattr(thing, "__dataclass_fields__", {})
    text += "".join(f"    {field}: {returns[field]}\n" for field in fields)
    for member, found in sorted(vars(thing).items()):
        if member.startswith("_") or member in fields:
            continue
        kind = returns.get(member, "Array")
        if inspect.isgetsetdescriptor(found) or isinstance(found, property):
            text += f'    @property\n    def {member}(self) -> {kind}:\n        """{summary(found)}"""\n'
            continue
        static = isinstance(found, staticmethod)
        line = function(member, getattr(thing, member), "    ", method=not static)
        text += ("    @staticmethod\n" if static else "") + line.replace(f"-> {RETURNS.get(member, 'Array')}:", f"-> {kind}:")
    return text + "".join(f"    def {one}(self{more}) -> {kind}: ...\n" for one, more, kind in special if one in vars(thing)) + "\n"


def constructor(thing):
    """The arguments of a class's constructor as text, where it tells them."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return "(self, *args: Any, **kwargs: Any)"
    text = str(found) and signature(thing).replace("<class '__main__.Any'>", "Any").replace("__main__.Any", "Any")
    return "(self)" if text == "()" else text.replace("(", "(self, ", 1)


PLAIN = HEAD.replace("import builtins\n", "").replace(", Iterator", "") + "from . import Array\n\n"


def hrr():
    """The stub of `crossover.hrr`."""
    common = ("__len__", "", "int"), ("__contains__", ", name: str, /", "bool")
    text = PLAIN.replace("import Array", "import Array, dtype as _dtype")
    for name, returns in HRR.items():
        found = ("__getitem__", ", name: str, /", "Any" if name == "State" else "Array")
        special = *common, found, ("__setitem__", ", name: str, value: Any, /", "None"), ("__delitem__", ", name: str, /", "None")
        made = native_class(name, getattr(xo.hrr, name), returns, special)
        text += made.replace(f"def __init__{constructor(getattr(xo.hrr, name))}", "def __init__(self, *args: Any, **kwargs: Any)")
    text += function("report", xo.hrr.report).replace("-> Array:", "-> dict[str, Any]:")
    return text + function("verify", xo.hrr.verify).replace("-> Array:", "-> list[str]:")


def embed():
    """The stub of `crossover.embed`."""
    text = PLAIN.replace("import Array", "import Array, dtype as _dtype")
    for name, returns in EMBED.items():
        more = ", texts: list[str]" if name == "TextEmbedder" else ", tokens: Any, position: int = ..."
        kind = "tuple[Array, Array]" if name == "TextEmbedder" else "Array"
        text += native_class(name, getattr(xo.embed, name), returns, [("__call__", more, kind), ("__len__", "", "int")])
    return text + "".join(function(name, getattr(xo.embed, name)) for name in ("rotary", "sinusoid"))


def lattice():
    """The stub of `crossover.lattice`."""
    text = PLAIN
    for name, returns in LATTICE.items():
        special = ("__len__", "", "int"), ("__enter__", "", "Scratch"), ("__exit__", ", *why: Any", "None")
        text += native_class(name, getattr(xo.lattice, name), returns, special)
    text += function("cube", xo.lattice.cube).replace("-> Array:", "-> Lattice:")
    for name, kind in LATTICE_FUNCTIONS.items():
        text += function(name, getattr(xo.lattice, name)).replace("-> Array:", f"-> {kind}:")
    return text


if __name__ == "__main__":
    for name, text in {"__init__.pyi": stub(), "embed.pyi": embed(), "hrr.pyi": hrr(), "lattice.pyi": lattice()}.items():
        file = FOLDER / name
        if "--check" in sys.argv:
            if not file.exists() or file.read_text() != text:
                sys.exit(f"python/crossover/{name} is old: python python/tools/stubs.py")
            continue
        file.write_text(text)
        print(f"{file}: {len(text.splitlines())} lines")
    (FOLDER / "py.typed").touch()
