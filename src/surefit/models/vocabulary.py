"""Whether two models speak of the same tokens, and how many rows of their heads mean one."""

import hashlib
from collections.abc import Iterator

import msgspec

from surefit.data.templates import Tokenizer
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput, refuse_if

OTHER_TOKENS = refusal(
    "SF141", "teacher-of-other-tokens", "Teacher and student have different tokens."
)
OTHER_ENCODING = refusal(
    "SF142",
    "teacher-splits-otherwise",
    "Teacher and student have the same tokens and split text into them differently.",
)
TOO_FEW_ROWS = refusal(
    "SF143", "head-smaller-than-tokenizer", "A head has fewer rows than its tokenizer has ids."
)

PROBES = (
    " a  b   c\td\u00a0e ",
    "Hello HELLO hello hELLo. Don't; she'll, we've - 'twas \"so\"!",
    "0 7 42 1999 3.14159 1,000,000 10000000 0x7F -5e-12 ½ Ⅷ ٣",
    "naïve café Ångström Straße façade İstanbul",
    "nai\u0308ve cafe\u0301 A\u030angstro\u0308m",  # the same letters, their accents apart
    "🙂 👩‍👩‍👧 🇨🇦 ❤️ ✅🏽",
    "日本語のテキスト、简体中文。한국어 텍스트",
    "Привет мир; مرحبا بالعالم; नमस्ते",
    "one\ntwo\n\nthree\r\nfour\n\n\n  five\n",
    "def f(x: int) -> str:\n    return f'{x:>8}'  # a_b.C[::-1] != {}\n",
    "internationalisation antidisestablishmentarianism supercalifragilistic qwrtzpsdfg",
    "<s></s><unk><pad><mask>[CLS][SEP]<|endoftext|><|im_start|>user<|im_end|>",
    "\u200b\ufeff\u00ad\x00\x7f ﬁ ﬀ ①",
)
SAMPLED = 2048
"""Tokens of the vocabulary, spread evenly, whose own text is a probe: of merges too rare above."""

TOGETHER = 32


def shared_tokens(
    teacher_tokenizer: Tokenizer, student_tokenizer: Tokenizer, teacher_rows: int, student_rows: int
) -> int:
    """How many rows of both heads stand for a token: the rows beyond are padding and are left out.

    `teacher_rows`, `student_rows`: rows of the heads. Raises `BadInput` unless both tokenizers have
    the same id for every token and split all probes alike. What each puts before and after a text
    (BOS, EOS) is not compared: both models are given the same ids.
    """
    teacher, student = teacher_tokenizer.get_vocab(), student_tokenizer.get_vocab()
    if teacher != student:
        raise BadInput(_other_tokens(teacher_tokenizer, student_tokenizer))
    for text in _probes(teacher_tokenizer, student_tokenizer):
        pair = _encoded(teacher_tokenizer, text), _encoded(student_tokenizer, text)
        if pair[0] != pair[1]:
            raise BadInput(_other_encoding(teacher_tokenizer, text, *pair))
    count: int = 1 + max(teacher.values())
    refuse_if(
        _too_few_rows(whose, rows, count, tokenizer)
        for whose, rows, tokenizer in (
            ("teacher", teacher_rows, teacher_tokenizer),
            ("student", student_rows, student_tokenizer),
        )
        if rows < count
    )
    return count


def tokenizer_fingerprint(tokenizer: Tokenizer) -> str:
    """Of the id of every token and of how probes are split: equal for what `shared_tokens` takes
    for the same, by whatever class or file."""
    digest = hashlib.sha256(msgspec.json.encode(sorted(tokenizer.get_vocab().items())))
    for text in _probes(tokenizer):
        digest.update(msgspec.json.encode((text, _encoded(tokenizer, text))))
    return digest.hexdigest()[:16]


def _probes(*tokenizers: Tokenizer) -> Iterator[str]:
    yield from PROBES
    specials = {token for one in tokenizers for token in one.all_special_tokens}
    yield from (f"a{token}b {token} c" for token in sorted(specials))
    first = tokenizers[0]
    ids = sorted(first.get_vocab().values())
    chosen = ids[:: -(-len(ids) // SAMPLED)]
    texts = [first.decode([token]) for token in chosen]
    for begin in range(0, len(texts), TOGETHER):
        yield " ".join(texts[begin : begin + TOGETHER])


def _encoded(tokenizer: Tokenizer, text: str) -> list[int]:
    ids: list[int] = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    return ids


def _named(tokenizer: Tokenizer) -> str:
    return str(getattr(tokenizer, "name_or_path", "")) or type(tokenizer).__name__


def _other_tokens(teacher: Tokenizer, student: Tokenizer) -> Finding:
    of_teacher, of_student = teacher.get_vocab(), student.get_vocab()
    differing = {token_id for _, token_id in of_teacher.items() ^ of_student.items()}
    first = min(differing)
    sizes = f"{len(of_teacher):,} tokens of the teacher, {len(of_student):,} of the student"
    return OTHER_TOKENS.finding(
        Place("teacher"),
        f"Teacher and student have different tokenizers: {len(differing):,} ids do not mean the "
        f"same token in both, the first of them {first}.",
        facts=[
            Fact(f"id {first}", f"{_token(of_teacher, first)} and {_token(of_student, first)}"),
            Fact("sizes", sizes),
            Fact("tokenizers", f"{_named(teacher)} and {_named(student)}"),
        ],
        why="The teacher would read other text than the student, and its probabilities would be "
        "taught for other tokens.",
        fixes=[
            Fix(
                "Use a teacher with the student's tokenizer, such as a larger model of the same "
                "family."
            ),
        ],
    )


def _token(vocabulary: dict[str, int], wanted: int) -> str:
    found = [token for token, token_id in vocabulary.items() if token_id == wanted]
    return f"`{found[0]}`" if found else "no token"


def _other_encoding(
    tokenizer: Tokenizer, text: str, teacher: list[int], student: list[int]
) -> Finding:
    at = next(
        (at for at, (one, other) in enumerate(zip(teacher, student, strict=False)) if one != other),
        min(len(teacher), len(student)),
    )
    return OTHER_ENCODING.finding(
        Place("teacher"),
        "Teacher and student have the same tokens, and their tokenizers split the same text "
        "differently.",
        facts=[
            Fact("text", ascii(text[:200])),
            Fact("teacher", _from(tokenizer, teacher, at)),
            Fact("student", _from(tokenizer, student, at)),
        ],
        why="Their merges or normalisers differ: the teacher learned on text that was split "
        "otherwise, and knows little of text that is split as the student has it.",
        fixes=[
            Fix("Copy the tokenizer's files of the one that is right over those of the other."),
            Fix(
                "Use a teacher with the student's tokenizer, such as a larger model of the same "
                "family."
            ),
        ],
    )


def _from(tokenizer: Tokenizer, ids: list[int], at: int) -> str:
    """The tokens around the first that differs."""
    shown = tokenizer.convert_ids_to_tokens(ids[at : at + 8])
    more = ", ..." if len(ids) > at + 8 else ""
    return f"{len(ids)} tokens; from token {at + 1}: {', '.join(map(str, shown)) or 'none'}{more}"


def _too_few_rows(whose: str, rows: int, count: int, tokenizer: Tokenizer) -> Finding:
    return TOO_FEW_ROWS.finding(
        Place(whose),
        f"The head of the {whose} has {rows:,} rows; its tokenizer has ids up to {count - 1:,}.",
        facts=[
            Fact("ids without a row", f"{count - rows:,}"),
            Fact("the first of them", f"`{tokenizer.convert_ids_to_tokens(rows)}`"),
            Fact("tokenizer", _named(tokenizer)),
        ],
        why="Embedding rows beyond the tokenizer's ids are padding and are ignored. Missing rows "
        "cannot be filled in: the tokenizer was changed, or belongs to another model.",
        fixes=[Fix(f"Use the tokenizer that was saved with the {whose}.")],
    )
