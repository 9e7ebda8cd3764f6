"""Where things are in the timeline's canvas, for tests that point at them."""


class Canvas:
    """The tracks of the timeline: reads the visible range that the page writes on its canvas."""

    GUTTER = 168
    LANE = 19

    def __init__(self, page):
        self.page = page
        self.locator = page.locator("#timeline-canvas")
        self.locator.scroll_into_view_if_needed()

    def range(self):
        """The visible range in nanoseconds, once a pending frame is drawn."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return int(self.locator.get_attribute("data-from")), int(self.locator.get_attribute("data-to"))

    def selected(self):
        self.range()
        return int(self.locator.get_attribute("data-selected"))

    def point(self, trace, row, depth=0):
        """Where the middle of a span lies on the screen; `depth` is its lane on its track."""
        begin, end = self.range()
        box = self.locator.bounding_box()
        spans = trace["spans"]
        middle = spans["start"][row] + spans["duration"][row] / 2
        share = (middle - begin) / (end - begin)
        lanes = {0: 0, 1: 4, 2: 5}[spans["track"][row]]
        top = 6 + lanes * self.LANE + spans["track"][row] * 12
        return box["x"] + self.GUTTER + share * (box["width"] - self.GUTTER), box["y"] + top + depth * self.LANE + 9

    def copy(self, trace, least=1_000_000):
        """A row of a long copy: it lies alone in its lane."""
        spans = trace["spans"]
        return next(row for row, kind in enumerate(spans["kind"]) if kind == "t" and spans["duration"][row] > least)
