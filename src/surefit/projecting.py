"""`surefit.projection_for`: a projection for declared rows, which refuses all others."""

from typing import Any

import torch

from surefit.data.features.layout import Layout
from surefit.data.features.loaders import FeatureData
from surefit.errors import BadInput
from surefit.models.projection import Projection


class DeclaredProjection(Projection):
    """Features into a model's width, of rows as they were declared.

    A batch of another shape is not made to fit: what it is, and what to do, is said in findings.
    """

    def __init__(self, layout: Layout, width: int) -> None:
        super().__init__(layout.features, width)
        self.layout = layout

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        shape = self.layout.shape if given.is_floating_point() else self.layout.shape[:1]
        if tuple(given.shape[1:]) != shape:
            self._refuse(given)
        return super().forward(given)

    def _refuse(self, given: torch.Tensor) -> None:
        from surefit.inspector import inspect

        kind = str(self.layout.kind) if self.layout.kind else None
        values = given.detach().cpu()
        found = inspect(
            values, steps=self.layout.steps, features=self.layout.features, kind=kind, quiet=True
        )
        raise BadInput(*found.findings)


def projection_for(data: FeatureData | Layout, width: int) -> Any:
    """A linear layer of the right size for the features of `surefit.loaders` or of a layout."""
    layout = data if isinstance(data, Layout) else data.layout
    return DeclaredProjection(layout, width)
