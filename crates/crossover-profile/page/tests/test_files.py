"""Opening files: dropped, chosen, foreign, damaged, hostile."""

import copy
import json

import pytest
from playwright.sync_api import expect

import generate
import join


def drop(page, *files):
    """Drops files, given as (name, text), on the page."""
    data = page.evaluate_handle(
        """(files) => {
            const data = new DataTransfer();
            for (const [name, text] of files) data.items.add(new File([text], name, { type: "application/json" }));
            return data;
        }""",
        [list(file) for file in files],
    )
    page.dispatch_event("body", "dragenter", {"dataTransfer": data})
    expect(page.locator("#veil")).to_be_visible()
    page.dispatch_event("body", "drop", {"dataTransfer": data})
    expect(page.locator("#veil")).to_be_hidden()


def test_the_empty_page_is_a_drop_target(show, traces):
    page = show()
    expect(page.get_by_role("heading", name="Drop a trace here")).to_be_visible()
    drop(page, ("run.json", generate.text(traces["run"])))
    expect(page.locator("h1#title")).to_have_text("train step")
    expect(page.get_by_role("heading", name="Drop a trace here")).to_be_hidden()
    expect(page.locator("#live")).to_have_text("run.json is open")


def test_a_file_can_be_chosen(show, traces, tmp_path):
    file = tmp_path / "run.json"
    file.write_text(generate.text(traces["run"]), encoding="utf-8")
    page = show()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a file").click()
    chooser.value.set_files(file)
    expect(page.locator("h1#title")).to_have_text("train step")


def test_a_second_file_makes_a_comparison(show, traces):
    page = show(traces["run"])
    drop(page, ("later.json", generate.text(traces["later"])))
    expect(page.locator("#compare .verdict")).to_contain_text("more wall time in B")


def test_two_files_at_once_are_a_comparison_in_their_order(show, traces):
    page = show()
    drop(page, ("a.json", generate.text(traces["run"])), ("b.json", generate.text(traces["later"])))
    expect(page.locator("#compare .versus-name").first).to_have_text("train step")
    expect(page.locator("#compare .versus-name").last).to_have_text("train step, new attention")


def damaged(trace, change):
    trace = copy.deepcopy(trace)
    change(trace)
    return generate.text(trace)


FOREIGN = [
    ("", "The file is empty"),
    ("hello", "This is not JSON"),
    ("[1, 2]", "not a trace"),
    ('{"a": 1}', "it has no member “format”"),
    ('{"format": "other"}', 'is "other"'),
    ('{"traceEvents": []}', "Chrome trace"),
    ('{"$schema": "https://www.speedscope.app/file-format-schema.json"}', "speedscope"),
]


@pytest.mark.parametrize("text, words", FOREIGN)
def test_a_foreign_file_is_named_for_what_it_is(show, text, words):
    page = show()
    drop(page, ("thing.json", text))
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("thing.json was not opened.")
    expect(alert).to_contain_text(words)
    expect(page.get_by_role("heading", name="Drop a trace here")).to_be_visible()


DAMAGE = [
    (lambda trace: trace.update(version=2), "has version 2; this page reads up to 1"),
    (lambda trace: trace["spans"]["start"].pop(), "has 2,012 entries, spans.start has 2,011"),
    (lambda trace: trace["spans"]["name"].__setitem__(7, 99999), "spans.name[7] is 99999"),
    (lambda trace: trace["spans"]["duration"].__setitem__(3, -5), "spans.duration[3] is -5; it should not be negative"),
    (lambda trace: trace["spans"]["kind"].__setitem__(9, "x"), 'spans.kind[9] is "x"'),
    (lambda trace: trace["spans"]["start"].__setitem__(0, 9e15), "spans.start[1] is earlier"),
    (lambda trace: trace["spans"]["track"].__setitem__(0, -1), "spans.track[0] is -1"),
    (lambda trace: trace["spans"].pop("parent"), "spans.parent should be a list, and is missing"),
    (lambda trace: trace.pop("spans"), "spans should be an object, and is missing"),
    (lambda trace: trace.update(wall_ns="long"), 'wall_ns should be a number that is not negative, whole and at most 9007199254740991, and is "long"'),
    (lambda trace: trace["breakdown"].pop("gpu_ns"), "breakdown.gpu_ns"),
    (lambda trace: trace["memory"]["live"].__setitem__(0, None), "memory.live[0] is null"),
]


@pytest.mark.parametrize("change, words", DAMAGE, ids=[words for _, words in DAMAGE])
def test_a_damaged_file_says_where(show, traces, change, words):
    page = show(damaged(traces["run"], change))
    expect(page.get_by_role("alert")).to_contain_text(words)


def test_a_file_that_is_cut_off_is_said_to_be(show, traces):
    text = generate.text(traces["run"])
    page = show(text[: len(text) // 2])
    expect(page.get_by_role("alert")).to_contain_text("The file is cut off")


def test_a_bad_second_file_leaves_the_first_open(show, traces):
    page = show(traces["run"])
    drop(page, ("bad.json", "{}"))
    expect(page.get_by_role("alert")).to_contain_text("bad.json was not opened")
    expect(page.locator("h1#title")).to_have_text("train step")
    page.get_by_role("alert").get_by_role("button", name="Close").click()
    expect(page.locator("#message")).to_be_hidden()


def test_text_stays_text(show, traces):
    evil = "</script><!--<script><img src=x onerror=document.title='taken'>"
    trace = copy.deepcopy(traces["run"])
    trace["name"] = evil
    trace["strings"] = [f"{evil} {text}" for text in trace["strings"]]
    trace["advice"][0]["title"] = evil
    page = show(trace)
    expect(page.locator("h1#title")).to_have_text(evil)
    assert page.locator("img").count() == 0
    assert page.title() == f"{evil} · Crossover"


def test_parents_that_run_in_a_circle_are_damage(show, traces):
    trace = copy.deepcopy(traces["run"])
    trace["spans"]["parent"] = [(row + 1) % len(trace["spans"]["parent"]) for row in range(len(trace["spans"]["parent"]))]
    expect(show(trace).get_by_role("alert")).to_contain_text("span 0 lies inside itself")


def test_what_programs_refuse_the_page_refuses(show):
    """The list that src/check.rs tries; each must be said, not thrown."""
    folder = join.PAGE.parent / "src/check"
    sample, damage = (folder / "sample.json").read_text(), json.loads((folder / "damage.json").read_text())
    page = show(sample)
    expect(page.locator("h1#title")).to_have_text("sample")
    accepted = page.evaluate(
        """([sample, damage]) => damage.filter(({ at, is }) => {
            const trace = JSON.parse(sample);
            const path = at.split("/").slice(1);
            const last = path.pop();
            path.reduce((object, name) => object[name], trace)[last] = is;
            try { Trace.parse(JSON.stringify(trace)); } catch (error) { return !(error instanceof TraceError); }
            return true;
        })""",
        [sample, damage],
    )
    assert accepted == [] and len(damage) > 200


def test_numbers_that_json_allows_and_no_clock_counts_are_refused(show):
    sample = (join.PAGE.parent / "src/check/sample.json").read_text()
    for before, after in [('"wall_ns": 1000', '"wall_ns": 1e999'), ('"bytes": [0, 0', '"bytes": [1e400, 0'), ('"wall_ns": 1000', '"wall_ns": NaN')]:
        assert before in sample
        page = show()
        drop(page, ("huge.json", sample.replace(before, after)))
        expect(page.get_by_role("alert")).to_contain_text("huge.json was not opened.")


def test_an_error_that_nobody_foresaw_is_said(show, traces, browser, tmp_path):
    for opened, heading in [((), "Drop a trace here"), ((traces["run"],), "train step")]:
        page = show(*opened)
        page.evaluate("() => { const render = Kernels.render; Kernels.render = () => { Kernels.render = render; throw new RangeError('out of ink'); }; }")
        drop(page, ("odd.json", generate.text(traces["later"])))
        expect(page.get_by_role("alert")).to_contain_text("odd.json was not opened. The page failed to draw it: out of ink")
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    # One inside the page, and one while a picture is drawn; such errors are also told to the console, so the page is one of its own.
    file = tmp_path / "odd.html"
    file.write_text(join.page(generate.text(traces["run"])), encoding="utf-8")
    page = browser.new_page()
    page.add_init_script("addEventListener('DOMContentLoaded', () => { Flame.prototype.bar = () => { throw new RangeError('out of paper'); }; }, { capture: true })")
    page.goto(file.as_uri())
    expect(page.get_by_role("alert")).to_contain_text("The page failed to draw it: out of paper")
    page.close()


def test_of_two_files_a_bad_one_is_told_and_the_good_one_opens(show, traces):
    for names in [("bad.json", "good.json"), ("good.json", "bad.json")]:
        page = show()
        drop(page, *((name, "{}" if name == "bad.json" else generate.text(traces["run"])) for name in names))
        expect(page.locator("h1#title")).to_have_text("train step")
        expect(page.get_by_role("alert")).to_contain_text("bad.json was not opened.")
        expect(page.locator("#compare .empty-title")).to_have_text("One run is open")


def test_more_than_two_files_are_not_left_out_silently(show, traces):
    page = show()
    drop(page, *((f"{name}.json", generate.text(traces["run"])) for name in "abcd"))
    for name in "cd":
        expect(page.get_by_role("alert")).to_contain_text(f"{name}.json was not opened. Two traces at once are compared")


def test_files_of_other_kinds_are_named(show):
    page = show()
    for name, data, words in [
        ("packed.gz", [31, 139, 8, 0, 255], "packed by gzip"), ("program", [127, 69, 76, 70, 2], "a program"), ("archive.zip", [80, 75, 3, 4, 0], "a zip archive"),
        ("noise", [200, 17, 0, 255, 254, 9], "This is not JSON"), ("page.html", list(b"<!doctype html><html>"), "a page"),
    ]:
        page.evaluate(
            """([name, bytes]) => {
                const data = new DataTransfer();
                data.items.add(new File([new Uint8Array(bytes)], name));
                document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
            }""",
            [name, data],
        )
        expect(page.get_by_role("alert")).to_contain_text(f"{name} was not opened.")
        expect(page.get_by_role("alert")).to_contain_text(words)


@pytest.mark.parametrize("seed", range(3))
def test_damage_anywhere_is_said_or_drawn(show, seed):
    """Values of the sample are replaced by others at random; nothing may be thrown, and nothing silently ignored."""
    sample = (join.PAGE.parent / "src/check/sample.json").read_text()
    page = show()
    wrong = page.evaluate(
        """async ([text, seed]) => {
            let state = seed * 7919 + 1;
            const next = (most) => (state = (state * 1103515245 + 12345) % 2147483648) % most;
            const values = [null, true, -1, 0, 0.5, 1e300, 9007199254740993, "", "x", [], [[]], {}, { name: null }];
            const wrong = [];
            for (let trial = 0; trial < 150; trial += 1) {
                const trace = JSON.parse(text);
                for (let change = 0; change < 1 + next(3); change += 1) {
                    let at = trace, parent = null, key = null;
                    do {
                        parent = at;
                        const keys = Object.keys(at).filter((name) => parent !== trace || !["format", "version"].includes(name));
                        if (keys.length === 0) break;
                        key = keys[next(keys.length)];
                        at = at[key];
                    } while (at !== null && typeof at === "object" && next(4) > 0);
                    if (key === null) continue;
                    if (next(5) === 0) { if (Array.isArray(parent)) parent.splice(Number(key), 1); else delete parent[key]; }
                    else parent[key] = values[next(values.length)];
                }
                const data = new DataTransfer();
                data.items.add(new File([JSON.stringify(trace)], "odd.json"));
                document.getElementById("live").textContent = "";
                document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
                const until = performance.now() + 5000;
                const said = () => document.getElementById("message").textContent;
                while (!said() && !document.getElementById("live").textContent && performance.now() < until) await new Promise((done) => setTimeout(done, 5));
                if (said().includes("failed to draw")) wrong.push(said() + JSON.stringify(trace));
                if (!said() && !document.getElementById("live").textContent) wrong.push("silence: " + JSON.stringify(trace));
            }
            return wrong;
        }""",
        [sample, seed],
    )
    assert wrong == []


def test_short_and_long_traces_are_both_embedded(show, traces):
    """A long one is packed, a short one is there as it is."""
    short = generate.text(generate.trace(200, seed=4, name="short"))
    assert len(short) <= join.PLAIN < len(generate.text(traces["run"]))
    page = show(short, traces["run"])
    expect(page.locator("#compare .versus-name").first).to_have_text("short")
    expect(page.locator("#compare .versus-name").last).to_have_text("train step")


def test_a_page_that_was_changed_on_its_way_says_so(browser, traces, tmp_path):
    whole = join.page(generate.text(traces["run"]))
    place = whole.index('type="application/gzip"') + 2000
    file = tmp_path / "changed.html"
    file.write_text(whole[:place] + "AAAA" + whole[place + 4 :], encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    expect(page.get_by_role("alert")).to_contain_text("The page is damaged: the trace inside it does not unpack")
    expect(page.get_by_role("heading", name="Drop a trace here")).to_be_visible()
    page.close()


def test_a_bad_second_run_inside_the_page_leaves_the_first(show, traces):
    page = show(traces["run"], "{}")
    expect(page.get_by_role("alert")).to_contain_text("Run B was not opened.")
    expect(page.locator("h1#title")).to_have_text("train step")


def test_unknown_members_are_ignored(show, traces):
    page = show(json.dumps({**traces["run"], "later": {"more": [1]}}))
    expect(page.locator("h1#title")).to_have_text("train step")
