"""Lines that choose a low precision for a model are found, and written in float32."""

import pytest

from surefit.remedies.in_float32 import choices
from surefit.source.edits import patched
from surefit.source.reading import Source

HEAD = "import torch\nfrom torch import nn\nfrom transformers import AutoModel\n"


def in_float32(line: str, dtype: str) -> list[str]:
    source = Source("train.py", HEAD + line)
    return [
        patched(one.in_float32, source.text).removeprefix(HEAD) for one in choices(source, dtype)
    ]


@pytest.mark.parametrize(
    ("line", "dtype", "expected"),
    [
        ("model = nn.Linear(2, 2).half()", "float16", "model = nn.Linear(2, 2)"),
        ("m = nn.Linear(2, 2)\nm.half()\n", "float16", "m = nn.Linear(2, 2)\nm.float()\n"),
        ("m = nn.Linear(2, 2)\nm = m.bfloat16()", "bfloat16", "m = nn.Linear(2, 2)\nm = m"),
        (
            "m = nn.Linear(2, 2).to('cuda', torch.float16)",
            "float16",
            "m = nn.Linear(2, 2).to('cuda', torch.float32)",
        ),
        (
            "m = AutoModel.from_pretrained('x', torch_dtype=torch.bfloat16)",
            "bfloat16",
            "m = AutoModel.from_pretrained('x', torch_dtype=torch.float32)",
        ),
        (
            "m = AutoModel.from_pretrained('x', dtype='bfloat16')",
            "bfloat16",
            "m = AutoModel.from_pretrained('x', dtype=torch.float32)",
        ),
        (
            "kind = torch.float16\nm = AutoModel.from_pretrained('x', dtype=kind)",
            "float16",
            "kind = torch.float32\nm = AutoModel.from_pretrained('x', dtype=kind)",
        ),
        (
            "torch.set_default_dtype(torch.bfloat16)",
            "bfloat16",
            "torch.set_default_dtype(torch.float32)",
        ),
        (
            "m = make()\nm.half()\nuse(m.parameters())",
            "float16",
            "m = make()\nm.float()\nuse(m.parameters())",
        ),
        (
            "m = nn.Linear(2, 2, dtype=torch.bfloat16)",
            "bfloat16",
            "m = nn.Linear(2, 2, dtype=torch.float32)",
        ),
    ],
)
def test_each_way_to_choose_it(line: str, dtype: str, expected: str) -> None:
    assert in_float32(line, dtype) == [expected]


def test_inputs_change_along_with_the_model_and_autocast_stays() -> None:
    text = (
        "m = nn.Linear(2, 2).half()\n"
        "x = torch.ones(3, 2, dtype=torch.float16)\n"
        "y = load().half()\n"
        "with torch.autocast('cuda', dtype=torch.float16):\n"
        "    m(x)\n"
    )
    assert in_float32(text, "float16") == [
        "m = nn.Linear(2, 2).float()\n"
        "x = torch.ones(3, 2, dtype=torch.float32)\n"
        "y = load().float()\n"
        "with torch.autocast('cuda', dtype=torch.float16):\n"
        "    m(x)\n"
    ]


@pytest.mark.parametrize(
    "line",
    [
        "x = torch.randn(2).half()",
        "batch = batch.to(torch.float16)",
        "m = nn.Linear(2, 2).bfloat16()",
        "m = nn.Linear(2, 2).to('cuda')",
        "with torch.autocast('cuda', dtype=torch.float16): pass",
        "m = AutoModel.from_pretrained('x')",
    ],
)
def test_what_is_no_choice_of_float16_for_a_model(line: str) -> None:
    assert in_float32(line, "float16") == []
