"""The terminal of the README: what is drawn, and what is left out."""

from xml.etree import ElementTree

from tools.recording import FILE, SCRIPT, moving_signs_removed, on_screen, picture, without_folders


def test_lines_are_folded_and_pauses_shortened() -> None:
    came = [(5.0, "\x1b[31mred\x1b[0m\n"), (65.0, "x" * 100 + "\n"), (65.1, "\n"), (65.2, "\n")]
    lines = list(on_screen("$ go", came))
    assert [line.text.plain for line in lines] == ["$ go", "red", "x" * 80, "x" * 20, ""]
    assert [round(line.at, 6) for line in lines] == [0.0, 0.5, 2.0, 2.0, 2.1]
    drawn = picture(lines, "<title>")
    assert ElementTree.fromstring(drawn).tag.endswith("svg")
    assert 'fill="#' in drawn.partition(">red<")[0].rpartition("<tspan")[2]


def test_moving_signs_and_folders_are_left_out() -> None:
    came = [(0.0, "⠙ surefit: trying\n"), (1.0, "\r\x1b[2Kdone\n")]
    assert [line.text.plain for line in on_screen("$", came)] == ["$", "done"]
    assert moving_signs_removed(" 10%\r 20%\x1b[K\n") == " 20%"
    line = 'File "/a/b/lib/python3.11/site-packages/torch/x.py" and /folder/train.py\n'
    assert without_folders(line, "/folder") == (
        'File ".venv/lib/site-packages/torch/x.py" and train.py\n'
    )


def test_the_recording_in_the_readme_is_of_this_example() -> None:
    drawn = FILE.read_text(encoding="utf-8")
    words = "".join(ElementTree.fromstring(drawn).itertext())
    assert f"surefit run {SCRIPT.name}" in words
    assert "error: state-carried-without-detach" in words
    assert "tried on a copy" in words
    assert len(drawn) < 40_000
    assert not [folder for folder in ("/work", "/tmp", "/home", "/root") if folder in drawn]
