"""`%load_ext surefit` in a real notebook: executed by nbclient, one kernel for all tests."""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.slow

FIRST = """\
import torch
from torch import nn
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
"""
CRASH = """\
rows = torch.randn(6, 4)

# <script>alert(1)</script>
targets = torch.tensor([0., 1., 2., 0., 1., 2.])
loss = nn.functional.cross_entropy(net(rows), targets)"""
FAR = """\
!true
def scores(asked, answers):
    return asked @ answers

"""
SILENT = """\
%%surefit
opt = torch.optim.SGD(net.parameters(), lr=0.0)

for step in range(30):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(rows), targets.long())
    loss.backward()
    opt.step()
"<i>end</i>"
"""
HEALTHY = SILENT.replace("lr=0.0", "lr=0.1")
STOPPED = HEALTHY.replace("%%surefit\n", "").replace("lr=0.1", "lr=0.0").replace("\n", "\n    ")
STOPPED = f"with surefit.watch(stop_on='error', quiet=True):\n    {STOPPED}"
BARS = """\
from surefit.render.console import progress, say
with progress("Counting <b>", 50) as bar:
    for number in range(50):
        bar.step(loss=f"<{number}>")
        if number == 20:
            with progress("Inside", 2) as inner:
                inner.step(2)
say("one")
say("two")
"""
GUIDE = re.findall(
    r"^```python\n(.*?)^```",
    (Path(__file__).parents[2] / "docs" / "notebooks.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)
CELLS = {
    "before": "1 / 0",
    "load": "%load_ext surefit",
    "import": FIRST,
    "crash": CRASH,
    "fix": "%surefit fix",
    "far": FAR,
    "far crash": "scores(torch.ones(8, 5, 24), torch.ones(8, 11, 24))",
    "far fix": "%surefit fix",
    "silent": SILENT,
    "silent fix": "%surefit fix",
    "healthy": HEALTHY,
    "watched crash": "%%surefit\n\nnn.Linear(4, 3)(torch.ones(2, 5))",
    "typo": "tragets",
    "refusal": "import surefit\nsurefit.LoraSft(epochs=-1, model='<b>')",
    "bars": BARS,
    "stopped": STOPPED,
    "findings": "with surefit.watch(quiet=True) as watched: pass\nwatched.findings",
    **{f"guide {number}": text for number, text in enumerate(GUIDE, start=1)},
    "unload": "%unload_ext surefit",
    "after": "torch.ones(2, 3) @ torch.ones(2, 3)",
}


@dataclass
class Ran:
    """What cells left: outputs, and what the kernel wants as the next cell."""

    outputs: dict[str, list[Any]]
    next_cells: dict[str, Any] = field(default_factory=dict)

    def shown(self, cell: str, mime: str = "text/html") -> str:
        return "".join(
            output["data"].get(mime, "") for output in self.outputs[cell] if "data" in output
        )

    def error(self, cell: str) -> str:
        (error,) = (it for it in self.outputs[cell] if it["output_type"] == "error")
        return "\n".join(error["traceback"])

    def printed(self, cell: str) -> str:
        return "".join(output.get("text", "") for output in self.outputs[cell])


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    cells = [nbformat.v4.new_code_cell(text) for text in CELLS.values()]  # type: ignore[no-untyped-call]
    notebook = nbformat.v4.new_notebook(cells=cells)  # type: ignore[no-untyped-call]
    replies: list[Any] = []

    def executed(cell: Any, cell_index: int, execute_reply: Any) -> None:  # noqa: ARG001
        replies.append(execute_reply["content"].get("payload") or [])

    client = NotebookClient(
        notebook,
        timeout=300,
        allow_errors=True,
        resources={"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}},
        kernel_name="python3",
        on_cell_executed=executed,
    )
    manager: Any = client.create_kernel_manager()
    manager.kernel_spec.argv = [
        *(sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}")
    ]
    client.execute()
    wanted = {
        name: next((it for it in payload if it["source"] == "set_next_input"), None)
        for name, payload in zip(CELLS, replies, strict=True)
    }
    return Ran(dict(zip(CELLS, (cell.outputs for cell in notebook.cells), strict=True)), wanted)


def test_without_the_extension_nothing_is_said(ran: Ran) -> None:
    for name in ("before", "after"):
        assert [output["output_type"] for output in ran.outputs[name]] == ["error"]


def test_a_crash_is_diagnosed_below_its_traceback(ran: Ran) -> None:
    kinds = [output["output_type"] for output in ran.outputs["crash"]]
    assert kinds == ["error", "display_data"]
    assert "surefit" not in ran.error("crash")  # functions that it wraps have frames
    shown = ran.shown("crash")
    assert "error: label-dtype" in shown
    assert "In[4]:5" in shown
    assert "<mark>targets</mark>" in shown
    assert "ipykernel_" not in shown
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown  # in the diff, which is text
    assert ran.shown("crash", "text/plain").startswith("In[4]:5: `targets` is float32")


def test_the_mended_cell_is_the_next_one(ran: Ran) -> None:
    mended = CRASH.replace("(net(rows), targets)", "(net(rows), targets.long())")
    wanted = ran.next_cells["crash"]
    assert (wanted["text"], wanted["replace"]) == (mended, False)
    wanted = ran.next_cells["fix"]
    assert (wanted["text"], wanted["replace"]) == (mended, True)
    assert "<code>%surefit fix</code>" in ran.shown("crash")


def test_a_fix_in_another_cell_keeps_its_magics(ran: Ran) -> None:
    assert "In[6]:3" in ran.shown("far crash")
    text = FAR.replace("@ answers", "@ answers.transpose(-2, -1)").rstrip("\n")
    assert ran.next_cells["far fix"]["text"] == text


def test_a_watched_cell_shows_a_silent_failure(ran: Ran) -> None:
    shown = ran.shown("silent")
    assert "error: learning-rate-of-zero" in shown
    assert "In[9]:2" in shown
    mended = SILENT.replace("lr=0.0", "lr=1e-2").rstrip("\n")
    assert ran.next_cells["silent"]["text"] == mended
    assert ran.next_cells["silent fix"]["text"] == mended
    assert "'<i>end</i>'" in ran.shown("silent", "text/plain")  # its value, as without the magic


def test_a_healthy_cell_that_is_watched(ran: Ran) -> None:
    assert ran.next_cells["healthy"] is None
    printed = ran.printed("healthy")
    assert printed.startswith("surefit: no findings; ")
    assert int(printed.split(";")[1].split()[0]) > 3  # laws that were measured


def test_a_crash_in_a_watched_cell_has_its_own_lines(ran: Ran) -> None:
    error = ran.error("watched crash")
    assert "mat1 and mat2 shapes cannot be multiplied" in error
    assert "/surefit/" not in error
    assert "In[12]:3" in ran.shown("watched crash")
    assert "error: feature-width-mismatch" in ran.shown("watched crash")


def test_a_name_misspelt_needs_no_diagnosis(ran: Ran) -> None:
    assert [output["output_type"] for output in ran.outputs["typo"]] == ["error"]


def test_a_refusal_shows_its_finding_and_no_frames(ran: Ran) -> None:
    (output,) = ran.outputs["refusal"]
    lines = output["traceback"]
    assert lines[0].startswith("── error: setting-out-of-range ─")
    assert lines[1].startswith("`epochs`")
    assert not any("File" in line or "Traceback" in line for line in lines)


def test_training_that_is_stopped_shows_why_and_where(ran: Ran) -> None:
    lines = ran.error("stopped").splitlines()
    assert lines[0].startswith("── error: learning-rate-of-zero ")
    assert lines[0].endswith(" In[16]:2 ── SF613")
    assert "    2 │     opt = torch.optim.SGD(net.parameters(), lr=0.0)" in lines


def test_bars_share_one_output_and_messages_another(ran: Ran) -> None:
    bars, *messages = ran.outputs["bars"]
    assert bars["output_type"] == "display_data"
    assert {output["output_type"] for output in messages} == {"stream"}
    assert ran.printed("bars") == "one\ntwo\n"
    assert bars["data"]["text/plain"] == "Counting <b>  50/50  loss <49>"
    assert "Counting &lt;b&gt;" in bars["data"]["text/html"]


def test_findings_have_html(ran: Ran) -> None:
    assert ran.shown("findings") == "<div>surefit: no findings.</div>"


def test_cells_of_the_guide_do_as_it_says(ran: Ran) -> None:
    """Load, a crash, its fix, a silent failure, findings, a refusal."""
    assert len(GUIDE) == 6
    assert "error: label-dtype" in ran.shown("guide 2")
    assert "targets.long()" in ran.next_cells["guide 3"]["text"]
    assert "error: learning-rate-of-zero" in ran.shown("guide 4")
    assert ran.shown("guide 5")
    assert "── error: setting-out-of-range ─" in ran.error("guide 6")
