"""Columns that a Trainer's functions ask for, and settings that override others."""

import pytest

from surefit.laws.invariants.trainer_requests import requests
from surefit.observe.inside.measuring.trainer_requests import documented
from surefit.source.reading import Source

DOCUMENTATION = """
    max_steps (`int`, *optional*, defaults to -1):
        Overrides `num_train_epochs`. If set to a positive number, ...
    warmup_steps (`int`):
        Steps. Overrides any effect of `warmup_ratio`.
    seed (`int`):
        Nothing overrides it.
"""


def test_settings_that_override_by_their_documentation() -> None:
    pairs = [("max_steps", "num_train_epochs"), ("warmup_steps", "warmup_ratio")]
    assert documented(DOCUMENTATION) == pairs


OF_A_TRAINER = "class Own(Trainer):\n    def compute_loss(self, model, inputs):\n        "
COLLATE = "def join(rows):\n    return {}\n\nTrainer(model, data_collator=join)\n"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (OF_A_TRAINER + 'w = inputs.pop("weight", None)\n', 'inputs.pop("weight", None)'),
        (OF_A_TRAINER + 'w = inputs.get("weight")\n', 'inputs.get("weight")'),
        (OF_A_TRAINER + 'if "weight" in inputs:\n            pass\n', '"weight" in inputs'),
        (OF_A_TRAINER + 'w = inputs.pop("weight")\n', None),
        (OF_A_TRAINER + 'w = inputs["weight"]\n', None),
        (OF_A_TRAINER + 'w = SETTINGS.get("weight", 1.0)\n', None),
        (OF_A_TRAINER + 'w = inputs.pop("labels", None)\n', None),
        (COLLATE.format('[row.get("weight", 1.0) for row in rows]'), 'row.get("weight", 1.0)'),
        ('def prepared(row):\n    return row.get("weight")\n', None),
        ('def forward(x, **kwargs):\n    return kwargs.get("weight")\n', None),
    ],
)
def test_columns_that_are_asked_for_with_a_default(text: str, asked: str | None) -> None:
    source = Source("train.py", text)
    found = [source.segment(node) for _, node in requests(source, ("weight",))]
    assert found == ([] if asked is None else [asked])
