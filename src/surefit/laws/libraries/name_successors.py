"""What took the place of names that libraries have given up; the installed library decides."""

from collections.abc import Sequence

STANDS_FOR = {
    "transformers.AdamW": "torch.optim.AdamW",
    "transformers.optimization.AdamW": "torch.optim.AdamW",
    "transformers.AutoModelWithLMHead": "transformers.AutoModelForCausalLM",
    "transformers.AutoModelForVision2Seq": "transformers.AutoModelForImageTextToText",
    "transformers.EvaluationStrategy": "transformers.IntervalStrategy",
    "transformers.trainer_utils.EvaluationStrategy": "transformers.IntervalStrategy",
    "peft.prepare_model_for_int8_training": "peft.prepare_model_for_kbit_training",
    "datasets.load_metric": "evaluate.load",
    "numpy.float": "float",
    "numpy.int": "int",
    "numpy.bool": "bool",
    "numpy.object": "object",
    "numpy.str": "str",
    "numpy.complex": "complex",
    "numpy.float_": "numpy.float64",
    "numpy.Inf": "numpy.inf",
    "numpy.NaN": "numpy.nan",
    "numpy.NAN": "numpy.nan",
    "numpy.product": "numpy.prod",
    "numpy.cumproduct": "numpy.cumprod",
    "numpy.row_stack": "numpy.vstack",
    "numpy.in1d": "numpy.isin",
    "numpy.trapz": "numpy.trapezoid",
    "numpy.sometrue": "numpy.any",
    "numpy.alltrue": "numpy.all",
}
"""Full names that libraries have given up -> what does the same."""

ELSEWHERE = ("torch.optim", "torch.optim.lr_scheduler", "torch.nn", "torch.utils.data")
"""Where a name that another library has given up is looked for."""

METHODS = {"iteritems": "items", "applymap": "map", "as_matrix": "to_numpy", "append": ""}
"""Methods that tables of pandas had -> their new names; empty: nothing is called in its way."""
TABLES = ("DataFrame", "Series")

NOT_TAKEN_BY_TORCH = ("correct_bias", "no_deprecation_warning")
"""Arguments that the optimizers of transformers took, and those of torch do not."""

ONLY_RAISE = {
    "torch.solve": "torch.linalg.solve",
    "torch.lstsq": "torch.linalg.lstsq",
    "torch.matrix_rank": "torch.linalg.matrix_rank",
    "torch.symeig": "torch.linalg.eigh",
    "torch.eig": "torch.linalg.eig",
}
"""Functions that are kept only to raise -> what does the same."""
RIGHT_SIDE_FIRST = ("torch.solve", "torch.lstsq")
"""Took the right side first, and returned two results."""


def candidates(owner: str, name: str, *, of_value: bool) -> list[str]:
    """Full names that may stand in its place, the certain one first; `.items` is a method of the
    same value."""
    if of_value:
        return [f".{METHODS[name]}"] if METHODS.get(name) else []
    known = [STANDS_FOR[full]] if (full := f"{owner}.{name}") in STANDS_FOR else []
    same_package = owner.partition(".")[0] == "torch"
    return known + [f"{module}.{name}" for module in ELSEWHERE if not same_package]


def successor(
    owner: str, name: str, exist: Sequence[str], near: Sequence[str], *, of_value: bool
) -> str:
    """A candidate that exists, or the same name in other letters; empty where there is none."""
    same = [f"{owner}.{alike}" for alike in near if alike.lower() == name.lower()]
    known = [full for full in candidates(owner, name, of_value=of_value) if full in exist]
    return next(iter(known or same), "")


def is_optimizer(full: str) -> bool:
    module, _, name = full.rpartition(".")
    return module == "torch.optim" and name != "Optimizer"
