"""Queries on a lineage pick one expression of many."""

from dataclasses import replace
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.observations import Answer, Crash, Frame, Process, Question, Value
from surefit.doctor.recording import Recording
from surefit.lineage import properties
from surefit.lineage.asking import lineage_of
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Input, Producer, ProducerKind, Way

CALL, NAME, DISPLAY = ProducerKind.CALL, ProducerKind.NAME, ProducerKind.DISPLAY
LITERAL, OPERATOR, OPERATION = ProducerKind.LITERAL, ProducerKind.OPERATOR, ProducerKind.OPERATION


def producer(
    serial: int,
    text: str,
    sort: ProducerKind,
    *inputs: tuple[int, Way, str],
    own: bool = True,
    name: str = "",
    ended: str = "",
    **value: Any,
) -> Producer:
    return Producer(
        serial=serial,
        place=Place("train.py", serial),
        span=None,
        text=text,
        kind=sort,
        value=Value(text, **{"kind": "Tensor", **value}),
        inputs=tuple(Input(serial=one, way=way, name=role) for one, way, role in inputs),
        own=own,
        name=name,
        ended=ended,
    )


def lineage(*producers: Producer, way: Way = Way.SAME_OBJECT, name: str = "") -> Lineage:
    graph = {one.serial: one for one in producers}
    return Lineage(graph, (Input(serial=max(graph), way=way, name=name),))


def text_of(found: Producer | None) -> str | None:
    return found.text if found is not None else None


def test_a_property_is_born_where_no_input_has_it() -> None:
    found = lineage(
        producer(1, "load()", CALL, dtype="int64"),
        producer(2, "x / 255", OPERATOR, (1, Way.OPERAND, ""), dtype="float64"),
        producer(3, "x", NAME, (2, Way.BINDING, "x"), dtype="float64"),
        producer(4, "x.view(-1)", CALL, (3, Way.OPERAND, "self"), dtype="float64"),
    )
    assert text_of(found.birth(properties.dtype("float64"))) == "x / 255"
    assert text_of(found.birth(properties.dtype("int64"))) is None
    assert [one.text for one in found.producers] == ["x.view(-1)", "x / 255", "load()"]


def test_a_column_is_followed_through_tables() -> None:
    def column(dtype: str) -> dict[str, Value]:
        return {"stars": Value("stars", "Series", dtype=dtype)}

    found = lineage(
        producer(1, "read()", CALL, kind="DataFrame", members=column("int64")),
        producer(2, "t.merge(u)", CALL, (1, Way.OPERAND, "self"), kind="DataFrame",
                 members=column("float64")),
        producer(3, "t.dropna()", CALL, (2, Way.OPERAND, "self"), kind="DataFrame",
                 members=column("float64")),
        producer(4, 't["stars"]', OPERATOR, (3, Way.OPERAND, "object"), kind="Series",
                 dtype="float64", name="stars"),
    )  # fmt: skip
    assert text_of(found.birth(properties.dtype("float64"))) == "t.merge(u)"


def test_an_axis_of_a_batch_is_looked_for_in_its_rows() -> None:
    found = lineage(
        producer(1, "mask", CALL, shape=(32, 32)),
        producer(2, "mask[None]", OPERATOR, (1, Way.OPERAND, "object"), shape=(1, 32, 32)),
        producer(3, "stack", OPERATION, (2, Way.OPERATION, ""), shape=(8, 1, 32, 32), own=False,
                 name="stack"),
    )  # fmt: skip
    assert text_of(found.birth(properties.axes(4))) == "mask[None]"


def test_of_inputs_with_large_numbers_those_with_the_same_number_are_followed() -> None:
    found = lineage(
        producer(1, "[1, 5]", DISPLAY, least=1.0, greatest=5.0, kind="list"),
        producer(2, "[20, 30]", DISPLAY, least=20.0, greatest=30.0, kind="list"),
        producer(3, "choices(a, weights=b)", CALL, (2, Way.ARGUMENT, "weights"),
                 (1, Way.ARGUMENT, "0"), least=5.0, greatest=5.0, kind="list"),
    )  # fmt: skip
    assert text_of(found.birth(properties.holds_at_least(5))) == "[1, 5]"


def test_a_role_is_the_item_and_not_the_display() -> None:
    found = lineage(
        producer(1, "draw()", CALL, kind="int", scalar=5),
        producer(2, "stars", NAME, (1, Way.BINDING, "stars"), kind="int", scalar=5),
        producer(3, 'row["labels"]', ProducerKind.SUBSCRIPT, (2, Way.ITEM, "labels"), kind="int"),
    )
    assert text_of(found.role()) == "stars"
    handed = lineage(producer(2, "y", NAME), way=Way.ARGUMENT, name="labels")
    assert text_of(handed.role()) == "y"
    assert text_of(handed.handed_over()) == "y"
    assert lineage(producer(2, "y", NAME), way=Way.ARGUMENT, name="0").role() is None


def test_what_is_handed_over_is_on_the_users_side_of_the_library() -> None:
    found = lineage(
        producer(1, "torch.tensor(rows)", CALL),
        producer(2, "y", NAME, (1, Way.BINDING, "y")),
        producer(3, "__getitem__", OPERATION, (2, Way.OPERATION, ""), own=False),
        producer(4, "batch", NAME, (3, Way.SAME_OBJECT, "")),
    )
    assert text_of(found.handed_over()) == "y"


def test_an_object_has_a_constructor_and_a_number_is_written_somewhere() -> None:
    found = lineage(
        producer(1, "512", LITERAL, kind="int", scalar=512, identity=1),
        producer(2, "nn.Linear(512, 32)", CALL, (1, Way.ARGUMENT, "in_features"), identity=7,
                 kind="Linear"),
        producer(3, "build()", CALL, (2, Way.RETURNED, ""), identity=7, kind="Linear"),
    )  # fmt: skip
    made = found.constructor()
    assert made is not None
    assert made.call.text == "nn.Linear(512, 32)"
    assert made.arguments["in_features"].value.scalar == 512
    width = lineage(
        producer(1, "8", LITERAL, kind="int", scalar=8),
        producer(2, "64", LITERAL, kind="int", scalar=64),
        producer(3, "w", NAME, (1, Way.OPERAND, ""), (2, Way.OPERAND, ""), kind="int", scalar=64),
    )
    assert text_of(width.written()) == "64"
    assert found.written() is None


def test_control_is_no_way() -> None:
    found = lineage(
        producer(1, "n", CALL),
        producer(2, "x", CALL),
        producer(3, "x[n]", OPERATOR, (2, Way.OPERAND, "object"), (1, Way.CONTROL, "key")),
    )
    assert [one.text for one in found.producers] == ["x[n]", "x"]


def test_a_lineage_says_why_it_ends() -> None:
    assert lineage(producer(1, "x", CALL)).ended == ""
    assert "not kept" in lineage(producer(1, "x", CALL, ended="2 were not kept")).ended
    assert "too many" in lineage(producer(3, "x", CALL, (1, Way.OPERAND, ""))).ended


def test_properties_of_values() -> None:
    assert properties.size(0, 2).holds(Value("x", "Tensor", shape=(2, 3)))
    assert not properties.size(2, 2).holds(Value("x", "Tensor", shape=(2, 3)))
    assert properties.floating.holds(Value("x", "list", length=2, kinds={"float": 1, "int": 1}))
    assert properties.dtype("int64").holds(Value("x", "int", scalar=3))
    assert properties.dtype("int64").holds(Value("x", "str", scalar="a")) is None
    assert properties.not_contiguous.holds(Value("x", "Tensor", contiguous=False))
    assert properties.not_contiguous.holds(Value("x", "list")) is None
    assert properties.text.holds(Value("x", "list", kinds={"str": 2}))
    assert properties.none.holds(Value("x", "list", nones=1))
    assert properties.no_grad.holds(Value("x", "Tensor", requires_grad=False))
    assert properties.on_device("cpu").holds(Value("x", "Tensor", device="cpu"))
    assert properties.kind("Linear").holds(Value("x", "Linear"))
    assert properties.length(3).holds(Value("x", "Tensor", shape=(3, 1)))
    assert properties.holds_below(0).holds(Value("x", "int", scalar=-1))


def test_a_property_that_was_put_in_later_is_born_there() -> None:
    found = lineage(
        producer(1, "[0, 1]", DISPLAY, kind="list", least=0.0, greatest=7.0),
        producer(2, "7", LITERAL, kind="int", scalar=7),
        producer(3, "y[0] = 7", ProducerKind.MUTATION, (2, Way.ITEM, "0"), (1, Way.MUTATED, ""),
                 kind="list", least=0.0, greatest=7.0),
        producer(4, "y", NAME, (1, Way.BINDING, "y"), (3, Way.MUTATED, ""), kind="list",
                 least=0.0, greatest=7.0),
    )  # fmt: skip
    assert text_of(found.birth(properties.holds_at_least(7))) == "7"


def test_an_expression_is_named_once() -> None:
    again = producer(1, "f(x)", CALL)
    newer = replace(again, serial=2, inputs=(Input(serial=1, way=Way.OPERAND),))
    found = lineage(again, newer)
    assert [one.serial for one in found.producers] == [2, 1]
    assert [one.serial for one in found.expressions] == [2]


def test_a_value_is_looked_up_by_frame_and_text_or_by_identity() -> None:
    value = Value("labels", "Tensor", identity=5)
    inner = Frame(Place("torch/loss.py", 9), "loss", False, values=(replace(value, text="target"),))
    outer = Frame(Place("train.py", 3), "step", own=True, values=(value,))
    crash = Crash("1-1", 1.0, Process(1), "IndexError", "IndexError: no", (outer, inner))
    recording = Recording([crash])
    assert lineage_of(recording, crash, value) is None
    assert recording.open_questions == [Question("lineage", "1-1", {})]
    made = {**as_json_producer(4, "torch.tensor(y)")}
    root = {"function": "step", "file": "train.py", "line": 3, "text": "labels",
            "inputs": [{"serial": 4, "way": "binding"}]}  # fmt: skip
    said = {"producers": [made], "roots": [root]}
    recording.observations.append(Answer(recording.open_questions[0], said))
    for wanted in (value, (0, "labels"), (1, "target")):
        known = lineage_of(recording, crash, wanted)
        assert known is not None
        assert [one.text for one in known.producers] == ["torch.tensor(y)"]
    assert lineage_of(recording, crash, (0, "other")) is None


def as_json_producer(serial: int, text: str) -> dict[str, Any]:
    return {
        "serial": serial,
        "place": {"file": "train.py", "line": 2},
        "span": None,
        "text": text,
        "kind": "call",
        "value": {"text": text, "kind": "Tensor"},
    }
