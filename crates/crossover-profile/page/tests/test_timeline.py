"""Zoom, pan, hover, selection, search and keys of the timeline."""

import pytest
from playwright.sync_api import expect

from timeline import Canvas


@pytest.fixture
def page(show, traces):
    return show(traces["run"])


@pytest.fixture
def canvas(page):
    return Canvas(page)


def test_the_whole_run_is_shown_first(canvas, traces):
    assert canvas.range() == (0, traces["run"]["wall_ns"])


def test_wheel_zooms_around_the_pointer_once_the_timeline_has_the_focus(page, canvas, traces):
    x, y = canvas.point(traces["run"], canvas.copy(traces["run"]))
    page.mouse.move(x, y)
    page.mouse.wheel(0, 0.5)
    assert canvas.range() == (0, traces["run"]["wall_ns"]), "a page scrolls past its timeline"
    expect(page.get_by_text("hold Ctrl to zoom")).to_be_visible()
    canvas.locator.focus()
    before = canvas.range()
    box = canvas.locator.bounding_box()
    share = (x - box["x"] - canvas.GUTTER) / (box["width"] - canvas.GUTTER)
    page.mouse.wheel(0, -600)
    begin, end = canvas.range()
    assert end - begin < (before[1] - before[0]) / 2
    under = lambda low, high: low + share * (high - low)
    assert abs(under(begin, end) - under(*before)) < 0.01 * (end - begin) + 1, "the time under the pointer stays"


def test_ctrl_and_wheel_zoom_without_the_focus(page, canvas):
    box = canvas.locator.bounding_box()
    page.mouse.move(box["x"] + 600, box["y"] + 30)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    begin, end = canvas.range()
    assert begin > 0 and end - begin < 57_000_000


def test_zoom_ends_at_the_clock_and_at_the_run(page, canvas, traces):
    canvas.locator.focus()
    for _ in range(60):
        page.keyboard.press("+")
    begin, end = canvas.range()
    assert 30 <= end - begin <= 50
    for _ in range(60):
        page.keyboard.press("-")
    assert canvas.range() == (0, traces["run"]["wall_ns"])


def test_dragging_pans_by_the_distance(page, canvas):
    canvas.locator.focus()
    for _ in range(4):
        page.keyboard.press("+")
    begin, end = canvas.range()
    box = canvas.locator.bounding_box()
    page.mouse.move(box["x"] + 800, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + 700, box["y"] + 30, steps=5)
    page.mouse.up()
    moved = canvas.range()[0] - begin
    assert moved == pytest.approx(100 * (end - begin) / (box["width"] - canvas.GUTTER), rel=0.02)


def test_shift_and_drag_mark_a_range_with_its_figures(page, canvas):
    box = canvas.locator.bounding_box()
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 400, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + 600, box["y"] + 30, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    detail = page.locator("#timeline .detail")
    expect(detail.get_by_role("heading")).to_contain_text("marked")
    expect(detail).to_contain_text("GPU kernels")
    detail.get_by_role("button", name="Zoom to it").click()
    begin, end = canvas.range()
    assert begin > 0 and end - begin < 20_000_000


def test_two_fingers_zoom(page, canvas):
    before = canvas.range()
    page.evaluate(
        """() => {
            const canvas = document.getElementById("timeline-canvas");
            canvas.setPointerCapture = () => {};
            const box = canvas.getBoundingClientRect();
            const send = (type, id, x) => canvas.dispatchEvent(new PointerEvent(type, {
                pointerId: id, pointerType: "touch", clientX: box.left + x, clientY: box.top + 30, button: 0, bubbles: true }));
            send("pointerdown", 1, 500); send("pointerdown", 2, 600);
            send("pointermove", 1, 400); send("pointermove", 2, 700);
            send("pointerup", 1, 400); send("pointerup", 2, 700);
        }"""
    )
    begin, end = canvas.range()
    assert end - begin == pytest.approx((before[1] - before[0]) / 3, rel=0.02)


def test_hover_shows_the_span_under_the_pointer(page, canvas, traces):
    trace = traces["run"]
    row = canvas.copy(trace)
    page.mouse.move(*canvas.point(trace, row))
    tooltip = page.locator("#tooltip")
    expect(tooltip).to_be_visible()
    expect(tooltip.locator("strong")).to_have_text(trace["strings"][trace["spans"]["name"][row]])
    expect(tooltip).to_contain_text("101\u202fMB")
    canvas.range()
    assert int(canvas.locator.get_attribute("data-hovered")) == row
    page.mouse.move(5, 5)
    expect(tooltip).to_be_hidden()


def test_many_spans_in_a_pixel_are_counted(page, canvas, traces):
    trace = traces["run"]
    kernel = next(row for row, kind in enumerate(trace["spans"]["kind"]) if kind == "k" and trace["spans"]["track"][row] == 1)
    page.mouse.move(*canvas.point(trace, kernel))
    expect(page.locator("#tooltip")).to_contain_text("more: zoom in")


def test_a_click_selects_and_says_everything(page, canvas, traces):
    trace = traces["run"]
    row = canvas.copy(trace)
    page.mouse.click(*canvas.point(trace, row))
    assert canvas.selected() == row
    detail = page.locator("#timeline .detail")
    expect(detail.get_by_role("heading")).to_have_text("weights")
    expect(detail).to_contain_text("NVIDIA H200 copies")
    expect(page.locator("#live")).to_contain_text("weights, copy")
    detail.get_by_role("button", name="Enclosing span").click()
    assert canvas.selected() == trace["spans"]["parent"][row]
    page.keyboard.press("Tab")
    canvas.locator.focus()
    page.keyboard.press("Escape")
    assert canvas.selected() == -1


def test_a_kernel_says_queue_reason_and_prediction(page, canvas, traces):
    trace = traces["run"]
    spans, launches = trace["spans"], trace["launches"]
    row = next(r for r in range(200, 2000) if spans["launch"][r] >= 0 and spans["track"][r] == 1 and launches["predicted"][spans["launch"][r]])
    page.evaluate("row => App.panel.timeline.select(row, { reveal: true })", row)
    detail = page.locator("#timeline .detail")
    expect(detail).to_contain_text("Queued for")
    expect(detail).to_contain_text(trace["strings"][launches["reason"][spans["launch"][row]]])
    # The line is that of the evaluation around it.
    expect(detail).to_contain_text("train.py:42")
    expect(detail).to_contain_text("at most 1.07 GB until then")
    expect(detail).to_contain_text("Predicted")
    begin, end = canvas.range()
    assert begin <= spans["start"][row] <= end, "what is selected is in view"


def test_double_click_zooms_to_the_span(page, canvas, traces):
    trace = traces["run"]
    row = canvas.copy(trace)
    page.mouse.dblclick(*canvas.point(trace, row))
    begin, end = canvas.range()
    assert end - begin == pytest.approx(1.3 * trace["spans"]["duration"][row], rel=0.01)


def test_the_small_picture_moves_the_range(page, canvas):
    canvas.locator.focus()
    for _ in range(5):
        page.keyboard.press("+")
    begin, end = canvas.range()
    box = page.locator(".overview").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 60, box["y"] + 10)
    moved = canvas.range()
    assert moved[0] > begin and moved[1] - moved[0] == pytest.approx(end - begin, abs=2)


def test_arrow_keys_walk_between_spans(page, canvas, traces):
    spans = traces["run"]["spans"]
    canvas.locator.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    first = canvas.selected()
    assert spans["kind"][first] == "s" and spans["parent"][first] == -1
    page.keyboard.press("ArrowRight")
    second = canvas.selected()
    assert spans["start"][second] >= spans["start"][first] + spans["duration"][first]
    page.keyboard.press("ArrowDown")
    below = canvas.selected()
    assert below != second and spans["track"][below] == 0
    page.keyboard.press("p")
    assert canvas.selected() == spans["parent"][below]
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    begin, end = canvas.range()
    row = canvas.selected()
    assert begin <= spans["start"][row] and end >= spans["start"][row] + spans["duration"][row]


def test_search_counts_marks_and_steps(page, canvas, traces):
    trace = traces["run"]
    spans = trace["spans"]
    wanted = [row for row in range(len(spans["start"])) if "attention" in trace["strings"][spans["name"][row]]]
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("attention")
    expect(page.locator("#timeline output")).to_contain_text(f"{len(wanted)} matches")
    expect(page.locator("canvas.flame")).to_have_attribute("data-wanted", "attention")
    page.keyboard.press("Enter")
    assert canvas.selected() == wanted[0]
    page.keyboard.press("Enter")
    assert canvas.selected() == wanted[1]
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    assert canvas.selected() == wanted[-1], "around the end"
    page.locator("#search").fill("no such span")
    expect(page.locator("#timeline output")).to_have_text("No span has this name")
    expect(page.get_by_role("button", name="Next match")).to_be_disabled()
    page.keyboard.press("Escape")
    expect(page.locator("#search")).to_have_value("")


def test_search_fades_what_does_not_match(page, canvas, traces):
    """Reads the pixels: the copy is opaque before and faded after."""
    trace = traces["run"]
    x, y = canvas.point(trace, canvas.copy(trace))
    box = canvas.locator.bounding_box()

    def pixel():
        canvas.range()
        return page.evaluate(
            """([x, y]) => {
                const copy = new OffscreenCanvas(1, 1).getContext("2d");
                copy.drawImage(document.getElementById("timeline-canvas"), -x * devicePixelRatio, -y * devicePixelRatio);
                return [...copy.getImageData(0, 0, 1, 1).data];
            }""",
            [round(x - box["x"]) + 20, round(y - box["y"]) + 5],
        )

    opaque = pixel()
    page.locator("#search").fill("matmul")
    assert opaque[3] == 255 and pixel()[3] < 80


def test_tables_say_the_same(page, canvas, traces):
    spans = traces["run"]["spans"]
    page.get_by_text("Timeline as tables").click()
    tracks = page.get_by_role("table", name="Tracks")
    expect(tracks.get_by_role("row")).to_have_count(4)
    expect(tracks).to_contain_text(f"{spans['track'].count(1):,}")
    longest = max(range(len(spans["start"])), key=lambda row: spans["duration"][row])
    table = page.get_by_role("table", name="longest spans")
    table.locator("tbody button").first.click()
    assert canvas.selected() == longest
