"""Every operation of a forward pass, and the first that lets an influence through."""

import os
import sys
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.experiments import OperationSeen
from surefit.observe.inside import origins, own_code
from surefit.observe.inside.autopsy.values import is_tensor
from surefit.observe.inside.experiments import apart, trees
from surefit.observe.inside.experiments.apart import (
    APART,
    CONSTANT,
    MIXED,
    PAIRS,
    InputChange,
    Others,
    Separation,
)
from surefit.observe.inside.experiments.live import Live, Tree
from surefit.observe.inside.experiments.reach import reach_of
from surefit.observe.inside.training import readable

MOST_ELEMENTS = 40_000_000
"""Of all results of a forward pass that are kept to be compared."""
PLAIN = (int, float, bool, str)
INDEX = (int, slice, type(...), type(None))
CALLS_MODULES = frozenset(("_call_impl", "_wrapped_call_impl", "__call__"))


class TooLargeError(Exception):
    """The results of a forward pass are too large to be kept."""


@dataclass(slots=True)
class OperationResults:
    """One operation of the first pass."""

    name: str
    results: list[Any]
    unknown: list[Any]
    """Tensors that it was given and that no operation before it gave back."""


@dataclass(slots=True)
class PassResults:
    """What the first pass did."""

    steps: list[OperationResults] = field(default_factory=list)
    elements: int = 0

    def keep(self, tensor: Any) -> Any:
        self.elements += tensor.numel()
        if self.elements > MOST_ELEMENTS:
            raise TooLargeError
        return tensor.detach().clone()


def first_mixing(live: Live, before: Tree, after: Tree, probe: InputChange) -> OperationSeen | None:
    """Runs the model on both inputs; None where nothing is certain."""
    mode = readable.torch().overrides.TorchFunctionMode
    first = PassResults()
    known: set[int] = set()
    alive: list[Any] = []

    class FirstPass(mode):  # type: ignore[misc,valid-type]
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            del types
            result = func(*args, **(kwargs or {}))
            results = _tensors(result)
            if results:
                given = _tensors((args, kwargs))
                news = [first.keep(member) for member in given if _is_unknown(member, known)]
                first.steps.append(
                    OperationResults(_name(func), [first.keep(member) for member in results], news)
                )
                alive.extend(results)
                known.update(map(id, results))
            return result

    with FirstPass():
        live.run(before)
    compare = _Compare(live, first.steps, probe)

    class SecondPass(mode):  # type: ignore[misc,valid-type]
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            del types
            result = func(*args, **(kwargs or {}))
            if not compare.ended:
                compare.look(func, args, kwargs or {}, result, sys._getframe(1))
            return result

    with SecondPass():
        outputs = live.run(after)
    if not compare.ended:
        given_back = [compare.waiting.get(id(tensor)) for tensor in outputs.values()]
        return next(filter(None, given_back), None)
    return compare.found


def _is_unknown(tensor: Any, known: set[int]) -> bool:
    return id(tensor) not in known and type(tensor) is not readable.torch().nn.Parameter


class _Compare:
    """The second pass, held against the first."""

    def __init__(self, live: Live, steps: list[OperationResults], probe: InputChange) -> None:
        self.live = live
        self.steps = steps
        self.probe = probe
        self.number = 0
        self.states: dict[int, Separation] = {}
        self.alive: list[Any] = []
        self.ended = False
        self.found: OperationSeen | None = None
        self.waiting: dict[int, OperationSeen] = {}
        """Of operations that give something else besides what they mix, as recurrent layers do: by
        what is mixed, until it is used."""

    def look(
        self, func: Any, args: Any, kwargs: dict[str, Any], result: Any, frame: FrameType
    ) -> None:
        results = _tensors(result)
        if not results:
            return
        step = self.steps[self.number] if self.number < len(self.steps) else None
        self.number += 1
        if step is None or step.name != _name(func) or len(step.results) != len(results):
            self.ended = True
            return
        with readable.looking():
            given = _tensors((args, kwargs))
            used = [self.waiting[id(tensor)] for tensor in given if id(tensor) in self.waiting]
            if used:
                self.ended, self.found = True, used[0]
                return
            before = self._given(step, given)
            if before is None:
                self.ended = True
                return
            states = [
                apart.kept(self.probe, was, now)
                for was, now in zip(step.results, results, strict=True)
            ]
        if self._finds_padding(results[0], states[0]):
            self.ended = True
            return
        mixed = [
            at
            for at, state in enumerate(states)
            if state.state == MIXED or _is_spread(given, before, results[at], state)
        ]
        if mixed and not any(state.state == MIXED for state in before):
            found = self._operation(func, args, kwargs, given, before, results[mixed[0]], frame)
            if len(mixed) == len(results):
                self.ended, self.found = True, found
                return
            self.waiting.update({id(results[at]): found for at in mixed})
        for tensor, state in zip(results, states, strict=True):
            self.states[id(tensor)] = state
            self.alive.append(tensor)

    def _finds_padding(self, result: Any, state: Separation) -> bool:
        """The model compares tokens with that of padding, which was replaced."""
        if not (isinstance(self.probe, Others) and self.probe.padding):
            return False
        return result.dtype is readable.torch().bool and state.state != CONSTANT

    def _given(self, step: OperationResults, given: list[Any]) -> list[Separation] | None:
        """What each tensor that it is given is; None where the passes cannot be compared."""
        unknown = iter(step.unknown)
        known = set(self.states)
        kept: list[Separation] = []
        for tensor in given:
            if id(tensor) in known:
                kept.append(self.states[id(tensor)])
            elif type(tensor) is readable.torch().nn.Parameter:
                kept.append(Separation(CONSTANT))
            else:
                was = next(unknown, None)
                if was is None:
                    return None
                kept.append(apart.kept(self.probe, was, tensor))
        return kept

    def _operation(
        self,
        func: Any,
        args: Any,
        kwargs: dict[str, Any],
        given: list[Any],
        before: list[Separation],
        result: Any,
        frame: FrameType,
    ) -> OperationSeen:
        seen = operation_seen(self.live, func, args, kwargs, result, frame)
        return replace(
            seen,
            inputs=tuple(tuple(map(int, tensor.shape)) for tensor in given),
            axes=tuple(state.axes for state in before),
            pairs=any(state.state == PAIRS for state in before),
            reach=reach_of(_name(func), given, result, self.probe.size),
        )


def operation_seen(
    live: Live, func: Any, args: Any, kwargs: dict[str, Any], result: Any, frame: FrameType
) -> OperationSeen:
    """Of any operation; nothing is known of rows yet."""
    module = _module(frame)
    own = _own(frame)
    shapes = tuple(tuple(map(int, tensor.shape)) for tensor in _tensors((args, kwargs)))
    return OperationSeen(
        name=_name(func),
        place=own_code.place(own) if own is not None else None,
        module=live.path_of(module),
        kind=type(module).__name__ if module is not None else "",
        created_at=origins.made_at(module) if module is not None else None,
        inputs=shapes,
        axes=((),) * len(shapes),
        output=tuple(map(int, result.shape)),
        numbers=bool(result.is_floating_point() or result.is_complex()),
        arguments=_plain(args, kwargs),
    )


def _is_spread(given: list[Any], before: list[Separation], result: Any, after: Separation) -> bool:
    """By broadcasting, rows of a side lie along another axis than those of the other: they
    have different numbers of axes, so that nobody has put them there on purpose."""
    sides = [tensor for tensor, state in zip(given, before, strict=True) if state.state == APART]
    if after.state != PAIRS or len(sides) != len(given) or len(sides) < 2:
        return False
    largest = max(tensor.dim() for tensor in sides)
    return largest == result.dim() and any(tensor.dim() < largest for tensor in sides)


def _tensors(tree: Any) -> list[Any]:
    return [leaf for _, leaf in trees.leaves(tree) if is_tensor(leaf)]


def _name(func: Any) -> str:
    return str(getattr(func, "__name__", type(func).__name__))


def _plain(args: Any, kwargs: dict[str, Any]) -> dict[str, str]:
    """Numbers and names that it is given; a shape or an index as it is written."""
    every = {**{str(at): value for at, value in enumerate(args)}, **kwargs}
    plain = {name: _written(value) for name, value in every.items()}
    return {name: text for name, text in plain.items() if text is not None}


def _written(value: Any) -> str | None:
    if type(value) in PLAIN:
        return str(value)
    if not isinstance(value, list | tuple):
        return None
    if all(type(member) is int for member in value):
        return repr(value)
    if not all(type(member) in INDEX for member in value):
        return None
    return ", ".join(map(_index, value))


def _index(member: Any) -> str:
    """`:-1`, `0`, `...`."""
    if not isinstance(member, slice):
        return "..." if member is ... else str(member)
    ends = ["" if end is None else str(end) for end in (member.start, member.stop)]
    return ":".join(ends if member.step is None else [*ends, str(member.step)])


def _module(frame: FrameType | None) -> Any:
    """The innermost module that is running."""
    torch = readable.torch()
    while frame is not None:
        code = frame.f_code
        if code.co_name in CALLS_MODULES or code.co_name == "forward":
            module = frame.f_locals.get("self")
            if isinstance(module, torch.nn.Module):
                return module
        frame = frame.f_back
    return None


def _own(frame: FrameType | None) -> FrameType | None:
    while frame is not None:
        file = frame.f_code.co_filename
        if own_code.is_own(file) and os.path.basename(file):
            return frame
        frame = frame.f_back
    return None


def place_of(frame: FrameType | None) -> Place | None:
    own = _own(frame)
    return own_code.place(own) if own is not None else None
