"""Muon: momentum whose update of each matrix is made orthogonal (Jordan and others, 2024)."""

from collections import defaultdict
from collections.abc import Iterable

import torch

# coefficients of the quintic Newton-Schulz iteration, from the authors' description
A, B, C = 3.4445, -4.7750, 2.0315


class Muon(torch.optim.Optimizer):
    """For weight matrices only, or stacks of them; embeddings and norms belong to another one."""

    def __init__(
        self, matrices: Iterable[torch.nn.Parameter], lr: float, momentum: float = 0.95
    ) -> None:
        super().__init__(matrices, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # noqa: ARG002
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[torch.nn.Parameter]] = defaultdict(list)
            for matrix in group["params"]:
                by_shape[matrix.shape].append(matrix)
            for matrices in by_shape.values():
                updates = torch.stack([self._nesterov(m, group["momentum"]) for m in matrices])
                rows, columns = matrices[0].shape[-2:]
                scale = group["lr"] * max(1.0, rows / columns) ** 0.5
                for matrix, update in zip(matrices, orthogonal(updates), strict=True):
                    matrix.sub_(update, alpha=scale)

    def _nesterov(self, matrix: torch.nn.Parameter, momentum: float) -> torch.Tensor:
        state = self.state[matrix]
        gradient = matrix.grad if matrix.grad is not None else torch.zeros_like(matrix)
        if not state:
            state["momentum"] = torch.zeros_like(matrix)
        average: torch.Tensor = state["momentum"]
        average.lerp_(gradient, 1 - momentum)
        return gradient.lerp(average, momentum)


def orthogonal(matrices: torch.Tensor, rounds: int = 5) -> torch.Tensor:
    """Nearly the orthogonal factors of a stack of matrices: all singular values close to 1."""
    tall = matrices.size(-2) > matrices.size(-1)
    x = matrices.mT if tall else matrices
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(rounds):
        square = x @ x.mT
        x = A * x + (B * square + C * square @ square) @ x
    result: torch.Tensor = x.mT if tall else x
    return result
