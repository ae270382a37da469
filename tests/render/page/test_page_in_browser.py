"""Pages in a real browser: drawn without an error, worked with, and nothing in them obeyed."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from run_folders import (
    AFTER,
    BEFORE,
    DATA,
    HOSTILE,
    PATCH,
    REPORT,
    SETTINGS,
    finding,
    healthy_run,
    scores,
    steps,
    write_lines,
    write_run,
)
from surefit.doctor.findings import Fact, Fix, Place
from surefit.render.page.contents import RowShown, TokenSpan
from surefit.render.page.html import neutral
from surefit.render.page.left_behind import LeftBehind
from surefit.render.page.serving import server_for
from surefit.render.page.write import write_comparison, write_run_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LONGEST = 5_000_000
"""Bytes of a page."""
SECONDS = 2.0
"""That a page may take to open."""
NO_PROCESS = 2**22 + 1


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """Where there is none the tests fail: a page that nobody looked at is not tested."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.fail(
            "Chromium is not installed, and pages are tested in it: `make setup` installs it on"
            " Debian and Ubuntu; elsewhere install Chromium or Chrome by hand."
        )
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@dataclass
class Looking:
    """A page that is open, and what its console said."""

    page: "Page"
    said: list[str] = field(default_factory=list)

    def text(self, place: str) -> str:
        return self.page.inner_text(place)

    def rows(self) -> list[str]:
        """The first cells of the predictions that are shown."""
        return self.page.locator(".answers tbody tr td:first-child").all_inner_texts()


Opener = Callable[..., Looking]


@pytest.fixture
def look(browser: "Browser") -> Iterator[Opener]:
    """Opens a file or an address; afterwards the console must have been silent."""
    opened: list[Looking] = []

    def open_page(address: Path | str, **context: Any) -> Looking:
        page = browser.new_context(**context).new_page()
        looking = Looking(page)
        page.on("console", lambda message: looking.said.append(message.text))
        page.on("pageerror", lambda error: looking.said.append(str(error)))
        page.on("request", lambda request: refuse_network(request.url, looking))
        page.goto(address.resolve().as_uri() if isinstance(address, Path) else address)
        opened.append(looking)
        return looking

    yield open_page
    for looking in opened:
        looking.page.context.close()
        assert looking.said == []


def refuse_network(url: str, looking: Looking) -> None:
    if not url.startswith(("file:", "data:", "http://127.0.0.1:", "http://localhost:")):
        looking.said.append(f"asked for {url}")


def of_run(folder: Path) -> Path:
    return write_run_page(LeftBehind(folder))


def is_drawn(looking: Looking, chart: str) -> bool:
    """Whether there is anything but background in the middle of a chart's canvas."""
    script = """canvas => {
        const { width, height } = canvas;
        const pixels = canvas.getContext("2d").getImageData(80, 10, width - 100, height - 60).data;
        const seen = new Set();
        for (let at = 0; at < pixels.length; at += 4) if (pixels[at + 3] > 200)
            seen.add(pixels.slice(at, at + 3).join());
        return seen.size > 1;
    }"""
    drawn: bool = looking.page.locator(f'[data-chart="{chart}"] canvas').evaluate(script)
    return drawn


def test_a_healthy_run(tmp_path: Path, look: Opener) -> None:
    seen = look(of_run(healthy_run(tmp_path / "run")))
    assert seen.text("main h1").startswith("It learned: F1 rose from 0.2500 to 0.4175")
    names = seen.page.locator(".chart h3").all_inner_texts()
    assert names == ["Loss", "Score", "Learning rate", "Gradient norm", "Tokens per second"]
    assert all(is_drawn(seen, name) for name in names)
    legend = seen.text('[data-chart="Loss"] .legend')
    assert "validation loss" in legend
    assert "step 200" in legend
    assert seen.page.locator("mark").all_inner_texts() == ["marked", " yes<eos>"]
    assert "12.5 % of tokens are supervised" in seen.text(".shares")
    assert "a423de689c8263de" in seen.text("#settings")
    assert "learning_rate" in seen.text("#settings")
    assert seen.page.locator("#laws .holds").count() == 4


def test_hover_zoom_and_a_curve_switched_off(tmp_path: Path, look: Opener) -> None:
    seen = look(of_run(healthy_run(tmp_path / "run")))
    chart = seen.page.locator('[data-chart="Learning rate"]')
    chart.scroll_into_view_if_needed()
    box = chart.locator(".u-over").bounding_box()
    assert box is not None
    middle, top = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    seen.page.mouse.move(middle, top)
    step = int(chart.locator(".at").inner_text().removeprefix("step "))
    assert 90 <= step <= 110
    # All curves tell of the same step.
    assert seen.page.locator('[data-chart="Loss"] .at').inner_text() == f"step {step}"
    seen.page.mouse.down()
    seen.page.mouse.move(box["x"] + box["width"] - 2, top, steps=4)
    seen.page.mouse.up()
    assert seen.page.locator("[data-range='1']").get_attribute("aria-pressed") == "false"
    seen.page.mouse.move(box["x"] + 1, top)
    first = int(chart.locator(".at").inner_text().removeprefix("step "))
    assert first >= step - 1
    seen.page.mouse.dblclick(middle, top)
    seen.page.mouse.move(box["x"] + 1, top)
    assert chart.locator(".at").inner_text() == "step 1"
    assert seen.page.locator("[data-range='1']").get_attribute("aria-pressed") == "true"
    seen.page.click("[data-range='0.1']")
    seen.page.mouse.move(box["x"] + 2, top)
    assert int(chart.locator(".at").inner_text().removeprefix("step ")) >= 180
    chart.locator(".legend button").click()
    assert not is_drawn(seen, "Learning rate")


def test_predictions_are_filtered_and_sorted(tmp_path: Path, look: Opener) -> None:
    seen = look(of_run(healthy_run(tmp_path / "run")))
    assert seen.rows() == [f"rows.jsonl:{number}" for number in (1, 2, 3, 4)]
    assert seen.text(".count") == "4 of 4 rows."
    for which, rows in {
        "right": [1],
        "partly": [2],
        "wrong": [3, 4],
        "gained": [1, 2],
        "lost": [3],
        "differ": [1, 2, 3],
        "all": [1, 2, 3, 4],
    }.items():
        seen.page.select_option(".which", which)
        assert seen.rows() == [f"rows.jsonl:{number}" for number in rows], which
    seen.page.fill(".low", "0.5")
    assert seen.rows() == ["rows.jsonl:1", "rows.jsonl:2"]
    seen.page.fill(".high", "0.9")
    assert seen.rows() == ["rows.jsonl:2"]
    seen.page.select_option(".column", "0")
    assert seen.rows() == []
    seen.page.select_option(".column", "1")
    seen.page.fill(".low", "0")
    seen.page.fill(".high", "1")
    seen.page.fill(".search", "CAT")
    assert seen.rows() == ["rows.jsonl:3"]
    seen.page.fill(".search", "")
    seen.page.click("text='F1, epoch 2'")
    assert seen.rows() == [f"rows.jsonl:{number}" for number in (1, 2, 3, 4)]
    seen.page.click("text='F1, epoch 2'")
    assert seen.rows() == [f"rows.jsonl:{number}" for number in (3, 4, 2, 1)]
    seen.page.click("text='row'")
    assert seen.rows() == [f"rows.jsonl:{number}" for number in (1, 2, 3, 4)]


def test_more_rows_are_shown_when_asked_for(tmp_path: Path, look: Opener) -> None:
    rows = [{**BEFORE[0], "place": f"rows:{number}"} for number in range(90)]
    seen = look(of_run(write_run(tmp_path / "run", answers={0: rows})))
    assert len(seen.rows()) == 40
    seen.page.click(".more")
    assert len(seen.rows()) == 90
    assert not seen.page.is_visible(".more")


def test_a_finding_with_its_patch(tmp_path: Path, look: Opener) -> None:
    folder = write_run(tmp_path / "run", ended=(1, (finding(),)))
    seen = look(of_run(folder), permissions=["clipboard-read", "clipboard-write"])
    assert seen.text("main h1") == "labels are text."
    assert seen.page.locator("main h1 code").inner_text() == "labels"
    shown = seen.text("#findings")
    for part in ("SF203", "train.py:4", "Ruled out", "Why", "Your choice", "held", "ValueError"):
        assert part in shown
    seen.page.click(".copy")
    seen.page.wait_for_selector("text=Copied")
    assert seen.page.evaluate("navigator.clipboard.readText()") == PATCH


def test_hostile_texts_stay_texts(tmp_path: Path, look: Opener) -> None:
    """In rows, predictions, settings, findings, exceptions, names of files and of runs."""
    name = "<img src=x onerror='window.hit=1'>"
    texts = " ".join(HOSTILE)
    encodable = texts.replace("\ud800", "")
    answers = [
        {**AFTER[0], "place": text, "input": text, "target": text, "answer": text}
        for text in HOSTILE[:-1]
    ]
    folder = write_run(
        tmp_path / name,
        settings={**SETTINGS, **{text: text for text in HOSTILE[:-1]}},
        answers={0: answers, 2: answers},
        records=[{**record, encodable: 1.0} for record in steps(20)],
        ended=(1, tuple(replace(finding(text), place=Place(text)) for text in HOSTILE)),
        exception=encodable,
        data=replace(
            DATA,
            rows=(RowShown(encodable, (TokenSpan(encodable, True),), encodable),),
            facts=(Fact(encodable, encodable),),
        ),
    )
    seen = look(of_run(folder))
    assert seen.page.evaluate("window.hit") is None
    assert seen.page.locator("img").count() == 0
    for place in ("#answers tbody", "#findings", "#data", "#settings"):
        shown = seen.text(place)
        assert "<script>window.hit=1</script>" in shown
        assert "{{ 7 * 7 }}" in shown
        assert r"\x1b[31mred\x07\x00" in shown
        assert r"\u202egnp.exe" in shown
    assert seen.text(".title") == name
    assert r"\ud800 alone" in seen.text("#findings")
    both = write_comparison([LeftBehind(folder)] * 2, tmp_path / "comparison.html")
    compared = look(both)
    assert compared.page.evaluate("window.hit") is None
    assert compared.page.locator("img").count() == 0


def test_a_comparison(tmp_path: Path, look: Opener) -> None:
    first = healthy_run(tmp_path / "first")
    settings = {**SETTINGS, "learning_rate": 0.1}
    second = healthy_run(tmp_path / "second", settings=settings, answers={0: AFTER, 2: BEFORE})
    runs = [LeftBehind(first), LeftBehind(second)]
    seen = look(write_comparison(runs, tmp_path / "comparison.html"))
    assert seen.page.locator(".run > .name").all_inner_texts() == ["first", "second"]
    assert seen.text("table.settings tbody").split() == ["learning_rate", "0.001", "0.1"]
    assert is_drawn(seen, "Loss")
    legend = seen.text('[data-chart="Score"] .legend')
    assert "first: F1" in legend
    assert "second: F1" in legend
    colors = seen.page.locator('[data-chart="Learning rate"] .legend i').evaluate_all(
        "lines => lines.map(line => getComputedStyle(line).borderTopColor)"
    )
    assert len(set(colors)) == 2
    seen.page.select_option(".which", "lost")
    assert seen.rows() == ["rows.jsonl:1", "rows.jsonl:2"]


def test_light_and_dark(tmp_path: Path, look: Opener) -> None:
    page = of_run(healthy_run(tmp_path / "run"))
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = "rgb(247, 247, 245)", "rgb(18, 20, 23)"
    assert look(page, color_scheme="dark").page.evaluate(background) == dark
    seen = look(page, color_scheme="light")
    assert seen.page.evaluate(background) == light
    seen.page.click(".theme")
    assert seen.page.evaluate(background) == light
    seen.page.click(".theme")
    assert seen.page.evaluate(background) == dark
    seen.page.reload()
    assert seen.page.evaluate(background) == dark


def test_nothing_is_wider_than_a_phone(tmp_path: Path, look: Opener) -> None:
    long = "a" * 300
    folder = write_run(
        tmp_path / "run",
        answers={0: BEFORE, 2: AFTER},
        settings={**SETTINGS, "data": f"/folder/{long}"},
        ended=(1, (finding(long),)),
    )
    seen = look(of_run(folder), viewport={"width": 360, "height": 700})
    assert seen.page.evaluate("document.documentElement.scrollWidth") == 360
    assert is_drawn(seen, "Loss")


def test_a_hundred_thousand_steps_open_at_once(tmp_path: Path, look: Opener) -> None:
    records = steps(100_000)
    for record in records:
        record |= {"supervised_tokens_per_second": 210.5, "seconds": 0.0151, "memory": 2.1e9}
    spikes = range(333, 100_000, 9_973)
    for step in spikes:
        records[step]["loss"] = 1000.0 + step
    rows = [
        {**row, "place": f"{row['place']}:{number}", "input": "A long question. " * 30}
        for number in range(1000)
        for row in AFTER
    ]
    folder = healthy_run(
        tmp_path / "run", records=records + scores(100_000), answers={0: rows, 2: rows}
    )
    page = of_run(folder)
    assert page.stat().st_size < LONGEST
    began = time.monotonic()
    seen = look(page)
    assert seen.page.locator("canvas").count() == 7
    assert seen.rows()
    took = time.monotonic() - began
    assert took < SECONDS, f"{took:.1f} s"
    shown = seen.page.evaluate(
        "JSON.parse(document.querySelector('#page-data').textContent).charts[0].curves[0].values"
    )
    assert {1000.0 + step for step in spikes} <= set(shown)
    assert "the lowest and the highest of every 67 are drawn" in seen.text("#charts")


@contextmanager
def served(folder: Path) -> Iterator[str]:
    with server_for([folder], 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def test_a_run_is_followed_to_its_end(tmp_path: Path, look: Opener) -> None:
    folder = write_run(tmp_path / "run", records=steps(50), settings=SETTINGS, answers={})
    with served(folder) as address:
        seen = look(f"http://{address}/")
        seen.page.wait_for_selector(".live >> text='live'")
        assert seen.text("main h1") == "Running: 50 steps."
        seen.page.locator(".tables details summary").last.click()
        write_lines(folder / "metrics.jsonl", steps(80) + scores(80))
        write_lines(folder / "predictions" / "epoch-0.jsonl", BEFORE)
        seen.page.wait_for_selector("text=Running: 80 steps.")
        assert "step 80" in seen.text('[data-chart="Loss"] .legend')
        assert is_drawn(seen, "Score")
        assert len(seen.rows()) == 4
        assert seen.page.locator(".tables details").last.get_attribute("open") is None
        seen.page.select_option(".which", "right")
        (folder / "report.json").write_text(json.dumps(REPORT))
        seen.page.wait_for_selector("text=It learned")
        seen.page.wait_for_selector(".live >> text='ended'")
        assert seen.rows() == ["rows.jsonl:3"]


def test_the_address_is_for_this_machine_and_gives_the_page_alone(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run")
    with served(folder) as address:

        def asked(path: str = "/", **headers: str) -> tuple[int, str]:
            connection = HTTPConnection(address)
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            answer.read()
            connection.close()
            return answer.status, answer.headers.get("ETag", "")

        status, stamp = asked()
        assert status == 200
        assert asked(**{"If-None-Match": stamp})[0] == 304
        assert asked("/settings.json")[0] == 404
        assert asked("/../settings.json")[0] == 404
        assert asked(Host="example.org")[0] == 403
        with (folder / "metrics.jsonl").open("a") as file:
            file.write('{"step": 201, "loss": 1.0, "learning_rate": 0.1}\n')
        until = time.monotonic() + 20
        while asked(**{"If-None-Match": stamp})[0] == 304:
            assert time.monotonic() < until
            time.sleep(0.05)


def test_the_page_of_a_script_with_a_hostile_name_and_exception(
    tmp_path: Path, look: Opener
) -> None:
    script = tmp_path / "<img src=x onerror='window.hit=1'>.py"
    script.write_text("raise ValueError('</script><script>window.hit=1</script>\\x1b[31m')\n")
    page = tmp_path / "page.html"
    ran = subprocess.run(
        [sys.executable, "-m", "surefit", "run", "--html", str(page), script.name],
        cwd=tmp_path,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert f"page of this run: {page}" in ran.stderr
    seen = look(page)
    assert seen.page.evaluate("window.hit") is None
    assert seen.page.locator("img").count() == 0
    assert script.name in seen.text(".title")
    assert "</script><script>window.hit=1</script>" in seen.text(".verdict, #findings")
    assert seen.page.locator(".verdict.bad").count() == 1


def test_code_and_commands_stand_out_in_sentences(tmp_path: Path, look: Opener) -> None:
    fix = Fix("Resume `it`:  surefit sft --resume <run>")
    folder = write_run(tmp_path / "run", ended=(1, (replace(finding("a ` b"), fixes=(fix,)),)))
    seen = look(of_run(folder))
    assert seen.text("main h1") == "a ` b"
    assert seen.page.locator(".fix code").all_inner_texts() == ["it", "surefit sft --resume <run>"]


def test_control_characters_are_shown() -> None:
    assert neutral("a\tb\nc\x00\x1b\ud800") == "a\tb\nc\\x00\\x1b\\ud800"
    assert neutral(7) == 7
