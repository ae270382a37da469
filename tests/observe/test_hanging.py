"""Names of parameters, by the way to them."""

from torch import nn

from surefit.observe.inside.training import hanging


class Holder(nn.Module):
    """Holds layers in every way that people do."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2, bias=False)
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(2, 2, bias=False))])
        self.plain = [nn.Linear(2, 2, bias=False)]
        self.by_name = {"a": (nn.Linear(2, 2, bias=False),)}
        self.all_of_them = [self.first, self.blocks[0]]
        self.scales = [nn.Parameter(self.first.weight.detach().clone())]
        self.__dict__["aside"] = nn.Linear(2, 2, bias=False)


def named(module: nn.Module) -> dict[str, bool]:
    return {one.name: one.registered for one in hanging.parameters(module)}


def test_every_parameter_has_one_name_and_registered_ones_come_first() -> None:
    assert named(Holder()) == {
        "first.weight": True,
        "blocks.0.0.weight": True,
        "plain[0].weight": False,
        "by_name['a'][0].weight": False,
        "scales[0]": False,
        "aside.weight": False,
    }


def test_tied_parameters_are_one() -> None:
    model = nn.ModuleDict({"table": nn.Embedding(4, 2), "head": nn.Linear(2, 4, bias=False)})
    model["head"].weight = model["table"].weight
    assert named(model) == {"table.weight": True}


def test_wrappers_leave_no_trace_in_names() -> None:
    inner = nn.Sequential(nn.Linear(2, 2, bias=False))
    assert named(nn.DataParallel(inner)) == {"0.weight": True}
    wrapped = nn.Module()
    wrapped.add_module("_orig_mod", inner)
    assert named(wrapped) == {"0.weight": True}
    assert hanging.unwrapped(nn.DataParallel(wrapped)) is inner


def test_modules_without_parameters_have_none() -> None:
    assert not hanging.has_parameters(nn.CrossEntropyLoss())
    assert hanging.has_parameters(nn.LazyLinear(3))


def test_a_circle_ends() -> None:
    model = Holder()
    model.plain.append(model)  # type: ignore[arg-type]
    assert len(named(model)) == 6
