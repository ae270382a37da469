"""What probes answer on frames that are still alive; each file in `probes/` is one."""

import sys
from types import FrameType
from typing import Any

import numpy as np
import torch

from surefit.doctor.observations import Question
from surefit.observe.inside.autopsy import questions


def holding(**names: Any) -> FrameType:
    """A frame with these names in it."""
    exec("import sys\nhere = sys._getframe()", names)
    found = names["here"]
    assert isinstance(found, FrameType)
    return found


def ask(kind: str, *frames: FrameType, **about: Any) -> dict[str, Any] | None:
    return questions.answer(Question(kind, "1", {"frame": 0, **about}), frames).said


def asked(kind: str, *frames: FrameType, **about: Any) -> dict[str, Any]:
    said = ask(kind, *frames, **about)
    assert said is not None
    return said


def test_every_probe_is_found_by_the_name_of_its_file() -> None:
    assert {"as-arrays", "ids-outside", "workers-begun"} <= questions.probes().keys()
    assert ask("no-such-probe") is None


class TestValues:
    """Of one expression in a frame."""

    def test_tensors_with_a_graph_are_equal_as_arrays(self) -> None:
        grown = torch.ones(2, 3, requires_grad=True) * 2
        frame = holding(losses=[grown.sum(), (grown * torch.nan).sum()])
        said = asked("as-arrays", frame, text="losses")
        assert said == {"equal": True, "elements": 2, "single": True}
        assert ask("as-arrays", holding(losses=[1.0]), text="losses") is None

    def test_elements_outside_of_bounds(self) -> None:
        frame = holding(y=torch.tensor([0, 3, 3, -1, 2]))
        said = asked("count-outside", frame, text="y", least=0, greatest=2)
        assert said == {"outside": 3, "elements": 5, "first": [-1, 3]}
        assert ask("count-outside", frame, text="gone", least=0, greatest=2) is None

    def test_leaves_that_want_a_gradient(self) -> None:
        weight = torch.ones(2, requires_grad=True)
        frame = holding(weight=weight, made=weight * 2, plain=torch.ones(2))
        said = [asked("leaf", frame, text=one)["leaf"] for one in ("weight", "made", "plain")]
        assert said == [True, False, False]

    def test_reshape_gives_what_a_view_of_a_copy_gives(self) -> None:
        frame = holding(x=torch.arange(6).reshape(2, 3).t())
        said = asked("reshape", frame, text="x", shape=[-1])
        assert said == {"equal": True, "elements": 6, "shape": [6]}

    def test_parts_of_several_widths_are_there_when_padded_and_joined(self) -> None:
        frame = holding(parts=[np.ones((2, 3)), np.full((1, 5), 7.0)])
        said = asked("padded-together", frame, text="parts", axis=1, along=0, fill=-100)
        assert said == {"equal": True, "elements": 11, "shape": [3, 5]}
        assert ask("padded-together", holding(parts=[]), text="parts") is None

    def test_shapes_of_a_list_that_holds_nothing_else(self) -> None:
        frame = holding(parts=[torch.tensor([4, -2]), torch.zeros(3)], mixed=[torch.ones(1), "a"])
        said = asked("shapes-in-list", frame, text="parts")
        assert said["shapes"] == [[2], [3]]
        assert (said["kinds"], said["dtypes"]) == (["tensor"], ["float32", "int64"])
        assert said["least"] == -2
        assert ask("shapes-in-list", frame, text="mixed") is None

    def test_numbers_below_zero_wherever_they_lie(self) -> None:
        frame = holding(lists=[[5, -100], [-100, 2]], array=np.array([[1, -1]]), floats=[0.5])
        said = asked("negative-numbers", frame, text="lists", tokenizer="tok")
        assert (said["below"], said["elements"], said["first"]) == (2, 4, [-100])
        assert (said["kind"], said["greatest"], said["pad"]) == ("lists", 5, None)
        assert asked("negative-numbers", frame, text="array", tokenizer="tok")["kind"] == "array"
        assert ask("negative-numbers", frame, text="floats", tokenizer="tok") is None


class TestLabels:
    """Values and counts of what a loss was given."""

    def test_values_counts_and_what_does_not_count(self) -> None:
        frame = holding(y=torch.tensor([2, 0, 2, -100]))
        said = asked("labels", frame, text="y", ignored=-100)
        assert (said["elements"], said["total"], said["whole"]) == (3, 4.0, True)
        assert (said["values"], said["counts"]) == ([0.0, 2.0], [1, 2])
        assert not asked("labels", holding(y=torch.tensor([0.5])), text="y")["whole"]

    def test_rows_with_a_single_one(self) -> None:
        frame = holding(y=torch.tensor([[0, 1, 0], [0, 0, 1], [1, 1, 0]]))
        said = asked("labels", frame, text="y", axis=1)
        assert (said["rows"], said["indicator"], said["single"]) == (3, True, 2)
        assert (said["fewest_ones"], said["most_ones"], said["places"]) == (1, 2, 3.0)


class TestIds:
    """What a table has no row for."""

    def test_padding_at_the_ends_of_rows(self) -> None:
        frame = holding(ids=torch.tensor([[3, 4, -1, -1], [5, 6, 7, -1]]))
        said = asked("ids-outside", frame, text="ids", rows=10)
        assert (said["outside"], said["first"], said["least_inside"]) == (3, [-1], 3)
        assert (said["at_the_end"], said["at_the_start"]) == (True, False)
        assert (said["most_in_a_row"], said["fewest_in_a_row"]) == (2, 1)
        assert said["counts_up_from"] is None

    def test_positions_count_up_but_for_the_filler(self) -> None:
        frame = holding(ids=torch.tensor([[2, 3, 4, 5], [2, 3, 1, 1]]))
        assert asked("ids-outside", frame, text="ids", rows=5, filler=1)["counts_up_from"] == 2
        assert asked("ids-outside", frame, text="ids", rows=5)["counts_up_from"] is None


class TestNames:
    """What a library has."""

    def test_names_that_are_gone_and_what_exists_in_their_place(self) -> None:
        exist = ["float", "numpy.float64", "numpy.gone", "nowhere.at.all"]
        said = asked("names", module="numpy", names=["float", "zeros", "Inf"], exist=exist)
        assert (said["owner"], said["package"]) == ("numpy", "numpy")
        assert said["missing"] == ["float", "Inf"]
        assert said["exist"] == ["float", "numpy.float64"]
        assert said["version"] == np.__version__

    def test_names_of_the_class_of_a_value(self) -> None:
        said = asked("names", holding(x=np.ones(2)), text="x", names=["append"], exist=[".sum"])
        assert (said["owner"], said["missing"], said["exist"]) == ("ndarray", ["append"], [".sum"])
        assert ask("names", holding(), text="x", names=["append"], exist=[]) is None

    def test_what_functions_take(self) -> None:
        frame = holding(torch=torch)
        texts = ["torch.optim.AdamW", "torch.optim.SGD.step", "torch.gone"]
        functions = asked("signature", frame, texts=texts)["functions"]
        assert list(functions) == texts[:2]
        assert {"params", "lr", "eps"} <= set(functions["torch.optim.AdamW"]["takes"])
        assert "correct_bias" not in functions["torch.optim.AdamW"]["takes"]
        assert functions["torch.optim.AdamW"]["package"] == "torch"


def load_state_dict(self: Any, state_dict: Any) -> FrameType:
    """Stands where torch's own does on the way to a crash."""
    assert self is not None
    assert state_dict is not None
    return sys._getframe()


class TestStateDicts:
    """Names and shapes of what is loaded, and of what is given."""

    def test_names_and_shapes_of_both_sides(self) -> None:
        model = torch.nn.Sequential(torch.nn.Linear(2, 3))
        given = {"0.weight": torch.ones(4, 2), "epoch": 3, "model": model.state_dict()}
        said = asked("state-dict", load_state_dict(model, given))
        assert said["kind"] == "Sequential"
        assert said["own"] == {"0.weight": [3, 2], "0.bias": [3]}
        assert said["given"] == {"0.weight": [4, 2]}
        assert said["other"] == ["epoch", "model"]
        assert said["inside"] == {"model": {"0.weight": [3, 2], "0.bias": [3]}}
        assert ask("state-dict", holding()) is None

    def test_the_same_under_a_key(self) -> None:
        model = torch.nn.Linear(2, 3)
        frame = load_state_dict(model, {"model": model.state_dict(), "other": {}})
        assert asked("names-under-a-key", frame, key="model") == {"equal": True, "elements": 2}
        assert not asked("names-under-a-key", frame, key="other")["equal"]

    def test_the_same_but_for_a_prefix(self) -> None:
        model = torch.nn.Linear(2, 3)
        longer = {f"module.{name}": one for name, one in model.state_dict().items()}
        frame = load_state_dict(model, longer)
        said = asked("names-without-prefix", frame, prefix="module.", given=True)
        assert said == {"equal": True, "elements": 2}
        assert not asked("names-without-prefix", frame, prefix="model.", given=True)["equal"]

    def test_what_an_optimizer_keeps_and_what_was_saved(self) -> None:
        head, body = torch.nn.Linear(2, 1), torch.nn.Linear(3, 3)
        small = torch.optim.Adam(head.parameters())
        head(torch.ones(1, 2)).sum().backward()
        small.step()
        large = torch.optim.Adam([*body.parameters(), *head.parameters()])
        said = asked("optimizer-state", load_state_dict(large, small.state_dict()))
        assert said["kind"] == "Adam"
        assert [one["shape"] for one in said["groups"][0]] == [[3, 3], [3], [1, 2], [1]]
        assert [one["state"] for one in said["groups"][0]] == [{}, {}, {}, {}]
        assert said["saved"] == [[[1, 2], [1]]]
        assert ask("optimizer-state", holding()) is None


class Scaled(torch.nn.Module):
    """Holds a tensor as a plain attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
        self.scale = torch.ones(2, dtype=torch.float64)

    def forward(self, x: Any, mask: Any = None, **others: Any) -> FrameType:
        assert x is not None
        assert mask is None
        assert not others
        return sys._getframe()


class TestModules:
    """What modules of the frames hold and take."""

    def test_plain_tensors_of_a_module(self) -> None:
        said = asked("plain-tensors", Scaled().forward(1))
        assert [(one["name"], one["dtype"]) for one in said["plain"]] == [("scale", "float64")]
        assert said["dtypes"] == ["float32"]
        assert ask("plain-tensors", holding()) is None

    def test_what_forward_takes_of_the_largest_module(self) -> None:
        said = asked("forward", holding(model=Scaled(), small=torch.nn.Identity()))
        assert (said["kind"], said["takes"], said["needs"]) == ("Scaled", ["x", "mask"], ["x"])
        assert said["open"]
        assert ask("forward", holding(x=1)) is None

    def test_parameters_with_and_without_a_gradient(self) -> None:
        model = Scaled()
        model.layer.bias.requires_grad_(False)
        frame = model.forward(1)
        said = asked("missing-gradients", frame)
        assert (said["root"], said["present"]) == ("Scaled", 0)
        assert (said["frozen"], said["unused"]) == (["layer.bias"], ["layer.weight"])


class DataLoader:
    """What `unpicklable` takes for a loader: it goes by the name."""

    def __init__(self, dataset: Any, collate_fn: Any) -> None:
        self.dataset = dataset
        self.collate_fn = collate_fn


class _MultiProcessingDataLoaderIter:
    """What `workers-begun` takes for an iterator with workers."""

    def __init__(self, workers: list[Any]) -> None:
        self._workers = workers


class Ended:
    """A worker that has ended."""

    exitcode = -9


class TestLoaders:
    """Of loaders and rows."""

    def test_what_cannot_be_sent(self) -> None:
        frame = holding(loader=DataLoader([1, 2], lambda rows: rows))
        (part,) = asked("unpicklable", frame)["parts"]
        assert (part["part"], part["kind"]) == ("collate_fn", "function")
        assert part["line"] > 0
        assert asked("unpicklable", holding(loader=DataLoader([1], print)))["parts"] == []

    def test_how_workers_have_ended(self) -> None:
        frame = holding(self=_MultiProcessingDataLoaderIter([Ended(), Ended()]))
        assert asked("workers-begun", frame) == {"kinds": ["Ended"], "codes": [-9, -9]}
        assert ask("workers-begun", holding()) is None

    def test_rows_without_a_text(self) -> None:
        rows = [{"text": "a", "label": 1}, {"text": None, "label": 0}, {"text": float("nan")}]
        tables = asked("missing-texts", holding(rows=rows))["tables"]
        ours = [one for one in tables if one["name"] == "rows"]
        assert [(one["column"], one["missing"], one["first"]) for one in ours] == [
            ("text", 2, [1, 2])
        ]
