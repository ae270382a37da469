"""Calls by which a script makes ids of text, and whether they cut long ones."""

import ast
from collections.abc import Iterator

from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.source.reading import Source, called

ENCODES = ("encode", "encode_plus", "batch_encode_plus")
OTHERS = ("pad", "from_pretrained", "save_pretrained", "decode", "batch_decode")
TELLING = (
    *("truncation", "padding", "return_tensors", "add_special_tokens", "max_length"),
    *("return_attention_mask", "return_token_type_ids", "text_target", "return_offsets_mapping"),
)


def encoding_calls(seen: Recording) -> Iterator[tuple[Source, ast.Call]]:
    """Of something that is called a tokenizer, or that is given a tokenizer's arguments."""
    for script in seen.all(Script):
        source = seen.source(script.file)
        for call in source.every(ast.Call) if source else ():
            if source is not None and is_encoding(call):
                yield source, call


def is_encoding(call: ast.Call) -> bool:
    name = called(call)
    if name in OTHERS or name[:1].isupper():
        return False
    if name in ENCODES and isinstance(call.func, ast.Attribute):
        return "tok" in ast.unparse(call.func.value).lower()
    plain = name.lower() in ("tokenizer", "tok", "processor") or name.endswith("_tokenizer")
    return plain or any(
        one.arg in TELLING for one in call.keywords if name.lower().startswith("tok")
    )


def cuts_at(source: Source, call: ast.Call) -> ast.expr | None:
    """The length that it cuts at, if it does."""
    cuts = source.argument(call, "truncation")
    if cuts is None or (isinstance(cuts, ast.Constant) and cuts.value in (False, None)):
        return None
    return source.argument(call, "max_length")


def cuts(source: Source, call: ast.Call) -> bool:
    given = source.argument(call, "truncation")
    return given is not None and not (
        isinstance(given, ast.Constant) and given.value in (False, None)
    )
