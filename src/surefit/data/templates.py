"""How the turns of a row become text: a plain template, or the tokenizer's own for chats."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from surefit.doctor.findings import COMMAND_LINE, Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput, WrongCall

from .bad_rows import BadRow, shown
from .row import Row
from .turns import Turn

PLAIN = "{input}\nAnswer:"
MARK = "\ue000mark\ue000"
"""Letters of private use, which no row holds."""

NO_CHAT_TEMPLATE = refusal(
    "SF153", "no-chat-template", "Rows are to be rendered by a chat template that is not there."
)
BAD_TEMPLATE = refusal("SF154", "template-without-input", "A template has no place for the input.")
TARGET_LOST = refusal(
    "SF155",
    "template-rewrites-answer",
    "The chat template does not render an answer as it stands in the row.",
)

# AutoTokenizer gives back classes that share no typed base with the names used here.
Tokenizer = Any


class Unusable(Exception):  # noqa: N818 - it carries what is wrong with one row
    """A row that cannot be made into tokens."""

    def __init__(self, bad: BadRow) -> None:
        self.bad = bad
        super().__init__(bad.headline)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text that is tokenised by itself."""

    text: str
    supervised: bool
    ends: bool = False
    """Whether EOS must follow it."""


class Template(Protocol):
    """Turns a row into pieces that alternate between prompt and answer."""

    @property
    def parses_special_tokens(self) -> bool:
        """Whether names of special tokens in the text mean these tokens, or are plain text."""
        ...

    def pieces(self, row: Row) -> list[Piece]: ...


@dataclass(frozen=True, slots=True)
class PlainTemplate:
    """A text around each input; the answer follows after a space."""

    text: str
    parses_special_tokens: bool = False

    def pieces(self, row: Row) -> list[Piece]:
        pieces, prompt = [], ""
        for turn in row.turns:
            if turn.role == "assistant":
                pieces += [Piece(prompt, False), Piece(f" {turn.text}", True, ends=True)]
                prompt = "\n\n"
            elif turn.role == "system":
                prompt += f"{turn.text}\n\n"
            else:
                prompt += self.text.replace("{input}", turn.text)
        return pieces


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """The tokenizer's own template: `render(turns, add_generation_prompt)`."""

    render: Callable[[tuple[Turn, ...], bool], str]
    parses_special_tokens: bool = True

    def pieces(self, row: Row) -> list[Piece]:
        whole = self.render(row.turns, False)
        spans = self._spans(row, whole)
        marker = whole[spans[-1][1] :].rstrip()  # what closes an answer, `<|im_end|>` as a rule
        pieces, at = [], 0
        for start, end in spans:
            close = end + len(marker) if whole.startswith(marker, end) else end
            pieces += [Piece(whole[at:start], False), Piece(whole[start:close], True)]
            at = close
        return [*pieces[:-1], Piece(pieces[-1].text, True, ends=True)]

    def _spans(self, row: Row, whole: str) -> list[tuple[int, int]]:
        """Where each answer begins and ends in the rendered text, its closing marker left out.

        What a template puts between the prompt and the answer (an empty thought) belongs to the
        answer: the model must write it too.
        """
        spans = []
        for index, turn in enumerate(row.turns):
            if turn.role != "assistant":
                continue
            text, end = turn.text.strip(), self._end(row.turns, index, whole)
            at = whole.rfind(text, 0, end)
            if at < 0 or whole[at:end].rstrip() != text:
                raise Unusable(_answer_lost(row, turn, whole))
            prompt = self.render(row.turns[:index], True)
            known = len(prompt) <= at and whole.startswith(prompt)
            spans.append((len(prompt) if known else at, end))
        return spans

    def _end(self, turns: tuple[Turn, ...], index: int, whole: str) -> int:
        """Where an answer ends: there a mark behind it is rendered; 0 if that cannot be told."""
        answer = turns[index].text
        for text in (answer, answer.rstrip()):  # some templates keep white space, some do not
            marked = Turn("assistant", text + MARK)
            shown_with_mark = self.render((*turns[:index], marked, *turns[index + 1 :]), False)
            before, found, _ = shown_with_mark.partition(MARK)
            if found and whole.startswith(before):
                return len(before)
        return 0


def settle_template(name: str, kind: str, tokenizer: Tokenizer) -> str:
    """What `auto` means here: `chat` for conversations if the tokenizer has a template."""
    if name != "auto":
        return name
    conversations = kind in {"messages", "sharegpt"}
    return "chat" if conversations and getattr(tokenizer, "chat_template", None) else "plain"


def choose_template(name: str, tokenizer: Tokenizer) -> Template:
    """The template of a name that is settled: `plain`, `chat`, or a text with `{input}`."""
    if name == "plain":
        return PlainTemplate(PLAIN)
    if name == "chat":
        if not getattr(tokenizer, "chat_template", None):
            raise BadInput(_no_chat_template(tokenizer))
        return ChatTemplate(lambda turns, prompt: _render_chat(tokenizer, turns, prompt))
    if "{input}" not in name:
        raise WrongCall(_no_place_for_input(name))
    own_tokens = [token for token in tokenizer.all_special_tokens if token in name]
    return PlainTemplate(name, parses_special_tokens=bool(own_tokens))


def _render_chat(tokenizer: Tokenizer, turns: tuple[Turn, ...], prompt: bool) -> str:
    messages = [{"role": turn.role, "content": turn.text} for turn in turns]
    return str(
        tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=prompt)
    )


def _no_chat_template(tokenizer: Tokenizer) -> Finding:
    name = str(getattr(tokenizer, "name_or_path", "")) or "this model"
    return NO_CHAT_TEMPLATE.finding(
        Place(name),
        f"`--template chat` asks for the tokenizer's chat template, and `{name}` has none.",
        fixes=[Fix("Use `--template plain`, or a model that was trained to chat.")],
    )


def _no_place_for_input(name: str) -> Finding:
    return BAD_TEMPLATE.finding(
        COMMAND_LINE,
        f"The template `{name}` is none of `auto`, `plain`, `chat`, and holds no `{{input}}`.",
        fixes=[Fix("Write where the input goes, as in  --template 'Q: {input} A:'")],
    )


def _answer_lost(row: Row, turn: Turn, whole: str) -> BadRow:
    return BadRow(
        row.place,
        TARGET_LOST,
        "The chat template does not render the answer as it stands",
        facts=(Fact("answer", shown(turn.text)), Fact("rendered", shown(whole))),
        why="Which tokens are the answer cannot be told, so the loss cannot be put on them.",
        fixes=(Fix("Use `--template plain`."),),
    )
