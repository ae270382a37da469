"""The live model in a fork, in evaluation mode: the same call again, on other inputs."""

import random
import sys
from typing import Any

from surefit.observe.inside.experiments import trees
from surefit.observe.inside.experiments.trees import Path
from surefit.observe.inside.training import hanging, readable

Tree = tuple[tuple[Any, ...], dict[str, Any]]
Outputs = dict[Path, Any]


class Live:
    """A model that can be called as often as one likes: this process is thrown away."""

    def __init__(self, module: Any) -> None:
        self.module = hanging.unwrapped(module)
        self.paths = {id(part): name for name, part in self.module.named_modules()}
        self.seed = 0
        for part in _parts(self.module):
            vars(part)["training"] = False

    def path_of(self, module: Any) -> str:
        return str(self.paths.get(id(module), ""))

    def run(self, tree: Tree) -> Outputs:
        """Every tensor that it gives back. Inputs are copied: a model may write into them."""
        args, kwargs = trees.changed(tree, _copied)
        self._begin()
        with readable.torch().no_grad():
            result = self.module(*args, **kwargs)
        return trees.tensors(result)

    def _begin(self) -> None:
        """The same random numbers every time."""
        readable.torch().manual_seed(self.seed)
        random.seed(self.seed)
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            numpy.random.seed(self.seed)


def _copied(_path: Path, value: Any) -> Any:
    return value.detach().clone() if hasattr(value, "detach") else value


def _parts(root: Any) -> list[Any]:
    """All modules, also those in plain lists."""
    parts: dict[int, Any] = {}
    waiting = [root]
    while waiting:
        part = waiting.pop()
        if id(part) not in parts:
            parts[id(part)] = part
            waiting.extend(hanging.children(part))
    return list(parts.values())
