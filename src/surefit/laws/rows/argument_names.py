"""Which argument of a model a column was meant for, by its name."""

from collections.abc import Iterable

from surefit.did_you_mean import nearest

MEANT = {
    "labels": "label labels label_id label_ids target targets target_ids targets_ids tgt tgt_ids y"
    " answer answers answer_ids class classes class_id category gold output_ids summary_ids",
    "input_ids": "ids id token_ids tokens text_ids text input inputs x src src_ids source_ids"
    " sentence_ids prompt_ids question_ids context_ids document_ids word_ids",
    "attention_mask": "mask masks attn_mask att_mask attention_masks pad_mask padding_mask src_mask"
    " text_mask",
    "token_type_ids": "segment_ids segments type_ids token_types",
    "pixel_values": "image images img pixels picture pictures x inputs input",
    "input_values": "audio speech waveform wave signal array values",
    "input_features": "features audio speech spectrogram mel",
}
"""Names that people give to columns, by the argument that models of transformers take."""


def meant_for(column: str, arguments: Iterable[str]) -> str | None:
    """The argument that the name of a column comes near; None where none does."""
    free = list(arguments)
    name = column.lower()
    if name in free:
        return None
    for argument, names in MEANT.items():
        if argument in free and name in names.split():
            return argument
    for argument in free:  # `target` for a forward that takes `labels`, and the other way round
        same = [names for known, names in MEANT.items() if name in (known, *names.split())]
        if any(argument in names.split() for names in same):
            return argument
    return same_words(name, free) or nearest(name, free)


def mean_the_same(one: str, other: str) -> bool:
    """Both are usual names for labels, or for a mask: `target` and `labels`."""
    groups = [{known, *MEANT[known].split()} for known in ("labels", "attention_mask")]
    return any({one.lower(), other.lower()} <= group for group in groups)


def same_words(name: str, arguments: list[str]) -> str | None:
    """`user_idx` for `user`: the one argument that has all words of the name, or no others."""
    words = set(name.split("_")) - SAY_NOTHING
    found = [one for one in arguments if is_like(words, set(one.split("_")) - SAY_NOTHING)]
    return found[0] if len(found) == 1 else None


def is_like(words: set[str], others: set[str]) -> bool:
    return bool(words and others) and (words <= others or others <= words)


SAY_NOTHING = {"id", "ids", "idx", "index", "input", "inputs", "x", "y", "mask", "the", "of", ""}
"""Words that many names have."""
