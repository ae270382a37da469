"""Calls of what a script has imported, as far as they are followed."""

import ast
import math

from surefit.interpreter.arguments import Arguments
from surefit.interpreter.backward import checkpoint_call
from surefit.interpreter.builtin_calls import BUILTIN_CALLS
from surefit.interpreter.checkpoints import load_checkpoint, save_checkpoint
from surefit.interpreter.control import PathEnded
from surefit.interpreter.devices import device_from
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.hugging_face import call_library
from surefit.interpreter.layer_creation import create_layer
from surefit.interpreter.numpy_arrays import call_numpy
from surefit.interpreter.operations import operate
from surefit.interpreter.optimizers import create_optimizer
from surefit.interpreter.tensor_creation import create_tensor, pad_sequence
from surefit.interpreter.value_queries import is_none, items_of, sequence
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
    if last == "TensorDataset":
        return (
            UNKNOWN
            if arguments.open
            else LibraryObject(name, {}, node, tuple(arguments.positional))
        )
    if last == "Subset":
        return LibraryObject(name, {}, node, (dataset,))
    if last == "random_split":
        part = LibraryObject("torch.utils.data.Subset", {}, node, (dataset,))
        lengths = items_of(arguments.get("lengths", 1, UNKNOWN))
        return sequence("list", [part] * len(lengths)) if lengths else UNKNOWN
    return UNKNOWN


def call_math(name: str, arguments: Arguments) -> AbstractValue:
    numbers = [value.value for value in arguments.positional if isinstance(value, Constant)]
    function = getattr(math, name.rpartition(".")[2], None)
    if len(numbers) != len(arguments.positional) or arguments.named or arguments.open:
        return UNKNOWN
    try:
        value = function(*numbers) if callable(function) else None
    except (TypeError, ValueError, ArithmeticError):
        return UNKNOWN
    return Constant(value) if isinstance(value, int | float) else UNKNOWN
