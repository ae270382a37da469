"""More parameters for a method: by name with a default, or whatever else is passed."""

from dataclasses import dataclass

from surefit.laws.case import Case
from surefit.remedies.change import Operator
from surefit.source.classes import Method
from surefit.source.comma_lists import at, end, put_in
from surefit.source.overrides import parameters
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeMore(Operator):
    """`def compute_loss(self, model, inputs, num_items_in_batch=None)`."""

    source: Source
    function: Method
    names: tuple[str, ...] = ()
    """Parameters that get the default None."""
    rest: str = ""
    """`*args`, `**kwargs`."""

    @property
    def words(self) -> str:
        shown = [f"`{name}=None`" for name in self.names]
        shown += [f"`{self.rest}`"] if self.rest else []
        return f"Take it: {', '.join(shown)} in the signature of `{self.function.name}`."

    def edit(self, case: Case) -> Edit | None:  # noqa: ARG002 - as every remedy
        listed, items = self.function.args, parameters(self.source, self.function)
        behind = len(listed.posonlyargs) + bool(listed.posonlyargs) + len(listed.args)
        behind += listed.vararg is not None
        if self.rest.startswith("**"):
            behind = len(items.items)
        elif self.rest and (listed.vararg is not None or listed.kwonlyargs):
            return None
        text = ", ".join([*(f"{name}=None" for name in self.names), *filter(None, [self.rest])])
        if behind == 0 and items.items:
            return None
        after = behind - 1 if behind else None
        return Edit(self.source.file, (put_in(self.source, items, text, after=after),))


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveDefaults(Operator):
    """None for parameters that the library does not pass."""

    source: Source
    function: Method
    names: tuple[str, ...]

    @property
    def words(self) -> str:
        shown = ", ".join(f"`{name}=None`" for name in self.names)
        return f"Do without it where it is not passed: {shown}."

    def edit(self, case: Case) -> Edit | None:  # noqa: ARG002 - as every remedy
        listed = self.function.args
        plain = [*listed.posonlyargs, *listed.args]
        bare = plain[: len(plain) - len(listed.defaults)]
        if [arg.arg for arg in bare[-len(self.names) :]] != list(self.names):
            return None  # a parameter without a default cannot follow
        spans = [self.source.span(arg) for arg in bare[-len(self.names) :]]
        return Edit(self.source.file, tuple(Replace(at(end(span)), "=None") for span in spans))
