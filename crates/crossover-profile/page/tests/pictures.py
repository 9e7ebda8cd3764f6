"""Pictures of the page, to look at: light, dark, narrow, a selection, a comparison, many spans, nothing, and on paper.

    python pictures.py FOLDER
"""

import os
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

import generate
import join
from conftest import executable


def select(page):
    """A kernel in the middle of the run, a few steps around it, and the pointer on another."""
    page.locator("#timeline").scroll_into_view_if_needed()
    page.evaluate("() => document.getElementById('timeline').scrollIntoView()")
    for _ in range(8):
        page.get_by_role("button", name="Zoom in").click()
    page.evaluate("() => App.panel.timeline.select(620, { reveal: true })")
    box = page.locator("#timeline-canvas").bounding_box()
    page.mouse.move(box["x"] + 700, box["y"] + 100)


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    run = generate.text(generate.trace(2000, seed=1))
    later = generate.text(generate.trace(2000, seed=2, slow=1.3, name="train step, new attention"))
    large = generate.text(generate.trace(100_000, seed=3))
    # name, traces, scheme, width, whole page, what to do first
    wanted = [
        ("light", [run], "light", 1440, True, None),
        ("dark", [run], "dark", 1440, True, None),
        ("narrow", [run], "light", 390, True, None),
        ("selection", [run], "light", 1440, False, select),
        ("comparison", [run, later], "light", 1440, True, None),
        ("large", [large], "dark", 1440, True, None),
        ("empty", [], "light", 1440, False, None),
        ("damaged", [run[:5000]], "light", 1440, False, None),
    ]
    arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=arguments)
        for name, traces, scheme, width, whole, act in wanted:
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce")
            file = folder / f"{name}.html"
            file.write_text(join.page(*traces), encoding="utf-8")
            page.goto(file.resolve().as_uri())
            page.wait_for_timeout(300)
            if act:
                act(page)
                page.wait_for_timeout(200)
            page.screenshot(path=folder / f"{name}.png", full_page=whole)
            if name == "light":
                page.pdf(path=folder / "print.pdf", format="A4")
            page.close()
            print(folder / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
