"""Joins the parts of the page as crossover-profile's src/page.rs does, so that its tests need no build."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent


def page(*traces):
    """One HTML text with these traces, given as JSON text."""
    read = lambda name: (PAGE / name).read_text(encoding="utf-8")
    html = read("index.html")
    html = re.sub(r'<link rel="stylesheet" href="([^"]+)">', lambda found: f"<style>\n{read(found[1])}</style>", html)
    html = re.sub(r'<script src="([^"]+)"></script>', lambda found: f"<script>\n{read(found[1])}</script>", html)
    embedded = "\n".join(
        f'<script type="application/json" class="trace">{trace.replace("<", chr(92) + "u003c")}</script>' for trace in traces
    )
    return html.replace("<!-- traces -->", embedded)
