"""The flame graph: sums, zoom and keys."""

import pytest
from playwright.sync_api import expect


@pytest.fixture
def page(show, traces):
    page = show(traces["run"])
    page.locator("canvas.flame").scroll_into_view_if_needed()
    return page


def test_a_click_zooms_and_escape_shows_all(page):
    flame = page.locator("canvas.flame")
    box = flame.bounding_box()
    page.mouse.click(box["x"] + 100, box["y"] + 30)
    expect(flame).to_have_attribute("data-focus", "train step")
    expect(page.locator("#flame .path")).to_have_text("train step")
    flame.focus()
    page.keyboard.press("Escape")
    expect(flame).to_have_attribute("data-focus", "whole run")


def test_hover_says_total_share_and_count(page, traces):
    flame = page.locator("canvas.flame")
    box = flame.bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 30)
    tooltip = page.locator("#tooltip")
    expect(tooltip.locator("strong")).to_have_text("train step")
    names = traces["run"]["strings"]
    count = sum(names[name] == "train step" for name in traces["run"]["spans"]["name"])
    expect(tooltip).to_contain_text(f"times{count}")


def test_arrow_keys_walk_the_tree(page):
    flame = page.locator("canvas.flame")
    flame.focus()
    page.keyboard.press("ArrowDown")
    expect(flame).to_have_attribute("data-current", "train step")
    page.keyboard.press("ArrowRight")
    expect(flame).to_have_attribute("data-current", "load")
    page.keyboard.press("Enter")
    expect(flame).to_have_attribute("data-focus", "load")
    page.keyboard.press("ArrowUp")
    expect(flame).to_have_attribute("data-focus", "whole run")


def test_paths_add_up(page, traces):
    page.get_by_text("Flame graph as a table").click()
    table = page.get_by_role("table", name="Paths of scopes")
    row = table.get_by_role("row").filter(has_text="train step › forward › evaluate › matmul")
    spans, names = traces["run"]["spans"], traces["run"]["strings"]

    def inside(at):
        path = []
        while at >= 0:
            path.append(names[spans["name"][at]])
            at = spans["parent"][at]
        return path[::-1] == ["train step", "forward", "evaluate", "matmul"]

    rows = [at for at in range(len(spans["start"])) if inside(at)]
    expect(row).to_contain_text(f"{len(rows)}")
    total = sum(spans["duration"][at] for at in rows)
    assert f"{total / 1e6:.2f}\u202fms" in row.inner_text()
