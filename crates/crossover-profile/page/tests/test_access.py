"""Colours, contrast, names, roles, tab order, print."""

import pytest
from playwright.sync_api import expect

# Text and the colour behind it, as a browser resolves them; canvases are checked by their palette below.
CONTRAST = """() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const mix = (layers) => {
        canvas.clearRect(0, 0, 1, 1);
        for (const colour of layers) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const light = (rgb) => {
        const [r, g, b] = rgb.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ratio = (one, other) => {
        const [a, b] = [light(one), light(other)].sort((x, y) => y - x);
        return (a + 0.05) / (b + 0.05);
    };
    const poor = [];
    for (const element of document.querySelectorAll("body *")) {
        const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
        const style = getComputedStyle(element);
        if (!text || !element.checkVisibility() || element.closest(".sr-only, .skip, #veil, :disabled, script, noscript")) continue;
        const layers = [];
        for (let at = element; at; at = at.parentElement) layers.unshift(getComputedStyle(at).backgroundColor);
        const behind = mix(["#fff", ...layers]);
        const colour = element instanceof SVGElement ? style.fill : style.color;
        const found = ratio(mix(["rgb(" + behind + ")", colour]), behind);
        const size = parseFloat(style.fontSize);
        const least = size >= 24 || (size >= 18.66 && style.fontWeight >= 600) ? 3 : 4.5;
        if (found < least) poor.push(element.tagName + "." + element.className + " " + element.textContent.trim().slice(0, 30) + " " + found.toFixed(2));
    }
    for (const name of ["cpu", "gpu", "transfer", "compile", "overhead", "rest", "waiting", "scope", "evaluation"]) {
        const found = ratio(mix([Theme.colour(name)]), mix([Theme.colour("on-" + name)]));
        if (found < 4.5) poor.push("on-" + name + " " + found.toFixed(2));
    }
    return poor;
}"""

NAMES = """() => [...document.querySelectorAll("button, input, a, [role=button], [role=application], [role=img], table, dialog")]
    .filter((element) => element.checkVisibility())
    .filter((element) => !(element.getAttribute("aria-label") || element.getAttribute("aria-labelledby")
        || element.querySelector("caption")?.textContent || (element.tagName !== "TABLE" && element.textContent.trim())))
    .map((element) => element.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable(show, traces, scheme):
    page = show(traces["run"], traces["later"], color_scheme=scheme)
    page.locator("#kernels tbody").get_by_role("button", name="attention").click()
    page.get_by_text("Timeline as tables").click()
    assert page.evaluate(CONTRAST) == []


def test_the_system_decides_on_dark_and_the_reader_may_overrule(show, traces):
    page = show(traces["run"], color_scheme="dark")
    paper = lambda: page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    drawn = lambda: page.evaluate("() => Theme.colour('gpu')")
    dark, dark_gpu = paper(), drawn()
    assert dark == "rgb(16, 18, 22)"
    button = page.locator("#theme")
    button.click()
    expect(button).to_have_attribute("aria-label", "Colours: light. Change")
    assert paper() == "rgb(253, 253, 252)" and drawn() != dark_gpu
    button.click()
    assert paper() == dark
    button.click()
    page.emulate_media(color_scheme="light")
    assert paper() == "rgb(253, 253, 252)", "back to what the system says, at once"


def test_everything_has_a_name(show, traces):
    page = show(traces["run"], traces["later"])
    assert page.evaluate(NAMES) == []
    assert page.evaluate("() => { const ids = [...document.querySelectorAll('[id]')].map((e) => e.id); return ids.filter((id, i) => ids.indexOf(id) !== i); }") == []
    assert page.evaluate("() => [...document.querySelectorAll('thead th')].filter((th) => th.scope !== 'col').length") == 0
    assert page.evaluate("() => document.documentElement.lang") == "en"


def test_headings_descend_one_level_at_a_time(show, traces):
    page = show(traces["run"], traces["later"])
    levels = page.evaluate("() => [...document.querySelectorAll('h1, h2, h3')].filter((h) => h.checkVisibility()).map((h) => Number(h.tagName[1]))")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(levels, levels[1:]))


def test_landmarks_and_references_exist(show, traces):
    page = show(traces["run"])
    expect(page.get_by_role("banner")).to_be_visible()
    expect(page.get_by_role("main")).to_be_visible()
    expect(page.get_by_role("navigation", name="Sections")).to_be_visible()
    for name in ["Advice", "Timeline", "Flame graph", "Kernels", "Memory", "Transfers", "Placement", "Comparison"]:
        expect(page.get_by_role("region", name=name, exact=True).first).to_be_attached()
    missing = page.evaluate(
        """() => [...document.querySelectorAll("[aria-labelledby], [aria-describedby]")]
            .flatMap((e) => [e.getAttribute("aria-labelledby"), e.getAttribute("aria-describedby")])
            .filter((id) => id && !document.getElementById(id))"""
    )
    assert missing == []


def test_tab_reaches_everything_in_reading_order(show, traces):
    page = show(traces["run"])
    seen = []
    for _ in range(45):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("() => document.activeElement.id || document.activeElement.className || document.activeElement.textContent.trim()"))
    order = ["skip", "mark", "theme", "help", "search", "timeline-canvas", "flame", "kernel-filter"]
    places = [seen.index(name) for name in order]
    assert places == sorted(places)


def test_the_skip_link_appears_and_works(show, traces):
    page = show(traces["run"])
    page.keyboard.press("Tab")
    link = page.get_by_role("link", name="Skip to the report")
    expect(link).to_be_in_viewport()
    page.keyboard.press("Enter")
    assert page.url.endswith("#report")


def test_question_mark_shows_the_keys(show, traces):
    page = show(traces["run"])
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    expect(dialog).to_contain_text("zoom to the span")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.locator("#search").focus()
    page.keyboard.type("what?")
    expect(page.locator("#search")).to_have_value("what?")
    expect(dialog).to_be_hidden()


def test_letters_go_to_sections(show, traces):
    page = show(traces["run"])
    page.keyboard.press("k")
    expect(page.locator("#kernel-filter")).to_be_focused()
    expect(page.locator("#kernels-h")).to_be_in_viewport()
    page.locator("#kernel-filter").blur()
    page.keyboard.press("t")
    expect(page.locator("#timeline-canvas")).to_be_focused()


@pytest.mark.parametrize("width", [360, 768, 1280, 1920])
def test_nothing_is_wider_than_the_window(show, traces, width):
    page = show(traces["run"], traces["later"], viewport={"width": width, "height": 800})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_paper_is_white_and_without_controls(show, traces, tmp_path):
    page = show(traces["run"], color_scheme="dark")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for selector in [".top", "#search", "#timeline .buttons", "#kernel-filter"]:
        expect(page.locator(selector)).to_be_hidden()
    expect(page.locator("#timeline-canvas")).to_be_visible()
    ratios = page.evaluate(
        """() => [...document.querySelectorAll("canvas")].map((canvas) => {
            const box = canvas.getBoundingClientRect();
            return (box.width / box.height) / (canvas.width / canvas.height);
        })"""
    )
    assert all(0.98 < ratio < 1.02 for ratio in ratios), "pictures keep their proportions"
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen", color_scheme="dark")
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(16, 18, 22)"
    file = tmp_path / "report.pdf"
    page.pdf(path=file, format="A4")
    assert file.read_bytes()[:5] == b"%PDF-"


def test_motion_is_only_for_those_who_want_it(show, traces):
    page = show(traces["run"], reduced_motion="reduce")
    assert page.evaluate("() => getComputedStyle(document.documentElement).scrollBehavior") == "auto"
