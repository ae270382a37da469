"""Other text in place of an expression; another function or class in place of the one called."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from surefit.laws.case import Case
from surefit.remedies.arguments import call_at
from surefit.remedies.change import OperatorAt
from surefit.source.edits import call_becomes, replaced, with_import
from surefit.source.patches import Edit


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceWith(OperatorAt):
    """New text for one expression."""

    text: str
    imports: tuple[str, str | None] | None = None
    """Module and name that the text needs."""

    def edit(self, case: Case) -> Edit | None:
        node, source = case.node(self.at), case.source(self.at)
        if node is None or source is None:
            return None
        edit = replaced(source, node, self.text)
        return with_import(edit, source, *self.imports) if self.imports else edit


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceCallee(OperatorAt):
    """A sibling of what is called: `DataCollatorForSeq2Seq` for `DataCollatorWithPadding`."""

    name: str
    module: str
    keep: tuple[str, ...] = ()
    """Names of the arguments that stay."""
    positional: int = 1
    """How many of the first ones without a name stay."""
    add: Mapping[str, str] = field(default_factory=dict)

    def edit(self, case: Case) -> Edit | None:
        source, call = call_at(case, self.at)
        if source is None or call is None:
            return None
        return call_becomes(
            source,
            call,
            self.name,
            self.module,
            keep=self.keep,
            positional=self.positional,
            add=self.add,
        )
