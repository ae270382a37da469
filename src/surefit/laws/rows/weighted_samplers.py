"""The call in the user's source that creates a weighted sampler, and the dataset beside it."""

import ast
from dataclasses import dataclass

from surefit.doctor.recording import Recording
from surefit.source.reading import Source

SAMPLER = "WeightedRandomSampler"


@dataclass(frozen=True)
class SamplerCall:
    """Where it stands."""

    source: Source
    node: ast.Call


def sampler_call(recording: Recording, source: Source | None) -> SamplerCall | None:
    """The only one of the file that the loader is created in, else of all files."""
    files = [source] if source is not None else []
    for known in (files, list(recording.sources())):
        calls = [SamplerCall(file, call) for file in known for call in file.calls_named(SAMPLER)]
        if len(calls) == 1:
            return calls[0]
    return None


def dataset_beside(call: SamplerCall) -> ast.expr | None:
    """What the loader in the same function as the sampler reads."""
    source = call.source
    scope = source.scope_of(call.node)
    loaders = [
        source.argument(node, "dataset", 0)
        for node in source.calls_named("DataLoader")
        if source.scope_of(node) is scope and source.argument(node, "sampler", 3) is not None
    ]
    datasets = [node for node in loaders if isinstance(node, ast.Name | ast.Attribute)]
    return datasets[0] if len(datasets) == 1 else None
