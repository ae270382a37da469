"""Wrapped source means what it meant before."""

import inspect
import pickle
import sys
import traceback
from pathlib import Path
from types import ModuleType

import pytest

from recorded_lineage import recording, run
from surefit.observe.inside.lineage import regions

PROGRAMS = {
    "generators": """
def numbers(n):
    got = yield n
    while got:
        got = yield got * 2
    return 9
def outer():
    result = yield from numbers(3)
    yield result
g = outer()
result = [next(g), g.send(4), g.send(0)]
""",
    "async": """
import asyncio
async def later(x):
    await asyncio.sleep(0)
    return x + 1
class Context:
    async def __aenter__(self): return 5
    async def __aexit__(self, *_): return False
async def stream():
    for i in range(3):
        yield i
async def main():
    async with Context() as five:
        found = [await later(i) async for i in stream() if i]
        async for last in stream():
            pass
        return five, found, last
result = asyncio.run(main())
""",
    "match": """
from dataclasses import dataclass
@dataclass
class Point:
    x: int
    y: int = 0
def kind(value):
    match value:
        case 0 | 1: return "small"
        case [a, *rest] if len(rest) > 1: return a, rest
        case {"k": k, **others}: return k, others
        case Point(x=1, y=y): return "point", y
        case str() as text: return text
        case _: return None
result = [kind(v) for v in (1, [1, 2, 3], {"k": 2, "m": 3}, Point(1, 4), "t", 5.0)]
""",
    "classes": """
class Base:
    kinds = []
    def __init_subclass__(cls, tag="none"):
        cls.tag = tag
        Base.kinds.append(tag)
    def __init__(self, x): self.x = x
class Made(Base, tag="made"):
    __slots_ = ("a",)
    width: int = 2 + 3
    sizes = [width_ * 2 for width_ in (1, 2)]
    def __init__(self, x):
        super().__init__(x)
        self.__hidden = x * 2
    @property
    def hidden(self): return self.__hidden
    @staticmethod
    def plain(): return "plain"
    @classmethod
    def named(cls, **kw): return cls.__name__, kw
    def cls(self): return __class__
m = Made(4)
result = (m.x, m.hidden, Made.plain(), m.named(a=1), m.width, m.sizes, Base.kinds, m.cls() is Made)
""",
    "walrus and strings": """
import re
text = "a=1, b=22"
if (m := re.search(r"b=(\\d+)", text)) and (n := int(m[1])) > 3:
    width = 6
    result = f"{n:>{width}}|{n!r:5}|{text=}|{'x' * 3}" f"{[i for i in range(3)]}"
values = [y := 1, y ** 2, *(z for z in range(2))]
result = result, values, [w := q for q in (1, 2)], w
""",
    "names": """
import sys
total = 0
def count():
    global total
    total += 1
    return sorted(locals()), "total" in globals()
def counter():
    n = 0
    def up(by=1, *more, key=None, **rest):
        nonlocal n
        n += by
        return n, more, key, rest
    return up
up = counter()
up()
result = count(), total, up(2, 3, key=4, z=5), eval("total + 1"), (lambda a, b=2: a + b)(1)
""",
    "targets": """
class Box: pass
b, d = Box(), {}
b.x = d["k"] = [1, 2]
b.x += [3]
d["k"][0] += 5
(p, [q, *r]), s = (1, [2, 3, 4]), "s"
for b.i, d["j"] in [(1, 2), (3, 4)]:
    pass
for i, (u, v) in enumerate(zip("ab", "cd")):
    continue
else:
    done = True
x = [0, 1, 2, 3]
x[1:3] = [9]
del x[0], d["j"]
a = z = 3
a **= 2
c: int = 4
e: int
result = b.x, d, p, q, r, s, b.i, i, u, v, done, x, a, z, c
""",
    "handlers": """
def f(x):
    try:
        return 1 / x
    except ZeroDivisionError as error:
        return str(error)
    finally:
        seen.append(x)
seen = []
from contextlib import suppress, ExitStack
with suppress(KeyError), ExitStack() as stack:
    {}["k"]
assert seen == [], "never"
result = f(0), f(2), seen
""",
    "decorators": """
import functools
@functools.lru_cache(maxsize=2 + 2)
def cached(n): return n if n < 2 else cached(n - 1) + cached(n - 2)
@functools.wraps(cached)
def other(*args): return cached(*args)
result = other(12), cached.cache_info().maxsize
""",
    "short circuits": """
calls = []
def t(x):
    calls.append(x)
    return x
result = t(0) or t(2), t(0) and t(3), t(1) if t(0) else t(4), 1 < t(2) < t(1) < t(9), calls
""",
}


PROGRAMS["loops"] = """
def walk(n, pairs=()):
    found = []
    for i in range(n):
        with_names = [globals_ for globals_ in globals() if globals_ == "walk"]
        if i % 7 == 3:
            continue
        for j, (a, b) in enumerate(pairs):
            try:
                found.append((lambda q, r=j: q * 2 + r)(a) + sum(k * b for k in range(i) if k % 2))
            except TypeError:
                break
        else:
            found.append(sum(1 for _ in with_names))
    left = n
    while left > 0 and (half := left // 2) >= 0:
        left = half
        if left == 1:
            break
    else:
        found.append("else")
    return found, left
def several(n):
    for i in range(n):
        def inner(x, i=i):
            return x + i
        class Box:
            size = i
            sizes = [size, *(k for k in range(2))]
        yield inner(i), Box.sizes, {k: v for k, v in zip("ab", [i, i + 1])}, {x for x in "aab"}
turns = [[x * y for y in range(x) if y] for x in range(9)]
functions = [lambda x, i=i: x + i for i in range(9)]
names = name = value = 0
for name, value in globals().items():
    names += not name.startswith("__") and name not in ("ask", "stepped")
result = walk(40, [(1, 2), (3, 4)]), walk(3, [("a", None)]), list(several(12)), turns, names
result = result, [f(1) for f in functions], [x for row in turns for x in row if x > 3]
"""


@pytest.mark.parametrize("left_out", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_it_gave(
    name: str, left_out: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain: dict[str, object] = {"__name__": "program"}
    exec(compile(PROGRAMS[name], "program.py", "exec"), plain)
    if left_out:
        monkeypatch.setattr(regions, "FREE_NOTES", -1)
        monkeypatch.setattr(regions, "FIRST_TURNS", 0)
        monkeypatch.setattr(regions, "FIRST_GAP", 2)
    with recording() as kept:
        wrapped = run(PROGRAMS[name], tmp_path, kept)
    assert wrapped["result"] == plain["result"]
    assert kept.total > 5


SOURCE = '''"""Docs."""
from __future__ import annotations

LIMIT: int = 3


class Row:
    """A row."""

    def __init__(self, value: Later) -> None:
        self.value = value


def broken(row):
    """Fails."""
    return (
        row.value
        + undefined(row, LIMIT)
    )
'''


def test_source_names_and_lines_are_those_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with recording() as kept:
        names = run(SOURCE, tmp_path, kept, "rows_of_mine.py")
    module = ModuleType("program")
    vars(module).update(names)
    monkeypatch.setitem(sys.modules, "program", module)
    row = names["Row"](3)
    assert names["__doc__"] == "Docs."
    assert names["broken"].__doc__ == "Fails."
    assert names["Row"].__init__.__annotations__ == {"value": "Later", "return": "None"}
    assert "undefined(row, LIMIT)" in inspect.getsource(names["broken"])
    assert pickle.loads(pickle.dumps(row)).value == 3
    with pytest.raises(NameError) as caught:
        names["broken"](row)
    last = traceback.extract_tb(caught.tb)[-1]
    assert (last.filename, last.lineno) == (str(tmp_path / "rows_of_mine.py"), 18)
    assert last.colno == SOURCE.splitlines()[17].index("undefined")


def test_expressions_are_not_noted_when_nobody_asks(tmp_path: Path) -> None:
    with recording() as kept:
        names = run("def f(x):\n    return x + 1\n", tmp_path, kept)
    before = kept.total
    assert names["f"](1) == 2
    assert kept.total == before
