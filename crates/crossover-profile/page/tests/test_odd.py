"""Traces of odd shape: names without end, thousands of kernels, deep recursions, a thousand threads, sums that do not add up."""

import copy
import json

import pytest
from playwright.sync_api import expect

import generate

LONG = "a_name_without_any_place_to_break_" * 60
SCOPES = ["track", "kind", "name", "start", "duration", "parent", "kernel", "launch", "bytes"]


def scopes(rows, tracks, wall, strings=("call",)):
    """A trace of scopes alone: rows of track, start, duration, parent."""
    spans = [[track, "s", 0, start, duration, parent, -1, -1, 0] for track, start, duration, parent in rows]
    return {
        "format": "crossover-trace", "version": 1, "name": "odd", "wall_ns": wall, "strings": list(strings),
        "tracks": [{"name": f"worker {track}", "kind": "thread", "device": 0} for track in range(tracks)], "spans": generate.columns(SCOPES, spans),
    }


def recursion(deep):
    return scopes([(0, 10 * row, 20 * deep + 100 - 20 * row, row - 1) for row in range(deep)], 1, 20 * deep + 100)


def many_threads(threads):
    return scopes(sorted((track, 5 * track, 100_000, -1) for track in range(threads)), threads, 200_000)


def many_kernels(trace, count):
    """Each kernel again under other names, each as often as there is time."""
    trace = copy.deepcopy(trace)
    kernels, spans = trace["kernels"], trace["spans"]
    rows = [row for row, kernel in enumerate(spans["kernel"]) if kernel >= 0]
    for number in range(count):
        for column in kernels.values():
            column.append(column[number % 12])
        trace["strings"].append(f"kernel_{number}")
        kernels["name"][-1] = len(trace["strings"]) - 1
        row = rows[number % len(rows)]
        for name, values in spans.items():
            values.append(values[row])
        spans["kernel"][-1] = len(kernels["name"]) - 1
    order = sorted(range(len(spans["start"])), key=lambda row: (spans["start"][row], row))
    place = {old: new for new, old in enumerate(order)}
    for name, values in spans.items():
        spans[name] = [values[row] for row in order]
    spans["parent"] = [place.get(row, -1) for row in spans["parent"]]
    trace["transfers"]["span"] = [place[row] for row in trace["transfers"]["span"]]
    return trace


def long_names(trace):
    trace = copy.deepcopy(trace)
    trace["name"] = trace["command"] = trace["machine"]["cpu"] = LONG
    trace["strings"] = [f"{text} {LONG}" for text in trace["strings"]]
    for device in trace["machine"]["devices"]:
        device["name"] += LONG
    for track in trace["tracks"]:
        track["name"] += LONG
    for advice in trace["advice"]:
        for part in ("title", "evidence", "suggestion"):
            advice[part] += LONG
    return trace


@pytest.mark.parametrize("width", [360, 768, 1280, 1920])
def test_names_without_end_keep_the_page_in_its_window(show, traces, width):
    trace = long_names(traces["run"])
    page = show(trace, {**trace, "name": LONG * 3}, viewport={"width": width, "height": 800})
    page.evaluate("() => App.panel.timeline.select(700, { reveal: true })")
    page.locator("#kernels tbody button").first.click()
    for summary in page.locator("summary").all():
        summary.click()
    wide = """() => [...document.querySelectorAll("main *, header *, #message *")]
        .filter((element) => element.checkVisibility() && !element.closest(".table-scroll, .plot-scroll, .sr-only, #sections, svg"))
        .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
        .map((element) => element.tagName + "." + element.className + " " + element.textContent.slice(0, 30)).slice(0, 12)"""
    assert page.evaluate(wide) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    # Names are cut, so that a table stays one.
    heights = page.evaluate("() => [...document.querySelectorAll('#kernels tbody tr, #placement tbody tr, #compare tbody tr')].map((row) => row.offsetHeight)")
    assert max(heights) < 400, "a row fits the window"
    # Details show names whole: the narrower the window and the wider the font, the more lines they take.
    assert page.evaluate("() => document.documentElement.scrollHeight") < 40_000 * max(1, 1280 / width)


def test_a_message_about_a_long_name_is_short(show):
    page = show()
    page.evaluate(
        """(name) => {
            const data = new DataTransfer();
            data.items.add(new File(["{}"], name));
            document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
        }""",
        LONG,
    )
    expect(page.get_by_role("alert")).to_contain_text("… was not opened.")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 1280


def test_a_deep_recursion_is_drawn_to_its_end(show):
    deep = 3000
    page = show(recursion(deep))
    assert ink(page, "#timeline-canvas", 600, 300) and ink(page, "canvas.flame", 600, 300)
    page.evaluate("row => App.panel.timeline.select(row, { reveal: true })", deep - 1)
    box = page.locator("#timeline .scrolled")
    expect(page.locator("#timeline .detail h3")).to_have_text("call")
    assert box.evaluate("(box) => box.scrollTop") > 19 * (deep - 60)
    assert ink(page, "#timeline-canvas", None, 300)
    # What is under the pointer is what is drawn there.
    page.locator("#timeline").scroll_into_view_if_needed()
    found = page.evaluate(
        """() => {
            const { timeline } = App.panel;
            const row = timeline.hit(timeline.gutter + timeline.plot / 2, timeline.surface.seen().top + 300);
            return row && row.row;
        }"""
    )
    assert found > deep - 70
    page.get_by_text("Flame graph as a table").click()
    expect(page.get_by_role("table", name="Paths of scopes")).to_contain_text("… › call")
    flame = page.locator("canvas.flame")
    flame.focus()
    for _ in range(60):
        page.keyboard.press("ArrowDown")
    assert page.locator("#flame .scrolled").evaluate("(box) => box.scrollTop") > 0, "what is walked to is in view"


def test_a_thousand_threads_are_drawn(show):
    threads = 1200
    page = show(many_threads(threads), device_scale_factor=2)
    page.evaluate("row => App.panel.timeline.select(row, { reveal: true })", threads - 1)
    expect(page.locator("#timeline .detail")).to_contain_text(f"worker {threads - 1}")
    assert ink(page, "#timeline-canvas", None, 600)
    assert page.evaluate("() => document.getElementById('timeline-canvas').height") <= 1300
    page.locator("#timeline .scrolled").evaluate("(box) => { box.scrollTop = box.scrollHeight / 2; }")
    assert ink(page, "#timeline-canvas", None, 300)


def ink(page, selector, x, y):
    """Whether something was drawn at a point of a canvas, or somewhere in its row."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate(
        """([selector, x, y]) => {
            const canvas = document.querySelector(selector);
            const ratio = devicePixelRatio;
            const row = Math.min(canvas.height - 40, y * ratio);
            const left = x === null ? 170 * ratio : x * ratio;
            // Of a copy: a canvas that is read becomes another kind of canvas.
            const copy = new OffscreenCanvas(x === null ? canvas.width - left : 1, 40);
            const context = copy.getContext("2d");
            context.drawImage(canvas, -left, -row);
            const { data } = context.getImageData(0, 0, copy.width, 40);
            return data.some((value, index) => index % 4 === 3 && value > 200);
        }""",
        [selector, x, y],
    )


def test_thousands_of_kernels_keep_the_page_small_and_quick(show, traces):
    page = show(many_kernels(traces["run"], 20_000))
    expect(page.locator("#kernels")).to_contain_text("Show all 20,0")
    assert page.evaluate("() => document.querySelectorAll('*').length") < 8000, "no element per kernel"
    expect(page.locator("#kernels figcaption")).to_contain_text("heaviest")
    assert page.evaluate("() => performance.getEntriesByName('crossover-interactive')[0].startTime") < 10_000


def test_odd_sums_are_shown_as_they_are(show, traces):
    for change in [{"wall_ns": 0}, {"wall_ns": 1}, {"breakdown": dict.fromkeys(traces["run"]["breakdown"], 0)},
                   {"breakdown": dict.fromkeys(traces["run"]["breakdown"], 9_007_199_254_740_991)}]:
        page = show({**traces["run"], **change})
        expect(page.locator("h1#title")).to_have_text("train step")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 1280
        bar = page.locator("#summary .stack").bounding_box()
        for segment in page.locator("#summary .segment").all():
            box = segment.bounding_box()
            assert box["x"] + box["width"] <= bar["x"] + bar["width"] + 2
        text = page.locator("#report").inner_text()
        assert "NaN" not in text and "Infinity" not in text and "undefined" not in text


def test_a_run_without_anything_beside_one_with_everything(show, traces):
    page = show(scopes([], 0, 0), traces["run"])
    text = page.locator("#report").inner_text()
    assert "NaN" not in text and "Infinity" not in text and "undefined" not in text
    assert json.loads(json.dumps(page.title())) == "odd · Crossover"
