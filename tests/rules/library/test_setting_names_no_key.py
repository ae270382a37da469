"""A metric that is not there because the Trainer found no labels, on a hand-made recording."""

from recorded_crashes import look, mended
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Crash, Frame, Process, Question, Value
from surefit.rules.library.setting_names_no_key import RULE

TEXT = """\
class Net(nn.Module):
    def forward(self, words, mask=None, stars=None):
        return score(words, mask, stars)
settings = TrainingArguments("out", metric_for_best_model="mae")
Trainer(Net(), settings).train()
"""
FORWARD = ["words", "mask", "stars"]


def found(text: str, *keys: str, forward: list[str] = FORWARD) -> Finding:
    members = {key: Value(key, "float", scalar=1.0) for key in ("eval_runtime", *keys)}
    values = (
        Value("metrics", "dict", 1, length=len(members), members=members),
        Value("metric_to_check", "str", scalar="eval_mae"),
    )
    inside = Frame(
        Place("transformers/trainer.py", 3400),
        "Trainer._determine_best_metric",
        own=False,
        line="metric_value = metrics[metric_to_check]",
        expression="metrics[metric_to_check]",
        values=values,
    )
    own = Frame(Place("train.py", 5), "<module>", own=True, line="Trainer(Net(), settings).train()")
    crash = Crash("1-1", 1.0, Process(1), "KeyError", "KeyError: 'eval_mae'", (own, inside))
    trainer = Answer(Question("trainer", "1-1"), {"model": "Net", "forward": forward})
    (finding,) = look(RULE, text, crash, trainer)
    return finding


def test_the_labels_have_another_name() -> None:
    finding = found(TEXT)
    assert finding.headline == (
        "The Trainer found no labels for its evaluation, so that there is no `eval_mae`: `forward`"
        " takes them as `stars`, and the Trainer looks for `label` in the names."
    )
    assert finding.place == Place("train.py", 4, 4)
    assert 'metric_for_best_model="mae", label_names=["stars"])' in mended(finding, TEXT)


def test_labels_were_found() -> None:
    """An evaluation with a loss, labels by their usual name, or names that were set."""
    named = TEXT.replace('"out"', '"out", label_names=["stars"]')
    for finding in (
        found(TEXT, "eval_loss"),
        found(TEXT, forward=["words", "labels"]),
        found(named),
        found(TEXT.replace("mask=None, stars=None", "mask, stars")),
    ):
        assert "has no such key" in finding.headline
