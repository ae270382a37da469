"""Listeners that rest hear of nothing, and of everything again when they are woken or due."""

from surefit.observe.inside import events


def test_a_listener_rests_for_a_number_of_events() -> None:
    event, heard = events.Event(), []

    @events.on(event)
    def resting(number: int) -> None:
        heard.append(number)
        if number == 2:
            event.rest(resting, 3)

    for number in range(8):
        events.tell(event, number)
    assert heard == [0, 1, 2, 6, 7]
    assert event.count == 8


def test_a_listener_rests_until_it_is_woken_and_others_go_on() -> None:
    event, heard, others = events.Event(), [], []

    @events.on(event)
    def resting(number: int) -> None:
        heard.append(number)
        event.rest(resting)

    @events.on(event)
    def other(number: int) -> None:
        others.append(number)
        if number == 3:
            event.wake(resting)

    for number in range(6):
        events.tell(event, number)
    assert heard == [0, 4]
    assert others == [0, 1, 2, 3, 4, 5]


def test_a_listener_that_fails_does_not_keep_the_others_from_hearing() -> None:
    event = events.Event()
    heard: list[int] = []

    @events.on(event)
    def fails(_number: int) -> None:
        raise ValueError

    events.on(event)(heard.append)
    events.tell(event, 1)
    assert heard == [1]


def test_the_events_before_the_next_power_of_two() -> None:
    assert [events.before_power_of_two(count) for count in (1, 2, 3, 4, 5, 8, 15)] == [
        *(0, 1, 0, 3, 2, 7, 0),
    ]


def test_an_event_is_due_only_where_somebody_listens() -> None:
    event, heard = events.Event(), []
    assert event.due > 1_000_000

    @events.on(event)
    def resting(number: int) -> None:
        heard.append(number)
        event.rest(resting, 4)

    assert event.due == 0
    due = []
    for number in range(1, 12):
        event.count += 1
        due.append(event.count >= event.due)
        if due[-1]:
            events.call(event, number)
    assert heard == [1, 6, 11]
    assert [number for number, is_due in enumerate(due, 1) if is_due] == heard
