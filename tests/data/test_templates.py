"""Templates put each answer where the loss finds it, whole and with its end."""

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from itertools import groupby
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from surefit.data.row_tokenizer import to_write
from surefit.data.rows import Row, Turn
from surefit.data.templates import (
    ChatTemplate,
    PlainTemplate,
    Unusable,
    choose_template,
    settle_template,
)
from surefit.data.tokens import IGNORED, RowTokenizer, Tokens
from surefit.doctor.findings import Place
from surefit.errors import BadInput, WrongCall

PLACE = Place("rows.jsonl", line=3)
# Among them words that stand in the templates themselves.
WORDS = ["Paris", "is", "end", "think", "user", "assistant", "i", "m", "n", "42", "Öl", "🙂"]
lines = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


def conversation(*said: str, system: str = "") -> Row:
    first = (Turn("system", system),) if system else ()
    turns = tuple(
        Turn("assistant" if index % 2 else "user", text) for index, text in enumerate(said)
    )
    return Row(2, PLACE, first + turns)


conversations = st.builds(
    lambda pairs, system: conversation(*(text for pair in pairs for text in pair), system=system),
    st.lists(st.tuples(lines, lines), min_size=1, max_size=4),
    st.sampled_from(["", "Be brief."]),
)


def chat_tokens(tokenizer: Any, row: Row, limit: int = 10**6) -> Tokens:
    return RowTokenizer(tokenizer, choose_template("chat", tokenizer), limit)(row)


def supervised_texts(tokenizer: Any, tokens: Tokens) -> list[str]:
    """What the loss sees, a text for each stretch without a gap, special tokens and all."""
    marked = zip(tokens.labels, tokens.ids, strict=True)
    stretches = groupby(marked, lambda pair: pair[0] != IGNORED)
    return [
        tokenizer.decode([token for _, token in stretch])
        for supervised, stretch in stretches
        if supervised
    ]


def expected_texts(tokenizer: Any, row: Row) -> list[str]:
    """The answers as the tokenizer's template shows them, each with its marker; EOS at the end."""
    gemma = "<end_of_turn>" in tokenizer.chat_template
    marker = "<end_of_turn>" if gemma else "<|im_end|>"
    texts = [f"{turn.text}{marker}" for turn in row.turns if turn.role == "assistant"]
    thought = "<think>\n\n</think>\n\n" if "</think>" in tokenizer.chat_template else ""
    texts[-1] = thought + texts[-1]
    return [*texts[:-1], texts[-1] + ("<eos>" if gemma else "")]


@given(row=conversations)
@example(row=conversation("user", "i", "assistant", "think"))
@example(row=conversation("end", "end", "m", "m"))
def test_the_loss_sees_exactly_the_answers_of_a_chat(chat_tokenizer: Any, row: Row) -> None:
    tokens = chat_tokens(chat_tokenizer, row)
    assert supervised_texts(chat_tokenizer, tokens) == expected_texts(chat_tokenizer, row)
    assert tokens.labels[-1] == chat_tokenizer.eos_token_id
    assert tokens.ids.count(chat_tokenizer.eos_token_id) >= 1
    assert all(
        label in (IGNORED, token) for label, token in zip(tokens.labels, tokens.ids, strict=True)
    )


@given(row=conversations)
def test_a_chat_as_numbers_is_the_template_as_text(chat_tokenizer: Any, row: Row) -> None:
    """No token too many: no second BOS, no second EOS, nothing between prompt and answer."""
    messages = [{"role": turn.role, "content": turn.text} for turn in row.turns]
    whole = chat_tokenizer.apply_chat_template(messages, tokenize=False).rstrip()
    eos = chat_tokenizer.eos_token
    said = chat_tokenizer.decode(chat_tokens(chat_tokenizer, row).ids)
    assert said == (whole if whole.endswith(eos) else whole + eos)


@pytest.mark.parametrize("name", ["chatml", "empty-thought", "end-of-turn"])
def test_generation_is_given_what_training_saw(
    with_template: Callable[[str], Any], name: str
) -> None:
    tokenizer = with_template(name)
    row = conversation("Capital?", "Paris", "Of Italy?", "Rome")
    tokens = chat_tokens(tokenizer, row)
    messages = [{"role": turn.role, "content": turn.text} for turn in row.turns[:-1]]
    prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert tokens.prompt == tokenizer(prompt, add_special_tokens=False)["input_ids"]


@given(row=conversations, limit=st.integers(10, 120))
def test_a_chat_that_is_too_long_loses_whole_exchanges(
    chat_tokenizer: Any, row: Row, limit: int
) -> None:
    try:
        tokens = chat_tokens(chat_tokenizer, row, limit)
    except Unusable:
        assume(False)
    assert len(tokens.ids) <= limit
    said = supervised_texts(chat_tokenizer, tokens)
    assert said == expected_texts(chat_tokenizer, row)[-len(said) :]


@pytest.mark.parametrize("ragged", ["Paris\n", "\nParis", "Paris  ", " Paris \n\n"])
@pytest.mark.parametrize("last", [False, True])
def test_white_space_around_an_answer_costs_no_marker(
    with_template: Callable[[str], Any], ragged: str, last: bool
) -> None:
    tokenizer = with_template("chatml")
    said = ["Rome", ragged] if last else [ragged, "Rome"]
    tokens = chat_tokens(tokenizer, conversation("Capital?", said[0], "And?", said[1]))
    assert supervised_texts(tokenizer, tokens) == [f"{text}<|im_end|>" for text in said]


def test_an_answer_that_the_question_quotes_is_found_at_its_own_place(chat_tokenizer: Any) -> None:
    row = conversation("Is it Paris or Rome?", "Paris", "Paris or Oslo?", "Oslo")
    tokens = chat_tokens(chat_tokenizer, row)
    assert supervised_texts(chat_tokenizer, tokens) == expected_texts(chat_tokenizer, row)


def test_a_thought_that_an_answer_brings_is_part_of_it(
    with_template: Callable[[str], Any],
) -> None:
    """As Qwen3 has it: the thought is taken out of the answer and set before it again."""
    tokenizer = with_template("chatml")

    def thinking(turns: tuple[Turn, ...], prompt: bool) -> str:
        said = ""
        for turn in turns:
            thought, _, answer = turn.text.rpartition("</think>")
            shown = thought.replace("<think>", "").strip()
            block = f"<think>\n{shown}\n</think>\n\n" if turn.role == "assistant" else ""
            said += f"<|im_start|>{turn.role}\n{block}{answer.lstrip()}<|im_end|>\n"
        return said + ("<|im_start|>assistant\n" if prompt else "")

    answer = "<think>\n6 x 7\n</think>\n\n42"
    tokens = RowTokenizer(tokenizer, ChatTemplate(thinking), 100)(conversation("42?", answer))
    assert supervised_texts(tokenizer, tokens) == [f"{answer}<|im_end|>"]


def test_a_template_that_rewrites_answers_makes_the_row_unusable(
    with_template: Callable[[str], Any],
) -> None:
    tokenizer = with_template("chatml")

    def shouting(turns: tuple[Turn, ...], prompt: bool) -> str:
        said = "".join(f"{turn.role}: {turn.text.upper()}\n" for turn in turns)
        return said + ("assistant: " if prompt else "")

    with pytest.raises(Unusable) as caught:
        RowTokenizer(tokenizer, ChatTemplate(shouting), 100)(conversation("Capital?", "Paris"))
    assert caught.value.bad.rule.name == "template-rewrites-answer"
    assert caught.value.bad.place == PLACE


@pytest.mark.slow
@given(row=conversations)
def test_smollm2s_own_template(smollm2_tokenizer: Any, row: Row) -> None:
    tokens = chat_tokens(smollm2_tokenizer, row)
    answers = [turn.text for turn in row.turns if turn.role == "assistant"]
    assert supervised_texts(smollm2_tokenizer, tokens) == [f"{text}<|im_end|>" for text in answers]
    assert tokens.labels[-1] == smollm2_tokenizer.eos_token_id
    assert smollm2_tokenizer.decode(tokens.ids).startswith("<|im_start|>system\n")


# Choosing


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("auto", "prompt-answer", PlainTemplate),
        ("auto", "alpaca", PlainTemplate),
        ("auto", "messages", ChatTemplate),
        ("auto", "sharegpt", ChatTemplate),
        ("chat", "prompt-answer", ChatTemplate),
        ("plain", "messages", PlainTemplate),
    ],
)
def test_which_template(
    with_template: Callable[[str], Any], name: str, kind: str, expected: type
) -> None:
    tokenizer = with_template("chatml")
    assert isinstance(choose_template(settle_template(name, kind, tokenizer), tokenizer), expected)


def test_auto_without_a_chat_template_is_plain(small_tokenizer: Any) -> None:
    assert settle_template("auto", "messages", small_tokenizer) == "plain"


def test_chat_without_a_chat_template_is_refused(small_tokenizer: Any) -> None:
    with pytest.raises(BadInput) as caught:
        choose_template("chat", small_tokenizer)
    assert caught.value.findings[0].rule == "no-chat-template"


def test_a_template_without_input_is_a_wrong_call(small_tokenizer: Any) -> None:
    with pytest.raises(WrongCall, match=r"holds no `\{input\}`") as caught:
        choose_template("Question:", small_tokenizer)
    assert caught.value.findings[0].rule == "template-without-input"


def test_a_template_of_ones_own(small_tokenizer: Any) -> None:
    template = choose_template("Q: {input} A:", small_tokenizer)
    tokens = RowTokenizer(small_tokenizer, template, 100)(conversation("Why {input}?", "So"))
    assert small_tokenizer.decode(tokens.ids) == "Q: Why {input}? A: So<eos>"


def test_special_tokens_that_a_template_of_ones_own_names_are_meant(
    with_template: Callable[[str], Any],
) -> None:
    tokenizer = with_template("chatml")
    template = choose_template("<|im_start|>{input}<|im_end|>", tokenizer)
    tokens = RowTokenizer(tokenizer, template, 100)(conversation("Who?", "Ann"))
    assert tokens.ids[0] == tokenizer.convert_tokens_to_ids("<|im_start|>")
    assert tokens.prompt[-1] == tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert supervised_texts(tokenizer, tokens) == [" Ann<|im_end|>"]


def test_the_plain_template_word_for_word(small_tokenizer: Any) -> None:
    row = conversation("Capital?", "Paris", "Of Italy?", "Rome", system="Be brief.")
    template = choose_template("plain", small_tokenizer)
    said = small_tokenizer.decode(RowTokenizer(small_tokenizer, template, 100)(row).ids)
    assert said == ("Be brief.\n\nCapital?\nAnswer: Paris<eos>\n\nOf Italy?\nAnswer: Rome<eos>")


TOOLS = json.dumps([{"type": "function", "function": {"name": "weather", "parameters": {}}}])
WITH_TOOLS = (
    "{% if tools %}{{ '<|im_start|>system\\n' }}{% for t in tools %}{{ t | tojson }}{% endfor %}"
    "{{ '<|im_end|>\\n' }}{% endif %}"
    "{% for m in messages %}{% set role = 'user' if m.role == 'tool' else m.role %}"
    "{{ '<|im_start|>' + role + '\\n' }}"
    "{% if m.role == 'assistant' and loop.last and thinking %}{{ '<think></think>' }}{% endif %}"
    "{% if m.role == 'tool' %}{{ '<r>' + m.content + '</r>' }}{% else %}{{ m.content }}{% endif %}"
    "{% for c in m.tool_calls or [] %}{{ '\\n<call>' + (c.function | tojson) + '</call>' }}"
    "{% endfor %}{{ '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
"""As Qwen2.5 has it; with `thinking` the last turn, and no other, begins with a thought."""


def call(city: str, content: str = "") -> Turn:
    function = {"name": "weather", "arguments": {"city": city}}
    more = {"content": content, "tool_calls": [{"type": "function", "function": function}]}
    return Turn("assistant", f"{content}\n{function}", more=json.dumps(more))


def tool_row(*turns: Turn) -> Row:
    return Row(2, PLACE, (Turn("user", "Rain in Oslo?"), *turns), TOOLS)


def rendered_call(city: str, content: str = "") -> str:
    function = f'{{"name": "weather", "arguments": {{"city": "{city}"}}}}'
    return f"{content}\n<call>{function}</call><|im_end|>"


@pytest.fixture(params=[False, True], ids=["plain", "thinking"])
def tool_tokenizer(request: pytest.FixtureRequest, with_template: Callable[[str], Any]) -> Any:
    tokenizer = deepcopy(with_template("chatml"))
    thinking = "{% set thinking = true %}" if request.param else ""
    tokenizer.chat_template = thinking + WITH_TOOLS
    tokenizer.thought = "<think></think>" if request.param else ""
    return tokenizer


@pytest.mark.parametrize("content", ["", "Let me look."])
def test_the_loss_sees_calls_of_tools_and_not_their_results(
    tool_tokenizer: Any, content: str
) -> None:
    result, said = Turn("tool", "dry"), Turn("assistant", "No.")
    row = tool_row(call("Oslo", content), result, said, Turn("user", "Rome?"), call("Rome"))
    tokens = chat_tokens(tool_tokenizer, row)
    assert supervised_texts(tool_tokenizer, tokens) == [
        rendered_call("Oslo", content),
        "No.<|im_end|>",
        tool_tokenizer.thought + rendered_call("Rome"),
    ]
    assert '"name": "weather", "parameters"' in tool_tokenizer.decode(tokens.ids)
    wanted = tool_tokenizer.thought + rendered_call("Rome").removesuffix("<|im_end|>")
    assert to_write(row, tokens, tool_tokenizer) == wanted.strip()


def test_two_calls_in_a_row_and_turns_of_a_prompt(tool_tokenizer: Any) -> None:
    read_only = replace(call("Bonn"), learned=False)
    row = tool_row(read_only, Turn("tool", "wet"), call("Oslo"), Turn("tool", "dry"), call("Rome"))
    assert supervised_texts(tool_tokenizer, chat_tokens(tool_tokenizer, row)) == [
        rendered_call("Oslo"),
        tool_tokenizer.thought + rendered_call("Rome"),
    ]


def test_a_row_with_tools_that_is_too_long_loses_whole_exchanges(tool_tokenizer: Any) -> None:
    first = (call("Oslo"), Turn("tool", "dry"), Turn("assistant", "No."))
    last = (Turn("user", "Rome?"), call("Rome"), Turn("tool", "wet"), Turn("assistant", "Yes."))
    whole = chat_tokens(tool_tokenizer, tool_row(*first, *last))
    cut = chat_tokens(tool_tokenizer, tool_row(*first, *last), len(whole.ids) - 1)
    said = tool_tokenizer.decode(cut.ids)
    assert "Oslo" not in said
    assert "dry" not in said
    assert said.count("<r>") == 1


@pytest.mark.parametrize("name", ["chat", "plain", "verbatim", "Q: {input} A:"])
def test_tools_are_refused_where_the_template_has_none(
    with_template: Callable[[str], Any], name: str
) -> None:
    tokenizer = with_template("chatml")
    template = choose_template(name, tokenizer)
    for row in (
        tool_row(Turn("assistant", "No.")),
        replace(tool_row(call("Oslo")), tools=""),
    ):
        with pytest.raises(Unusable) as refused:
            template.pieces(row)
        assert refused.value.bad.rule.name == "template-without-tools"
        assert "weather" in refused.value.bad.facts[0].value


def test_a_conversation_that_the_template_refuses_is_a_bad_row(
    with_template: Callable[[str], Any],
) -> None:
    tokenizer = deepcopy(with_template("chatml"))
    tokenizer.chat_template = "{{ raise_exception('roles must alternate') }}"
    with pytest.raises(Unusable) as refused:
        choose_template("chat", tokenizer).pieces(conversation("a", "b"))
    assert refused.value.bad.python_said == "roles must alternate"


def test_verbatim_puts_nothing_between_prompt_and_completion(small_tokenizer: Any) -> None:
    assert settle_template("auto", "prompt-completion", small_tokenizer) == "verbatim"
    template = choose_template("verbatim", small_tokenizer)
    row = conversation("The sky is", " blue.")
    assert [piece.text for piece in template.pieces(row)] == ["The sky is", " blue."]
    tokens = RowTokenizer(small_tokenizer, template, 100)(row)
    assert small_tokenizer.decode(tokens.ids, skip_special_tokens=True) == "The sky is blue."


@pytest.mark.parametrize("name", ["plain", "chat"])
def test_an_answer_of_the_prompt_is_read_and_not_learned(
    with_template: Callable[[str], Any], name: str
) -> None:
    tokenizer = with_template("chatml")
    row = conversation("Capital?", "Rome", "Sure?", "Yes")
    first, asked, *rest = row.turns
    row = replace(row, turns=(first, replace(asked, learned=False), *rest))
    tokens = RowTokenizer(tokenizer, choose_template(name, tokenizer), 1000)(row)
    (said,) = supervised_texts(tokenizer, tokens)
    assert "Yes" in said
    assert "Rome" in tokenizer.decode(tokens.prompt)


def test_a_prompt_is_the_same_whatever_the_answer(chat_tokenizer: Any) -> None:
    """A model is asked with the prompt that its rows had, of which the answer was known."""
    turns = (Turn("user", "Who pays?"), Turn("assistant", "Ann."), Turn("user", "And why?"))
    to_tokens = RowTokenizer(chat_tokenizer, choose_template("chat", chat_tokenizer), 512)
    prompts = []
    for answer in ("Because she said so.", ""):
        row = Row(0, Place("rows"), (*turns, Turn("assistant", answer)))
        prompts.append(to_tokens(row).prompt)
    assert prompts[0] == prompts[1]
