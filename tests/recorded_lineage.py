"""Runs a small program with its expressions recorded, in this process."""

import ast
import linecache
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from surefit.lineage.asking import lineage_from
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import ProducerGraph
from surefit.observe.inside.lineage import answering, records, regions
from surefit.observe.inside.lineage.records import Records


@contextmanager
def recording(fault: dict[str, int] | None = None) -> Iterator[Records]:
    regions.regions.clear()
    kept = records.start(fault)
    try:
        yield kept
    finally:
        records.records = None


def run(source: str, folder: Path, kept: Records, name: str = "program.py") -> dict[str, Any]:
    """Executes a program; `ask(x)` in it keeps the lineage of `x`, under `asked`; `stepped(n)` says
    that an optimizer has."""
    file = folder / name
    file.write_text(source)
    linecache.checkcache(str(file))
    tree = ast.parse(source)
    records.put_in(tree, str(file), source.encode())
    asked: list[Lineage] = []

    def ask(value: object) -> None:
        state = next(
            one for one in kept.states.values() if one.pending and one.pending[-1].value is value
        )
        told = answering.of_value(kept, state.pending[-1].serial, "asked")
        graph = msgspec.convert(told, ProducerGraph, strict=False)
        asked.append(lineage_from(graph, graph.roots[0]))

    names: dict[str, Any] = {"__name__": "program", "__file__": str(file)}
    names |= {"ask": ask, "stepped": kept.stepped}
    exec(compile(tree, str(file), "exec"), names)
    names["asked"] = asked
    return names


def texts(lineage: Lineage) -> list[str]:
    return [one.text for one in lineage.producers]
