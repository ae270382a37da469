"""Calls of the user's by which ids were made of text, found on the lineage of these ids."""

import ast
from collections.abc import Iterator

from surefit.doctor.observations import Value
from surefit.doctor.violations import Operand
from surefit.laws.case import Case
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, ProducerKind
from surefit.source.reading import called

ENCODES = ("encode", "encode_plus", "batch_encode_plus")
NOT_ENCODING = ("to", "pad", "convert_to_tensors", "BatchEncoding")
OF_A_TOKENIZER = (
    *("truncation", "padding", "return_tensors", "add_special_tokens", "max_length"),
    *("return_attention_mask", "return_token_type_ids", "text_target", "return_offsets_mapping"),
)
"""Arguments that only a tokenizer takes."""


def encoding_of(case: Case, ids: Operand) -> Producer | None:
    """The newest call of a tokenizer that a value came through."""
    for producer in case.lineage(ids).all:
        if producer.own and producer.kind is ProducerKind.CALL and is_encoding(case, producer):
            return producer
    return None


def is_encoding(case: Case, producer: Producer) -> bool:
    """It returned what a tokenizer returns, or is called as one is."""
    node = case.node(producer)
    if not isinstance(node, ast.Call):
        return False
    if producer.value.kind == "BatchEncoding":
        return called(node) not in NOT_ENCODING
    if called(node) in ENCODES and isinstance(node.func, ast.Attribute):
        return "tok" in ast.unparse(node.func.value).lower()
    return any(keyword.arg in OF_A_TOKENIZER for keyword in node.keywords) and (
        "tok" in called(node).lower()
    )


def ids_of_tokens(case: Case, length: int) -> Iterator[Operand]:
    """Integers of so many positions that a model of a library was given, innermost frame last."""
    for number, frame in enumerate(case.crash.frames if case.crash is not None else ()):
        for value in frame.values:
            if is_token_ids(value, length) and not frame.own:
                yield Operand(value=value, name=f"`{value.text}`", frame=number)


def is_token_ids(value: Value, length: int) -> bool:
    shape = value.shape or ()
    return value.text.endswith("input_ids") and len(shape) == 2 and shape[-1] == length


def lineage_of_tokens(case: Case, length: int) -> tuple[Operand, Lineage] | None:
    for ids in ids_of_tokens(case, length):
        lineage = case.lineage(ids)
        if lineage.all:
            return ids, lineage
    return None
