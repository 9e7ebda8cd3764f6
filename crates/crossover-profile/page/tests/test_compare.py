"""Two runs side by side."""

import copy

import pytest
from playwright.sync_api import expect


@pytest.fixture
def page(show, traces):
    return show(traces["run"], traces["later"])


def test_bars_have_one_scale(page, traces):
    lengths = []
    for line in page.locator("#compare .versus").all():
        boxes = [segment.bounding_box() for segment in line.locator(".segment").all()]
        lengths.append(boxes[-1]["x"] + boxes[-1]["width"] - boxes[0]["x"])
    assert lengths[0] / lengths[1] == pytest.approx(traces["run"]["wall_ns"] / traces["later"]["wall_ns"], rel=0.01)


def test_the_slower_kernel_comes_first(page):
    row = page.get_by_role("table", name="Kernels of both runs").locator("tbody tr").first
    expect(row.locator("th")).to_have_text("attention")
    relative = row.locator("td").last.inner_text()
    assert 25 < float(relative.strip("+%\u202f")) < 40
    expect(row).to_contain_text("110 → 110")


def test_parts_add_up_to_the_difference(page, traces):
    rows = page.get_by_role("table", name="Breakdown of both runs").locator("tbody tr")
    expect(rows).to_have_count(6)
    gpu = traces["later"]["breakdown"]["gpu_ns"] - traces["run"]["breakdown"]["gpu_ns"]
    expect(rows.filter(has_text="GPU kernels")).to_contain_text(f"+{gpu / 1e6:.2f}\u202fms")


def test_the_switch_shows_the_other_run(page, traces):
    switch = page.get_by_role("group", name="Run shown").get_by_role("button", name="B")
    expect(page.locator("h1#title")).to_have_text(traces["run"]["name"])
    switch.click()
    expect(page.locator("h1#title")).to_have_text(traces["later"]["name"])
    expect(switch).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#compare .verdict")).to_contain_text("more wall time in B")


def test_other_machines_and_vanished_kernels_are_told(show, traces):
    other = copy.deepcopy(traces["later"])
    other["machine"]["cpu"] = "Another CPU"
    other["strings"] = ["renamed" if text == "sum" else text for text in other["strings"]]
    page = show(traces["run"], other)
    expect(page.locator("#compare .warning")).to_contain_text("Another processor: AMD EPYC 9B14 in A, Another CPU in B.")
    table = page.get_by_role("table", name="Kernels of both runs")
    expect(table.get_by_role("row").filter(has_text="only in A")).to_contain_text("sum")
    expect(table.get_by_role("row").filter(has_text="only in B")).to_contain_text("renamed")


def test_a_kernel_of_several_sizes_is_one_line(show, traces):
    """The same name twice in the table of kernels: launches and times of both count."""
    other = copy.deepcopy(traces["later"])
    kernels, spans = other["kernels"], other["spans"]
    matmul = kernels["name"].index(other["strings"].index("matmul"))
    for column in kernels.values():
        column.append(column[matmul])
    launches = [row for row in range(len(spans["start"])) if spans["kernel"][row] == matmul]
    for row in launches[::2]:
        spans["kernel"][row] = len(kernels["name"]) - 1
    row = show(traces["run"], other).get_by_role("table", name="Kernels of both runs").get_by_role("row").filter(has_text="matmul")
    expect(row).to_have_count(1)
    expect(row).to_contain_text(f"330 → {len(launches)}")


def test_the_filter_narrows(page):
    page.locator("#compare-filter").fill("matmul")
    expect(page.get_by_role("table", name="Kernels of both runs").locator("tbody tr")).to_have_count(1)
