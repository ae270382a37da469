"""Tracebacks in text: every form that people paste, and the cause among several."""

import traceback
from collections.abc import Callable

import pytest

from surefit.doctor.tracebacks import Traceback
from surefit.observe.logs import read_traceback

PLAIN = """\
epoch 1
Traceback (most recent call last):
  File "/home/u/train.py", line 12, in <module>
    main()
  File "/home/u/train.py", line 8, in main
    out = model(x)
          ^^^^^^^^
  File "/home/u/.venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 116, in forward
    return F.linear(input, self.weight, self.bias)
RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x30 and 32x10)
bye
"""

WORKER = """\
Traceback (most recent call last):
  File "train.py", line 12, in <module>
    for b in loader:
  File "/x/site-packages/torch/_utils.py", line 722, in reraise
    raise exception
ValueError: Caught ValueError in DataLoader worker process 0.
Original Traceback (most recent call last):
  File "/x/site-packages/torch/utils/data/_utils/worker.py", line 3, in _worker_loop
    data = fetcher.fetch(index)
  File "train.py", line 4, in __getitem__
    raise ValueError("a")
ValueError: too many dimensions 'str'
"""

RANKS = """\
[rank1]: Traceback (most recent call last):
[rank0]: Traceback (most recent call last):
[rank1]:   File "/a/t.py", line 3, in <module>
[rank0]:   File "/a/t.py", line 5, in <module>
[rank1]:     foo()
[rank0]:     bar()
[rank1]: RuntimeError: one
[rank0]: RuntimeError: nought
[rank0]:[W1117 10:00 ProcessGroupNCCL] hello
"""

NOTEBOOK = """\
---------------------------------------------------------------------------
\x1b[0;31mRuntimeError\x1b[0m                              Traceback (most recent call last)
Cell \x1b[0;32mIn[3], line 2\x1b[0m
\x1b[1;32m      1\x1b[0m x = torch.randn(2,3)
----> 2 model(x)

File ~/conda/lib/python3/site-packages/torch/nn/modules/module.py:1501, in Module._call(self, *args)
   1496 # If
-> 1501     return forward_call(*args, **kwargs)

RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)
"""

OLD_NOTEBOOK = """\
RuntimeError                              Traceback (most recent call last)
<ipython-input-7-1a2b3c> in <module>
      1 x = 3
----> 2 train(x)

<ipython-input-6-dd> in train(model, x)
      4     for b in x:
----> 5         loss = f(b)

/usr/local/lib/python3.10/dist-packages/torch/nn/functional.py in f(x)
   1846         return handle
-> 1847     return torch._C._nn.linear(input, weight, bias)
   1848 

RuntimeError: expected scalar type Long but found Float
"""

CHAIN = """\
Traceback (most recent call last):
  File "/x/site-packages/transformers/tokenization_utils_base.py", line 767, in convert_to_tensors
    tensor = as_tensor(value)
ValueError: expected sequence of length 5 at dim 1 (got 3)

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "train.py", line 3, in <module>
    trainer.train()
ValueError: Unable to create tensor, you should probably activate truncation
"""

TORCHRUN = """\
Root Cause (first observed failure):
[0]:
  exitcode  : 1 (pid: 123)
  traceback : Traceback (most recent call last):
    File "/opt/lib/python3.10/site-packages/torch/distributed/elastic/x.py", line 355, in wrapper
      return f(*args, **kwargs)
    File "/a/train.py", line 3, in main
      foo()
  ValueError: bad
  
============
"""

POOL = '''\
multiprocess.pool.RemoteTraceback: 
"""
Traceback (most recent call last):
  File "t.py", line 3, in f
    x["b"]
KeyError: 'b'
"""

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "t.py", line 9, in <module>
    ds.map(f, num_proc=2)
KeyError: 'b'
'''

BOX = """\
╭───────────────────── Traceback (most recent call last) ──────────────────────╮
│ /home/u/train.py:12 in main                                                  │
│                                                                              │
│    9 │   x = 1                                                               │
│ ❱ 12 │   model(x)                                                            │
╰──────────────────────────────────────────────────────────────────────────────╯
RuntimeError: bad thing
"""

SYNTAX = """\
  File "/a/t.py", line 3
    foo(
       ^
SyntaxError: '(' was never closed
"""

IGNORED = """\
Exception ignored in: <function X.__del__ at 0x1>
Traceback (most recent call last):
  File "/a/t.py", line 3, in __del__
    foo()
AttributeError: x
Traceback (most recent call last):
  File "/a/t.py", line 9, in <module>
    foo()
ValueError
"""

FATAL = """\
Fatal Python error: Segmentation fault

Current thread 0x00007f (most recent call first):
  File "/a/t.py", line 20 in checksum
  File "/a/t.py", line 36 in main

Extension modules: torch
"""

TIMES = """\
2024-01-01 10:00:01 ERROR Traceback (most recent call last):
2024-01-01 10:00:01 ERROR   File "/a/t.py", line 9, in <module>
2024-01-01 10:00:02 ERROR     foo()
2024-01-01 10:00:02 ERROR ValueError: x
2024-01-01 10:00:03 INFO end
"""

SPAWN = """\
Traceback (most recent call last):
  File "/a/t.py", line 9, in <module>
    mp.spawn(f, nprocs=2)
  File "/x/site-packages/torch/multiprocessing/spawn.py", line 3, in join
    raise ProcessRaisedException(msg, error_index, failed_process.pid)
torch.multiprocessing.spawn.ProcessRaisedException: 

-- Process 1 terminated with the following error:
Traceback (most recent call last):
  File "/x/site-packages/torch/multiprocessing/spawn.py", line 90, in _wrap
    fn(i, *args)
  File "/a/t.py", line 4, in f
    raise ValueError("z")
ValueError: z
"""


def told(text: str) -> Traceback:
    found = read_traceback(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "said", "where", "source", "script"),
    [
        (PLAIN, "RuntimeError: mat1", "/home/u/train.py:8 in main", "out = model(x)", "train.py"),
        (WORKER, "ValueError: too many", "train.py:4 in __getitem__", "raise Val", "train.py"),
        (RANKS, "RuntimeError: one", "/a/t.py:3 in <module>", "foo()", "t.py"),
        (NOTEBOOK, "RuntimeError: mat1", "cell 3, line 2", "model(x)", "Cell In[3]"),
        (OLD_NOTEBOOK, "RuntimeError: exp", "cell 6, line 5 in train", "loss", "-7-1a2b3c>"),
        (CHAIN, "ValueError: expected seq", "train.py:3 in <module>", "trainer", "train.py"),
        (TORCHRUN, "ValueError: bad", "/a/train.py:3 in main", "foo()", "train.py"),
        (POOL, "KeyError: 'b'", "t.py:3 in f", 'x["b"]', "t.py"),
        (BOX, "RuntimeError: bad thing", "/home/u/train.py:12 in main", "model(x)", "train.py"),
        (SYNTAX, "SyntaxError: '(' was never", "/a/t.py:3", "foo(", "t.py"),
        (IGNORED, "ValueError", "/a/t.py:9 in <module>", "foo()", "t.py"),
        (FATAL, "Fatal Python error: Segm", "/a/t.py:20 in checksum", "", "t.py"),
        (TIMES, "ValueError: x", "/a/t.py:9 in <module>", "foo()", "t.py"),
        (SPAWN, "ValueError: z", "/a/t.py:4 in f", "raise ValueError", "t.py"),
    ],
)
def test_each_form(text: str, said: str, where: str, source: str, script: str) -> None:
    for written in (text, text.replace("\n", "\r\n"), "10% |#  \r" + text):
        found = told(written)
        assert found.said.startswith(said)
        assert found.own_frame is not None
        assert str(found.own_frame) == where
        assert found.own_frame.source.startswith(source)
        assert found.script is not None
        assert found.script.file.endswith(script)


def test_what_a_worker_raised_comes_before_what_passed_it_on() -> None:
    found = told(WORKER)
    assert [one.said.partition(":")[0] for one in found.chain] == ["ValueError", "ValueError"]
    assert "Caught ValueError in DataLoader worker" in found.chain[1].said
    assert [frame.function for frame in found.frames] == [
        *("<module>", "reraise", "_worker_loop", "__getitem__")
    ]


def test_of_several_the_first_is_the_cause_and_the_others_are_counted() -> None:
    found = told(PLAIN + "\n" + TORCHRUN)
    assert found.said.startswith("RuntimeError: mat1")
    assert found.others == 1
    interrupted = "\n".join([*PLAIN.splitlines()[:-2], "KeyboardInterrupt", "", TORCHRUN])
    assert told(interrupted).said == "ValueError: bad"


def test_a_text_that_ends_early() -> None:
    found = told("".join(PLAIN.splitlines(keepends=True)[:5]))
    assert found.said == ""
    assert str(found.own_frame) == "/home/u/train.py:8 in main"


def test_a_last_line_alone() -> None:
    found = told("  hello\nE       torch.OutOfMemoryError: CUDA out of memory. Tried\n")
    assert found.said == "torch.OutOfMemoryError: CUDA out of memory. Tried"
    assert found.frames == ()
    assert told("Loading\n[1]  12345 Killed    python train.py").said == "Killed"


def test_odd_lines_take_no_time() -> None:
    odd = ["x" * 1_000_000, "a." * 100_000, " " * 100_000 + "x", "[a]: " * 50_000, "E " * 100_000]
    assert read_traceback("\n".join(odd)) is None
    assert told("\n".join([*odd, PLAIN])).said.startswith("RuntimeError: mat1")


@pytest.mark.parametrize("text", ["", "step 1 loss 2.3\n", "Traceback (most recent call last):\n"])
def test_no_traceback(text: str) -> None:
    assert read_traceback(text) is None


def raises_plainly() -> None:
    raise ValueError("two\nlines")


def raises_from() -> None:
    try:
        raises_plainly()
    except ValueError as error:
        raise RuntimeError("outer") from error


def raises_after() -> None:
    try:
        raises_plainly()
    except ValueError:
        dict[str, int]()["missing"]


def calls_itself(times: int = 50) -> None:
    if times:
        calls_itself(times - 1)
    raises_plainly()


@pytest.mark.parametrize("raises", [raises_plainly, raises_from, raises_after, calls_itself])
def test_as_this_python_writes_them(raises: Callable[[], None]) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is of no matter
        raises()
    found = told("log\n" + "".join(traceback.format_exception(caught.value)) + "\nlog\n")
    assert found.said == "ValueError: two\nlines"
    assert found.own_frame is not None
    assert found.own_frame.function == "raises_plainly"
    assert found.own_frame.source == 'raise ValueError("two\\nlines")'
