"""Messages and progress bars, on a terminal and off it."""

from io import BytesIO, StringIO, TextIOWrapper

import pytest
from rich.console import Console

from surefit.render import console
from surefit.render.console import progress, say


def terminal(width: int = 80) -> tuple[Console, StringIO]:
    written = StringIO()
    made = Console(
        file=written, force_terminal=True, width=width, color_system=None, legacy_windows=False
    )
    return made, written


def test_a_message_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    say("[red]" + "long " * 40 + ":smile: \x1b[31m\ntwo")
    assert capsys.readouterr().out == "[red]" + "long " * 40 + ":smile: \\x1b[31m\ntwo\n"


def test_a_terminal_gets_a_bar_with_all_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    shown, written = terminal()
    with progress("Epoch 1/10", 4, log_every=1, console=shown) as bar:
        for _ in range(3):
            bar.step(loss="1.2345", lr="2.0e-04")
    last = written.getvalue().split("\x1b[2K")[-1].split("\n")[0]
    assert "Epoch 1/10" in last
    assert "3/4" in last
    assert "━" in last
    assert "left" in last
    assert "/s" in last
    assert "loss 1.2345  lr 2.0e-04" in last
    assert len(last) <= 80


@pytest.mark.parametrize("width", [60, 80, 120])
def test_numbers_stay_whole_and_the_bar_shrinks(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    shown, written = terminal(width)
    with progress("Epoch 1/10", 675, log_every=1, console=shown) as bar:
        for _ in range(2):
            bar.step(120, loss="1.2345", lr="2.0e-04")
    last = written.getvalue().split("\x1b[2K")[-1].split("\n")[0]
    assert "Epoch 1/10 240/675 " in last
    assert " left " in last
    assert "loss 1.2345  lr 2.0e-04" in last
    assert "…" not in last
    assert len(last.rstrip()) <= width
    assert ("/s" in last) == (width >= 80)


def test_a_finished_bar_says_what_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    shown, written = terminal()
    with progress("Tokens", 2, console=shown) as bar:
        bar.step(2)
    last = written.getvalue().split("\x1b[2K")[-1].split("\n")[0]
    assert "2/2" in last
    assert "0:00" in last
    assert "left" not in last


@pytest.mark.parametrize(
    ("encoding", "drawn"), [("utf-8", "── a │ b … é"), ("ascii", "-- a | b ~ \\xe9")]
)
def test_a_terminal_without_the_characters_gets_others(encoding: str, drawn: str) -> None:
    raw = BytesIO()
    file = TextIOWrapper(raw, encoding=encoding, errors="backslashreplace")
    console.SafeConsole(file=file, width=40).print("── a │ b … é")
    file.flush()
    assert raw.getvalue().decode(encoding).rstrip() == drawn


def test_a_bar_goes_on_from_what_was_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    shown, written = terminal()
    with progress("[b]Tokens[/b]", total=10, done=4, console=shown) as bar:
        bar.step(2)
    assert bar.done == 6
    assert " 6/10" in written.getvalue()
    assert "[b]Tokens[/b]" in written.getvalue()


def test_elsewhere_there_are_lines_and_no_control_codes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress("Epoch 1/10", total=675, done=20, log_every=25) as bar:
        for _ in range(35):
            bar.step(loss="1.2345", lr="2.0e-04")
        bar.step(50)
    assert capsys.readouterr().out.splitlines() == [
        "Epoch 1/10  25/675  loss 1.2345  lr 2.0e-04",
        "Epoch 1/10  50/675  loss 1.2345  lr 2.0e-04",
        "Epoch 1/10  105/675",
    ]
    with progress("Tokens", total=3) as bar:
        bar.step()
    assert capsys.readouterr().out == ""


def test_quiet_silences_messages_and_bars(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "quiet", True)
    shown, written = terminal()
    say("not a word")
    with progress("Epoch", total=3, log_every=1, console=shown) as bar:
        bar.step()
    with progress("Epoch", total=3, log_every=1) as bar:
        bar.step()
    assert written.getvalue() == ""
    assert capsys.readouterr().out == ""


def test_a_bar_leaves_an_exception_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    shown, written = terminal()
    with (
        pytest.raises(ZeroDivisionError),
        progress("Epoch", total=3, console=shown) as bar,
    ):
        bar.step(1 // 0)
    assert written.getvalue().endswith("\x1b[?25h")  # the cursor is back
