"""A causal language model is trained to predict the token that it is given.

## What happens
The logits at position t are compared with the token at position t. The model sees that token: it
learns to copy its input. A causal model must be compared with the token at t + 1.

## Why it matters
Nothing is raised. The loss falls to almost 0 within a few steps, on held-out text as well, and the
model generates the last token again and again.

## What to do
Drop the last position of the logits and the first one of the targets:
`F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())`. Models of transformers shift
`labels` themselves: give them `labels=input_ids`.

## How it is recognised
Every target looked at equals the id that reached the model's embedding at the same position, and
not the one after it; the model is causal, by a mask or because it is recurrent, and nothing in its
`forward` moves tokens by a position. Masked language models, autoencoders and taggers are not.
"""

from surefit.doctor.conditions.next_tokens import NextTokenIsTarget
from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.losses.loss_calls import WrittenLoss, chain_of, loss_call_at, with_part
from surefit.laws.losses.token_targets import TargetIsTheInput
from surefit.remedies.change import Change
from surefit.source.edits import replaced
from surefit.source.patches import Edit, both

RULE = Rule("SF422", "labels-not-shifted", Severity.ERROR, __doc__)


@RULE.on(TargetIsTheInput)
def targets_are_the_inputs(broken: TargetIsTheInput, case: Case) -> Finding:
    site = broken.site
    loss = loss_call_at(case, site.place, site.name)
    return case.finding(
        broken.use.place,
        "The labels are not shifted: the target of each position is the token that the model is"
        " given there, instead of the next token.",
        facts=broken.facts,
        why=f"`{site.model}` sees the token at position t and is asked for the same token: it"
        " learns to copy its input. A language model predicts the token at t + 1.",
        remedies=(
            Change(
                to=next_token(loss) if loss is not None else None,
                words="Compare each position with the next token: drop the last position of the"
                " logits and the first one of the targets.",
                must=NextTokenIsTarget(),
            ),
        ),
    )


def next_token(loss: WrittenLoss) -> Edit | None:
    source, predictions, target = loss.source, loss.predictions, loss.target
    if predictions is None or target is None:
        return None
    logits, of_logits = chain_of(source, predictions)
    labels, of_labels = chain_of(source, target)
    return both(
        replaced(source, logits, with_part(source, of_logits, "[:, :-1]")),
        replaced(source, labels, with_part(source, of_labels, "[:, 1:]")),
    )
