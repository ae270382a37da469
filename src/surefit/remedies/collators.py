"""A collator for a loader or a Trainer: one of transformers, or a function written for it."""

import ast
from dataclasses import dataclass

from surefit.doctor.violations import Written
from surefit.laws.case import Case
from surefit.remedies.arguments import call_at
from surefit.remedies.change import Operator
from surefit.source.edits import argument_added, replaced, with_import
from surefit.source.line_edits import first_line, put_at
from surefit.source.patches import Edit, both
from surefit.source.reading import Source, called

TOKENIZERS = ("tokenizer", "tok", "processor")


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveCollator(Operator):
    """`collate_fn=DataCollatorWithPadding(tokenizer)`, with its import."""

    at: Written | None
    """The call of the loader or of the Trainer."""
    name: str
    words: str

    def edit(self, case: Case) -> Edit | None:
        source, call = call_at(case, self.at)
        tokenizer = tokenizer_at(source, call) if source and call else None
        if source is None or call is None or tokenizer is None:
            return None
        edit = argument_added(source, call, argument_of(call), f"{self.name}({tokenizer})")
        return with_import(edit, source, "transformers", self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveFunction(Operator):
    """A function of the module, written before the statement that needs it, as the collator."""

    at: Written | None
    """The call of the loader, or the name of the collator that it has."""
    name: str
    text: str
    words: str
    imports: tuple[tuple[str, str | None], ...] = ()

    def edit(self, case: Case) -> Edit | None:
        node, source = case.node(self.at), case.source(self.at)
        if node is None or source is None or self.name in source.definitions:
            return None
        if isinstance(node, ast.Call):
            edit = argument_added(source, node, argument_of(node), self.name)
        else:
            edit = replaced(source, node, self.name)
        outermost = [one for one in source.up(node) if isinstance(one, ast.stmt)][-1]
        written = put_at(source, first_line(outermost), f"{self.text}\n\n")
        edit = both(edit, Edit(source.file, (written,)))
        for module, name in self.imports:
            edit = with_import(edit, source, module, name)
        return edit


def argument_of(call: ast.Call) -> str:
    return "collate_fn" if called(call) == "DataLoader" else "data_collator"


def tokenizer_at(source: Source, node: ast.AST) -> str | None:
    """What the tokenizer is called where a node stands."""
    if isinstance(node, ast.Call):
        given = source.argument(node, "processing_class") or source.argument(node, "tokenizer")
        if given is not None:
            return source.segment(given)
    for scope in (source.scope_of(node), source.tree):
        for name, binders in source.bindings.get(scope, {}).items():
            assigned = any(isinstance(binder, ast.Assign | ast.arg) for binder in binders)
            if assigned and name.lower() in TOKENIZERS:
                return name
    return None
