"""Small talk: plain sentences that say nothing much, in the words the task will need."""

import random

from .words import WORDS

NOUNS = WORDS["nouns"]
ADJECTIVES = WORDS["adjectives"]
VERBS = WORDS["verbs"]
PLACES = WORDS["places"]
REMARKS = WORDS["remarks"]
SUBJECTS = ("nobody", "everybody", "we", "they", "you", "somebody", "people", "the men")
JOINTS = (", and", ", but", ", so", ". Then", ", since", "; later")


def thing(chance: random.Random) -> str:
    article = chance.choice(("the", "the", "a", "this", "our", "another"))
    if chance.random() < 0.5:
        adjective = chance.choice(ADJECTIVES)
        if article == "a" and adjective[0] in "aeiou":
            article = "an"
        if adjective == "honest" and article == "a":
            article = "an"
        return f"{article} {adjective} {chance.choice(NOUNS)}"
    noun = chance.choice(NOUNS)
    return f"{'an' if article == 'a' and noun[0] in 'aeiou' else article} {noun}"


def clause(chance: random.Random) -> str:
    if chance.random() < 0.25:
        return chance.choice(REMARKS)
    subject = chance.choice(SUBJECTS) if chance.random() < 0.4 else thing(chance)
    if chance.random() < 0.25:
        was = "were" if subject in ("we", "they", "you", "people", "the men") else "was"
        return f"{subject} {was} {chance.choice(ADJECTIVES)} {chance.choice(PLACES)}"
    words = f"{subject} {chance.choice(VERBS)} {thing(chance)}"
    return f"{words} {chance.choice(PLACES)}" if chance.random() < 0.5 else words


def sentence(chance: random.Random) -> str:
    words = clause(chance)
    if chance.random() < 0.35:
        words = f"{words}{chance.choice(JOINTS)} {clause(chance)}"
    return words[0].upper() + words[1:] + "."
