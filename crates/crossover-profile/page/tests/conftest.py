"""A browser for all tests, and pages that must not throw, complain or ask the network for anything."""

import os
import shutil

import pytest
from playwright.sync_api import sync_playwright

import generate
import join

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]


def executable():
    """The browser: the one named by CROSSOVER_CHROMIUM, else the first one on the path."""
    named = os.environ.get("CROSSOVER_CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser():
    program = executable()
    if program is None:
        pytest.exit(f"no Chromium found: install one of {', '.join(NAMES)} or set CROSSOVER_CHROMIUM", returncode=3)
    # The sandbox refuses to run for root, which is who runs in a container.
    arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def traces():
    """Three traces as objects: a run, a later one with slower attention, and one of 100,000 spans."""
    return {
        "run": generate.trace(2000, seed=1),
        "later": generate.trace(2000, seed=2, slow=1.3, name="train step, new attention"),
        "large": generate.trace(100_000, seed=3),
    }


@pytest.fixture
def show(browser, tmp_path):
    """Opens a page with traces (objects or texts) embedded."""
    contexts, complaints, asked = [], [], []

    def open_page(*given, **options):
        texts = [one if isinstance(one, str) else generate.text(one) for one in given]
        file = tmp_path / f"page-{len(contexts)}.html"
        file.write_text(join.page(*texts), encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        # Long traces are unpacked after the page has loaded.
        page.wait_for_function("() => performance.getEntriesByName('crossover-interactive').length > 0")
        page.file_size = file.stat().st_size
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
