"""Where a metric is computed, from the lines that were measured."""

import ast

from surefit.doctor.findings import Place
from surefit.laws.evaluation.metric_sources import nodes_for
from surefit.source.reading import Source

TEXT = """
def metrics(found):
    logits, labels = found
    best = max(3, 4)
    return (logits.argmax(-1) == labels).mean()

def other(logits):
    return logits.argmax(0)

def main():
    trainer = Trainer(compute_metrics=metrics)
    trainer.evaluate()
"""


def test_a_function_that_is_handed_over_is_looked_at() -> None:
    source = Source("train.py", TEXT)
    nodes = nodes_for("argmax over one column", source, [Place("train.py", 12)])
    assert [source.segment(node) for node in nodes if isinstance(node, ast.expr)] == [
        "logits.argmax(-1)"
    ]
