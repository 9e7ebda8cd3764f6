"""The code on the pages about the seeds runs as it stands there."""

import pathlib
import re

import pytest

PAGES = sorted((pathlib.Path(__file__).parents[2] / "docs" / "seeds").glob("*.md"))


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "README.md"], ids=lambda page: page.stem)
def test_page_runs(page):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks, f"{page.name} has no code"
    namespace = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), namespace)
