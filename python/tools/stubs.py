"""Writes the type stubs `python/crossover/*.pyi` from the package itself: `python python/tools/stubs.py`, or `--check` to compare.

Each public module has a stub, but for those that say their types themselves (`INLINE`) and those of which one is written by hand (`BY_HAND`).
What functions take is in `stub_parameters.py`, what they return in `stub_returns.py`. That the stubs agree with the package is tested by `mypy.stubtest`, see `python/tests/test_types.py`.
"""

import inspect
import pathlib
import re
import sys
import textwrap
import types

import crossover as xo
import stub_parameters as parameters
import stub_returns as known

FOLDER = pathlib.Path(__file__).parent.parent / "crossover"
SAYS = "\"\"\"Written by python/tools/stubs.py.\"\"\"\n\n"
# What the stubs of modules with dtypes import.
DTYPED = "from . import Array, dtype as _dtype"
# What stubs use of `typing`.
TYPING = ["Any", "Callable", "Iterator", "Literal", "Mapping", "NamedTuple", "Sequence", "SupportsIndex", "TypeVar", "final", "overload"]

INLINE = {"batch", "exceptions", "par"}
# With overloads.
BY_HAND = {"nn"}


class Text:
    """Text in a signature: a type, or a default."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def default(value):
    """How a default is shown: as it is, if it is a constant that can be read."""
    plain = value if isinstance(value, tuple) else (value,)
    return Text(repr(value) if all(one is None or type(one) in (bool, int, float, str) and one == one for one in plain) else "...")


def signature(function, where, method=False):
    """The arguments as text."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return "(self, *args: Any, **kwargs: Any)" if method else "(*args: Any, **kwargs: Any)"
    parts = []
    for one in found.parameters.values():
        if one.name == "self":
            parts.append(one)
            continue
        kind = parameters.of(where, one.name)
        needed = one.default is inspect.Parameter.empty
        may_be_none = not needed and one.default is None and not kind.endswith(("Any", "| None"))
        parts.append(one.replace(annotation=Text(f"{kind} | None" if may_be_none else kind), default=one.default if needed else default(one.default)))
    return str(found.replace(parameters=parts, return_annotation=inspect.Signature.empty))


def head(body, *lines):
    """What stands above a stub: the imports that it needs, and these."""
    text = SAYS + ("import builtins\n" if "builtins." in body else "") + ("import os\n" if "os." in body else "")
    words = [word for word in TYPING if re.search(rf"\b{word}\b", body)]
    text += f"from typing import {', '.join(words)}\n" if words else ""
    text += "\nfrom typing_extensions import Self\n" if "-> Self" in body else ""
    lines = ["from . import _typing as _t", *lines] if "_t." in body else lines
    return text + "".join(f"\n{line}" for line in lines) + "\n"


def summary(thing):
    """The first line of its documentation."""
    return (inspect.getdoc(thing) or "").split("\n")[0].replace('"""', "'''")


def function(name, thing, where="", indent="", method=False, returns="Array"):
    """The stub of a function; `where` is its class or module, with a dot behind."""
    return f'{indent}def {name}{signature(thing, where + name, method)} -> {returns}:\n{indent}    """{summary(thing)}"""\n'


def attribute(name, thing, kind):
    """The stub of a property."""
    text = f'    @property\n    def {name}(self) -> {kind}:\n        """{summary(thing)}"""\n'
    if getattr(thing, "fset", None) is not None:
        text += f"    @{name}.setter\n    def {name}(self, value: _t.ArrayLike) -> None: ...\n"
    return text


def is_attribute(found):
    """Whether a member of a class is read like an attribute."""
    return inspect.isgetsetdescriptor(found) or isinstance(found, property)


def array():
    """The stub of the class of arrays."""
    text = f'@final\nclass Array:\n    """{summary(xo.Array)}"""\n\n'
    members = [(name, found) for name, found in sorted(vars(xo.Array).items()) if not name.startswith("_")]
    for name, found in sorted(members, key=lambda member: not is_attribute(member[1])):
        kind = known.METHODS.get(name, "Array")
        text += attribute(name, found, kind) if is_attribute(found) else function(name, getattr(xo.Array, name), "Array.", "    ", True, kind)
    for name in known.ARITHMETIC:
        for prefix in ("", "r", "i"):
            more = ", modulo: None = ..." if name == "pow" and prefix != "i" else ""
            ignored = "  # type: ignore[misc]" if name == "pow" and prefix == "i" else ""
            text += f"    def __{prefix}{name}__(self, other: _t.ArrayLike{more}, /) -> Array: ...{ignored}\n"
    for prefix in ("", "r"):
        text += f"    def __{prefix}divmod__(self, other: _t.ArrayLike, /) -> tuple[Array, Array]: ...\n"
    for name in ("lt", "le", "gt", "ge"):
        text += f"    def __{name}__(self, other: _t.ArrayLike, /) -> Array: ...\n"
    for name in ("eq", "ne"):
        text += f"    def __{name}__(self, other: object, /) -> Array: ...  # type: ignore[override]\n"
    for name in ("neg", "pos", "abs", "invert"):
        text += f"    def __{name}__(self) -> Array: ...\n"
    for name, kind in known.SPECIAL.items():
        found = vars(xo.Array)[name]
        if is_attribute(found):
            text += f"    @property\n    def {name}(self) -> {kind}: ...\n"
            continue
        text += f"    def {name}{signature(found, f'Array.{name}', True)} -> {kind}: ...\n"
    return text + "\n"


def native_class(name, thing, returns, special=(), fields=(), where=""):
    """The stub of a class of which each method is known; `special` are methods with underscores, what follows `self`, and what they return.

    `where` is the module, with a dot behind.
    """
    text = f'{final(thing)}class {name}:\n    """{summary(thing)}"""\n'
    fields = [*fields, *getattr(thing, "__dataclass_fields__", {})]
    text += "".join(f"    {field}: {returns[field]}\n" for field in fields)
    text += constructor(thing, where + name)
    for member, found in sorted(vars(thing).items()):
        if member.startswith("_") or member in fields:
            continue
        kind = returns.get(member, "Array")
        if is_attribute(found):
            text += attribute(member, found, kind)
            continue
        static = isinstance(found, staticmethod)
        text += ("    @staticmethod\n" if static else "") + function(member, getattr(thing, member), f"{where}{name}.", "    ", not static, kind)
    return text + "".join(f"    def {one}(self{more}) -> {kind}: ...\n" for one, more, kind in special if one in vars(thing)) + "\n"


def final(thing):
    """What says that a class has no subclasses."""
    return "" if thing.__flags__ & 1 << 10 else "@final\n"


def constructor(thing, where):
    """The stub of a class's constructor, with its arguments where it tells them; none of a class that only the library makes."""
    text = signature(thing, where)
    is_native = isinstance(vars(thing).get("__new__"), types.BuiltinFunctionType)
    if not is_native and "__init__" not in vars(thing):
        return ""
    first = "cls" if is_native else "self"
    text = f"({first})" if text == "()" else text.replace("(", f"({first}, ", 1)
    return f"    def __new__{text} -> Self: ...\n" if is_native else f"    def __init__{text} -> None: ...\n"


def block(name):
    """The methods of a `with` block, as `native_class` takes them."""
    return [("__enter__", "", name), ("__exit__", ", *why: Any", "builtins.bool")]


# The classes of the package: what their members return, special methods, and attributes that are no properties.
CLASSES = {
    "Runtime": (known.RUNTIME, block("Runtime"), ()),
    "__array_namespace_info__": (known.INFO, (), ()),
    "device": (known.DEVICE, block("device"), ()),
    "dtype": (known.DTYPE, [("__call__", ", value: _t.ArrayLike, /", "Array")], ()),
    "finfo": (known.FINFO, (), known.FINFO),
    "iinfo": (known.IINFO, (), known.IINFO),
    "profile": (known.PROFILE, known.RECORDING, ("name", "everything", "trace")),
}
# What else stands at the top of the stub of the package.
FROM = {
    "._accelerator": ["Accelerators as _Accelerators"],
    "._native": ["PressureWatch as _PressureWatch"],
    "._sets": ["UniqueAllResult as _UniqueAllResult", "UniqueCountsResult as _UniqueCountsResult", "UniqueInverseResult as _UniqueInverseResult"],
}


def package():
    """The stub of the package."""
    modules = [name for name in sorted(dir(xo)) if inspect.ismodule(getattr(xo, name))]
    imports, late = [f"from . import {name} as {name}" for name in modules], ""
    imports += [f"from {source} import {', '.join(names)}" for source, names in FROM.items()]
    names = [name for name in sorted(set(dir(xo)) - {"Array", "annotations"}) if name not in modules]
    # What a module with types of its own has comes from there.
    homes = {}
    for name in names:
        home = str(getattr(getattr(xo, name), "__module__", ""))
        if home.rpartition(".")[2] in modules and home.startswith("crossover."):
            homes.setdefault(home.rpartition(".")[2], []).append(name)
    for home, owned in homes.items():
        imports.append(f"from .{home} import {', '.join(f'{name} as {name}' for name in owned)}")
        names = [name for name in names if name not in owned]
    text = array()
    for name in names:
        thing = getattr(xo, name)
        if thing is xo.Array:
            late += f"{name} = Array\n"
        elif name in CLASSES:
            returns, special, fields = CLASSES[name]
            text += native_class(name, thing, {"name": "str", "everything": "builtins.bool", "trace": "Any", **returns}, special, fields)
        elif isinstance(thing, xo.dtype):
            late += f"{name}: dtype\n"
        elif name in known.OVERLOADS:
            text += "\n".join(f"@overload\ndef {name}{one}: ..." for one in known.OVERLOADS[name]) + "\n\n"
        elif callable(thing):
            text += function(name, thing, returns=known.RETURNS.get(name, "Array")) + "\n"
        else:
            late += f"{name}: {'None' if thing is None else type(thing).__name__}\n"
    # Inside classes, the names of these are attributes.
    text = known.VARIABLES + text + late + "_dtype = dtype\n_device = device\n"
    return head(text, *imports) + "\n" + text


def result(name, thing):
    """The stub of a tuple of arrays with names."""
    return f"class {name}(NamedTuple):\n" + "".join(f"    {field}: Array\n" for field in thing._fields) + "\n"


def names_of(module):
    """The public names of a module: those it lists, or those of functions and classes that are its own."""
    own = [name for name, thing in vars(module).items() if callable(thing) and getattr(thing, "__module__", "") == module.__name__]
    return sorted(name for name in getattr(module, "__all__", own) if not name.startswith("_"))


def plain(name):
    """The stub of a module of functions, and of what classes it has."""
    module, returns = getattr(xo, name, None) or sys.modules[f"crossover.{name}"], getattr(known, name.upper(), {})
    body, tuples, borrowed = "", "", []
    for one in [found for found, thing in vars(module).items() if hasattr(thing, "_fields")]:
        tuples += result(one, getattr(module, one))
    for one in names_of(module):
        thing = getattr(module, one)
        if hasattr(thing, "_fields"):
            continue
        if getattr(xo, one, None) is thing and getattr(thing, "__module__", "") != module.__name__:
            borrowed.append(f"from . import {one} as {one}")
        elif isinstance(thing, type) and thing.__module__ == "crossover.exceptions":
            borrowed.append(f"from .exceptions import {one} as {one}")
        elif isinstance(thing, type):
            more = [("__getattr__", ", name: str", "Any"), *known.BLOCKS.get(one, ())]
            fields = ["settings"] if name == "config" else []
            kinds = {"Generator": known.GENERATOR, "Key": known.KEY}.get(one, returns)
            if one == "ConfigBuilder":
                kinds = {member: returns.get(member, one) for member in vars(thing)}
            body += native_class(one, thing, {**kinds, "settings": "dict[str, Any]"}, more, fields, f"{name}.")
        else:
            body += function(one, thing, f"{name}.", returns=returns.get(one, "Array")) + "\n"
    whole = tuples + body
    own = ", ".join(word for word in ("Array", "Runtime") if re.search(rf"\b{word}\b", whole))
    lines = [f"from . import {own}"] if own else []
    lines += ["from ._native import PressureWatch as _PressureWatch"] if "_PressureWatch" in whole else []
    return head(whole, *lines, *borrowed) + "\n" + whole


def hrr():
    """The stub of `crossover.hrr`."""
    common = ("__len__", "", "int"), ("__contains__", ", name: str, /", "bool")
    text = ""
    for name, returns in known.HRR.items():
        found = ("__getitem__", ", name: str, /", "Any" if name == "State" else "Array")
        special = *common, found, ("__setitem__", ", name: str, value: Any, /", "None"), ("__delitem__", ", name: str, /", "None")
        text += native_class(name, getattr(xo.hrr, name), returns, special, where="hrr.")
    text += function("report", xo.hrr.report, "hrr.", returns="dict[str, Any]")
    text += function("verify", xo.hrr.verify, "hrr.", returns="list[str]")
    return head(text, DTYPED) + "\n" + text


def embed():
    """The stub of `crossover.embed`."""
    text = ""
    for name, returns in known.EMBED.items():
        more = ", texts: Sequence[str]" if name == "TextEmbedder" else ", tokens: _t.ArrayLike, position: SupportsIndex = 0"
        kind = "tuple[Array, Array]" if name == "TextEmbedder" else "Array"
        text += native_class(name, getattr(xo.embed, name), returns, [("__call__", more, kind), ("__len__", "", "int")], where="embed.")
    text += "".join(function(name, getattr(xo.embed, name), "embed.") for name in ("rotary", "sinusoid"))
    return head(text, DTYPED) + "\n" + text


def lattice():
    """The stub of `crossover.lattice`."""
    text = ""
    for name, returns in known.LATTICE.items():
        special = ("__len__", "", "int"), ("__enter__", "", "Scratch"), ("__exit__", ", *why: Any", "None")
        text += native_class(name, getattr(xo.lattice, name), returns, special, where="lattice.")
    functions = {"cube": "Lattice", **known.LATTICE_FUNCTIONS}
    text += "".join(function(name, getattr(xo.lattice, name), "lattice.", returns=kind) for name, kind in functions.items())
    return head(text, "from . import Array") + "\n" + text


def native():
    """The stub of the native half, of which the package names little."""
    text = "def __getattr__(name: str) -> Any: ...\n\n"
    text += native_class("PressureWatch", xo._native.PressureWatch, {"close": "None"}, block("PressureWatch"))
    return head(text) + "\n" + text


def stubs():
    """All files that are written, by name."""
    found = {"__init__": package(), "_native": native(), "embed": embed(), "hrr": hrr(), "lattice": lattice()}
    public = {name for name in dir(xo) if inspect.ismodule(getattr(xo, name))} | {"config"}
    for name in sorted(public - set(found) - INLINE - BY_HAND):
        found[name] = plain(name)
    return {f"{name}.pyi": with_names(name, text).rstrip("\n") + "\n" for name, text in found.items()}


def with_names(name, text):
    """A stub with the list of public names, if its module has one."""
    listed = getattr(sys.modules.get(f"crossover.{name}"), "__all__", None)
    if listed is None or name == "_native":
        return text
    names = textwrap.fill(", ".join(f'"{one}"' for one in listed), 130, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
    lines = text.split("\n")
    # Behind the imports.
    at = max(number for number, line in enumerate(lines) if line.startswith(("from ", "import "))) + 1
    return "\n".join([*lines[:at], "", f"__all__ = [\n{names},\n]", *lines[at:]])


if __name__ == "__main__":
    for name, text in stubs().items():
        file = FOLDER / name
        if "--check" in sys.argv:
            if not file.exists() or file.read_text() != text:
                sys.exit(f"python/crossover/{name} is old: python python/tools/stubs.py")
            continue
        file.write_text(text)
        print(f"{file}: {len(text.splitlines())} lines")
    (FOLDER / "py.typed").touch()
