"""The table on the terminal and the JSON file."""

import json
import os
import re
import sys
from datetime import date
from pathlib import Path


def colour(code: str, text: str) -> str:
    plain = os.environ.get("NO_COLOR") or not sys.stdout.isatty()
    return text if plain else f"\x1b[{code}m{text}\x1b[0m"


def duration(seconds: float | None) -> str:
    """Three significant digits in the unit that fits."""
    if seconds is None:
        return "-"
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1.0 or unit == "µs":
            return f"{seconds * factor:.3g} {unit}"
    raise AssertionError("the loop returns in its last turn")


def judge(workload, engines: dict, ours: dict | None) -> dict:
    """Best peer, ratios, and whether the bar is met; None where there is nothing to judge."""
    peers = {name: e["median_s"] for name, e in engines.items() if "median_s" in e}
    fresh = {name: s for name, s in peers.items() if not engines[name]["reuses_output"]}
    best = min(peers, key=peers.get) if peers else None
    best_fresh = min(fresh, key=fresh.get) if fresh else None
    rivals = {name: s for name, s in peers.items() if workload.bar_peer in (None, name, name.removesuffix("-out"))}
    rival = min(rivals, key=rivals.get) if rivals else None
    mine = ours["median_s"] if ours and "median_s" in ours else None
    verdict = {
        "best_peer": best,
        "best_peer_s": peers.get(best),
        "best_fresh_peer": best_fresh,
        "best_fresh_peer_s": fresh.get(best_fresh),
        "ratio": peers[best] / mine if best and mine else None,
        # The tenth percentile hardly moves when other programs run; a check on the medians.
        "ratio_p10": min(e["p10_s"] for e in engines.values() if "p10_s" in e) / ours["p10_s"] if best and mine else None,
        "ratio_fresh": fresh[best_fresh] / mine if best_fresh and mine else None,
        # To the peer that the bar names.
        "bar_ratio": rivals[rival] / mine if rival and mine else None,
        "met": None,
    }
    if ours and "error" in ours:
        verdict["met"] = False
    elif mine is not None and workload.seconds_bar is not None:
        verdict["met"] = mine <= workload.seconds_bar
    elif verdict["bar_ratio"] is not None and workload.ratio_bar is not None:
        verdict["met"] = verdict["bar_ratio"] >= workload.ratio_bar
    return verdict


def record(workload, engines: dict, ours: dict | None, verdict: dict, conditions: dict) -> dict:
    """One entry of the JSON file."""
    entry = {
        "workload": workload.name,
        "title": workload.title,
        "bytes": workload.bytes,
        "flops": workload.flops,
        "bar": {"ratio": workload.ratio_bar, "peer": workload.bar_peer, "seconds": workload.seconds_bar},
        "ours": ours,
        "peers": engines,
    }
    return entry | verdict | conditions


def bar_text(workload, verdict: dict) -> str:
    if workload.seconds_bar is not None:
        return f"≤ {duration(workload.seconds_bar)}"
    if workload.ratio_bar is None:
        return "-"
    if workload.bar_peer is None:
        return f"≥ {workload.ratio_bar:g}×"
    reached = "" if verdict["bar_ratio"] is None else f", is {verdict['bar_ratio']:.2f}×"
    return f"≥ {workload.ratio_bar:g}× of {workload.bar_peer}{reached}"


def rate_text(workload, seconds: float | None) -> str:
    if seconds is None:
        return "-"
    if workload.flops:
        return f"{1e-9 * workload.flops / seconds:.0f} GF/s"
    return f"{1e-9 * workload.bytes / seconds:.1f} GB/s" if workload.bytes else "-"


def table(rows: list[tuple], engine_names: list[str], with_ours: bool) -> str:
    """Rows are (workload, engines, ours, verdict)."""
    head = ["workload"] + (["ours"] if with_ours else []) + engine_names + ["best peer", "its rate"]
    head += ["ratio", "new output", "bar", "ok"] if with_ours else ["bar"]
    lines = [head]
    for workload, engines, ours, verdict in rows:
        cells = [workload.title]
        if with_ours:
            cells.append("ERROR" if ours and "error" in ours else duration(ours and ours.get("median_s")))
        for name in engine_names:
            engine = engines.get(name, {})
            cells.append("ERROR" if "error" in engine else duration(engine.get("median_s")))
        cells += [verdict["best_peer"] or "-", rate_text(workload, verdict["best_peer_s"])]
        if with_ours:
            ratio = lambda value: "-" if value is None else f"{value:.2f}×"
            mark = {True: "yes", False: "NO", None: "-"}[verdict["met"]]
            cells += [ratio(verdict["ratio"]), ratio(verdict["ratio_fresh"]), bar_text(workload, verdict), mark]
        else:
            cells.append(bar_text(workload, verdict))
        lines.append(cells)
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    text = []
    for number, line in enumerate(lines):
        padded = [line[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]
        joined = "  ".join(padded)
        if number == 0:
            joined = colour("1", joined)
        elif line[-1] == "NO":
            joined = colour("31", joined)
        text.append(joined)
    return "\n".join(text)


def default_path(folder: Path, processor: str, threads: int, group: str) -> Path:
    """Named after the processor, never after the host; pages of figures are made from the main group, named cpu."""
    slug = re.sub(r"[^a-z0-9]+", "-", processor.lower().replace("(r)", "").replace("(tm)", "")).strip("-")
    return folder / f"{'cpu' if group == 'main' else group}-{slug}-{threads}t-{date.today().isoformat()}.json"


def write(path: Path, document: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
