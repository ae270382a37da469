"""What became of arguments that libraries no longer take; the installed signature decides."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from surefit.doctor.words import code, spoken
from surefit.source.dictionary_keys import Key
from surefit.source.reading import called

RENAMED = {
    "evaluation_strategy": "eval_strategy",
    "no_cuda": "use_cpu",
    "per_gpu_train_batch_size": "per_device_train_batch_size",
    "per_gpu_eval_batch_size": "per_device_eval_batch_size",
    "warmup_ratio": "warmup_steps",
    "push_to_hub_model_id": "hub_model_id",
    "push_to_hub_token": "hub_token",
    "tokenizer": "processing_class",
    "torch_dtype": "dtype",
    "use_auth_token": "token",
    "max_seq_length": "max_length",
    "learning_rate": "lr",
    "lr": "learning_rate",
    "epochs": "num_train_epochs",
    "num_epochs": "num_train_epochs",
    "workers": "num_workers",
}
"""Names that libraries have given up, or that others use -> the name."""

WITH_VALUE = {
    "group_by_length": ("train_sampling_strategy", '"group_by_length"'),
    "adafactor": ("optim", '"adafactor"'),
    "include_inputs_for_metrics": ("include_for_metrics", '["inputs"]'),
}
"""What was True under the first name is a value of another argument now."""

HUGGING_FACE = ("transformers", "trl")
DROPPED = {
    "overwrite_output_dir": (HUGGING_FACE, "a folder that exists is written into without it"),
    "save_safetensors": (HUGGING_FACE, "weights are always saved as safetensors"),
    "logging_dir": (HUGGING_FACE, "`TENSORBOARD_LOGGING_DIR` sets the folder of TensorBoard"),
    "use_mps_device": (HUGGING_FACE, "the device is found without it"),
    "verbose": (("torch",), "nothing is printed any more; `get_last_lr()` gives the rate"),
}
"""Names without a successor, whose effect needs no argument any more, by package."""

ALIKE = 0.8
"""From here on two spellings are taken for one name."""


@dataclass(frozen=True, slots=True)
class SettingsClass:
    """A class of settings that a parameter takes."""

    name: str
    module: str
    takes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CallSignature:
    """What a function or a class takes."""

    name: str
    package: str
    version: str
    takes: tuple[str, ...]
    any: bool = False
    """Whatever name it is given."""
    settings: Mapping[str, SettingsClass] = field(default_factory=dict)
    """Parameter -> the class that its annotation names."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Old name -> new one, as the library's own documentation and warnings tell."""

    @property
    def words(self) -> str:
        return f"`{self.name}` of {f'{self.package} {self.version}'.strip()}"


@dataclass(frozen=True, slots=True)
class Successor:
    """An argument that a function does not take, and what to write instead."""

    old: str
    key: Key
    """Where it is written."""
    new: str = ""
    value: str = ""
    gone: str = ""
    """Why it is not needed any more."""
    receiver: ast.Call | None = None
    """Another call that takes it, such as that of the settings."""
    near: tuple[str, ...] = ()
    """Names of the function that look a little like it."""
    parameter: str = ""
    settings: SettingsClass | None = None
    """It lives on in a class of settings, which the call is given as `parameter`."""

    @property
    def known(self) -> bool:
        return bool(self.new or self.gone)

    @property
    def words(self) -> str:
        if self.receiver is not None:
            return f"is `{self.new}` of `{called(self.receiver)}`"
        if self.settings is not None:
            return f"is `{self.new}` of `{self.settings.name}`, given as `{self.parameter}`"
        if self.new:
            return f"is `{self.new}={self.value}`" if self.value else f"is `{self.new}`"
        if self.gone:
            return f"is gone: {self.gone}"
        like = f"; the nearest are {spoken(map(code, self.near))}" if self.near else ""
        return f"has no argument like it{like}"

    @property
    def advice(self) -> str:
        if self.receiver is not None:
            return f"give `{self.new}` to `{called(self.receiver)}` in place of `{self.old}`"
        if self.settings is not None:
            new = f"{self.parameter}={self.settings.name}({self.new}=...)"
            return f"give it as `{new}` in place of `{self.old}`"
        if self.new:
            written = f"{self.new}={self.value}" if self.value else self.new
            return f"write `{written}` in place of `{self.old}`"
        return f"remove `{self.old}`"


def successor_of(
    old: str,
    arguments: Mapping[str, Key],
    signature: CallSignature,
    inner: Mapping[ast.Call, CallSignature],
) -> Successor:
    """`inner`: calls whose values the call is given, with what each of them takes."""
    key, takes = arguments[old], signature.takes
    new, value = WITH_VALUE.get(old, ("", ""))
    if new in takes and new not in arguments and is_true(key):
        return Successor(old, key, new, value)
    told = (signature.renamed.get(old, ""), RENAMED.get(old, ""))
    for name in (*told, *get_close_matches(old, takes, 1, ALIKE)):
        if name in takes and name not in arguments:
            return Successor(old, key, name)
    packages, gone = DROPPED.get(old, ((), ""))
    if signature.package in packages:
        return Successor(old, key, gone=gone)
    for call, other in inner.items():
        for name in (old, RENAMED.get(old, "")):
            if name in other.takes:
                return Successor(old, key, name, receiver=call)
    for parameter, kind in signature.settings.items():
        for name in (old, *told):
            if name in kind.takes:
                return Successor(old, key, name, parameter=parameter, settings=kind)
    return Successor(old, key, near=tuple(get_close_matches(old, takes, 3, 0.5)))


def is_true(key: Key) -> bool:
    value = key.value if isinstance(key, ast.keyword) else None
    return isinstance(value, ast.Constant) and value.value is True
