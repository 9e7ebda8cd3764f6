"""What is computed from the columns, against slower ways to the same answer."""

import random

import pytest
from playwright.sync_api import expect

import generate


@pytest.fixture
def page(show, traces):
    return show(traces["run"])


def test_lanes_hold_every_span_once_and_none_overlaps(page, traces):
    held = page.evaluate(
        """() => {
            const { tracks } = Lanes.build(App.traces[0]);
            const rows = [], overlaps = [];
            for (const track of tracks) for (const lane of track.lanes) {
                rows.push(...lane.row);
                for (let at = 1; at < lane.start.length; at += 1) if (lane.start[at] < lane.end[at - 1]) overlaps.push(lane.row[at]);
            }
            return { rows, overlaps };
        }"""
    )
    assert sorted(held["rows"]) == list(range(len(traces["run"]["spans"]["start"])))
    assert held["overlaps"] == []


def test_drawing_visits_every_visible_span_once_at_any_zoom(page):
    """`visit` skips by bisection; here all spans of the range are looked at one by one."""
    wrong = page.evaluate(
        """() => {
            const { tracks } = Lanes.build(App.traces[0]);
            const wall = App.traces[0].wall;
            const wrong = [];
            let seed = 7;
            const next = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
            for (let trial = 0; trial < 300; trial += 1) {
                const wide = wall * 10 ** (-5 * next());
                const from = (wall - wide) * next();
                const pixel = wide / (50 + 1000 * next());
                for (const track of tracks) for (const lane of track.lanes) {
                    const seen = [];
                    Lanes.visit(lane, from, from + wide, pixel, (at) => seen.push(at), (first, last) => {
                        for (let at = first; at < last; at += 1) {
                            seen.push(at);
                            if (lane.end[at] - lane.start[at] >= pixel) wrong.push("a wide span was merged");
                        }
                    });
                    const wanted = [];
                    for (let at = 0; at < lane.row.length; at += 1) if (lane.end[at] > from && lane.start[at] < from + wide) wanted.push(at);
                    // The last pixel may reach over the edge.
                    if (wanted.some((at, index) => seen[index] !== at)) wrong.push(`trial ${trial}`);
                }
            }
            return wrong;
        }"""
    )
    assert wrong == []


def test_covered_time_is_that_of_the_spans(page):
    wrong = page.evaluate(
        """() => {
            const { spans, wall } = App.traces[0];
            const set = Intervals.union(spans, (row) => spans.kind[row] === 2);
            const wrong = [];
            for (let trial = 0; trial < 200; trial += 1) {
                const from = Math.floor((wall * trial) / 200);
                const to = Math.floor(from + wall / (1 + (trial % 50)));
                let sum = 0;
                for (let at = 0; at < set.start.length; at += 1) sum += Math.max(0, Math.min(to, set.end[at]) - Math.max(from, set.start[at]));
                if (Math.abs(sum - Intervals.covered(set, from, to)) > 0.5) wrong.push([from, to, sum, Intervals.covered(set, from, to)]);
            }
            return wrong;
        }"""
    )
    assert wrong == []


def test_overlap_of_copies_and_kernels_is_measured(page, traces):
    spans = traces["run"]["spans"]
    rows = range(len(spans["start"]))
    of = lambda kind: [(spans["start"][row], spans["start"][row] + spans["duration"][row]) for row in rows if spans["kind"][row] == kind]
    # Neither copies nor kernels of this trace overlap their own kind on one track; kernels of host and device may.
    moments = set()
    for begin, end in of("t"):
        for other, last in of("k"):
            if other < end and last > begin:
                moments.update(range(max(begin, other), min(end, last)))
    shared = len(moments) / sum(end - begin for begin, end in of("t"))
    box = page.locator("#transfers .figure-box").filter(has_text="Behind kernels").locator(".big")
    assert float(box.inner_text().split("\u202f")[0]) == pytest.approx(100 * shared, abs=0.06)


@pytest.mark.parametrize(
    "call, text",
    [
        ("Format.time(0)", "0"), ("Format.time(999.4)", "999 ns"), ("Format.time(999.6)", "1.00 µs"), ("Format.time(1234567)", "1.23 ms"),
        ("Format.time(61.2e9)", "1 min 1 s"), ("Format.time(undefined)", "–"), ("Format.bytes(16777216)", "16.8 MB"),
        ("Format.percent(0.0001)", "< 0.1 %"), ("Format.percent(0)", "0.0 %"), ("Format.percent(-0.123)", "−12.3 %"), ("Format.change(0.05)", "+5.0 %"),
        ("Format.rate(NaN)", "–"), ("Format.short('50.0\\u202fGB')", "50 GB"), ("Format.short('100\\u202fGB')", "100 GB"), ("Format.short('1.50\\u202fs')", "1.5 s"),
        ("Axis.time(12_500_000, 500_000)", "12.5 ms"), ("Axis.time(1_000_040, 20)", "1.00004 ms"),
    ],
)
def test_numbers_read_well(page, call, text):
    assert page.evaluate(call).replace("\u202f", " ") == text


def many_threads(threads=40, spans=50, seed=5):
    """Workers side by side with nested scopes: taller than the window."""
    chance = random.Random(seed)
    rows = []
    for track in range(threads):
        now = chance.randint(0, 10_000)
        for _ in range(spans):
            duration = chance.randint(2_000, 90_000)
            rows.append([track, "s", 0, now, duration, -1, -1, -1, 0])
            rows.append([track, "e", 1, now + 100, duration - 200, -1, -1, -1, 0])
            now += duration + chance.randint(0, 40_000)
    rows.sort(key=lambda row: row[3])
    names = ["track", "kind", "name", "start", "duration", "parent", "kernel", "launch", "bytes"]
    return {
        "format": "crossover-trace", "version": 1, "name": "workers", "wall_ns": max(row[3] + row[4] for row in rows),
        "strings": ["job", "part"], "tracks": [{"name": f"worker {track}", "kind": "thread", "device": 0} for track in range(threads)],
        "spans": generate.columns(names, rows),
    }


def test_many_threads_scroll_and_the_selected_one_comes_into_view(show):
    trace = many_threads()
    page = show(trace)
    row = max(range(len(trace["spans"]["track"])), key=lambda at: trace["spans"]["track"][at])
    scroller = page.locator("#timeline .scrolled")
    assert scroller.evaluate("(box) => box.scrollHeight > box.clientHeight && box.scrollTop === 0")
    page.evaluate("row => App.panel.timeline.select(row, { reveal: true })", row)
    assert scroller.evaluate("(box) => box.scrollTop") > 0
    expect(page.locator("#timeline .detail")).to_contain_text("worker 39")
