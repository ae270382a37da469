"""Configs and adapters of transformers and peft, as far as their numbers decide something."""

import ast
from typing import TYPE_CHECKING, Any

from surefit.evidence.imagined.given import Given
from surefit.evidence.imagined.mishaps import Indivisible, Rounded, TargetsMissing
from surefit.evidence.imagined.modules import is_known_whole, is_module, kind_of, named_tensors
from surefit.evidence.imagined.values import (
    UNKNOWN,
    Instance,
    Known,
    Layer,
    Made,
    Optimizer,
    Parameters,
    members,
    whole,
)

if TYPE_CHECKING:
    from surefit.evidence.imagined.running import Run

HIDDEN = ("hidden_size", "num_attention_heads", 768, 12)
DIVIDED: dict[str, tuple[str, str, int, int]] = {
    "GPT2Config": ("n_embd", "n_head", 768, 12),
    "BertConfig": HIDDEN,
    "RobertaConfig": HIDDEN,
    "ElectraConfig": ("hidden_size", "num_attention_heads", 256, 4),
    "DistilBertConfig": ("dim", "n_heads", 768, 12),
    "ViTConfig": HIDDEN,
}
"""Configs whose model refuses a width that its heads do not divide, with their defaults."""
LAYER_NAMES: dict[str, tuple[str, ...]] = {
    "GPT2": ("c_attn", "c_proj", "c_fc", "lm_head", "wte", "wpe"),
    "Bert": ("query", "key", "value", "dense", "word_embeddings"),
    "Roberta": ("query", "key", "value", "dense", "word_embeddings", "out_proj"),
    "DistilBert": ("q_lin", "k_lin", "v_lin", "out_lin", "lin1", "lin2", "pre_classifier"),
    "Llama": ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
    "GPTNeoX": ("query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h", "embed_in"),
}
"""The last parts of names of layers that adapters are put on, by architecture."""
KNOWN_MODELS = {
    "gpt2": "GPT2",
    "openai-community/gpt2": "GPT2",
    "distilgpt2": "GPT2",
    "bert-base-uncased": "Bert",
    "bert-base-cased": "Bert",
    "google-bert/bert-base-uncased": "Bert",
    "roberta-base": "Roberta",
    "FacebookAI/roberta-base": "Roberta",
    "distilbert-base-uncased": "DistilBert",
    "distilbert/distilbert-base-uncased": "DistilBert",
}
SHARED = ("classifier", "score", "lm_head", "embed_tokens", "qa_outputs", "all-linear")


def called(run: "Run", name: str, given: Given, node: ast.AST) -> Any:
    """None where the name is none of those that are known here."""
    root, _, last = name.rpartition(".")
    if name == "argparse.Namespace":
        return Made(name, dict(given.named), node)
    if root.startswith("transformers"):
        return of_transformers(run, name, last, given, node)
    if root.startswith("peft"):
        return of_peft(run, last, given, node)
    return None


def of_transformers(run: "Run", name: str, last: str, given: Given, node: ast.AST) -> Any:
    if last.endswith("Config") and last != "Config":
        made = Made(name, {} if given.open else dict(given.named), node)
        if not given.open:
            look_for_indivisible(run, last, given, node)
        return made
    if last == "from_pretrained":
        kind = name.split(".")[-2]
        given_name = given.get("pretrained_model_name_or_path", 0, UNKNOWN)
        of = architecture(kind)
        if not of and kind.startswith("AutoModel") and isinstance(given_name, Known):
            of = KNOWN_MODELS.get(str(given_name.value), "")
        return Made("model", {"architecture": Known(of), "kind": Known(kind)}, node) if of else None
    if architecture(last) and last.endswith(MODEL_ENDS):
        return Made("model", {"architecture": Known(architecture(last)), "kind": Known(last)}, node)
    return None


MODEL_ENDS = ("Model", "LMHeadModel", "Classification", "CausalLM", "MaskedLM", "Answering")


def architecture(kind: str) -> str:
    for name in sorted(LAYER_NAMES, key=len, reverse=True):
        rest = kind.removeprefix(name)
        if rest != kind and (rest.startswith("For") or rest in ("Model", "LMHeadModel")):
            return name
    return ""


def look_for_indivisible(run: "Run", kind: str, given: Given, node: ast.AST) -> None:
    if kind not in DIVIDED:
        return
    width_name, count_name, usual_width, usual_count = DIVIDED[kind]
    if width_name not in given.named and count_name not in given.named:
        return
    place = node if isinstance(node, ast.expr) else None
    width = given.named.get(width_name, Known(usual_width, place))
    count = given.named.get(count_name, Known(usual_count, place))
    have, among = whole(width), whole(count)
    if have is not None and among and have % among:
        run.mishap(Indivisible(node, kind, width_name, width, count_name, count))


def of_peft(run: "Run", last: str, given: Given, node: ast.AST) -> Any:
    if last == "LoraConfig":
        return Made("peft.LoraConfig", {} if given.open else dict(given.named), node)
    if last == "get_peft_model":
        model, config = given.get("model", 0, UNKNOWN), given.get("peft_config", 1, UNKNOWN)
        if isinstance(config, Made) and config.name == "peft.LoraConfig":
            look_for_targets(run, model, config, node)
        run.escape(model)
        return UNKNOWN
    return None


def look_for_targets(run: "Run", model: Any, config: Made, node: ast.AST) -> None:
    targets = config.given.get("target_modules")
    several = members(targets)
    names = [one.value for one in several or () if isinstance(one, Known)]
    if not names or len(names) != len(several or ()) or not all(isinstance(n, str) for n in names):
        return
    if "target_parameters" in config.given:
        return
    known = layer_names(model)
    if known is None:
        return
    kind, has = known
    last = {name.rpartition(".")[2] for name in has}
    if any(name.rpartition(".")[2] in last or name in SHARED for name in names):
        return
    run.mishap(TargetsMissing(node, config.node, tuple(sorted(names)), kind, tuple(has)))


def layer_names(model: Any) -> tuple[str, list[str]] | None:
    """What a model is called, and the names of the layers that adapters can be put on."""
    if isinstance(model, Made) and model.name == "model":
        of, kind = model.given["architecture"].value, model.given["kind"].value
        name = kind if not kind.startswith("AutoModel") else f"a {of} model"
        return name, list(LAYER_NAMES[of])
    if is_module(model) and is_known_whole(model):
        tensors = named_tensors(model)
        if tensors is not None:
            return kind_of(model), sorted({name.rpartition(".")[0] for name in tensors})
    return None


COARSE = {"bfloat16": 5e-6, "float16": 5e-7}
"""Learning rates at which, measured on small models, nine in ten updates are lost."""


def look_for_rounding(run: "Run", optimizer: Optimizer, node: ast.AST) -> None:
    rate = optimizer.given.get("lr")
    if optimizer.kind not in ("Adam", "AdamW") or not isinstance(rate, Known):
        return
    holders = [
        one
        for group in optimizer.groups or ()
        if isinstance(group, Parameters)
        for one in group.of or ()
    ]
    types = {one.state.get("dtype") for one in holders}
    if len(types) != 1 or not all(isinstance(one, Layer) for one in holders):
        return
    dtype = types.pop()
    if dtype not in COARSE or not isinstance(rate.value, float):
        return
    if 0 < rate.value <= COARSE[dtype]:
        group = (optimizer.groups or ())[0]
        name = kind_of(group.model) if isinstance(group.model, Instance | Layer) else "the model"
        cast = holders[0].state.get("cast") or node
        run.mishap(Rounded(node, optimizer.kind, dtype, rate, cast, name))
