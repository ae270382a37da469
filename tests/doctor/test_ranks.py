"""One finding for what several ranks show, and which ranks these are."""

from surefit.doctor.findings import Fact, Finding, Place, Severity
from surefit.doctor.observations import Crash, Frame, Process
from surefit.doctor.ranks import by_rank
from surefit.doctor.recording import Recording
from surefit.doctor.rule import on_rank


def crash(rank: int, at: float, line: int = 5, said: str = "ValueError: got 3") -> Crash:
    frame = Frame(Place("train.py", line), "train", True, "f(x)")
    process = Process(100 + rank, "rank", rank, 4)
    return Crash(f"crash-{rank}", at, process, "ValueError", said, (frame,))


def finding(about: str, rank: int, line: int = 5, rule: str = "some-rule") -> Finding:
    place = Place("train.py", line)
    made = Finding(rule, "SF999", Severity.ERROR, place, "It failed.", about=about)
    return on_rank(made, crash(rank, 0))


def test_rank_of_the_process_in_which_it_was_seen() -> None:
    assert finding("", 2).ranks == (2,)
    assert on_rank(finding("", 2), crash(3, 0)).ranks == (2,)
    assert on_rank(finding("", 2), object()).ranks == (2,)


def test_the_same_rule_at_the_same_place_is_one() -> None:
    seen = Recording([crash(0, 1.0), crash(1, 2.0)])
    (one,) = by_rank([finding("crash-0", 0), finding("crash-1", 1)], seen)
    assert one.ranks == (0, 1)
    assert one.facts == (Fact("on ranks", "0, 1 of 4"),)


def test_other_places_and_rules_stay_apart() -> None:
    seen = Recording([crash(0, 1.0), crash(1, 2.0, line=7)])
    apart = [finding("crash-0", 0), finding("crash-1", 1, 7), finding("", 1, 5, "other-rule")]
    found = by_rank(apart, seen)
    assert [one.ranks for one in found] == [(0,), (1,), (1,)]
    assert found[0].facts == (Fact("on rank", "0 of 4"),)


def test_ranks_that_failed_in_the_same_way_are_counted_without_a_finding() -> None:
    """Numbers in the message differ from rank to rank; a connection that breaks is another way."""
    broken = crash(2, 3.0, said="RuntimeError: connection closed")
    seen = Recording([crash(0, 1.0), crash(1, 2.0, said="ValueError: got 7"), broken])
    (one,) = by_rank([finding("crash-0", 0)], seen)
    assert one.ranks == (0, 1)


def test_without_ranks_nothing_is_said() -> None:
    alone = Crash("crash", 1.0, Process(5), "ValueError", "ValueError")
    made = Finding("rule", "SF999", Severity.ERROR, Place("a.py", 1), "It.", about="crash")
    assert by_rank([made, made], Recording([alone])) == [made, made]


def test_two_findings_of_one_rank_stay_two() -> None:
    seen = Recording([crash(0, 1.0)])
    found = by_rank([finding("crash-0", 0), finding("other", 0)], seen)
    assert [one.about for one in found] == ["crash-0", "other"]
