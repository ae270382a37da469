"""What of large libraries the main process imports, so that a second run can have it beforehand."""

from types import ModuleType

from surefit.doctor.observations import Imported
from surefit.observe.inside import own_code, spool
from surefit.observe.inside.after_import import after_import

LARGE = (
    "accelerate",
    "bitsandbytes",
    "datasets",
    "diffusers",
    "evaluate",
    "jax",
    "keras",
    "lightning",
    "matplotlib",
    "numpy",
    "pandas",
    "peft",
    "pyarrow",
    "pytorch_lightning",
    "scipy",
    "seaborn",
    "sentence_transformers",
    "sklearn",
    "tensorflow",
    "timm",
    "tokenizers",
    "torch",
    "torchaudio",
    "torchmetrics",
    "torchvision",
    "transformers",
    "trl",
)
PARTS = (
    "datasets.arrow_dataset",
    "torch._dynamo",
    "torch._inductor",
    "transformers.generation.utils",
    "transformers.modeling_utils",
    "transformers.tokenization_utils_base",
    "transformers.tokenization_utils_tokenizers",
    "transformers.trainer",
)
"""Of these libraries, imported when they are first used; each takes tenths of a second."""


def note(module: ModuleType) -> None:
    file = getattr(module, "__file__", None)
    if file and not own_code.is_own(file) and spool.process().role == "main":
        spool.saw(Imported(module.__name__, file))


for _name in (*LARGE, *PARTS):
    after_import(_name)(note)
