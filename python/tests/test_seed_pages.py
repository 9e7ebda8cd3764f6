"""The code on the pages about the seeds runs as it stands there, and their tables name what exists."""

import functools
import pathlib
import re

import pytest

import crossover as xo

PAGES = sorted((pathlib.Path(__file__).parents[2] / "docs" / "seeds").glob("*.md"))


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "README.md"], ids=lambda page: page.stem)
def test_page_runs(page):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks, f"{page.name} has no code"
    namespace = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "README.md"], ids=lambda page: page.stem)
def test_names_of_ours_exist(page):
    lines = page.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("| theirs | ours (Python) |"))
    rows = [line.strip("|").split("|") for line in lines[start + 2:lines.index("", start)]]
    assert len(rows) > 5 and all(cell.strip() for row in rows for cell in row), f"{page.name} has a cell without text"
    for row in rows:
        for name in re.findall(r"`(?:with |@)?xo\.([a-zA-Z_.]+)", row[1]):
            functools.reduce(getattr, name.split("."), xo)


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "README.md"], ids=lambda page: page.stem)
def test_pages_have_figures(page):
    assert "## Figures" in page.read_text(encoding="utf-8")
