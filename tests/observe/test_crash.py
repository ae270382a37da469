"""The autopsy after real exceptions: the part that failed, its values, the module, the rows."""

from pathlib import Path

import pytest

from running import Ran, forked_observed, lines_about_surefit, observed, plainly, written
from surefit.doctor.observations import Crash, Frame, Value


def looked(tmp_path: Path, text: str, *, really: bool = False) -> Ran:
    """In a fork of a Python with torch in it, where that is needed; or really from nothing."""
    way = forked_observed if "torch" in text and not really else observed
    ran = way([written(tmp_path, script=text)], tmp_path)
    assert ran.code == 1, ran.err
    assert lines_about_surefit(ran.err, tmp_path) == []
    assert ran.faults == []
    return ran


def looked_as_plainly(tmp_path: Path, text: str) -> Ran:
    """The same; what is printed is what plain Python prints."""
    ran, plain = looked(tmp_path, text, really=True), plainly(["script.py"], tmp_path)
    assert (ran.out, ran.code) == (plain.out, plain.code)
    assert ran.err == plain.err.replace('"script.py"', f'"{tmp_path}/script.py"')
    return ran


def own(crash: Crash) -> Frame:
    frame = crash.own_frame
    assert frame is not None
    return frame


def value(crash: Crash, text: str) -> Value:
    found = crash.value(text)
    assert found is not None, [one.text for frame in crash.frames for one in frame.values]
    return found


@pytest.mark.slow
def test_expression_values_and_module_path(tmp_path: Path) -> None:
    crash = looked_as_plainly(
        tmp_path,
        """
        import torch
        from torch import nn

        class Block(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.up = nn.Linear(width, 8)
                self.down = nn.Linear(7, width)

            def forward(self, hidden):
                scaled = self.up(hidden) * 2
                return hidden + self.down(scaled)

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList([Block(4), Block(4)])

            def forward(self, rows):
                for block in self.blocks[1:]:
                    rows = block(rows)
                return rows

        model = Model()
        batch = {"rows": torch.zeros(2, 6, 4), "count": 12}
        model(batch["rows"])
        """,
    ).crash
    assert crash.kind == "RuntimeError"
    assert crash.said.startswith("RuntimeError: mat1 and mat2 shapes cannot be multiplied (12x8")
    frame = own(crash)
    assert (str(frame.place), frame.function) == ("script.py:12", "Block.forward")
    assert (frame.line, frame.expression) == (
        "return hidden + self.down(scaled)",
        "self.down(scaled)",
    )
    assert frame.span is not None
    assert (frame.span.column, frame.span.end_column) == (24, 41)
    assert frame.arguments == ("self", "hidden")
    assert value(crash, "scaled").shape == (2, 6, 8)
    assert value(crash, "scaled").requires_grad is True
    assert value(crash, "hidden").shape == (2, 6, 4)
    down = value(crash, "self.down")
    assert down.layer is not None
    assert (down.layer.sizes["in_features"], str(down.layer.made_at)) == (7, "script.py:8")
    assert crash.layer is not None
    assert (crash.layer.kind, crash.layer.path, crash.layer.root) == (
        "Linear",
        "blocks.1.down",
        "Model",
    )
    assert crash.frames[0].expression == 'model(batch["rows"])'
    assert value(crash, "batch['rows']").shape == (2, 6, 4)
    assert value(crash, "batch").members["count"].scalar == 12
    assert crash.frames[0].values[0].identity == crash.frames[0].values[0].identity != 0


@pytest.mark.slow
def test_the_same_object_has_the_same_identity(tmp_path: Path) -> None:
    crash = looked(
        tmp_path,
        """
        import torch
        def inner(logits, target):
            return logits.view(-1) + target.view(-1)
        labels = torch.arange(12).reshape(3, 4)
        inner(torch.ones(3, 3), labels[:, 1:])
        """,
    ).crash
    outer, inner = crash.frames
    assert inner.expression == "target.view(-1)"
    named = {one.text: one for one in inner.values}
    assert (named["target"].stride, named["target"].contiguous) == ((4, 1), False)
    assert (named["target"].base_shape, named["target"].base_contiguous) == ((12,), True)
    assert (named["target"].least, named["target"].greatest) == (1.0, 11.0)
    sliced = {one.text: one for one in outer.values}["labels[:, 1:]"]
    assert (sliced.shape, sliced.contiguous) == ((3, 3), False)
    texts = [one.text for frame in crash.frames for one in frame.values]
    identities = {one.identity for frame in crash.frames for one in frame.values}
    assert len(texts) > 3
    assert sliced.identity in identities


def test_columns_count_characters_not_bytes(tmp_path: Path) -> None:
    crash = looked_as_plainly(
        tmp_path,
        """
        größe, name = [1, 2], "é"
        print("übergröße", größe[3], "ä") if name else None
        """,
    ).crash
    frame = own(crash)
    assert frame.expression == "größe[3]"
    assert frame.span is not None
    assert (frame.span.column, frame.span.end_column) == (19, 27)
    assert value(crash, "größe").length == 2


def test_expression_over_several_lines(tmp_path: Path) -> None:
    crash = looked(
        tmp_path,
        """
        rows = [[1, 2, 3], [4], None]
        total = sum(
            len(row)
            for row in rows
        )
        """,
    ).crash
    assert own(crash).expression == "len(row)"
    assert value(crash, "row").kind == "NoneType"
    outer = crash.frames[0]
    assert outer.expression is not None
    assert outer.expression.startswith("sum(")
    named = {one.text: one for one in outer.values}
    assert (named["rows"].length, named["rows"].nones) == (3, 1)


@pytest.mark.slow
def test_ragged_lists_tell_their_lengths(tmp_path: Path) -> None:
    crash = looked(
        tmp_path,
        """
        import torch
        rows = [[1, 2, 3], [4, 5], [6]]
        torch.tensor(rows)
        """,
    ).crash
    ragged = value(crash, "rows")
    assert (ragged.kind, ragged.length, ragged.lengths) == ("list", 3, (3, 2, 1))


def test_raise_of_the_users_own(tmp_path: Path) -> None:
    crash = looked(
        tmp_path,
        """
        class TooShort(ValueError):
            pass
        def check(rows):
            if len(rows) < 3:
                raise TooShort(f"only {len(rows)}")
        check([1])
        """,
    ).crash
    assert (crash.kind, crash.said) == ("TooShort", "TooShort: only 1")
    assert own(crash).line.startswith("raise TooShort(")
    assert crash.frames[0].expression == "check([1])"


@pytest.mark.slow
def test_chained_exceptions_lead_to_the_first(tmp_path: Path) -> None:
    crash = looked_as_plainly(
        tmp_path,
        """
        import torch
        def read(at):
            try:
                return torch.ones(3)[at]
            except IndexError as error:
                raise LookupError(f"row {at}") from error
        def load():
            try:
                read(7)
            except LookupError:
                raise RuntimeError("no data")
        load()
        """,
    ).crash
    assert crash.said == "RuntimeError: no data"
    assert [link.said.partition(":")[0] for link in crash.chain] == ["IndexError", "LookupError"]
    assert [str(link.place) for link in crash.chain] == ["script.py:4", "script.py:6"]
    assert own(crash).expression == "torch.ones(3)[at]"
    assert [frame.function for frame in crash.frames] == ["<module>", "load", "read"]
    assert value(crash, "at").scalar == 7


@pytest.mark.slow
def test_no_code_of_the_users_is_run(tmp_path: Path) -> None:
    """The script prints whatever of its own is called; after the traceback that is nothing."""
    ran = looked_as_plainly(
        tmp_path,
        """
        import torch

        class Loud(torch.Tensor):
            @property
            def shape(self):
                print("shape")
                return super().shape
            def __repr__(self):
                print("repr")
                return "loud"
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                print("function", func.__name__)
                return super().__torch_function__(func, types, args, kwargs or {})

        class Held:
            __slots__ = ("one", "__dict__")
            def __init__(self):
                self.width = 5
            @property
            def size(self):
                print("property")
                return 1
            def __getattr__(self, name):
                print("getattr", name)
                raise AttributeError(name)
            def __len__(self):
                print("len")
                return 3
            def __eq__(self, other):
                print("eq")
                return True
            def __hash__(self):
                print("hash")
                return 1
            def __str__(self):
                print("str")
                return "held"
            __repr__ = __str__
            def __getitem__(self, key):
                print("getitem")
                return key
            def __iter__(self):
                print("iter")
                return iter(())
            def __del__(self):
                pass

        class Table(dict):
            def __getitem__(self, key):
                print("table")
                return super().__getitem__(key)
            def items(self):
                print("items")
                return super().items()

        loud, held = torch.ones(2, 3).as_subclass(Loud), Held()
        table = Table({"rows": loud, Held: 1})
        print("now")
        torch.ones(2).view(held.width, (loud, held.size, held[0], table["rows"]))
        """,
    )
    after = ran.out.partition("now\n")[2].split()
    assert after == ["property", "getitem", "table"], "the script itself asks for these three"
    crash = ran.crash
    assert value(crash, "loud").shape == (2, 3)
    assert (value(crash, "loud").least, value(crash, "loud").kind) == (1.0, "Loud")
    assert value(crash, "held.width").scalar == 5
    assert crash.value("held.size") is None
    assert value(crash, "table['rows']").shape == (2, 3)


@pytest.mark.slow
def test_wrapping_tensors_are_not_asked_for_their_values(tmp_path: Path) -> None:
    ran = looked(
        tmp_path,
        """
        import torch
        class Wrapped(torch.Tensor):
            @staticmethod
            def __new__(cls, inner):
                return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
            def __init__(self, inner):
                self.inner = inner
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                print("dispatch", func)
                raise NotImplementedError("none")
        wrapped = Wrapped(torch.ones(2, 3))
        wrapped + 1
        """,
    )
    assert ran.out == "dispatch aten.add.Tensor\n"
    wrapped = value(ran.crash, "wrapped")
    assert (wrapped.shape, wrapped.least) == ((2, 3), None)


@pytest.mark.slow
def test_collator_and_its_rows(tmp_path: Path) -> None:
    crash = looked(
        tmp_path,
        """
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Rows(Dataset):
            def __len__(self):
                return 6
            def __getitem__(self, at):
                labels = torch.tensor([1, -100, 2])
                return {"ids": [0] * (at + 1), "labels": labels, "text": "a" * at}

        def stacked(rows):
            return torch.tensor([row["ids"] for row in rows])

        rows = Rows()
        for batch in DataLoader(rows, batch_size=4, collate_fn=stacked):
            pass
        """,
    ).crash
    collator = crash.collator
    assert collator is not None
    assert (collator.kind, str(collator.made_at), collator.own) == ("stacked", "script.py:11", True)
    assert collator.rows == 4
    assert collator.kinds == {"ids": ("list",), "labels": ("Tensor",), "text": ("str",)}
    assert collator.lengths == {"ids": (1, 2, 3, 4), "labels": (3, 3, 3, 3), "text": (0, 1, 2, 3)}
    assert collator.supervised == {"labels": 8}
    assert collator.shared == 0
    assert collator.dataset is not None
    assert (collator.dataset.kind, collator.dataset.own) == ("Rows", True)


@pytest.mark.slow
def test_collator_that_is_an_object_is_not_asked_for_its_name(tmp_path: Path) -> None:
    ran = looked(
        tmp_path,
        """
        import functools, torch
        from torch.utils.data import DataLoader
        class Collate:
            def __init__(self, width):
                self.width = width
            def __getattr__(self, name):
                print("asked for", name)
                raise AttributeError(name)
            def __call__(self, rows):
                return torch.stack([torch.tensor(row) for row in rows])
        for batch in DataLoader([[1, 2], [3]], batch_size=2, collate_fn=Collate(2)):
            pass
        """,
    )
    assert "asked for __name__" not in ran.out
    assert ran.crash.collator is not None
    assert (ran.crash.collator.kind, ran.crash.collator.own) == ("Collate", True)
    assert str(ran.crash.collator.made_at) == "script.py:9"


@pytest.mark.slow
def test_steps_before_and_backward(tmp_path: Path) -> None:
    crash = looked(
        tmp_path,
        """
        import torch
        from torch import nn
        model = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(5):
            hidden = torch.sigmoid(model(torch.ones(3, 2)))
            if step == 3:
                hidden.add_(1)
            loss = hidden.mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    ).crash
    assert crash.steps == 3
    assert crash.in_backward
    assert own(crash).expression == "loss.backward()"


@pytest.mark.slow
def test_forward_of_a_function_with_its_own_gradient_is_no_backward(tmp_path: Path) -> None:
    crash = looked(
        tmp_path,
        """
        import torch
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.view(7)
        Double.apply(torch.ones(3, requires_grad=True))
        """,
    ).crash
    assert not crash.in_backward
    assert own(crash).expression == "x.view(7)"


def test_a_script_without_torch_stays_without(tmp_path: Path) -> None:
    ran = looked_as_plainly(
        tmp_path,
        """
        import atexit, sys
        atexit.register(lambda: print([name for name in sys.modules if name in ("torch", "numpy")]))
        rows = {"a": [1]}
        rows["b"]
        """,
    )
    assert ran.out == "[]\n"
    assert ran.crash.said == "KeyError: 'b'"
    assert value(ran.crash, "rows").members["a"].length == 1


@pytest.mark.slow
def test_arrays_and_the_file_they_lie_in(tmp_path: Path) -> None:
    crash = looked(
        tmp_path,
        """
        import numpy as np
        np.save("rows.npy", np.arange(12.0).reshape(3, 4))
        rows = np.load("rows.npy", mmap_mode="r")
        weights = np.array([[1.0, np.nan], [3.0, 4.0]])
        rows @ weights
        """,
    ).crash
    rows, weights = value(crash, "rows"), value(crash, "weights")
    assert (rows.shape, rows.dtype, Path(rows.file or "").name) == ((3, 4), "float64", "rows.npy")
    assert (weights.shape, weights.least, weights.greatest) == ((2, 2), 1.0, 4.0)


def test_a_very_deep_stack_is_told_from_both_ends(tmp_path: Path) -> None:
    crash = looked(
        tmp_path,
        """
        def deeper(n):
            return deeper(n + 1)
        deeper(0)
        """,
    ).crash
    assert crash.kind == "RecursionError"
    assert len(crash.frames) == 90
    assert crash.frames[0].function == "<module>"


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_code_says_that_frames_are_missing(backend: str, tmp_path: Path) -> None:
    script = written(
        tmp_path,
        script="""
            import sys
            import torch
            from torch import nn
            model = nn.Sequential(nn.Linear(4, 16), nn.Linear(15, 2))
            compiled = torch.compile(model, backend=sys.argv[1])
            compiled(torch.zeros(3, 4))
        """,
    )
    ran = observed([script, backend], tmp_path)
    assert ran.code == 1
    assert ran.crash.compiled
    assert own(ran.crash).expression == "compiled(torch.zeros(3, 4))"


@pytest.mark.slow
def test_what_the_compiler_gives_up_on_has_its_frames(tmp_path: Path) -> None:
    script = written(
        tmp_path,
        script="""
            import torch
            def step(x):
                print("breaks the graph")
                rows = [1, 2]
                return rows[5]
            torch.compile(step, backend="eager")(torch.ones(2))
        """,
    )
    crash = observed([script], tmp_path).crash
    assert (crash.kind, own(crash).place.line, crash.compiled) == ("IndexError", 5, False)
    assert own(crash).function.startswith("torch_dynamo_resume_in_step")
