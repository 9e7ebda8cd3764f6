"""Exports of a trace, read back by the programs they are for. One line per check; ends with 1 if one failed.

usage: check.py FOLDER [SPEEDSCOPE]

FOLDER holds trace.json, its exports trace.{chrome,folded,speedscope,prometheus}, metrics.prom and rules.yml. SPEEDSCOPE is the folder of
the npm package, whose importers for its own format, Chrome's and folded stacks run in a headless Chromium.
"""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
import yaml

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]
failures = []


def check(name, holds, said=""):
    print(f"{name} ... {'ok' if holds else 'FAILED ' + str(said)}")
    if not holds:
        failures.append(name)


def prometheus(folder, trace):
    """The parser of Prometheus' own client reads what we write."""
    families = {f.name: f for f in text_string_to_metric_families((folder / "trace.prometheus").read_text())}
    seconds = sum(sample.value for sample in families["crossover_trace_seconds"].samples)
    check("prometheus_client reads a trace", abs(seconds * 1e9 - trace["wall_ns"]) < 100, seconds)
    launches = sum(sample.value for sample in families["crossover_kernel_launches"].samples)
    check("prometheus_client counts its kernels", launches == trace["spans"]["kind"].count("k"), launches)
    served = {f.name: f for f in text_string_to_metric_families((folder / "metrics.prom").read_text())}
    check("prometheus_client reads the metrics of a process", len(served["crossover_up"].samples) >= 1, sorted(served))
    return served


def rules(folder, served):
    """Every metric that a rule names is served; promtool agrees where it is installed."""
    names = set(served) | {f"{name}_total" for name, family in served.items() if family.type == "counter"}
    loaded = [rule for group in yaml.safe_load((folder / "rules.yml").read_text())["groups"] for rule in group["rules"]]
    used = {name for rule in loaded for name in re.findall(r"crossover_\w+", rule["expr"])}
    check("rules name metrics that are served", len(loaded) == 5 and used and used <= names, used - names)
    tool = shutil.which("promtool")
    if tool is None:
        print("promtool was NOT RUN: it is not installed (Debian: apt-get install prometheus)")
        return
    tests = Path(__file__).parent / "rules_test.yml"
    shutil.copy(tests, folder)
    for name, arguments, text in [
        ("promtool takes the rules", ["check", "rules", "rules.yml"], None),
        ("promtool sees every rule fire", ["test", "rules", tests.name], None),
        ("promtool takes the metrics", ["check", "metrics"], (folder / "metrics.prom").read_bytes()),
    ]:
        done = subprocess.run([tool, *arguments], cwd=folder, input=text, capture_output=True)
        check(name, done.returncode == 0, (done.stdout + done.stderr).decode())


def speedscope(folder, package):
    """The importers of speedscope, in a browser: the page shows the profiles of each file."""
    browser_path = os.environ.get("CROSSOVER_CHROMIUM") or next((f for n in NAMES if (f := shutil.which(n))), None)
    if package is None or browser_path is None:
        print("speedscope was NOT RUN: it needs npm and a Chromium")
        return
    from playwright.sync_api import sync_playwright

    page_file = Path(package).resolve() / "dist/release/index.html"
    arguments = ["--no-sandbox", "--allow-file-access-from-files"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=arguments)
        for ending in ["speedscope", "chrome", "folded"]:
            page, said = browser.new_page(), []
            page.on("pageerror", lambda error: said.append(str(error)))
            page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
            page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
            # As its command line opens a file: the page runs a script that hands it over.
            content = base64.b64encode((folder / f"trace.{ending}").read_bytes()).decode()
            name = {"chrome": "trace.perfetto.json", "folded": "trace.folded"}.get(ending, "trace.json")
            script = (folder / f"{ending}.js").resolve()
            script.write_text(f"speedscope.loadFileFromBase64({json.dumps(name)}, {json.dumps(content)})")
            page.goto(f"{page_file.as_uri()}#localProfilePath={script}")
            try:
                # The title has the profile's name once it is imported.
                page.wait_for_function("() => document.title.endsWith(' - speedscope')", timeout=20_000)
            except Exception as error:  # noqa: BLE001 what went wrong is in what the page said
                said.append(str(error).splitlines()[0])
            check(f"speedscope imports {ending} ({page.title()})", not said and page.title().endswith(" - speedscope"), said)
            page.close()
        browser.close()


def main():
    folder, package = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
    trace = json.loads((folder / "trace.json").read_text())
    rules(folder, prometheus(folder, trace))
    speedscope(folder, package)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
