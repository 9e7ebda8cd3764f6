"""Everything public says what it does, and shows it by an example that runs."""

import doctest
import importlib
import inspect
import io
import pkgutil

import pytest

import crossover as xo

# Public names without an example of their own.
NO_EXAMPLE = {
    "hrr.Exact": "what `inverse_exact` gives, whose example reads it",
    "hrr.Factors": "what `factor` gives, whose example reads it",
}
# Classes of which each method has an example; in others the class has one for all of them.
EACH_METHOD = {"Array", "__array_namespace_info__", "dtype", "Runtime", "random.Generator", "random.Key"}
# Methods of arrays that only NumPy has: their documentation says so.
NUMPYS = {"argpartition", "byteswap", "choose", "compress", "dump", "dumps", "partition", "put", "tofile"}


def modules():
    """The public modules by name, the package itself first."""
    return {"": xo, **{name: getattr(xo, name) for name in dir(xo) if inspect.ismodule(getattr(xo, name))}}


def public():
    """Public functions and classes by name."""
    for prefix, module in modules().items():
        own = [name for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
        for name in dir(xo) if module is xo else getattr(module, "__all__", own):
            thing = getattr(module, name)
            is_ours = not name.startswith("_") or name.startswith("__array_namespace")
            if is_ours and callable(thing) and not isinstance(thing, xo.dtype):
                yield f"{prefix}.{name}".lstrip("."), thing


def members(thing):
    """Public methods and attributes of a class by name."""
    for name, found in vars(thing).items():
        if not name.startswith("_") and (callable(getattr(thing, name)) or inspect.isdatadescriptor(found)):
            yield name, getattr(thing, name)


def text(thing):
    """The documentation of something itself, not that of what it is an instance of."""
    return inspect.getdoc(thing) or ""


def test_everything_public_says_what_it_does():
    silent = [name for name, module in modules().items() if not text(module)]
    for name, thing in public():
        silent += [] if text(thing) else [name]
        if inspect.isclass(thing) and thing.__module__.startswith("crossover") and thing not in BY_NAME:
            silent += [f"{name}.{member}" for member, found in members(thing) if not text(found)]
    assert silent == []


# Tuples with names of which the names say all.
BY_NAME = {thing for _, thing in public() if hasattr(thing, "_fields")}


def test_everything_public_has_an_example():
    bare = []
    for name, thing in public():
        if thing in BY_NAME:
            continue
        if (">>>" in text(thing)) == (name in NO_EXAMPLE):
            bare.append(name)
        if name in EACH_METHOD:
            methods = [(member, found) for member, found in members(thing) if callable(found) and member not in NUMPYS]
            bare += [f"{name}.{member}" for member, found in methods if ">>>" not in text(found)]
    assert bare == []
    assert set(NO_EXAMPLE) <= {name for name, _ in public()}


def documented():
    """Every piece of documentation with examples in any module, private ones too, and the names it knows, by the name of what it is of."""
    seen, found = set(), {}

    def note(name, thing, module):
        said = text(thing)
        if ">>>" in said and said not in seen:
            seen.add(said)
            found[name] = said, {**vars(module), "xo": xo}

    names = [f"crossover.{info.name}" for info in pkgutil.iter_modules(xo.__path__) if info.name not in ("__main__", "_native")]
    for module in [importlib.import_module(name) for name in ("crossover", *names, "crossover._native")]:
        note(module.__name__, module, module)
        for name, thing in vars(module).items():
            if getattr(thing, "__module__", None) != module.__name__ and module is not xo._native:
                continue
            note(f"{module.__name__}.{name}", thing, module)
            for member in vars(thing) if inspect.isclass(thing) else ():
                note(f"{module.__name__}.{name}.{member}", getattr(thing, member), module)
    return found


DOCUMENTED = documented()


@pytest.fixture(autouse=True)
def own_runtime():
    """The runtime of everybody, afterwards."""
    yield
    xo._native.share_runtime(None)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_examples_print_what_they_say(name):
    said, names = DOCUMENTED[name]
    test = doctest.DocTestParser().get_doctest(said, dict(names), name, None, 0)
    told = io.StringIO()
    found = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE, verbose=False).run(test, out=told.write)
    assert found.failed == 0, told.getvalue()


def test_the_examples_of_native_functions_and_methods_are_among_them():
    run = {said for said, _ in DOCUMENTED.values()}
    assert [thing for thing in (xo.add, xo.exp, xo.concat, xo.Array.tolist, xo.hrr.Space.expand) if text(thing) not in run] == []
