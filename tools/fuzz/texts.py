"""Hostile rows, settings, logs, notebooks and scripts: what is written as text."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

Text = Callable[[Random], str | bytes]

EVIL = "\x1b[2J\x1b]0;title\x07\u202eevil\u200b\x9b31m"
SIDE_EFFECT = "open('executed', 'w').close()"


def rarely(random: Random, huge: int, usual: int = 100_000) -> int:
    """What is huge takes seconds: one in twenty is."""
    return huge if random.random() < 0.05 else usual


def row(random: Random) -> dict[str, Any]:
    words = ("river", "blue", "Mara", "naïve", "two words", "3.14", "日本", "😀")
    return {"input": " ".join(random.choices(words, k=6)), "target": random.choice(words)}


def rows(random: Random) -> list[dict[str, Any]]:
    return [row(random) for _ in range(8)]


def json_lines(random: Random, *more: str | bytes) -> bytes:
    lines: list[str | bytes] = [json.dumps(values) for values in rows(random)]
    lines[random.randrange(8) : 0] = more
    for line in more:
        lines.insert(random.randrange(len(lines) + 1), line)
    return b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines) + b"\n"


def deep(random: Random) -> str:
    depth = random.choice((300, 1000, 5000, 100_000))
    opening, closing = random.choice((("[", "]"), ('{"a":', "}")))
    return opening * depth + "1" + closing * depth


def odd_value(random: Random) -> Any:
    """A value of JSON that no reader waits for."""
    return random.choice(
        (
            *(None, True, -1, 1e308, 2**70, "", EVIL, [], {}, [[]], [None], {"": None}, "\0"),
            *("x" * 5000, list(range(50)), {"input": {"input": {}}}, [{"role": 1}], "\ud800"),
            *(
                [{"role": "user", "content": None}],
                [{"from": "gpt", "value": []}],
                -0.0,
                "1" * 5000,
            ),
        )
    )


def odd_row(random: Random) -> str:
    key = random.choice(
        ("input", "target", "messages", "conversations", "instruction", "output", "text", EVIL, "")
    )
    return json.dumps({**row(random), key: odd_value(random)})


JSON_VALUES: dict[str, Text] = {
    "nested deeply": deep,
    "nested deeply in a row": lambda r: '{"input": ' + deep(r) + ', "target": "x"}',
    "integer of 5,000 digits": lambda _: '{"input": ' + "9" * 5000 + ', "target": "x"}',
    "float of 5,000 digits": lambda _: '{"input": 1' + "0" * 5000 + '.5, "target": "x"}',
    "very many keys": lambda r: (
        "{" + ",".join(f'"key {n}": {n}' for n in range(rarely(r, 200_000, 20_000))) + "}"
    ),
    "very long key": lambda r: (
        '{"' + "k" * rarely(r, 2_000_000) + '": 1, "input": "a", "target": "b"}'
    ),
    "very long string": lambda r: json.dumps({"input": "x" * rarely(r, 3_000_000), "target": "y"}),
    "long string of escapes": lambda _: '{"input": "' + "\\u001b" * 100_000 + '", "target": "y"}',
    "key twice": lambda _: '{"input": "a", "input": "b", "target": "c"}',
    "many keys twice": lambda _: (
        "{" + ",".join(f'"k{n % 20_000}": {n}' for n in range(40_000)) + "}"
    ),
    "NaN": lambda r: f'{{"input": {r.choice(("NaN", "-Infinity", "1e999"))}, "target": "x"}}',
    "half a character": lambda _: '{"input": "\\ud800", "target": "\\udc00"}',
    "half a character in a key": lambda _: '{"\\ud800": 1, "input": "a", "target": "b"}',
    "NUL": lambda _: '{"input": "\\u0000", "target": "\\u0000"}',
    "escapes": lambda _: json.dumps({"input": EVIL, "target": EVIL}, ensure_ascii=False),
    "escapes in a key": lambda _: json.dumps({EVIL: EVIL}, ensure_ascii=False),
    "no object": lambda r: r.choice(("1", '"x"', "null", "[]", "[[]]", "true")),
    "odd value": odd_row,
    "odd turns": lambda r: json.dumps(
        {r.choice(("messages", "conversations")): [odd_value(r), row(r)]}
    ),
    "very many turns": lambda r: json.dumps(
        {"messages": [{"role": "user", "content": "x"}] * r.choice((2000, 100_000))}
    ),
    "not UTF-8": lambda _: b'{"input": "\xff\xed\xa0\x80", "target": "x"}',
    "raw control characters": lambda _: b'{"input": "\x1b[31m\x00", "target": "x"}',
}


def lines_with(value: Text) -> Text:
    return lambda random: json_lines(random, value(random))


def list_with(value: Text) -> Text:
    def made(random: Random) -> bytes:
        inside = value(random)
        whole = inside if isinstance(inside, bytes) else inside.encode("utf-8", "surrogatepass")
        before, after = json.dumps(row(random)).encode(), json.dumps(row(random)).encode()
        return b"[" + b",".join((before, whole, after)) + b"]"

    return made


def encoded(encoding: str) -> Text:
    return lambda random: json_lines(random).decode().encode(encoding)


JSON_LINES: dict[str, Text] = {
    **{label: lines_with(value) for label, value in JSON_VALUES.items()},
    **{code: encoded(code) for code in ("utf-16", "utf-32", "utf-8-sig", "utf-16-le")},
    "old line ends": lambda r: json_lines(r).replace(b"\n", b"\r"),
    "one endless line": lambda r: b'{"input": "' + b"x" * rarely(r, 300_000_000),
    "blank lines": lambda r: b"\n" * rarely(r, 1_000_000),
    "very many bad lines": lambda _: b"{\n" * 200_000,
}
JSON: dict[str, Text] = {
    **{label: list_with(value) for label, value in JSON_VALUES.items()},
    **{f"{label}, alone": value for label, value in JSON_VALUES.items()},
    "several lists": lambda r: json.dumps({"a": rows(r), "b": rows(r)}),
    "no end": lambda r: "[" + json.dumps(row(r)) + "," * r.choice((1, 100_000)),
    "unclosed text": lambda r: '[{"input": "' + "x" * rarely(r, 30_000_000),
    "much white space": lambda r: "[" + " " * rarely(r, 20_000_000) + json.dumps(row(r)) + "]",
    "very many keys, whole": lambda r: json.dumps(
        {f"k{n}": n for n in range(rarely(r, 200_000, 10_000))}
    ),
}


def table(random: Random, separator: str = ",") -> str:
    lines = [separator.join(("input", "target"))]
    lines += [separator.join(values.values()) for values in rows(random)]
    return "\n".join(lines) + "\n"


CSV: dict[str, Text] = {
    "unclosed quote": lambda r: table(r) + '"' + "x" * rarely(r, 5_000_000),
    "quotes inside": lambda r: table(r) + 'a "b" c,"d" e\n',
    "very many columns": lambda r: ",".join(f"c{n}" for n in range(100_000)) + "\n" + table(r),
    "very many equal columns": lambda _: "c," * 100_000 + "\n",
    "very many cells": lambda r: table(r) + "," * rarely(r, 2_000_000) + "\n",
    "NUL": lambda r: table(r) + "a\0b,c\n",
    "semicolons": lambda r: table(r, ";"),
    "tabs": lambda r: table(r, "\t"),
    "old line ends": lambda r: table(r).replace("\n", "\r"),
    "UTF-16": lambda r: table(r).encode("utf-16"),
    "not UTF-8": lambda r: table(r).encode() + b"\xff,\xfe\n",
    "column twice": lambda r: "input,input,target\n" + table(r),
    "escapes in the header": lambda r: f"{EVIL},input,target\n" + table(r),
    "escapes in cells": lambda r: table(r) + f"{EVIL},{EVIL}\n",
    "empty header": lambda r: ",,\n" + table(r),
    "formula": lambda r: table(r) + "=cmd|' /C calc'!A0,@SUM(1)\n",
    "huge cell": lambda r: table(r) + "x" * rarely(r, 20_000_000, 200_000) + ",y\n",
    "very many bad lines": lambda r: table(r) + "a,b,c\n" * 100_000,
    "one endless line": lambda r: b"x" * rarely(r, 300_000_000),
}
PLAIN: dict[str, Text] = {
    "NUL": lambda _: "a\0b\n" * 100,
    "not UTF-8": lambda _: b"\xff\xfe\xfd\n" * 10,
    "escapes": lambda _: f"{EVIL}\n" * 20,
    "one endless line": lambda r: b"x" * rarely(r, 300_000_000),
    "half of a pair": lambda _: b"\xed\xa0\x80\n" * 10,
    "blank": lambda _: " \n\t\n" * 100_000,
}

TAGS = (
    "!!python/object/apply:os.system ['touch executed']",
    "!!python/object/new:type ['x']",
    "!!python/name:os.system",
    "!!python/module:os",
    "!!binary SGVsbG8=",
    "!!timestamp 9999-99-99",
    "!!set {a, b}",
    "!!omap [a: 1]",
    "!evil x",
    "!!int x",
    "!!float x",
    "!!null x",
    "2001-01-01",
    "0x" + "f" * 5000,
    "9" * 5000,
    "1:" * 3000 + "1",
    ".nan",
    "{a: [1, {b: 2}]}",
    "? [complex, key]",
    "*unknown",
    "&a [*a]",
    "&a {k: *a}",
    "<<: {seed: 1}",
)
SETTINGS = ("seed", "data", "max_tokens", "learning_rate", "held_out", "model", "template", EVIL)
YAML: dict[str, Text] = {
    "tag": lambda r: f"{r.choice(SETTINGS[:6])}: {r.choice(TAGS)}\n",
    "tag at the top": lambda r: r.choice(TAGS) + "\n",
    "tag as a key": lambda r: f"{r.choice(TAGS)}: 1\n",
    "billion laughs": lambda _: (
        "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"a{n}: &a{n} [" + ",".join([f"*a{n - 1}"] * 9) + "]\n" for n in range(1, 12))
    ),
    "billion laughs in a setting": lambda _: (
        "a0: &a0 {k: v}\n"
        + "".join(
            f"a{n}: &a{n} {{" + ",".join(f"k{m}: *a{n - 1}" for m in range(9)) + "}\n"
            for n in range(1, 12)
        )
        + "seed: *a11\n"
    ),
    "merged": lambda _: "a: &a {x: 1}\nb: &b {<<: [" + ",".join(["*a"] * 5000) + "]}\nsft: *b\n",
    "merged with itself": lambda _: "sft: &a\n  <<: *a\n  seed: 1\n",
    "nested deeply": lambda r: "seed: " + "[" * r.choice((500, 20_000)),
    "nested deeply by lines": lambda _: "".join(" " * n + "a:\n" for n in range(1500)),
    "key twice": lambda _: "seed: 1\nseed: 2\n",
    "several documents": lambda _: "seed: 1\n---\nseed: 2\n",
    "escapes": lambda _: f'"{EVIL}": 1\n',
    "NUL": lambda _: "seed: \0\n",
    "UTF-16": lambda _: "seed: 1\n".encode("utf-16"),
    "very long": lambda _: "".join(f"key{n}: {n}\n" for n in range(20_000)),
    "very long value": lambda r: "template: " + "x" * rarely(r, 5_000_000),
    "odd value": lambda r: f"{r.choice(SETTINGS[:6])}: {json.dumps(odd_value(r))}\n",
    "odd table": lambda r: f"sft: {json.dumps(odd_value(r))}\n",
}
TOML: dict[str, Text] = {
    "nested deeply": lambda r: "seed = " + "[" * r.choice((500, 100_000)),
    "nested tables": lambda _: "[" + ".".join(["a"] * 20_000) + "]\n",
    "dotted keys": lambda _: ".".join(["sft"] * 5000) + " = 1\n",
    "integer of 5,000 digits": lambda _: "seed = " + "9" * 5000 + "\n",
    "number in hexadecimal": lambda _: "seed = 0x" + "f" * 5000 + "\n",
    "key twice": lambda _: "seed = 1\nseed = 2\n",
    "date": lambda r: f"seed = {r.choice(('2001-01-01', '9999-99-99', '25:61:61'))}\n",
    "not finite": lambda r: f"learning_rate = {r.choice(('nan', 'inf', '-inf', '1e999'))}\n",
    "table for a value": lambda _: "[sft.seed]\nx = 1\n",
    "array of tables": lambda _: "[[sft]]\nseed = 1\n[[sft]]\nseed = 2\n",
    "escapes": lambda _: '"\\u001b[31m\\u202e" = 1\n',
    "raw escapes": lambda _: f'"{EVIL}" = 1\n',
    "NUL": lambda _: "seed = \0\n",
    "not UTF-8": lambda _: b"seed = \xff\n",
    "very long": lambda _: "".join(f"key{n} = {n}\n" for n in range(20_000)),
    "odd value": lambda r: f"{r.choice(SETTINGS[:6])} = {json.dumps(odd_value(r))}\n",
    "unclosed": lambda r: (
        r.choice(("seed = '''", 'seed = """', "[sft", "seed = [1,", "seed =")) + "x" * 100_000
    ),
}
CONFIG_YAML = "seed: 3\nsft:\n  max_tokens: 64\n  learning_rate: 2e-4\n"
CONFIG_TOML = 'seed = 3\n[sft]\nmax_tokens = 64\nlearning_rate = 2e-4\ntemplate = "plain"\n'

SCRIPT = """\
import torch
from torch import nn, optim

model = nn.Linear(4, 2)
optimizer = optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.3f}")
"""
ENCODINGS = ("evil", "utf-7", "rot13", "idna", "zlib", "utf-16", EVIL)
SCRIPTS: dict[str, Text] = {
    "nested deeply": lambda r: "(" * r.choice((90, 150, 5000)) + "1" + ")" * r.choice((90, 5000)),
    "long sum": lambda r: "x = " + "+".join(["1"] * r.choice((900, 3000, 50_000))) + "\n",
    "long chain": lambda r: "x" + ".a" * r.choice((900, 3000, 20_000)) + "\n",
    "long chain of calls": lambda r: "x" + "()" * r.choice((500, 3000, 20_000)) + "\n",
    "many elifs": lambda _: "if a: pass\n" + "elif b: pass\n" * 2500,
    "nested blocks": lambda r: "".join(" " * n + "if x:\n" for n in range(r.choice((19, 95)))),
    "nested functions": lambda _: "".join(" " * n + f"def f{n}():\n" for n in range(60)),
    "integer of 5,000 digits": lambda _: "x = " + "9" * 5000 + "\n",
    "huge power": lambda _: "x = 10 ** 10 ** 10\ny = 1 << 10 ** 9\nz = 'a' * 10 ** 12\n",
    "huge tensor": lambda _: "import torch\nx = torch.zeros(10**9, 10**9)\ny = x @ x\n",
    "endless loop": lambda _: "import torch\nwhile True: pass\nfor i in range(10**18): print(i)\n",
    "calls itself": lambda _: "def f(x):\n    return f(f(x))\nx = f(1)\nclass A(A): pass\n",
    "names in a circle": lambda _: "a = b\nb = a\nimport torch\nx = torch.zeros(a)\na, b = b, a\n",
    "side effect": lambda _: f"import torch\n{SIDE_EFFECT}\nx = eval({SIDE_EFFECT!r})\n",
    "side effect in a class": lambda _: (
        f"class A:\n    def __class_getitem__(cls, x): {SIDE_EFFECT}\nA[{SIDE_EFFECT}]\n"
    ),
    "NUL": lambda _: SCRIPT + "\0",
    "coding comment": lambda r: f"# -*- coding: {r.choice(ENCODINGS)} -*-\n" + SCRIPT,
    "UTF-16": lambda _: SCRIPT.encode("utf-16"),
    "escapes": lambda _: SCRIPT.replace("loss {", f"{EVIL} {{") + f"# {EVIL}\n",
    "odd names": lambda _: SCRIPT.replace("model", "ｍｏｄｅｌ").replace("loss", "ℓoss"),
    "bad escapes": lambda _: SCRIPT + "x = '\\d\\q'\n1 is 1\n'a'()\n",
    "form feeds": lambda _: SCRIPT.replace("\n", "\n\f").replace(" ", "\v"),
    "very long": lambda r: SCRIPT + "x = 1\n" * r.choice((20_000, 100_000)),
    "very long line": lambda r: "x = '" + "y" * rarely(r, 5_000_000) + "'\n",
    "long list": lambda _: "x = [" + "1," * 100_000 + "]\n",
    "one endless line": lambda r: b"#" * rarely(r, 200_000_000),
    "f-strings": lambda _: "x = " + "f'{" * 3 + "1" + "}'" * 3 + "\n" + "f'{x:{y:{z}}}'\n" * 100,
    "surrogates": lambda _: b"x = '\xed\xa0\x80'\n",
    "old line ends": lambda _: SCRIPT.replace("\n", "\r"),
}


def notebook(**changed: Any) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": "code", "source": SCRIPT, "outputs": [], "metadata": {}}
    cell |= {"execution_count": 1}
    whole = {"cells": [cell, {**cell, "source": SCRIPT.splitlines(keepends=True)}]}
    return {**whole, "nbformat": 4, "nbformat_minor": 5, "metadata": {}, **changed}


def odd_notebook(random: Random) -> str:
    whole = notebook()
    holder = random.choice((whole, *whole["cells"]))
    holder[random.choice(tuple(holder))] = odd_value(random)
    return json.dumps(whole)


def odd_output(random: Random) -> str:
    whole = notebook()
    output = {"output_type": "error", "ename": "E", "evalue": EVIL, "traceback": [EVIL, "E: x"]}
    output[random.choice(tuple(output))] = odd_value(random)
    whole["cells"][0]["outputs"] = random.choice(([output], output, [[output]]))
    return json.dumps(whole)


def cell_of(text: Text) -> Text:
    def made(random: Random) -> str:
        source = text(random)
        if isinstance(source, bytes):
            source = source[:100_000].decode("latin-1")
        whole = notebook()
        whole["cells"][0]["source"] = source
        return json.dumps(whole)

    return made


NOTEBOOKS: dict[str, Text] = {
    "odd value": odd_notebook,
    "odd output": odd_output,
    "nested deeply": deep,
    "nested deeply in metadata": lambda r: json.dumps(notebook())[:-1] + ', "x": ' + deep(r) + "}",
    "integer of 5,000 digits": lambda _: json.dumps(notebook())[:-1] + ', "x": ' + "9" * 5000 + "}",
    "very many cells": lambda _: json.dumps(notebook(cells=notebook()["cells"] * 1000)),
    "magics": lambda _: json.dumps(notebook()).replace(
        "import torch", "!touch executed\\n%%bash\\ntouch executed\\n%run x\\nimport torch"
    ),
    "escapes": lambda _: json.dumps(
        notebook(metadata={"kernelspec": {"language": EVIL}}), ensure_ascii=False
    ),
    **{f"cell: {label}": cell_of(text) for label, text in SCRIPTS.items()},
}

TRACEBACK = """\
step 1 loss 2.3
Traceback (most recent call last):
  File "train.py", line 14, in <module>
    main()
    ~~~~^^
  File "train.py", line 9, in main
    loss = criterion(model(x), y)
  File "/usr/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1773, in _call_impl
    return forward_call(*args, **kwargs)
RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x5 and 4x2)
"""
LOG = "".join(f"step {n} loss {3 / (n + 1):.4f} lr 1e-3 grad_norm 0.{n}\n" for n in range(60))


def long_line(random: Random) -> str:
    """Repetitions at which a pattern could look back forever."""
    piece = random.choice(
        (
            *("[", "[a] ", "> ", "E ", "a.", "A", "Error", 'File "', "loss=", "1", "1.", "-", "e"),
            *(
                "^",
                "~",
                " ",
                "\t",
                "'",
                '"',
                "=",
                ":",
                "{'loss': ",
                "step 1 ",
                "\x1b[",
                "\x1b]",
                "\r",
            ),
            *("Traceback ", '  File "a", line 1, in b ', "| ", "1e", "0x", "/", "a@", "%", ","),
        )
    )
    return piece * random.choice((500, 20_000, rarely(random, 300_000))) + random.choice(
        ("", "\n", "!\n", ": x\n")
    )


LOGS: dict[str, Text] = {
    "long line": long_line,
    "long line after others": lambda r: LOG + long_line(r) + LOG,
    "long lines": lambda r: (long_line(r)[:2000].replace("\n", "") + "\n") * 300,
    "escapes": lambda _: LOG.replace("loss", f"{EVIL}loss"),
    "escapes alone": lambda _: ("\x1b[31m" * 20 + "\r") * 20_000,
    "unclosed escape": lambda _: "\x1b]" + "x" * 1_000_000,
    "odd numbers": lambda r: "".join(
        f"step {n} loss {r.choice(('nan', '-inf', '1e999', '9' * 5000, '1e', '--1', '٣', '0x1'))}\n"
        for n in range(60)
    ),
    "very many series": lambda _: "".join(f"step {n} loss{n}={n} m{n}=1\n" for n in range(20_000)),
    "JSON lines": lambda r: "".join(json.dumps({"loss": odd_value(r)}) + "\n" for _ in range(60)),
    "JSON lines, nested": lambda r: ('{"loss": ' + deep(r) + "}\n") * 20,
    "JSON line of 5,000 digits": lambda _: ('{"loss": ' + "9" * 5000 + ', "step": 1}\n') * 60,
    "dictionaries": lambda r: "".join(f"{{'loss': {odd_value(r)!r}}}\n" for _ in range(60)),
    "dictionary with a call": lambda _: (
        "{'loss': __import__('os').system('touch executed')}\n" * 60
    ),
    "table": lambda r: "step,loss\n" + "".join(f"{n},{odd_value(r)}\n" for n in range(60)),
    "binary": lambda r: r.randbytes(100_000),
    "NUL": lambda _: LOG.replace("\n", "\0\n"),
    "UTF-16": lambda _: LOG.encode("utf-16"),
    "old line ends": lambda _: LOG.replace("\n", "\r"),
    "long": lambda r: LOG * rarely(r, 20_000, 200),
    "one endless line": lambda r: b"x" * rarely(r, 200_000_000),
}
TRACEBACKS: dict[str, Text] = {
    "many": lambda _: TRACEBACK * 2000,
    "many frames": lambda _: (
        TRACEBACK.splitlines()[1]
        + "\n"
        + '  File "train.py", line 9, in main\n    f()\n' * 50_000
        + "RecursionError: maximum recursion depth exceeded\n"
    ),
    "escapes": lambda _: TRACEBACK.replace("train.py", f"{EVIL}.py").replace("main", EVIL),
    "long names": lambda _: TRACEBACK.replace("train.py", "x" * 300_000 + ".py"),
    "long message": lambda _: TRACEBACK + "x " * 500_000,
    "huge line number": lambda _: TRACEBACK.replace("14", "9" * 5000),
    "line zero": lambda _: TRACEBACK.replace("14", "0").replace("line 9", "line -9"),
    "no end": lambda _: TRACEBACK.split("Runtime")[0],
    "other words": lambda _: TRACEBACK.replace("line", "Zeile"),
    "groups": lambda _: "  + Exception Group Traceback (most recent call last):\n  | " * 5000,
    "long causes": lambda _: (
        (TRACEBACK + "\nThe above exception was the direct cause of the following exception:\n\n")
        * 1000
    ),
    "device as a file": lambda r: TRACEBACK.replace(
        "train.py", r.choice(("/dev/zero", "/dev/stdin", "/proc/kmsg", "x" * 5000, "\0"))
    ),
    "prefixed": lambda _: "".join(f"[rank0]: {line}\n" for line in TRACEBACK.splitlines()) * 100,
}


def trainer_state() -> dict[str, Any]:
    entries = [{"loss": 3 / (n + 1), "step": n, "epoch": n / 10} for n in range(40)]
    return {"log_history": entries, "max_steps": 40, "global_step": 40}


def odd_state(random: Random) -> str:
    whole = trainer_state()
    holder = random.choice((whole, *whole["log_history"][:3]))
    holder[random.choice(tuple(holder))] = odd_value(random)
    return json.dumps(whole)


STATES: dict[str, Text] = {
    "odd value": odd_state,
    "nested deeply": lambda r: '{"log_history": ' + deep(r) + "}",
    "odd entries": lambda r: json.dumps({"log_history": [odd_value(r) for _ in range(20)]}),
    "integer of 5,000 digits": lambda _: '{"log_history": [{"loss": ' + "9" * 5000 + "}] }",
    "very many keys": lambda _: json.dumps(
        {"log_history": [{f"loss{n}": n for n in range(50_000)}]}
    ),
}
