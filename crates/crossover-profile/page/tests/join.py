"""Joins the parts of the page as crossover-profile's src/page.rs does, so that its tests need no build."""

import base64
import gzip
import re
from pathlib import Path

# Longer traces are packed.
PLAIN = 100_000
PAGE = Path(__file__).resolve().parent.parent


def page(*traces):
    """One HTML text with these traces, given as JSON text."""
    read = lambda name: (PAGE / name).read_text(encoding="utf-8")
    html = read("index.html")
    html = re.sub(r'<link rel="stylesheet" href="([^"]+)">', lambda found: f"<style>\n{read(found[1])}</style>", html)
    html = re.sub(r'<script src="([^"]+)"></script>', lambda found: f"<script>\n{read(found[1])}</script>", html)
    return html.replace("<!-- traces -->", "".join(map(embed, traces)))


def embed(trace):
    """The element that holds a trace."""
    data = trace.encode()
    if len(data) <= PLAIN:
        escaped = trace.replace("<", "\\u003c")
        return f'<script type="application/json" class="trace">{escaped}</script>\n'
    packed = base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()
    return f'<script type="application/gzip" class="trace">{packed}</script>\n'

