"""Colours, contrast, names, roles, tab order, print."""

import itertools
import math

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

# What a colour looks like without one kind of cone, in linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
VISION = {
    "all cones": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "no long": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no medium": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "no short": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
# The least distance in OKLab between two categories; 0.02 is about what can just be told apart side by side.
APART = 0.08


def oklab(rgb):
    """Linear RGB to OKLab (Ottosson 2020)."""
    r, g, b = rgb
    long = 0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b
    medium = 0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b
    short = 0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b
    long, medium, short = (max(0, cone) ** (1 / 3) for cone in (long, medium, short))
    return (
        0.2104542553 * long + 0.793617785 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.428592205 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.808675766 * short,
    )


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_categories_are_told_apart_by_any_colour_vision(show, traces, scheme):
    page = show(traces["run"], color_scheme=scheme)
    names = ["cpu", "gpu", "transfer", "compile", "overhead"]
    linear = lambda value: value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
    colours = {}
    for name in names:
        text = page.evaluate("name => Theme.colour(name)", name)
        colours[name] = [linear(int(part) / 255) for part in text[4:-1].split(",")]
    for vision, rows in VISION.items():
        seen = {name: oklab([sum(a * b for a, b in zip(row, colour)) for row in rows]) for name, colour in colours.items()}
        for one, other in itertools.combinations(names, 2):
            assert math.dist(seen[one], seen[other]) > APART, (vision, one, other)


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
