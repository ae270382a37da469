"""Calls of what a script has imported, as far as they are followed."""

import ast
import math

from surefit.interpreter.backward import checkpoint_call
from surefit.interpreter.builtin_calls import BUILTIN_CALLS
from surefit.interpreter.checkpoints import load_checkpoint, save_checkpoint
from surefit.interpreter.contracts.checkpoints import targets_without_layers
from surefit.interpreter.devices import device_from
from surefit.interpreter.evaluator import Evaluator, PathEnded
from surefit.interpreter.layer_creation import check_config_divides, create_layer
from surefit.interpreter.modules import class_name_of, is_fully_known, is_module, named_tensors
from surefit.interpreter.operations import operate
from surefit.interpreter.optimizers import create_optimizer
from surefit.interpreter.tensor_creation import call_numpy, create_tensor, pad_sequence
from surefit.interpreter.value_queries import Arguments, apply, is_none, items_of, sequence, text_in
from surefit.interpreter.values import UNKNOWN, AbstractValue, Constant, LibraryObject, LoaderValue

WITHOUT_SIDE_EFFECTS = (
    *("torch.", "numpy.", "math.", "time.", "logging.", "os.", "json.", "random.", "tqdm."),
    *("matplotlib.", "wandb.", "sys.", "pathlib.", "collections.", "transformers.set_seed"),
    *("print", "len", "str", "repr", "id", "type", "format", "hasattr", "callable", "round"),
)
"""Functions that change nothing in the models and lists that they are given."""
ENDS_PROGRAM = ("exit", "quit", "sys.exit", "os._exit", "os.abort")
CONTEXTS = (
    *("torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.set_grad_enabled"),
    *("torch.autocast", "torch.amp.autocast", "torch.cuda.amp.autocast"),
    *("torch.autograd.set_detect_anomaly", "torch.autograd.no_grad", "torch.device"),
)


def call_imported(run: Evaluator, name: str, arguments: Arguments, node: ast.AST) -> AbstractValue:
    if name in ENDS_PROGRAM:
        raise PathEnded
    builtin = BUILTIN_CALLS.get(name)
    if builtin is not None:
        return builtin(run, arguments, node)
    if name.startswith("math."):
        return call_math(name, arguments)
    if name.startswith("torch."):
        return call_torch(run, name, arguments, node)
    if name.startswith("numpy."):
        return call_numpy(name, arguments, node)
    known = call_library(run, name, arguments, node)
    if known is not None:
        return known
    if not name.startswith(WITHOUT_SIDE_EFFECTS):
        run.escape_all(arguments.values)
    return UNKNOWN


def call_torch(run: Evaluator, name: str, arguments: Arguments, node: ast.AST) -> AbstractValue:
    last = name.rpartition(".")[2]
    if name in CONTEXTS:
        return torch_context(run, name, arguments, node)
    if name.startswith("torch.set_default_"):
        run.dtype = run.default_device = None
        return UNKNOWN
    if name == "torch.save":
        save_checkpoint(run, arguments, node)
        return UNKNOWN
    if name == "torch.load":
        return load_checkpoint(run, arguments, node)
    if name.startswith("torch.optim.lr_scheduler.") or last == "GradScaler":
        return LibraryObject(name, dict(arguments.named), node)
    if name.startswith("torch.optim."):
        return create_optimizer(run, last, arguments, node)
    if name.startswith("torch.utils.data."):
        return call_torch_data(name, arguments, node)
    if last == "pad_sequence":
        return pad_sequence(arguments, node)
    if name == "torch.utils.checkpoint.checkpoint":
        return checkpoint_call(run, arguments, node)
    if name == "torch.compile":
        return arguments.get("model", 0, UNKNOWN)
    if name.startswith(("torch.nn.functional.", "torch.special.")):
        return operate(run, last, arguments, node)
    if name.startswith(("torch.nn.init.", "torch.nn.utils.")):
        return UNKNOWN
    if name.startswith("torch.nn."):
        return create_layer(run, last, arguments, node) if last[:1].isupper() else UNKNOWN
    if name.count(".") > 1 and not name.startswith("torch.Tensor."):
        return UNKNOWN
    result = create_tensor(run, last, arguments, node)
    return operate(run, last, arguments, node) if result is None else result


def torch_context(run: Evaluator, name: str, arguments: Arguments, node: ast.AST) -> AbstractValue:
    if name == "torch.device":
        return device_from(arguments.get("device", 0, UNKNOWN), None) or UNKNOWN
    mode = arguments.get("mode", 0, None)
    stands_alone = isinstance(run.source.parents.get(node), ast.Expr)
    if name == "torch.set_grad_enabled" and stands_alone:
        run.graphs.enter(name, mode, node)
    return LibraryObject(name, {} if mode is None else {"mode": mode}, node)


def call_torch_data(name: str, arguments: Arguments, node: ast.AST) -> AbstractValue:
    last, dataset = name.rpartition(".")[2], arguments.get("dataset", 0, UNKNOWN)
    if last == "DataLoader":
        collate = arguments.get("collate_fn", 6, None)
        if is_none(arguments.get("batch_size", 1, Constant(1))):
            return UNKNOWN
        return LoaderValue(dataset, None if is_none(collate) else collate, node)
    if last == "TensorDataset" and not arguments.open:
        return LibraryObject(name, {}, node, tuple(arguments.positional))
    if last == "Subset":
        return LibraryObject(name, {}, node, (dataset,))
    if last == "random_split":
        part = LibraryObject("torch.utils.data.Subset", {}, node, (dataset,))
        lengths = items_of(arguments.get("lengths", 1, UNKNOWN))
        return sequence("list", [part] * len(lengths)) if lengths else UNKNOWN
    return UNKNOWN


def call_math(name: str, arguments: Arguments) -> AbstractValue:
    function = getattr(math, name.rpartition(".")[2], None)
    if not callable(function) or arguments.named or arguments.open:
        return UNKNOWN
    result = apply(function, arguments.positional)
    known = isinstance(result, Constant) and isinstance(result.value, int | float)
    return result if known else UNKNOWN


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
    **dict.fromkeys(("gpt2", "openai-community/gpt2", "distilgpt2"), "GPT2"),
    **dict.fromkeys(("bert-base-uncased", "bert-base-cased"), "Bert"),
    "google-bert/bert-base-uncased": "Bert",
    **dict.fromkeys(("roberta-base", "FacebookAI/roberta-base"), "Roberta"),
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
        settings = {} if arguments.open else dict(arguments.named)
        return LibraryObject("peft.LoraConfig", settings, node)
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
    run.report(targets_without_layers, node, at, wanted, kind, tuple(has))


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
