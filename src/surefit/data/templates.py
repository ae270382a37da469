"""How the turns of a row become text: a plain template, or the tokenizer's own for chats."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any, Protocol

from surefit.doctor.findings import COMMAND_LINE, Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput, WrongCall

from .bad_rows import BadRow, shown
from .row import Row
from .tool_calls import called, names_of
from .turns import CONVERSATIONS, Turn

PLAIN = "{input}\nAnswer:"
VERBATIM = "verbatim"
"""Prompt and completion as they stand, with nothing between them."""
MARK = "\ue000mark\ue000"
"""Letters of private use, which no row holds."""

NO_CHAT_TEMPLATE = refusal(
    "SF153", "no-chat-template", "The rows require a chat template that does not exist."
)
BAD_TEMPLATE = refusal("SF154", "template-without-input", "A template has no field for the input.")
TARGET_LOST = refusal(
    "SF155",
    "template-rewrites-answer",
    "The chat template changes the text of the answer.",
)

NO_TOOLS = refusal(
    "SF158", "template-without-tools", "Rows with tools need a chat template that renders them."
)
ROW_REFUSED = refusal(
    "SF159", "row-refused-by-template", "A chat template refuses conversations of some forms."
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
    gap: str = " "
    """Between a prompt and its answer; it belongs to the answer."""

    def pieces(self, row: Row) -> list[Piece]:
        if row.tools or any(turn.more for turn in row.turns):
            raise Unusable(_without_tools(row, "A plain template has no tools"))
        pieces, prompt = [], ""
        for turn in row.turns:
            if turn.role == "assistant":
                answer = Piece(f"{self.gap}{turn.text}", turn.learned, ends=True)
                pieces += [Piece(prompt, False), answer]
                prompt = "\n\n"
            elif turn.role == "system":
                prompt += f"{turn.text}\n\n"
            else:
                prompt += self.text.replace("{input}", turn.text)
        return pieces


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """The tokenizer's own template: `render(turns, add_generation_prompt)`, and as its third
    argument the tools of a row that has some."""

    render: Callable[..., str]
    parses_special_tokens: bool = True

    def pieces(self, row: Row) -> list[Piece]:
        from jinja2 import TemplateError

        try:
            return self._pieces(row)
        except TemplateError as error:
            raise Unusable(_refused(row, error)) from error

    def _pieces(self, row: Row) -> list[Piece]:
        whole = self._rendered(row, row.turns)
        _check_tools(row, whole)
        spans = self._spans(row, whole)
        # What closes an answer, `<|im_end|>` as a rule; with a call it closes, it is inside.
        marker = self._closing(row) if row.turns[-1].more else whole[spans[-1][1] :].rstrip()
        answers = [turn for turn in row.turns if turn.role == "assistant"]
        pieces, at = [], 0
        for (start, end), turn in zip(spans, answers, strict=True):
            close = end + len(marker) if whole.startswith(marker, end) else end
            pieces += [Piece(whole[at:start], False), Piece(whole[start:close], turn.learned)]
            at = close
        return [*pieces[:-1], Piece(pieces[-1].text, True, ends=True)]

    def _rendered(self, row: Row, turns: tuple[Turn, ...], prompt: bool = False) -> str:
        if row.tools:
            return self.render(turns, prompt, row.tools)
        return self.render(turns, prompt)

    def _spans(self, row: Row, whole: str) -> list[tuple[int, int]]:
        """Where each answer begins and ends in the rendered text, its closing marker left out.

        What a template puts between the prompt and the answer (an empty thought) belongs to the
        answer: the model must write it too.
        """
        spans = []
        for index, turn in enumerate(row.turns):
            if turn.role != "assistant":
                continue
            if turn.more:
                spans.append(self._span_of_calls(row, index, whole))
                continue
            text, end = turn.text.strip(), self._end(row, index, whole)
            at = whole.rfind(text, 0, end)
            if at < 0 or whole[at:end].rstrip() != text:
                raise Unusable(_answer_lost(row, turn, whole))
            prompt = self._rendered(row, row.turns[:index], True)
            known = len(prompt) <= at and whole.startswith(prompt)
            spans.append((len(prompt) if known else at, end))
        return spans

    def _span_of_calls(self, row: Row, index: int, whole: str) -> tuple[int, int]:
        """Where a turn that calls tools begins and ends, what closes it included.

        Its text is the template's own, so that it lies between the prompt before it and the turn
        behind it. Some templates render a turn in another way while it is the last: then its end
        is the last closing mark before the text parts from that with another turn behind it.
        """
        turn = row.turns[index]
        start = self._rendered(row, row.turns[:index], True)
        until = self._rendered(row, row.turns[: index + 1]).rstrip()
        end = len(until) if whole.startswith(until) else 0
        if not end and index + 1 < len(row.turns):
            other = (*row.turns[: index + 1], Turn("assistant", MARK))
            pairs = zip(whole, self._rendered(row, other), strict=False)
            shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            closing = self._closing(row)
            end = whole.rfind(closing, len(start), shared) + len(closing) if closing else 0
        inside = whole[len(start) : end]
        if not whole.startswith(start) or not all(name in inside for name in called(turn.more)):
            raise Unusable(_answer_lost(row, turn, whole))
        return len(start), end

    def _closing(self, row: Row) -> str:
        """What the template writes behind a plain answer."""
        asked = (Turn("user", "?"), Turn("assistant", MARK))
        return self._rendered(row, asked).partition(MARK)[2].rstrip()

    def _end(self, row: Row, index: int, whole: str) -> int:
        """Where an answer ends: there a mark behind it is rendered; 0 if that cannot be told."""
        turns, answer = row.turns, row.turns[index].text
        for text in (answer, answer.rstrip()):  # some templates keep white space, some do not
            marked = Turn("assistant", text + MARK)
            shown_with_mark = self._rendered(row, (*turns[:index], marked, *turns[index + 1 :]))
            before, found, _ = shown_with_mark.partition(MARK)
            if found and whole.startswith(before):
                return len(before)
        return 0


def settle_template(name: str, kind: str, tokenizer: Tokenizer) -> str:
    """What `auto` means here: `chat` for conversations if the tokenizer has a template."""
    if name != "auto":
        return name
    if kind == "prompt-completion":
        return VERBATIM
    has_template = getattr(tokenizer, "chat_template", None)
    return "chat" if kind in CONVERSATIONS and has_template else "plain"


def choose_template(name: str, tokenizer: Tokenizer) -> Template:
    """The template of a name that is settled: `plain`, `chat`, `verbatim`, or a text with
    `{input}`."""
    if name == "plain":
        return PlainTemplate(PLAIN)
    if name == VERBATIM:
        return PlainTemplate("{input}", gap="")
    if name == "chat":
        if not getattr(tokenizer, "chat_template", None):
            raise BadInput(_no_chat_template(tokenizer))
        return ChatTemplate(partial(_render_chat, tokenizer))
    if "{input}" not in name:
        raise WrongCall(_no_place_for_input(name))
    own_tokens = [token for token in tokenizer.all_special_tokens if token in name]
    return PlainTemplate(name, parses_special_tokens=bool(own_tokens))


def _render_chat(
    tokenizer: Tokenizer, turns: tuple[Turn, ...], prompt: bool, tools: str = ""
) -> str:
    return str(
        tokenizer.apply_chat_template(
            [_message(turn) for turn in turns],
            tools=json.loads(tools) if tools else None,
            tokenize=False,
            add_generation_prompt=prompt,
        )
    )


def _message(turn: Turn) -> dict[str, Any]:
    more = json.loads(turn.more) if turn.more else {}
    return {"role": turn.role, "content": turn.text, **more}


def _check_tools(row: Row, whole: str) -> None:
    """Refuses a row of whose tools, calls or results the template leaves something out."""
    for missing in _left_out(row, whole):
        raise Unusable(_without_tools(row, f"The chat template does not render {missing}"))


def _left_out(row: Row, whole: str) -> Iterator[str]:
    if any(name not in whole for name in names_of(row.tools)):
        yield "the tools"
    for turn in row.turns:
        if any(name not in whole for name in called(turn.more)):
            yield "the calls of tools"
        if turn.role == "tool" and turn.text.strip() not in whole:
            yield "the results of tools"


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


def _without_tools(row: Row, headline: str) -> BadRow:
    named = [*names_of(row.tools), *(name for turn in row.turns for name in called(turn.more))]
    return BadRow(
        row.place,
        NO_TOOLS,
        headline,
        facts=(Fact("tools", ", ".join(dict.fromkeys(named)) or "results alone"),),
        why="A model that never sees the tools would learn calls that follow from nothing.",
        fixes=(Fix("Take a model whose chat template knows tools, with `--template chat`."),),
    )


def _refused(row: Row, error: Exception) -> BadRow:
    return BadRow(
        row.place,
        ROW_REFUSED,
        "The chat template refuses the conversation",
        facts=(Fact("turns", ", ".join(turn.role for turn in row.turns)),),
        fixes=(Fix("Bring the turns into the order that the template takes."),),
        python_said=str(error),
    )


def _answer_lost(row: Row, turn: Turn, whole: str) -> BadRow:
    return BadRow(
        row.place,
        TARGET_LOST,
        "The chat template changes the text of the answer",
        facts=(Fact("answer", shown(turn.text)), Fact("rendered", shown(whole))),
        why="The tokens of the answer cannot be identified, so the loss cannot be restricted to "
        "them.",
        fixes=(Fix("Use `--template plain`."),),
    )
