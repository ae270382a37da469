"""Observations written and read back, joined and asked."""

import json
from pathlib import Path

from surefit.doctor.findings import Place
from surefit.doctor.observations import (
    Answer,
    Crash,
    Frame,
    NotObserved,
    Observation,
    Process,
    Question,
    Script,
    Steps,
    Swallowed,
    Value,
)
from surefit.doctor.recording import Recording, as_line, read


def crash(name: str, at: float = 1.0, **more: object) -> Crash:
    frame = Frame(
        Place(f"/run/{name}.py", 3), name, True, values=(Value("x", "Tensor", shape=(2,)),)
    )
    given = {"process": Process(7), "kind": "ValueError", "said": "ValueError: no", **more}
    return Crash(name, at, frames=(frame,), **given)  # type: ignore[arg-type]


def again(*seen: Observation, folder: str = "/run") -> list[Observation]:
    return read([as_line(one) for one in seen], Path(folder)).observations


def steps(count: int, pid: int = 7) -> Steps:
    return Steps(Process(pid), count, 1.0, count, {"TBS": count}, ((0, 2.5),))


def test_what_is_written_is_read_back() -> None:
    seen = crash("a")
    (back,) = again(seen, folder="/elsewhere")
    assert back == seen


def test_files_are_named_as_seen_from_the_folder() -> None:
    (back,) = again(crash("a"))
    assert isinstance(back, Crash)
    assert back.frames[0].place == Place("a.py", 3)


def test_a_library_file_is_named_by_its_package() -> None:
    file = "/somewhere/lib/site-packages/torch/nn/modules/linear.py"
    (back,) = again(Crash("a", 1, Process(), "E", "E", (Frame(Place(file, 9), "forward", False),)))
    assert isinstance(back, Crash)
    assert back.frames[0].place.file == "torch/nn/modules/linear.py"


def test_a_half_written_line_is_passed_over() -> None:
    lines = [as_line(NotObserved("a", "b")), as_line(crash("a"))[:40]]
    assert [type(one) for one in read(lines).observations] == [NotObserved]


def test_numbers_that_json_has_no_word_for() -> None:
    value = Value("loss", "Tensor", least=float("-inf"), greatest=float("inf"))
    seen = Crash(
        "a", 1, Process(), "E", "E", (Frame(Place("a.py", 1), "f", True, values=(value,)),)
    )
    (back,) = again(seen)
    assert isinstance(back, Crash)
    assert back.frames[0].values[0].greatest == float("inf")


def test_of_growing_counts_the_last_is_kept() -> None:
    handler = Place("/run/a.py", 4)

    def swallowed(times: int) -> Swallowed:
        return Swallowed(
            Process(7), handler, handler, None, f"E: {times}", times, 9, ("module",), False, False
        )

    seen = again(steps(1), swallowed(1), steps(5), swallowed(4), steps(3, pid=8))
    assert [one.steps for one in seen if isinstance(one, Steps)] == [5, 3]
    assert [one.times for one in seen if isinstance(one, Swallowed)] == [4]


def test_a_workers_crash_joins_the_one_that_it_led_to() -> None:
    inside = crash("worker", 1.0, passed_on=True, said="TypeError: none", kind="TypeError")
    ahead = crash("ahead", 1.1, passed_on=True)
    arrived = crash("main", 2.0, raised_in="worker", said="TypeError: Caught ...", steps=3)
    (joined,) = again(inside, ahead, arrived)
    assert isinstance(joined, Crash)
    assert (joined.id, joined.said, joined.at, joined.steps) == ("main", "TypeError: none", 1.0, 3)
    assert [frame.function for frame in joined.frames] == ["main", "worker"]


def test_a_crash_whose_worker_left_nothing_stays_as_it_arrived() -> None:
    arrived = crash("main", 3.0, raised_in="lost")
    (joined,) = again(arrived)
    assert isinstance(joined, Crash)
    assert [frame.function for frame in joined.frames] == ["main"]


def test_a_question_is_open_until_it_is_answered() -> None:
    question = Question("count", "a", {"frame": 1})
    seen = Recording([])
    assert seen.ask(question) is None
    assert seen.ask(question) is None
    assert seen.open_questions == [question]
    seen.open_questions.clear()
    seen.observations.append(Answer(question, {"n": 3}))
    assert seen.ask(Question("count", "a", {"frame": 1})) == {"n": 3}
    assert seen.open_questions == []


def test_an_answer_that_could_not_be_had_is_not_asked_for_again() -> None:
    question = Question("count", "a")
    seen = Recording([Answer(question, None, "gone")])
    assert seen.ask(question) is None
    assert seen.open_questions == []


def test_a_script_is_parsed_and_a_broken_one_is_none() -> None:
    seen = Recording([Script("a.py", "x = 1\n"), Script("b.py", "x = (\n")])
    source = seen.source(Place("a.py", 1))
    assert source is not None
    assert source.lines == ["x = 1"]
    assert seen.source("b.py") is None
    assert seen.source("c.py") is None


def test_a_line_is_one_line_of_json() -> None:
    line = as_line(Script("a.py", "x = 1\ny = 2\n"))
    assert "\n" not in line
    assert json.loads(line)["saw"] == "Script"
