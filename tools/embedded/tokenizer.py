"""Trains the embedded tokenizer: byte-level BPE in which every digit stands alone."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from .chatter import sentence
from .text import PLAIN, Writer

PAD, EOS = "<pad>", "<eos>"
VOCABULARY = 1536
LONGEST = 1024


def train_tokenizer(documents: int = 40_000, seed: int = 11) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[PAD, EOS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_corpus(documents, seed), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=EOS,
        model_max_length=LONGEST,
        padding_side="right",
        clean_up_tokenization_spaces=False,
    )


def _corpus(documents: int, seed: int) -> Iterator[str]:
    """Pretraining text with more small talk, so that ordinary words win tokens over names."""
    writer = Writer(seed, PLAIN)
    for document in islice(writer.documents(), documents):
        yield document
        yield f"{sentence(writer.chance)} {sentence(writer.chance)}"


def save_tokenizer(folder: Path) -> None:
    train_tokenizer().save_pretrained(folder)
