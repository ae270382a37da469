"""Tokenizers of transformers, as the source of a script shows them."""

import ast
import re
from collections.abc import Iterator

from surefit.source.constants import text, truth
from surefit.source.outcomes import maker
from surefit.source.reading import Source

WITHOUT_PADDING = re.compile(
    r"(openai-community/|distilbert/)?(distil)?gpt2(-medium|-large|-xl)?"
    r"|EleutherAI/(gpt-neo|pythia)-.+|meta-llama/Llama-2-.+|mistralai/Mistral-7B-v0\.1"
)
"""Models whose tokenizers come without a pad token."""
COLLATORS = (
    "transformers.DataCollatorWithPadding",
    "transformers.DataCollatorForSeq2Seq",
    "transformers.DataCollatorForLanguageModeling",
)
PADS = "pad_token"


def tokenizer_made(source: Source, node: ast.expr) -> ast.Call | None:
    """The call that loaded or made a tokenizer of transformers."""
    made = maker(source, node)
    name = source.imported(made.func) if made else ""
    return made if name.startswith("transformers.") and "Tokenizer" in name else None


def lacks_padding(source: Source, made: ast.Call) -> bool:
    """It comes without a pad token, and nothing in the file gives it one."""
    if sets_padding(source) or any(one.arg is None for one in made.keywords):
        return False
    name = source.imported(made.func)
    if name.endswith(".from_pretrained"):
        model = text(source, source.argument(made, "pretrained_model_name_or_path", 0))
        return model is not None and WITHOUT_PADDING.fullmatch(model) is not None
    return name == "transformers.PreTrainedTokenizerFast"


def sets_padding(source: Source) -> bool:
    """By an attribute, an argument, or a text such as in `add_special_tokens`."""
    written = (
        *(one.attr for one in source.every(ast.Attribute) if not isinstance(one.ctx, ast.Load)),
        *(one.arg for one in source.every(ast.keyword)),
        *(one.value for one in source.every(ast.Constant) if isinstance(one.value, str)),
    )
    names = (PADS, f"{PADS}_id", f"_{PADS}", "enable_padding")
    methods = {one.attr for one in source.every(ast.Attribute)}
    return any(one in names for one in written) or "enable_padding" in methods


def paddings(source: Source) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Calls that pad, and the tokenizer that each of them needs for it."""
    for call in source.every(ast.Call):
        given = source.argument(call, "padding")
        if source.imported(call.func) in COLLATORS:
            tokenizer = source.argument(call, "tokenizer", 0)
            if tokenizer is not None and (given is None or truth(source, given) is not False):
                yield call, tokenizer
        elif given is not None and (truth(source, given) or text(source, given) in PADDED):
            yield call, call.func


PADDED = ("longest", "max_length")
