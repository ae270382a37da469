"""Adapters are on the layers that they were asked for."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.did_you_mean import nearest
from surefit.doctor.measures.weights_learn import Adapters, AdapterSeen
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted, some
from surefit.laws.case import Case
from surefit.laws.invariants.new_heads import watched as watched
from surefit.laws.law import BrokenLaw, Law

LAW = Law("adapter_targets", "adapters are on the layers that they were asked for")
PROOF_STEPS = 3
OF_ARCHITECTURES = frozenset(
    (
        *("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
        *("gate_up_proj", "qkv_proj", "out_proj", "in_proj", "query", "key", "value"),
        *("query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h", "c_attn", "c_proj"),
        *("c_fc", "fc1", "fc2", "fc_in", "fc_out", "q", "k", "v", "o", "wi", "wo", "wi_0", "wi_1"),
        *("w1", "w2", "w3", "Wqkv", "qkv", "proj", "attn", "mlp", "lm_head", "embed_tokens"),
        *("wte", "linear1", "linear2", "out_layer", "in_layer", "to_q", "to_k", "to_v", "x_proj"),
        *("dt_proj"),
    )
)
"""Names that some architecture has: not misspelt, whatever they come near."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmatchedTargets(BrokenLaw):
    """Names in `target_modules` that no layer of the model has, while others have one."""

    adapter: AdapterSeen
    unmatched: tuple[str, ...]
    matched: tuple[str, ...]
    misspelt: dict[str, str]
    """Name -> the layer that it comes near."""


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    for measure in case.recording.of_first_rank(Adapters):
        for adapter in measure.adapters:
            yield from of_adapter(case, adapter)


def of_adapter(case: Case, adapter: AdapterSeen) -> Iterator[BrokenLaw]:
    unmatched = [name for name in adapter.asked if last_part(name) not in adapter.adapted]
    matched = [name for name in adapter.asked if name not in unmatched]
    left = [name for name in adapter.layers if name not in adapter.adapted]
    unknown = [name for name in unmatched if last_part(name) not in OF_ARCHITECTURES]
    near = {name: nearest(last_part(name), left) for name in unknown}
    misspelt = {name: layer for name, layer in near.items() if layer}
    listed_for_others = len(unmatched) <= len(matched) and not misspelt
    if not unmatched or not matched or listed_for_others:
        return  # a list that is written for several architectures has names of others
    there = sum(adapter.layers.values())
    on = sum(adapter.adapted.values())
    yield UnmatchedTargets(
        use=Expression(adapter.made_at or case.recording.main_script()),
        said=f"{len(unmatched):,} of the {counted(len(adapter.asked), 'name')} in `target_modules`"
        f" match no layer of `{adapter.model}` ({some(unmatched)}): adapters are only on"
        f" {some(adapter.adapted)}, {on:,} of {there:,} layers.",
        steps=adapter.step + PROOF_STEPS,
        fault="adapter targets without a layer",
        adapter=adapter,
        unmatched=tuple(unmatched),
        matched=tuple(matched),
        misspelt=misspelt,
    )


def last_part(name: str) -> str:
    return name.rpartition(".")[2]
