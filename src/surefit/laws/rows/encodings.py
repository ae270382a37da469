"""Calls of the user's by which ids were made of text, found on the lineage of these ids."""

import ast

from surefit.doctor.observations import Value
from surefit.doctor.violations import Expression, Operand
from surefit.laws.case import Case
from surefit.lineage.lineage import Lineage
from surefit.source.reading import called

ENCODES = ("encode", "encode_plus", "batch_encode_plus")
NOT_ENCODING = (
    *("to", "pad", "convert_to_tensors", "from_pretrained", "save_pretrained", "decode"),
    *("batch_decode", "next", "iter"),
)
OF_A_TOKENIZER = (
    *("truncation", "padding", "return_tensors", "add_special_tokens", "max_length"),
    *("return_attention_mask", "return_token_type_ids", "text_target", "return_offsets_mapping"),
)
"""Arguments that only a tokenizer takes."""


def encoding_of(case: Case, ids: Operand) -> Expression | None:
    """The newest call of a tokenizer that a value came through; where a library hides the way, the
    only such call there is."""
    for producer in case.lineage(ids).all:
        node = case.node(producer) if producer.own else None
        returned = producer.value.kind == "BatchEncoding"
        if isinstance(node, ast.Call) and is_encoding(node, returned=returned):
            return Expression(producer.place, producer.span, producer.text)
    calls = [
        (source, call)
        for source in (case.recording.sources() if not case.read else ())
        for call in source.every(ast.Call)
        if is_encoding(call)
    ]
    return case.expression(*calls[0]) if len(calls) == 1 else None


def is_encoding(call: ast.Call, *, returned: bool = False) -> bool:
    """It returned what a tokenizer returns, or is called as a tokenizer is."""
    name = called(call)
    if name in NOT_ENCODING or name[:1].isupper() or not (call.args or call.keywords):
        return False
    if name in ENCODES and isinstance(call.func, ast.Attribute):
        return returned or "tok" in ast.unparse(call.func.value).lower()
    named = name.lower() in ("tokenizer", "tok", "processor") or name.endswith("_tokenizer")
    own = any(keyword.arg in OF_A_TOKENIZER for keyword in call.keywords)
    return returned or named or (own and name.lower().startswith("tok"))


def is_token_ids(value: Value, length: int) -> bool:
    shape = value.shape or ()
    return value.text.endswith("input_ids") and len(shape) == 2 and shape[-1] == length


def lineage_of_tokens(case: Case, length: int) -> tuple[Operand, Lineage] | None:
    """Of integers of so many positions that a model of a library was given."""
    for number, frame in enumerate(case.frames):
        for value in frame.values if not frame.own else ():
            ids = Operand(value=value, name=f"`{value.text}`", frame=number)
            if is_token_ids(value, length) and case.lineage(ids).all:
                return ids, case.lineage(ids)
    return None
