"""Tuples, unequal widths and tensors for NumPy, on hand-made recordings."""

from textwrap import dedent
from typing import Any

import pytest

from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Crash, Frame, Process, Question, Script, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.laws.crashes import violations_in
from surefit.rules.evaluation import (
    batches_of_unequal_width,
    tensor_not_ready_for_numpy,
    tuple_taken_for_a_tensor,
)
from surefit.source.spans import Span

TUPLES = tuple_taken_for_a_tensor.RULE
WIDTHS = batches_of_unequal_width.RULE
ARRAYS = tensor_not_ready_for_numpy.RULE


def tensor(text: str, shape: tuple[int, ...], dtype: str = "float32", **more: Any) -> Value:
    plain = {"device": "cpu", "requires_grad": False, "identity": 5}
    return Value(text, "Tensor", shape=shape, dtype=dtype, **{**plain, **more})


def pair(text: str, *members: Value) -> Value:
    inside = {str(at): one for at, one in enumerate(members)}
    return Value(text, "tuple", 9, length=len(members), members=inside)


def crash(
    kind: str, source: str, line: int, part: str, *values: Value, below: tuple[Frame, ...] = ()
) -> tuple[Crash, str]:
    text = dedent(source)
    written = text.splitlines()[line - 1]
    column = written.index(part)
    frame = Frame(
        Place("eval.py", line),
        "<module>",
        own=True,
        line=written.strip(),
        expression=part,
        span=Span(line, column, line, column + len(part)),
        values=values,
    )
    return Crash("1-1", 1.0, Process(1), kind, f"{kind}: ...", (frame, *below)), text


def found(rule: Rule, made: tuple[Crash, str], *answers: Answer) -> list[Finding]:
    one, text = made
    recording = Recording([Script("eval.py", text), one, *answers])
    return list(rule.look(recording, violations_in(recording, [])))


def changes(finding: Finding, fix: int = 0) -> list[str]:
    edit = finding.fixes[fix].edit
    return [change.text for change in edit.changes] if edit else []


LOSS, LOGITS = tensor("0", ()), tensor("1", (8, 3))


def test_names_of_a_tuple_are_told_by_shapes() -> None:
    source = """\
        outputs = model(batch, return_dict=False)
        loss = outputs.loss
        guess = outputs.logits.argmax(-1)
        """
    made = crash("AttributeError", source, 2, "outputs.loss", pair("outputs", LOSS, LOGITS))
    (finding,) = found(TUPLES, made)
    assert finding.place == Place("eval.py", 1)
    assert changes(finding) == ["True"]
    assert changes(finding, 1) == ["outputs[0]", "outputs[1]"]


def test_several_members_that_fit_are_left_to_the_user() -> None:
    made = crash(
        "AttributeError", "x = out.argmax(-1)\n", 1, "out.argmax", pair("out", LOGITS, LOGITS)
    )
    (finding,) = found(TUPLES, made)
    assert all(fix.edit is None and fix.why_not_tried for fix in finding.fixes)


def test_labels_tell_which_member_predicts_them() -> None:
    hidden, labels = tensor("0", (8, 5, 16)), tensor("labels", (8,), "int64", identity=6)
    source = "import numpy as np\nguess = np.argmax(out, axis=-1)\n"
    value = pair("out", hidden, LOGITS)
    made = crash("ValueError", source, 2, "np.argmax(out, axis=-1)", value, labels)
    (finding,) = found(TUPLES, made)
    assert changes(finding) == ["out[1]"]


@pytest.mark.parametrize("call", ["torch.cat(parts)", "torch.stack(parts)", "model(x, parts)"])
def test_functions_that_take_tuples_fail_for_other_reasons(call: str) -> None:
    made = crash(
        "RuntimeError", f"import torch\ny = {call}\n", 2, call, pair("parts", LOGITS, LOSS)
    )
    assert found(TUPLES, made) == []


JOIN = "import numpy as np\nall = np.concatenate(every)\nkept = all != -100\n"


def shapes(said: dict[str, Any]) -> Answer:
    return Answer(Question("shapes-in-list", "1-1", {"frame": 0, "text": "every"}), said)


def widths(*sizes: tuple[int, ...], **more: Any) -> dict[str, Any]:
    plain = {"shapes": [list(one) for one in sizes], "kinds": ["array"], "dtypes": ["int64"]}
    return {**plain, **more}


def joined(source: str = JOIN, part: str = "np.concatenate(every)") -> tuple[Crash, str]:
    return crash("ValueError", source, 2, part, Value("every", "list", 3, length=2))


def test_batches_are_padded_to_the_widest_where_the_filler_is_left_out() -> None:
    (finding,) = found(WIDTHS, joined(), shapes(widths((4, 9), (4, 12))))
    assert finding.place.line == 2
    assert "constant_values=-100" in changes(finding)[0]
    assert finding.fixes[0].must is not None


def test_padding_that_would_be_counted_is_not_called_right() -> None:
    source = JOIN.replace("kept = all != -100", "right = (all == meant).mean()")
    (finding,) = found(WIDTHS, joined(source), shapes(widths((4, 9), (4, 12))))
    assert finding.fixes[0].edit is None
    assert "-100" in finding.fixes[0].text


def test_what_is_decoded_is_padded_with_the_pad_token() -> None:
    source = JOIN.replace("kept = all != -100", "said = tok.batch_decode(all)")
    (finding,) = found(WIDTHS, joined(source), shapes(widths((4, 9), (4, 12))))
    assert "constant_values=tok.pad_token_id" in changes(finding)[0]


@pytest.mark.parametrize(
    "said",
    [
        widths((4, 9), (4, 9)),
        widths((4, 9), (3, 9)),
        widths((4, 9, 2), (4, 7, 3)),
        widths((4, 9), (4,)),
    ],
)
def test_shapes_that_differ_otherwise_are_not_meant(said: dict[str, Any]) -> None:
    assert found(WIDTHS, joined(), shapes(said)) == []


def test_a_tensor_with_a_graph_leaves_it_behind() -> None:
    value = tensor("out", (8,), requires_grad=True)
    made = crash("RuntimeError", "guess = out.numpy()\n", 1, "out.numpy()", value)
    (finding,) = found(ARRAYS, made)
    assert changes(finding) == [".detach()"]


def test_bfloat16_on_a_gpu_needs_more() -> None:
    value = tensor("out", (8,), "bfloat16", requires_grad=True, device="cuda:0")
    made = crash("TypeError", "guess = out.numpy()\n", 1, "out.numpy()", value)
    (finding,) = found(ARRAYS, made)
    assert changes(finding) == [".detach().float().cpu()"]


def test_nothing_is_detached_from_a_loss() -> None:
    source = "err = np.abs(out.numpy())\nloss = torch.tensor(err.mean())\nloss.backward()\n"
    made = crash("RuntimeError", source, 1, "out.numpy()", tensor("out", (8,), requires_grad=True))
    (finding,) = found(ARRAYS, made)
    assert finding.fixes[0].edit is None
    assert "backward" in finding.fixes[0].why_not_tried


def test_losses_are_kept_without_their_graphs() -> None:
    source = "for x in data:\n    history.append(loss)\nprint(np.mean(history))\n"
    inner = Frame(
        Place("torch/_tensor.py", 1),
        "Tensor.__array__",
        own=False,
        values=(tensor("self", (), requires_grad=True),),
    )
    history = Value("history", "list", 3, length=20)
    made = crash("RuntimeError", source, 3, "np.mean(history)", history, below=(inner,))
    (finding,) = found(ARRAYS, made)
    assert finding.place == Place("eval.py", 2, 2)
    assert changes(finding) == [".item()"]


def test_a_plain_tensor_failed_for_another_reason() -> None:
    made = crash("RuntimeError", "guess = out.numpy()\n", 1, "out.numpy()", tensor("out", (8,)))
    assert found(ARRAYS, made) == []
