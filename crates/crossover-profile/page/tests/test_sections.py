"""Summary, kernels, roofline, memory, transfers, placement: the figures are those of the trace."""

import copy
import json
import re

import pytest
from playwright.sync_api import expect

import join


@pytest.fixture
def page(show, traces):
    return show(traces["run"])


def column(page, table, key):
    """The texts of a column, top to bottom."""
    head = page.get_by_role("table", name=table, exact=True).locator("thead th")
    place = [one.get_attribute("data-key") for one in head.all()].index(key)
    rows = page.get_by_role("table", name=table, exact=True).locator("tbody tr")
    return [row.locator("th, td").nth(place).inner_text() for row in rows.all()]


def seconds(text):
    number, unit = text.replace("−", "-").split("\u202f") if "\u202f" in text else (text, "s")
    return float(number) * {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]


def test_the_bar_adds_up_to_the_wall_time(page):
    box = page.locator("#summary .stack").bounding_box()
    widths = [one.bounding_box()["width"] for one in page.locator("#summary .segment").all()]
    assert sum(widths) + len(widths) - 1 == pytest.approx(box["width"], abs=4)
    shares = page.locator("#summary .legend tbody td:last-child").all_inner_texts()
    assert sum(float(share.split("\u202f")[0]) for share in shares) == pytest.approx(100, abs=0.4)


def test_a_residue_is_shown(show, traces):
    trace = copy.deepcopy(traces["run"])
    trace["breakdown"]["gpu_ns"] -= 3_000_000
    expect(show(trace).locator("#summary .residue")).to_contain_text("3.00\u202fms")


def test_advice_comes_by_share_and_leads_to_its_kernel(page):
    titles = page.locator("#advice h3").all_inner_texts()
    assert titles[0] == "matmul takes most of the time"
    expect(page.locator("#advice-top")).to_contain_text("matmul takes most of the time")
    page.get_by_role("button", name="Show this kernel").click()
    expect(page.locator('#kernels tr[aria-selected="true"]')).to_contain_text("matmul")


def test_what_was_not_timed_is_said_and_hatched(show, traces):
    run = traces["run"]
    kernels = [row for row, kind in enumerate(run["spans"]["kind"]) if kind == "k"]
    page = show({**run, "estimated": kernels[1:]})
    expect(page.locator("#summary .estimates")).to_contain_text(f"{len(kernels) - 1:,} spans of short, repeated device work were not timed")
    # The detail of one that was timed, and of one that was not.
    for row, is_timed in [(kernels[0], True), (kernels[1], False)]:
        page.evaluate("row => App.panel.timeline.select(row, { reveal: true })", row)
        said = page.locator("#timeline .detail")
        expect(said).to_contain_text("Took")
        (expect(said).not_to_contain_text if is_timed else expect(said).to_contain_text)("placed like others of its kind")
    expect(show(run).locator("#summary .estimates")).to_have_count(0)


def test_sorting_reorders_both_ways(page):
    assert column(page, "Kernels", "name")[0] == "matmul"
    head = page.locator('#kernels th[data-key="mean"]')
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    means = [seconds(text) for text in column(page, "Kernels", "mean")]
    assert means == sorted(means, reverse=True)
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    means = [seconds(text) for text in column(page, "Kernels", "mean")]
    assert means == sorted(means)
    expect(head.get_by_role("button")).to_be_focused()


def test_absent_figures_sort_last_either_way(page):
    head = page.locator('#kernels th[data-key="flopRate"]')
    for _ in range(2):
        head.get_by_role("button").click()
        assert column(page, "Kernels", "name")[-1] == "gather", "it has no arithmetic"


def test_figures_of_a_kernel(page, traces):
    trace = traces["run"]
    spans, kernels = trace["spans"], trace["kernels"]
    kernel = next(row for row in range(len(kernels["name"])) if trace["strings"][kernels["name"][row]] == "attention")
    times = [spans["duration"][row] for row in range(len(spans["start"])) if spans["kernel"][row] == kernel]
    mean = sum(times) / len(times)
    place = column(page, "Kernels", "name").index("attention")
    assert column(page, "Kernels", "count")[place] == str(len(times))
    assert seconds(column(page, "Kernels", "total")[place]) == pytest.approx(sum(times) / 1e9, rel=0.005)
    rate = column(page, "Kernels", "flopRate")[place]
    assert float(rate.split("\u202f")[0]) * 1e12 == pytest.approx(kernels["flops"][kernel] / mean * 1e9, rel=0.005)
    best = max((kernels["read"][kernel] + kernels["written"][kernel]) / 4.1e12, kernels["flops"][kernel] / 5.0e13) * 1e9
    roof = column(page, "Kernels", "roof")[place]
    assert float(roof.split("\u202f")[0]) == pytest.approx(100 * best / mean, abs=0.06)


def test_launches_of_several_sizes_are_one_line(show, traces):
    """Half of the launches of `attention` at twice the work: rates are sums over sums."""
    trace = copy.deepcopy(traces["run"])
    spans, kernels = trace["spans"], trace["kernels"]
    kernel = next(row for row in range(len(kernels["name"])) if trace["strings"][kernels["name"][row]] == "attention")
    for values in kernels.values():
        values.append(values[kernel])
    kernels["flops"][-1] *= 2
    rows = [row for row in range(len(spans["start"])) if spans["kernel"][row] == kernel]
    for row in rows[::2]:
        spans["kernel"][row] = len(kernels["name"]) - 1
    page = show(trace)
    names = column(page, "Kernels", "name")
    assert names.count("attention") == 1
    place = names.index("attention")
    assert column(page, "Kernels", "count")[place] == str(len(rows))
    work = kernels["flops"][kernel] * (len(rows) + len(rows[::2]))
    time = sum(spans["duration"][row] for row in rows)
    rate = column(page, "Kernels", "flopRate")[place]
    assert float(rate.split("\u202f")[0]) * 1e12 == pytest.approx(work / time * 1e9, rel=0.005)
    page.locator("#kernels tbody").get_by_role("button", name="attention").click()
    expect(page.locator(".kernel-detail")).to_contain_text("over arrays of 2 sizes")
    page.get_by_role("button", name="Show in the timeline").click()
    expect(page.locator("#timeline output")).to_contain_text(f"{len(rows)} matches")


def test_the_filter_narrows_table_and_plot(page):
    page.locator("#kernel-filter").fill("f64")
    assert sorted(column(page, "Kernels", "name")) == ["cumulative_sum", "sort"]
    expect(page.locator("#kernels output")).to_have_text("2 of 12")
    assert page.locator("#kernels .dot:not(.faded)").count() == 2
    page.locator("#kernel-filter").fill("nothing like this")
    expect(page.locator("#kernels tbody")).to_have_text("No kernel matches the filter.")


def test_table_and_plot_are_linked(page):
    page.locator("#kernels tbody").get_by_role("button", name="attention").click()
    dot = page.locator("#kernels .dot.selected")
    expect(dot).to_have_count(1)
    expect(dot).to_have_attribute("aria-label", re.compile("^attention on NVIDIA H200"))
    page.locator('#kernels .dot[aria-label^="sum "]').focus()
    page.keyboard.press("Enter")
    expect(page.locator('#kernels tr[aria-selected="true"]')).to_contain_text("sum(x, axis=0)")
    expect(page.locator(".kernel-detail")).to_contain_text("of what the device was measured to allow")
    page.locator(".kernel-detail").get_by_role("button", name="Show in the timeline").click()
    expect(page.locator("#timeline output")).to_contain_text("matches")
    expect(page.locator("#timeline-canvas")).to_be_focused()


def test_kernels_tell_what_they_compute_in_which_plan_and_whether_they_have_a_roof(page, traces):
    place = column(page, "Kernels", "name").index("sort")
    assert column(page, "Kernels", "text")[place].startswith("sort(x)")
    assert column(page, "Kernels", "roof")[place].startswith("–")
    launches, kernels, strings = (traces["run"][name] for name in ("launches", "kernels", "strings"))
    own = [row for row, kernel in enumerate(launches["kernel"]) if strings[kernels["name"][kernel]] == "sort"]
    assert column(page, "Kernels", "plan")[place] == f"{launches['plan'][own[0]]}.{launches['step'][own[0]]}"
    page.locator('#kernels .dot[aria-label^="sort "]').focus()
    page.keyboard.press("Enter")
    expect(page.locator(".kernel-detail")).to_contain_text(f"{launches['step'][own[0]]} of plan {launches['plan'][own[0]]}")
    expect(page.locator(".kernel-detail")).to_contain_text("limits of their own")


def test_figures_are_those_of_the_library(show):
    """The list that src/figures.rs is tried on."""
    expected = json.loads((join.PAGE.parent / "src/check/figures.json").read_text())
    page = show(expected["trace"])
    found = page.evaluate("() => Stats.kernels(App.traces[0]).map(({ text, device, rate, flopRate, roof, bound, plans }) => ({ text, device, rate, flopRate, roof, bound, plans }))")
    assert len(found) == len(expected["figures"])
    for one, wanted in zip(found, expected["figures"]):
        for name in ("rate", "flopRate", "roof"):
            assert one[name] == (None if wanted[name] is None else pytest.approx(wanted[name], rel=1e-9)), (name, one, wanted)
        assert {name: one[name] for name in ("text", "device", "bound", "plans")} == {name: wanted[name] for name in ("text", "device", "bound", "plans")}
    idle = page.evaluate("() => { const { memory } = App.traces[0]; return Array.from(memory.live, (live, row) => Stats.fragmentation(live, memory.cached[row])); }")
    assert idle == expected["fragmentation"]


def test_no_roof_where_none_was_measured(show, traces):
    trace = copy.deepcopy(traces["run"])
    for device in trace["machine"]["devices"]:
        device.pop("bandwidth")
        device.pop("flops")
    page = show(trace)
    assert all(text.startswith("–") for text in column(page, "Kernels", "roof"))
    expect(page.locator("#kernels .plot")).to_contain_text("No roofs are drawn")


def test_memory_has_bands_peaks_and_events(page, traces):
    memory = traces["run"]["memory"]
    key = page.locator("#memory .key")
    expect(key).to_contain_text(f"{max(memory['live']) / 1e9:.0f}\u202fGB at most")
    expect(key).to_contain_text("elevated pressure for")
    expect(page.get_by_role("table", name="Events")).to_contain_text("spill")
    canvas = page.locator("canvas.memory")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 3, box["y"] + 100)
    last = memory["live"][-1] / 1e9
    expect(page.locator("#tooltip")).to_contain_text(f"{last:.0f}\u202fGB")
    page.get_by_text("Memory of NVIDIA H200 as a table").click()
    expect(page.get_by_role("table", name="All samples").locator("tbody tr")).to_have_count(len(memory["time"]))


def test_transfers_say_who_which_way_and_how_fast(page, traces):
    trace = traces["run"]
    copies = [row for row, kind in enumerate(trace["spans"]["kind"]) if kind == "t"]
    up = sum(trace["spans"]["bytes"][span] for span, to in zip(trace["transfers"]["span"], trace["transfers"]["to"]) if to == 1)
    expect(page.locator("#transfers .figure-row")).to_contain_text(f"{up / 1e6:.0f}\u202fMB")
    counts = column(page, "Copies by what was moved and where in the program", "count")
    assert sum(int(count) for count in counts) == len(copies)
    table = page.locator("#transfers tbody")
    expect(table).to_contain_text("host → NVIDIA H200")
    table.get_by_role("button", name="loss").click()
    expect(page.locator("#timeline .detail h3")).to_have_text("loss")


def test_an_unknown_direction_is_said_to_be_unknown(show, traces):
    trace = copy.deepcopy(traces["run"])
    del trace["transfers"]
    expect(show(trace).locator("#transfers")).to_contain_text("direction not recorded")


def test_placement_says_why_and_the_regret(page, traces):
    trace = traces["run"]
    spans, launches = trace["spans"], trace["launches"]
    regret = 0
    for row, launch in enumerate(spans["launch"]):
        if launch >= 0 and launches["predicted"][launch]:
            other = launches["predicted"][launch][1 - launches["device"][launch]]
            regret += max(0, spans["duration"][row] - other)
    boxes = page.locator("#placement .figure-box")
    shown = boxes.filter(has_text="Regret").locator(".big").inner_text()
    assert seconds(shown) == pytest.approx(regret / 1e9, rel=0.01)
    expect(page.locator("#placement tbody")).to_contain_text("too small: the launch costs more than the work")
    counts = column(page, "Placement by kernel, device and reason", "count")
    assert sum(int(count) for count in counts) == len(launches["kernel"])


def test_a_device_that_could_not_run_it_is_no_alternative(show, traces):
    """A prediction of 0 is none: it must not look like the fastest device."""
    trace = copy.deepcopy(traces["run"])
    trace["launches"]["predicted"] = [times and [times[0] if device == 0 else 0, times[1] if device == 1 else 0]
                                      for times, device in zip(trace["launches"]["predicted"], trace["launches"]["device"])]
    page = show(trace)
    expect(page.locator("#placement .figure-box").filter(has_text="Regret").locator(".big")).to_have_text("–")
    assert all(text.startswith("–") for text in column(page, "Placement by kernel, device and reason", "regret"))


def test_a_simulated_device_is_called_one(show, traces):
    trace = copy.deepcopy(traces["run"])
    trace["machine"]["devices"][1].update(name="simulated accelerator", kind="simulated")
    trace["machine"]["memory"] = 0
    page = show(trace)
    assert set(column(page, "Kernels", "device")) == {"CPU", "simulated"}
    assert "Memory" not in page.locator("#summary .facts dt").all_inner_texts(), "0 is unknown"


def test_predictions_are_drawn_and_lead_to_the_launch(page):
    row = page.locator("#placement tbody tr").filter(has_text="cumulative_sum").first
    row.hover()
    dot = page.locator("#placement .dot.marked")
    expect(dot).to_have_count(1)
    expect(dot).to_have_attribute("aria-label", re.compile("^cumulative_sum on CPU: predicted"))
    dot.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#timeline .detail h3")).to_have_text("cumulative_sum")


def test_every_section_says_what_is_missing(show, traces):
    trace = {key: traces["run"][key] for key in ("format", "version", "name", "wall_ns", "machine", "strings")}
    trace["tracks"] = []
    trace["spans"] = {key: [] for key in traces["run"]["spans"]}
    page = show(trace)
    for section, words in [
        ("summary", "No breakdown"), ("advice", "No suggestions"), ("flame", "No spans"), ("kernels", "No kernels"),
        ("memory", "No memory samples"), ("transfers", "No copies"), ("placement", "No placement decisions"), ("compare", "One run is open"),
    ]:
        expect(page.locator(f"#{section} .empty-title")).to_have_text(words)


def test_dropped_spans_are_told(show, traces):
    expect(show({**traces["run"], "dropped": 17}).get_by_role("note")).to_contain_text("17 spans found no room in the recorder")
