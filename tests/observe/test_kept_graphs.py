"""Where in an object tensors with a graph are."""

import torch
from torch import nn

from surefit.observe.inside.autopsy.probes.kept_graphs import tensors_with_graphs


def test_attributes_lists_and_children() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    output = model(torch.ones(1, 2))
    model[1].activity = output
    model.history = {"last": [output * 2]}  # type: ignore[assignment]
    found = {kept["path"]: kept["direct"] for kept in tensors_with_graphs(model)}
    assert found == {"[1].activity": True, ".history['last'][0]": False}


def test_parameters_and_detached_values_are_leaves() -> None:
    model = nn.Linear(2, 2)
    model.activity = model(torch.ones(1, 2)).detach()
    assert not list(tensors_with_graphs(model))
