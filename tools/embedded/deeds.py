"""Deeds: one person does something to another, in many sentence forms, with matching questions.

Where `kinds` has whole events, this has grammar: the active, the passive, relative clauses and
possession, each crossed with every verb, so that who did it has to be read from the sentence.
"""

import random
from dataclasses import dataclass

from .kinds import Fillings
from .words import WORDS

# base, past, participle
TO_PERSON = tuple(verb.split("/") for verb in WORDS["verbs to a person"])
WITH_THING = tuple(verb.split("/") for verb in WORDS["verbs with a thing"])
TO_BELONGINGS = tuple(verb.split("/") for verb in WORDS["verbs to belongings"])
BELONGINGS = WORDS["belongings"]

PERSON_FORMS = (
    "{a} {past} {b}",
    "{b} was {done} by {a}",
    "it was {a} who {past} {b}",
    "it was {b} whom {a} {past}",
    "{a} has {done} {b}",
    "{b} has been {done} by {a}",
    "{a} is the one who {past} {b}",
    "the one whom {a} {past} is {b}",
    "{b} had to be {done} by {a}",
    "{a} is going to {base} {b}",
    "{b} is to be {done} by {a}",
    "{a} was the first to {base} {b}",
    "{b}, whom {a} {past}, went home",
    "{a}, who {past} {b}, went home",
    "{b} let {a} {base} no one else and was {done}",
)
THING_FORMS = (
    "{a} {past} {thing} to {b}",
    "{thing} was {done} to {b} by {a}",
    "{b} got {thing}, which {a} had {done}",
    "{b} has {thing} that was {done} by {a}",
    "to {b}, {a} {past} {thing}",
    "{a} is going to {base} {thing} to {b}",
    "{b} is waiting for {thing} from {a}",
    "{thing} from {a} is here for {b}",
    "there is {thing}, {done} by {a} and meant for {b}",
    "{thing} which {b} should get was {done} by {a}",
    "{a} has yet to {base} {thing} to {b}",
)
BELONGING_FORMS = (
    "{a} {past} the {noun} of {b}",
    "the {noun} of {b} was {done} by {a}",
    "{a} {past} the {noun} that belongs to {b}",
    "the {noun} which {a} {past} is that of {b}",
    "{b} had the {noun} {done} by {a}",
    "the {noun} that belongs to {b} is to be {done} by {a}",
    "{b} has a {noun}, and {a} is going to {base} it",
    "a {noun} that {a} {past} turned out to be that of {b}",
    "{a} {past} a {noun}; {b} is the owner",
    "the {noun} belongs to {b}, but {a} {past} it",
    "{b} asked {a} to {base} the {noun}",
    "{a} was asked by {b} to {base} the {noun}",
)
PERSON_QUESTIONS = {
    "a": ("Who {past} somebody?", "Who {past} {b}?", "By whom was {b} {done}?", "Who did it?"),
    "b": ("Who was {done}?", "Whom did {a} {base}?", "Who has been {done}?"),
}
THING_QUESTIONS = {
    "a": ("Who {past} something?", "From whom is it?", "Who had it first?", "Who {past} {thing}?"),
    "b": ("For whom is it?", "To whom was it {done}?", "Who gets it?", "Who should get {thing}?"),
    "thing": ("What was {done}?", "What did {a} {base}?", "What is it that was {done}?"),
}
BELONGING_QUESTIONS = {
    "a": (
        "Who {past} the {noun}?",
        "Who {past} it?",
        "By whom was it {done}?",
        "Who did the work?",
    ),
    "b": ("Whose {noun} is it?", "To whom does the {noun} belong?", "Who owns the {noun}?"),
}
BESIDES = {
    "place": (
        ("in {place}", "near {place}", "not far from {place}"),
        ("Where was it?", "In which town was that?", "Where did it happen?"),
        "city",
    ),
    "day": (
        ("on {day}", "late on {day}", "before {day}"),
        ("When was it?", "On what day was that?", "Which day was it?"),
        "date",
    ),
    "sum": (
        ("for {sum}", "at a price of {sum}", "and got {sum} for it"),
        ("How much was it?", "What sum was it?", "What did it cost?"),
        "money",
    ),
    "code": (
        ("under the number {code}", "with the mark {code}"),
        ("What was the number?", "Which mark was it?"),
        "code",
    ),
}


@dataclass(frozen=True)
class Deed:
    """A sentence, the questions about each of its parts, and how each part is worded."""

    sentence: str
    questions: dict[str, list[str]]
    values: dict[str, str]
    specific: frozenset[str]
    """The questions that name something of this deed."""


def make_deed(fillings: Fillings, chance: random.Random) -> Deed:
    forms, asks, verbs = chance.choice(
        (
            (PERSON_FORMS, PERSON_QUESTIONS, TO_PERSON),
            (THING_FORMS, THING_QUESTIONS, WITH_THING),
            (BELONGING_FORMS, BELONGING_QUESTIONS, TO_BELONGINGS),
        )
    )
    base, past, done = chance.choice(verbs)
    besides = chance.sample(sorted(BESIDES), chance.choice((0, 1, 1, 2)))
    values = fillings.fill(
        {"a": "person", "b": "person", "thing": "thing"}
        | {name: BESIDES[name][2] for name in besides}
    )
    words = values | {"base": base, "past": past, "done": done, "noun": chance.choice(BELONGINGS)}
    sentence = chance.choice(forms)
    questions = {part: list(wordings) for part, wordings in asks.items()}
    for name in besides:
        addition = chance.choice(BESIDES[name][0])
        front = addition.startswith(("in", "on", "near")) and chance.random() < 0.3
        sentence = f"{addition}, {sentence}" if front else f"{sentence} {addition}"
        questions[name] = list(BESIDES[name][1])
    return Deed(
        sentence.format_map(words),
        {part: [each.format_map(words) for each in asked] for part, asked in questions.items()},
        values,
        frozenset(
            each.format_map(words) for asked in questions.values() for each in asked if "{" in each
        ),
    )
