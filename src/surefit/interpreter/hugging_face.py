"""Configs and adapters of transformers and peft, as far as their numbers decide something."""

import ast

from surefit.interpreter.arguments import Arguments
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.layer_creation import check_config_divides
from surefit.interpreter.modules import class_name_of, is_fully_known, is_module, named_tensors
from surefit.interpreter.value_queries import items_of, text_in
from surefit.interpreter.values import UNKNOWN, AbstractValue, Constant, LibraryObject
from surefit.interpreter.violations import AdapterTargetsMissing

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
SHARED_NAMES = ("classifier", "score", "lm_head", "embed_tokens", "qa_outputs", "all-linear")


def call_library(
    run: Evaluator, name: str, arguments: Arguments, node: ast.AST
) -> AbstractValue | None:
    """None where the name is none of those that are known here."""
    root, _, last = name.rpartition(".")
    if name == "argparse.Namespace":
        return LibraryObject(name, dict(arguments.named), node)
    if root.startswith("transformers"):
        return call_transformers(run, name, last, arguments, node)
    if root.startswith("peft"):
        return call_peft(run, last, arguments, node)
    return None


def call_transformers(
    run: Evaluator, name: str, last: str, arguments: Arguments, node: ast.AST
) -> AbstractValue | None:
    if last.endswith("Config") and last != "Config":
        result = LibraryObject(name, {} if arguments.open else dict(arguments.named), node)
        if not arguments.open:
            check_config_divides(run, last, arguments, node)
        return result
    if last == "from_pretrained":
        kind = name.split(".")[-2]
        of = architecture(kind)
        if not of and kind.startswith("AutoModel"):
            model = text_in(arguments.get("pretrained_model_name_or_path", 0, UNKNOWN))
            of = KNOWN_MODELS.get(model or "", "")
        return library_model(of, kind, node) if of else None
    if architecture(last) and last.endswith(MODEL_ENDS):
        return library_model(architecture(last), last, node)
    return None


def library_model(of: str, kind: str, node: ast.AST) -> LibraryObject:
    settings: dict[str, AbstractValue] = {"architecture": Constant(of), "kind": Constant(kind)}
    return LibraryObject("model", settings, node)


MODEL_ENDS = ("Model", "LMHeadModel", "Classification", "CausalLM", "MaskedLM", "Answering")


def architecture(kind: str) -> str:
    for name in sorted(LAYER_NAMES, key=len, reverse=True):
        rest = kind.removeprefix(name)
        if rest != kind and (rest.startswith("For") or rest in ("Model", "LMHeadModel")):
            return name
    return ""


def call_peft(
    run: Evaluator, last: str, arguments: Arguments, node: ast.AST
) -> AbstractValue | None:
    if last == "LoraConfig":
        return LibraryObject(
            "peft.LoraConfig", {} if arguments.open else dict(arguments.named), node
        )
    if last == "get_peft_model":
        model, config = arguments.get("model", 0, UNKNOWN), arguments.get("peft_config", 1, UNKNOWN)
        if isinstance(config, LibraryObject) and config.name == "peft.LoraConfig":
            check_adapter_targets(run, model, config, node)
        run.escape(model)
        return UNKNOWN
    return None


def check_adapter_targets(
    run: Evaluator, model: AbstractValue, config: LibraryObject, node: ast.AST
) -> None:
    targets = items_of(config.arguments.get("target_modules")) or ()
    names = [name for target in targets if (name := text_in(target)) is not None]
    if not names or len(names) != len(targets) or "target_parameters" in config.arguments:
        return
    known = layer_names(model)
    if known is None:
        return
    kind, has = known
    last = {name.rpartition(".")[2] for name in has}
    if any(name.rpartition(".")[2] in last or name in SHARED_NAMES for name in names):
        return
    at, wanted = config.node, tuple(sorted(names))
    run.report(AdapterTargetsMissing(node, at, at, wanted, kind, tuple(has)))


def layer_names(model: AbstractValue) -> tuple[str, list[str]] | None:
    """What a model is called, and the names of the layers that adapters can be put on."""
    if isinstance(model, LibraryObject) and model.name == "model":
        of = text_in(model.arguments["architecture"]) or ""
        kind = text_in(model.arguments["kind"]) or ""
        return f"a {of} model" if kind.startswith("AutoModel") else kind, list(LAYER_NAMES[of])
    if is_module(model) and is_fully_known(model):
        tensors = named_tensors(model)
        if tensors is not None:
            return class_name_of(model), sorted({name.rpartition(".")[0] for name in tensors})
    return None
