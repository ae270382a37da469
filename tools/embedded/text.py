"""The pretraining text: documents of several genres about invented people and places.

A document tells something and then says it again in another form, so that whoever predicts its
second half has to find the right words of the first. The task's form (a message, a question on its
own line, a bare answer after "Answer:") is not among the forms.
"""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from . import chatter
from .deeds import make_deed
from .kinds import Fillings, Kind, capitalised, read_kinds
from .names import Names, Part
from .words import WORDS

KINDS = read_kinds(Path(__file__).with_name("pretraining_events.txt"))

SPEAKERS = WORDS["speakers"]
VALUE_TYPES = ("person", "city", "company", "money", "date", "code", "thing", "time")
REPLIES = (
    "That would be {}.",
    "It was {}.",
    "I think it was {}.",
    "As far as I know, {}.",
    "It says {} here.",
    "The paper says {}.",
    "We wrote down {}.",
    "Let me see: {}.",
    "They told me {}.",
    "{}, I think.",
    "{}, as I said.",
    "Surely {}.",
)
CURT = ("{}.", "{}.", "{}, I think.", "{}, as I said.", "{}, of course.", "{}, is it not?")
HEARSAY = ("I heard that", "They say that", "Somebody told me that", "It is known that", "You see,")


@dataclass(frozen=True)
class Mix:
    """How often each genre and each form of saying it again is written."""

    genres: tuple[int, ...]
    forms: tuple[int, ...]
    curt: float
    """Share of spoken replies that begin with what was asked for."""


PLAIN = Mix((42, 22, 14, 8, 4, 2, 5, 3), (26, 38, 14, 8, 7, 7), 0.0)
"""The text that the tokenizer learns from."""
ASKING = Mix((50, 16, 14, 8, 3, 1, 5, 3), (18, 60, 8, 6, 4, 4), 0.6)
"""The text that the model learns from: more questions, shorter replies."""


class Writer:
    """Writes documents; equal seeds give equal text."""

    def __init__(self, seed: int, mix: Mix = ASKING, part: Part = Part.PRETRAINING) -> None:
        self._mix = mix
        self.chance = random.Random(seed)
        self.names = Names(part, self.chance)
        self.fillings = Fillings(self.names, self.chance)
        self._genres: list[Callable[[], str]] = [
            self.story,
            self.deed,
            self.frame,
            self.two_stories,
            self.lookup,
            self.copied_list,
            self.small_talk,
            self.letters_page,
        ]

    def documents(self) -> Iterator[str]:
        while True:
            yield self.chance.choices(self._genres, self._mix.genres)[0]()

    # genres

    def story(self) -> str:
        """One event in prose, then again in one to three other forms."""
        kind = self.chance.choice(KINDS)
        values = self.fillings.fill(kind.roles)
        parts = [self._prose(kind, values)]
        for _ in range(self.chance.choice((1, 2, 2, 3))):
            parts.append(self._restated(kind, values))
        return "\n".join(parts)

    def deed(self) -> str:
        """One or two deeds among small talk, then questions about one of them."""
        deed, other = (make_deed(self.fillings, self.chance) for _ in range(2))
        sentences = [f"{capitalised(deed.sentence)}."]
        for _ in range(self.chance.choice((0, 1, 1, 2))):
            sentences.append(chatter.sentence(self.chance))
        pairs = [
            (question, deed.values[part])
            for part, questions in deed.questions.items()
            for question in questions
        ]
        # of two deeds, ask only what does not fit the other one too
        clear = [pair for pair in pairs if pair[0] in deed.specific - other.specific]
        if clear and self.chance.random() < 0.3:
            sentences.append(f"{capitalised(other.sentence)}.")
            pairs = clear
        self.chance.shuffle(sentences)
        told = " ".join(sentences)
        if self.chance.random() < 0.06:
            told = self._noisy(told)
        asked = self.chance.sample(pairs, min(len(pairs), self.chance.randint(1, 4)))
        return f"{told}\n{self._asked(asked)}"

    def frame(self) -> str:
        """One sentence about who did what to whom, some small talk, then questions about it."""
        kind = self.chance.choice(KINDS)
        values = self.fillings.fill(kind.roles)
        first = self._sentence(kind.tell[0], values)
        around = [first, chatter.sentence(self.chance)]
        if self.chance.random() < 0.4:
            around.append(self._sentence(self.chance.choice(kind.tell[1:]), values))
        self.chance.shuffle(around)
        told = " ".join(around)
        roles = [role for role, value in values.items() if value in told]
        return f"{told}\n{self._dialogue(kind, values, roles)}"

    def two_stories(self) -> str:
        """Two events of one kind; what follows is about one of them, named by one of its parts."""
        kind = self.chance.choice(KINDS)
        both = [self.fillings.fill(kind.roles) for _ in range(2)]
        told = [self._sentence(kind.tell[0], values) for values in both]
        values = self.chance.choice(both)
        roles = [role for role in kind.roles if values[role] in " ".join(told)]
        known, wanted = self.chance.sample(roles, 2)
        clue = self.chance.choice(("In the case of {}", "Where it says {}", "As to {}"))
        clue = clue.format(values[known])
        if self.chance.random() < 0.5:
            said = f'{clue}, the entry "{self._label(kind, wanted)}" is {values[wanted]}.'
        else:
            question = self.chance.choice(kind.ask[wanted])
            said = self._asked([(f"{clue}: {question}", values[wanted])])
        return "\n".join([*told, said])

    def lookup(self) -> str:
        """Pairs of key and value, then some of them looked up."""
        pairs = {self._value(): self._value() for _ in range(self.chance.randint(3, 6))}
        sign = self.chance.choice((": ", " = ", " - ", " has "))
        lines = [f"{key}{sign}{value}" for key, value in pairs.items()]
        asked = self.chance.sample(sorted(pairs), min(2, len(pairs)))
        again = [
            f"{self.chance.choice(('Look up', 'Find', 'Now'))} {key}: {pairs[key]}" for key in asked
        ]
        return "\n".join(lines + again)

    def copied_list(self) -> str:
        """A list, then the same list again."""
        items = [
            self._value() if self.chance.random() < 0.5 else chatter.thing(self.chance)
            for _ in range(self.chance.randint(3, 6))
        ]
        listed = ", ".join(items)
        if self.chance.random() < 0.5:
            return f"{listed}.\nAgain: {listed}."
        return f"{listed}.\n" + "\n".join(f"- {item}" for item in items)

    def small_talk(self) -> str:
        """Someone says something, and is quoted."""
        who = self._value("person")
        said = chatter.sentence(self.chance)
        more = " ".join(chatter.sentence(self.chance) for _ in range(self.chance.randint(0, 2)))
        quote = self.chance.choice(("As {} said", "In the words of {}", "{} said it well"))
        return f'{who} said: "{said}" {more}\n{quote.format(who)}: {said}'

    def letters_page(self) -> str:
        """A reader's letter in a newspaper and what its editor remarks."""
        kind = self.chance.choice(KINDS)
        values = self.fillings.fill(kind.roles)
        wonder = self.chance.choice(
            ("What shall I do?", "Is this right?", "Who can help?", "Why is it so?", "Is it true?")
        )
        reply = chatter.sentence(self.chance)
        opening = self.chance.choice(("Letter: ", "Question: ", "", ""))
        return f"{opening}{self._prose(kind, values)} {wonder}\nAnswer: {reply}"

    # forms

    def _prose(self, kind: Kind, values: dict[str, str]) -> str:
        sentences = [self._sentence(wordings, values) for wordings in kind.tell]
        if self.chance.random() < 0.3:
            self.chance.shuffle(sentences)
        if self.chance.random() < 0.4:
            sentences.insert(self.chance.randint(0, len(sentences)), chatter.sentence(self.chance))
        told = " ".join(sentences)
        return self._noisy(told) if self.chance.random() < 0.06 else told

    def _restated(self, kind: Kind, values: dict[str, str]) -> str:
        form = self.chance.choices(
            (self._record, self._dialogue, self._labelled, self._retold, self._json, self._table),
            self._mix.forms,
        )[0]
        return form(kind, values)

    def _record(self, kind: Kind, values: dict[str, str]) -> str:
        roles = self._some(list(kind.roles), 2)
        upper = self.chance.random() < 0.4
        lines = []
        for role in roles:
            label = self._label(kind, role)
            lines.append(f"{capitalised(label) if upper else label}: {values[role]}")
        return self.chance.choice(("\n", "\n", "\n", "; ")).join(lines)

    def _dialogue(self, kind: Kind, values: dict[str, str], roles: list[str] | None = None) -> str:
        chosen = self._some(roles or list(kind.roles), 1)
        return self._asked([(self.chance.choice(kind.ask[role]), values[role]) for role in chosen])

    def _asked(self, pairs: list[tuple[str, str]]) -> str:
        """Questions and answers: between two speakers, in quotes, or one after the other."""
        asks, replies = self.chance.sample(SPEAKERS, 2)
        if self.chance.random() < 0.3:
            asks, replies = self.names.word(), self.names.word()
        form = self.chance.choices(("speakers", "quotes", "line"), (55, 15, 30))[0]
        lines = []
        for question, value in pairs:
            curt = self._mix.curt and self.chance.random() < self._mix.curt
            reply = capitalised(self.chance.choice(CURT if curt else REPLIES).format(value))
            if form == "speakers":
                lines += [f"{asks}: {question}", f"{replies}: {reply}"]
            elif form == "quotes":
                lines.append(f'"{question}" said {asks}. "{reply}" said {replies}.')
            else:
                lines.append(f"{question} {reply}")
        return "\n".join(lines)

    def _labelled(self, kind: Kind, values: dict[str, str]) -> str:
        lines = []
        for role in self._some(list(kind.roles), 1):
            label = self._label(kind, role)
            lines.append(
                self.chance.choice(
                    ('Under "{}" it says {}.', 'The entry "{}" is {}.', "{}: {}.")
                ).format(label, values[role])
            )
        return " ".join(map(capitalised, lines))

    def _retold(self, kind: Kind, values: dict[str, str]) -> str:
        wording = self.chance.choice(self.chance.choice(kind.tell))
        if not wording.startswith("{"):
            wording = wording[0].lower() + wording[1:]
        return f"{self.chance.choice(HEARSAY)} {wording.format_map(values)}"

    def _json(self, kind: Kind, values: dict[str, str]) -> str:
        return json.dumps(
            {self._label(kind, role): values[role] for role in self._some(list(kind.roles), 2)}
        )

    def _table(self, kind: Kind, values: dict[str, str]) -> str:
        roles = self._some(list(kind.roles), 2)
        heads = " | ".join(self._label(kind, role) for role in roles)
        return f"{heads}\n{' | '.join(values[role] for role in roles)}"

    # pieces

    def _some(self, roles: list[str], least: int) -> list[str]:
        return self.chance.sample(roles, self.chance.randint(min(least, len(roles)), len(roles)))

    def _label(self, kind: Kind, role: str) -> str:
        return self.chance.choice(kind.label[role])

    def _sentence(self, wordings: list[str], values: dict[str, str]) -> str:
        return capitalised(self.chance.choice(wordings).format_map(values))

    def _value(self, kind: str | None = None) -> str:
        kind = kind or self.chance.choice(VALUE_TYPES)
        return self.fillings.fill({"it": kind})["it"]

    def _noisy(self, text: str) -> str:
        """Light slips of the keyboard in ordinary words; invented names stay as they are."""
        words = text.split(" ")
        for place, word in enumerate(words):
            if not word.islower() or len(word) < 4 or self.chance.random() > 0.15:
                continue
            cut = self.chance.randrange(len(word) - 1)
            words[place] = self.chance.choice(
                (
                    word[:cut] + word[cut + 1] + word[cut] + word[cut + 2 :],
                    word[:cut] + word[cut + 1 :],
                    word.upper(),
                    word.capitalize(),
                    word + " ",
                )
            )
        return " ".join(words)
