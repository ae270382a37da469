"""What can be seen of a training run, as plain data.

Observed processes write these as JSON Lines; rules read them, in the same minute or a year later.
Only the standard library is imported here: this module is loaded inside the user's program.

    Script      a file of the user's, as it was read
    Crash       an exception, with the frames and values that it left behind
    Swallowed   exceptions that the user's own code caught
    Steps       what one process trained: losses, gradients, updates, order of events
    Death       an end without an exception: a signal, a hang, `os._exit`
    Answer      what a rule asked beyond the usual, and what the frozen frames or a second run said
    Passed      values at a line that a condition watches, in a proof run
    Trace       files written outside and addresses talked to
    Confined    what keeps a run in a sandbox
    Chance      where random streams began
    Imported    what of large libraries the main process has imported
    Shrunk      batches that a check cut to their first rows, or left as they were
    Measure     what a law is measured on, a kind for each
    NotObserved what could not be watched, and why
    Ended       how the whole run ended
"""

from dataclasses import dataclass, field
from math import prod
from typing import Any

from surefit.doctor.findings import Place
from surefit.source.spans import Span

Json = Any
"""Whatever JSON can hold."""


@dataclass(frozen=True, slots=True)
class Process:
    """Which of the processes of a run saw something."""

    pid: int = 0
    role: str = "main"
    """`main`, `worker` (of a loader), `rank` (of a launched run), `launcher` or `child`."""
    rank: int | None = None
    world: int | None = None
    worker: int | None = None


@dataclass(frozen=True, slots=True)
class Layer:
    """A module of the model."""

    kind: str
    path: str | None = None
    """`encoder.layer.1.proj`; empty for the root itself, None where no root was found."""
    root: str | None = None
    """Class of the largest module that holds it."""
    made_at: Place | None = None
    """The user's line that made it, or that called the library which did."""
    own: bool = False
    """Its class stands in the user's own code."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Whole numbers among its own attributes: `in_features`, `num_embeddings`, `kernel_size`..."""
    parameters: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Its own, not those of modules inside it: name -> shape."""
    training: bool = True


@dataclass(frozen=True, slots=True)
class Value:
    """A value, described without running any code of its own."""

    text: str
    """As the source writes it: `batch["labels"]`, `self.proj`."""
    kind: str
    identity: int = 0
    """Equal numbers in one crash: the same object."""
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    device: str | None = None
    stride: tuple[int, ...] | None = None
    contiguous: bool | None = None
    requires_grad: bool | None = None
    leaf: bool | None = None
    """Of a tensor: no operation that is recorded made it."""
    read_only: bool | None = None
    """Of an array: it cannot be written to."""
    base_shape: tuple[int, ...] | None = None
    """Of the tensor that this one is a view of."""
    base_contiguous: bool | None = None
    least: float | None = None
    greatest: float | None = None
    not_finite: int | None = None
    """Least and greatest finite value, and how many are not; of tensors and arrays that are small
    enough to look at whole."""
    length: int | None = None
    lengths: tuple[int, ...] | None = None
    """Of the lists inside a list."""
    nones: int = 0
    """How many members of a list, or of a column of a table, are None or missing."""
    members: dict[str, "Value"] = field(default_factory=dict)
    """Of a mapping, or of a short list or tuple, one level deep."""
    scalar: bool | int | float | str | None = None
    """Where the value is exactly one of these; a long string is cut."""
    layer: Layer | None = None
    made_at: Place | None = None
    file: str | None = None
    """Of an array that lies on disk."""
    kinds: dict[str, int] = field(default_factory=dict)
    """Of the members of a list: how many there are of each."""
    odd: tuple[int, ...] = ()
    """Where the first members stand that are of another kind than most."""
    numbered: bool | None = None
    """Of a table or a column of pandas: its index is 0, 1, 2... without gaps."""


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A condition that led to a `raise` or an `assert`."""

    text: str
    """As its source writes it."""
    result: bool
    """What it evaluated to."""
    operands: tuple[str, ...] = ()
    """What it compares; those that could be read are among the frame's values."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One call on the way to an exception."""

    place: Place
    function: str
    own: bool
    """The user's own code, not a library's."""
    line: str = ""
    """The source of the statement, stripped."""
    expression: str | None = None
    """The part of it that failed."""
    span: Span | None = None
    values: tuple[Value, ...] = ()
    """The failing expression's parts; in the user's own frames and in the innermost one, the
    arguments and every local that the statement names, too."""
    layer: Layer | None = None
    """`self`, where that is a module."""
    arguments: tuple[str, ...] = ()
    """Names of the function's own arguments; their values are among `values`."""
    checks: tuple[FailedCheck, ...] = ()
    """Of the innermost frame, where that raises by itself: the conditions, innermost first."""

    def value(self, text: str) -> Value | None:
        """What an expression was worth there."""
        return next((value for value in self.values if value.text == text), None)


@dataclass(frozen=True, slots=True)
class Link:
    """An exception earlier in a chain."""

    said: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class TokenizerSeen:
    """What a tokenizer is set to."""

    kind: str
    made_at: Place | None
    size: int | None
    """Tokens in all, added ones counted."""
    pads: tuple[str, ...]
    """The columns that `pad` fills up: its `model_input_names`."""
    pad_id: int | None
    eos_id: int | None
    padding_side: str


@dataclass(frozen=True, slots=True)
class DatasetSeen:
    """Where rows come from."""

    kind: str
    made_at: Place | None
    own: bool
    rows: int | None
    columns: tuple[str, ...] = ()
    of: str = ""
    """Class of the user's that the rows come from, where this one (`Subset`) only picks rows."""


@dataclass(frozen=True, slots=True)
class CollatorSeen:
    """A collator and the rows that it was given."""

    kind: str
    made_at: Place | None
    """Where it was made or, if it is a function of the user's, where it is defined."""
    own: bool
    rows: int
    kinds: dict[str, tuple[str, ...]]
    """Column -> kinds of its values, each once, in order of appearance."""
    lengths: dict[str, tuple[int, ...]]
    """Column -> length in each row, for columns that have lengths."""
    shared: int
    """How many lists of these rows are one object with another."""
    pads: tuple[str, ...] = ()
    tokenizer: TokenizerSeen | None = None
    dataset: DatasetSeen | None = None
    chosen_at: Place | None = None
    """The user's line that handed it over (`Trainer(data_collator=...)`), if not `made_at`."""
    supervised: dict[str, int] = field(default_factory=dict)
    """Column of labels -> how many of them, over all rows, are not -100."""
    shapes: dict[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    """Column -> shape in each row, for columns that have one; of lists in a list by the first."""
    totals: dict[str, int] = field(default_factory=dict)
    """Column of whole numbers -> their sum over all rows."""
    texts: tuple[str, ...] = ()
    """Columns of text, of lists of text, or of dictionaries: what no tensor can be made of."""
    nones: int = 0
    """How many of the rows are None; `numbers` are theirs in the dataset, where it has numbers."""
    numbers: tuple[int, ...] = ()
    asked: tuple[int, ...] = ()
    """The number of each row in the dataset, where a loader asked for them by numbers."""
    missing: dict[str, int] = field(default_factory=dict)
    """Column -> how many rows have None there."""
    lacking: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Key -> which rows of the batch, from 0, do not have it, for keys that others have."""


@dataclass(frozen=True, slots=True)
class Held:
    """Memory in use by one kind of holder."""

    what: str
    bytes: int
    tensors: int
    holder: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """What memory was used for when an allocation failed."""

    device: str
    asked: int | None
    """Bytes of the allocation that failed."""
    total: int | None
    free: int | None
    resident: int | None
    held: tuple[Held, ...] = ()
    """Largest first."""
    batch: int | None = None
    """Rows of the batch that was being worked on."""


@dataclass(frozen=True, slots=True)
class SharedHandle:
    """A handle that a loader's worker reads through, with a descriptor of its parent process."""

    text: str
    """As the frame writes it: `self.archive`."""
    kind: str
    file: str
    workers: int
    """Of the loader."""


@dataclass(frozen=True, slots=True)
class Crash:
    """An exception that ended a process, or was caught by the user's code and looked into once."""

    id: str
    at: float
    """Seconds since 1970: of several ranks that fail, the first is the cause."""
    process: Process
    kind: str
    """`ValueError`, `torch.OutOfMemoryError`: as Python names it."""
    said: str
    """Kind and message, as in the last line of a traceback."""
    frames: tuple[Frame, ...] = ()
    """Outermost first."""
    chain: tuple[Link, ...] = ()
    """Earlier exceptions, the first one first; `frames` are those of the first that has any of
    the user's."""
    layer: Layer | None = None
    """The innermost module that was being called."""
    collator: CollatorSeen | None = None
    memory: Memory | None = None
    steps: int = 0
    """Optimizer steps before it, in this process."""
    swallowed: bool = False
    """The user's code caught it and went on."""
    in_backward: bool = False
    compiled: bool = False
    """Raised inside `torch.compile`d code, where frames are missing."""
    raised_in: str | None = None
    """Id of the crash in a loader's worker or a pool that this one only passes on.
    A recording joins the two: `frames` are then the main process's, followed by the worker's."""
    passed_on: bool = False
    """Raised in a worker, which handed it to another process."""
    handles: tuple[SharedHandle, ...] = ()
    """Of the frames of a loader's worker."""

    @property
    def own_frame(self) -> Frame | None:
        """The innermost frame of the user's own code."""
        return next((frame for frame in reversed(self.frames) if frame.own), None)

    def value(self, text: str) -> Value | None:
        """The value of an expression in the innermost frame that has it."""
        for frame in reversed(self.frames):
            for value in frame.values:
                if value.text == text:
                    return value
        return None


@dataclass(frozen=True, slots=True)
class Assigned:
    """A name that a handler, or what follows it, gave a value that was not computed."""

    name: str
    text: str
    """The right-hand side as written."""
    place: Place


@dataclass(frozen=True, slots=True)
class Swallowed:
    """One kind of exception that one handler of the user's caught."""

    process: Process
    handler: Place
    """From `except` to the handler's last line."""
    tried: Place
    """The `try` with its body."""
    raised_at: Place | None
    """The innermost own line in which it was raised."""
    said: str
    times: int
    entries: int
    """How often the `try` was entered."""
    ran: tuple[str, ...]
    """What was under way below the handler when it was raised: of `module`, `loss`, `loader`,
    `backward`, `optimizer`."""
    training: bool | None
    """The mode of the outermost module that was running, if one was."""
    grad: bool
    """Gradients were being recorded."""
    instead: tuple[Assigned, ...] = ()
    crash: str | None = None
    """Id of the crash that holds the frames of the first time."""


@dataclass(frozen=True, slots=True)
class OptimizerSeen:
    """An optimizer, and what it did."""

    kind: str
    made_at: Place | None
    serial: int
    """Modules, parameters and optimizers are numbered together, in the order they were made."""
    tensors: int
    steps: int
    first_rate: float
    """As it was set when made: `initial_lr`, where a schedule has taken over. Of several groups the
    highest, here and below."""
    highest_rate: float
    """That any step was taken with."""
    without_gradient: int
    """Steps, of those looked at, at which none of its tensors had a gradient."""
    looked: int
    last_rate: float = 0.0


@dataclass(frozen=True, slots=True)
class ParameterSeen:
    """A parameter, and what its gradients and updates were at the steps looked at."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    made_at: Place | None
    serial: int
    layer: str = ""
    """Kind of the module that holds it."""
    registered: bool = True
    """It is among the parameters of the model that was called; a plain list hides it from there."""
    held_by: int | None = None
    """Serial of its optimizer; of one that no optimizer holds any more, of the last that did."""
    looked: int = 0
    absent: int = 0
    """Of those looked at: steps without a gradient."""
    zero: int = 0
    """Steps with a gradient of exactly zero everywhere."""
    not_finite: int = 0
    sampled: int = 0
    """Elements with a gradient other than zero at a step, over all steps looked at."""
    unchanged: int = 0
    """Of these, elements that the step left as they were, to the bit."""
    update: float | None = None
    """Median size of the updates that were meant and left no trace, where it is known; `spacing` is
    the distance to the next number that the dtype has, at the same elements."""
    spacing: float | None = None
    root: int = 0
    """Serial of the root that it is named from."""
    changed: bool = False
    """Of one that no optimizer holds: its values changed all the same, by other means."""


@dataclass(frozen=True, slots=True)
class LossGiven:
    """What one call of a loss function was given."""

    step: int
    """Optimizer steps before it."""
    shape: tuple[int, ...]
    dtype: str
    target_shape: tuple[int, ...]
    target_dtype: str
    supervised: int
    """Labels that are not ignored; of a loss that ignores none, all elements."""
    total: float
    """Sum of these labels, so that two runs can be told to have had the same ones."""
    least: float | None = None
    """Of the predictions, least and greatest, for the same reason."""
    greatest: float | None = None


@dataclass(frozen=True, slots=True)
class LossCall:
    """Calls of one loss function from one line."""

    name: str
    place: Place | None
    calls: int
    looked: int
    labels: int
    """Labels given, over the calls looked at; `supervised` are those that are not ignored."""
    supervised: int
    shape: tuple[int, ...] = ()
    """Of the predictions at the last call looked at."""
    target_shape: tuple[int, ...] = ()
    dtype: str = ""
    target_dtype: str = ""
    training: bool = True
    """Gradients were recorded."""
    probabilities: int = 0
    """Calls looked at in which every row of predictions was non-negative and summed to one."""
    each: tuple[LossGiven, ...] = ()
    """In a proof run: what each of the first calls was given."""
    tail: int = 0
    """Of a divergence: last columns that are one number in every row, at the last call looked at,
    and the share of the mass that they hold; the same of its targets."""
    tail_share: float = 0.0
    target_tail: int = 0
    target_tail_share: float = 0.0


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call in the user's source."""

    place: Place
    column: int | None = None
    """First column and the one behind the last, in bytes; None where Python keeps none."""
    end_column: int | None = None


@dataclass(frozen=True, slots=True)
class RootSeen:
    """A module with parameters that is part of no other, and how it was called."""

    kind: str
    made_at: Place | None
    serial: int
    parameters: int
    training: int = 0
    """Outermost calls in training mode; `evaluating` are those in evaluation mode."""
    evaluating: int = 0
    """Calls of its parts from outside count as calls of it."""
    called_at: Place | None = None
    tensors: int = 0
    """Parameters; `parameters` are their elements, `held` those that some optimizer held."""
    held: int = 0
    nested: int = 0
    """Calls from inside other modules, at the few calls that were looked into."""
    width: int | None = None
    """The last axis of what it gave back: of logits, how many there are."""
    sites: tuple[CallSite, ...] = ()
    """Calls of the user's that ran it or one of its parts; not all of those that it learned by."""


@dataclass(frozen=True, slots=True)
class BesideSeen:
    """A module that no optimizer holds, a root or a part of one that is trained, and how it was
    run: a teacher, a judge, a copy."""

    kind: str
    made_at: Place | None
    serial: int
    parameters: int
    frozen: bool = False
    """None of its parameters wants a gradient."""
    learned: bool = False
    """Some optimizer held it earlier."""
    moved: bool = False
    """Its values changed all the same, as those of a moving average do."""
    training: int = 0
    """Calls in training mode; `evaluating` are those in evaluation mode. Of a part that a trained
    model runs without gradients, those looked at."""
    evaluating: int = 0
    idle: int = 0
    """Of those in training mode, calls by which it cannot learn: without gradients, or with every
    parameter frozen; all, where no gradient ever reached it. Where it learned before that, a
    sample."""
    sites: tuple[CallSite, ...] = ()
    """The user's calls that ran it; of one that learned, those by which it did not."""
    dropouts: int = 0
    """Layers that drew at random in the last call in training mode that was looked into, with
    `rates`; `norms` are batch norms that followed the batch."""
    rates: tuple[float, ...] = ()
    norms: int = 0
    width: int | None = None


@dataclass(frozen=True, slots=True)
class VocabulariesSeen:
    """Two tokenizers that existed at the first step, in the order they were made."""

    made_at: tuple[Place | None, ...]
    serials: tuple[int, ...]
    sizes: tuple[int, ...]
    """Tokens of each, added ones counted."""
    shared: int
    """Ids that both have; `differing` are those under which they have different tokens."""
    differing: int
    first: int | None = None
    """The lowest of these, and the two tokens."""
    tokens: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelsSeen:
    """Labels that one outermost call of a model was given."""

    step: int
    shape: tuple[int, ...]
    supervised: int
    training: bool


@dataclass(frozen=True, slots=True)
class InputsSeen:
    """Tensors that one outermost call of a model was given."""

    step: int
    training: bool
    shapes: dict[str, tuple[int, ...]]
    """By keyword, by key of a mapping, or by position: `input_ids`, `0`."""
    totals: dict[str, int] = field(default_factory=dict)
    """Sum of the elements of each that holds whole numbers and lies in main memory."""


@dataclass(frozen=True, slots=True)
class DifferenceSeen:
    """One tensor less another, in a graph."""

    shape: tuple[int, ...]
    side: tuple[int, ...]
    """Shape of the first of the two that gets a gradient."""


@dataclass(frozen=True, slots=True)
class DistributionSeen:
    """One of the two sides of a divergence."""

    kind: str
    """`probabilities` or `logarithms`, where every row sums to one as such; otherwise empty. Rows
    of nothing but zeros, as masks leave them, are passed over."""
    least: float
    greatest: float
    grad: bool
    """It belongs to a graph."""


@dataclass(frozen=True, slots=True)
class TermSeen:
    """Another loss that the backward pass of a divergence went through."""

    name: str
    place: Place | None
    value: float | None
    """Mean over the labels that it does not pass over."""
    weight: float
    """Of that mean in the loss: the gradient that arrived, over the one that arrived at the sum of
    the terms, where there is one."""
    labels: int = 0
    ignored: int = 0
    """Labels that it was given, and how many of them it passes over."""


@dataclass(frozen=True, slots=True)
class PaddingSeen:
    """Places of a divergence that hold padding, by what the user's own frames know."""

    padded: int
    counted: int
    """Padded places whose divergence gets a gradient; `spared` are those that get none. Of those
    looked at, if not all were."""
    spared: int
    share: float | None
    """Of the term as it goes into the loss: the part that padded places make."""
    known_by: str
    """The tensor that tells it, as the line of the divergence can write it; empty where only a
    caller of it can."""
    beyond: str = ""
    """The same as the caller writes it."""
    padding_is: int = 0
    """The number that stands for padding in that tensor."""
    shifted: bool = False
    """It has a place more in each row than the divergence has."""


@dataclass(frozen=True, slots=True)
class DivergenceSeen:
    """One of the first calls of `kl_div` that a gradient passes."""

    place: Place | None
    step: int
    """Optimizer steps before it."""
    reduction: str
    log_target: bool
    shape: tuple[int, ...]
    given: DistributionSeen
    target: DistributionSeen
    value: float | None = None
    """What the call gave back, where that is a single number."""
    per_place: float | None = None
    """Mean over all places, of the sum over the classes of each; of a sample where there are
    many."""
    temperature: float | None = None
    """What the logits behind the first argument were divided by, as the graph has it."""
    weight: float | None = None
    """Gradient that arrived at a single number, as in `TermSeen`."""
    place_weight: float | None = None
    """Gradients that arrived at all places together: the weight of `per_place` in the loss."""
    joined: bool = False
    """It is one of several terms of a sum."""
    beside: tuple[TermSeen, ...] = ()
    padding: PaddingSeen | None = None
    looked: int = 0
    """Places that sums and shares are taken over."""

    @property
    def places(self) -> int:
        return prod(self.shape[:-1])


@dataclass(frozen=True, slots=True)
class Steps:
    """What one process trained. Written every few seconds and at the end; the last one counts."""

    process: Process
    steps: int
    seconds: float
    """Since the first step."""
    looked: int
    """Steps at which values were taken; counts of values are samples unless this equals `steps`."""
    cycles: dict[str, int]
    """Letters between two steps -> how often. T, t: forward in training mode with and without
    gradients; E, e: the same in evaluation mode; B backward, Z gradients cleared, C clipped,
    U unscaled, A scaler's step, X skipped by it, S optimizer's step. X and S end a cycle. Equal
    forwards in a row are one letter, `…` stands for what was too long to keep."""
    losses: tuple[tuple[int, float], ...]
    """(Steps taken before it, value that `backward` was called on): the first and last ones, and
    a sample between."""
    loss_at: Place | None = None
    """The line of the user's that called `backward`."""
    least_loss: float | None = None
    greatest_loss: float | None = None
    losses_not_finite: int = 0
    backwards: int = 0
    optimizers: tuple[OptimizerSeen, ...] = ()
    parameters: tuple[ParameterSeen, ...] = ()
    """Those that some optimizer holds; once for each that stepped with it."""
    outside: tuple[ParameterSeen, ...] = ()
    """Those that got a fresh gradient and that no optimizer holds."""
    loss_calls: tuple[LossCall, ...] = ()
    roots: tuple[RootSeen, ...] = ()
    labels: tuple[LabelsSeen, ...] = ()
    """Of the first calls; in a proof run of all."""
    skipped: int = 0
    """Steps that a gradient scaler left out."""
    spent: float = 0.0
    """Seconds that taking values took."""
    inputs: tuple[InputsSeen, ...] = ()
    """Of the first calls; in a proof run of more."""
    differences: tuple[DifferenceSeen, ...] = ()
    """Near the end of the graph of the first loss."""
    divergences: tuple[DivergenceSeen, ...] = ()
    beside: tuple[BesideSeen, ...] = ()
    """Modules that no optimizer holds, as it was at the last look."""
    vocabularies: tuple[VocabulariesSeen, ...] = ()


@dataclass(frozen=True, slots=True)
class Death:
    """An end without an exception."""

    process: Process
    how: str
    """`signal`, `hang` or `exit` (`os._exit`)."""
    signal: str = ""
    code: int = 0
    oom_killed: bool = False
    """The kernel's own counter of such kills rose, or memory was at its limit."""
    peak: int | None = None
    """Most bytes resident; `limit` is what there was."""
    limit: int | None = None
    last: str = ""
    """The last event seen, in words."""
    steps: int = 0
    stacks: dict[str, str] = field(default_factory=dict)
    """Process and thread -> its stack, as text."""
    place: Place | None = None
    """The innermost own line on the main thread's stack, if it is known."""
    at: float = 0.0
    """Seconds since 1970, where that is known: when whoever started the process learned of it."""


@dataclass(frozen=True, slots=True)
class Question:
    """Something that a rule must know beyond the usual."""

    kind: str
    """The name of a probe in autopsy/probes/, or of a second run (stories/stories.py)."""
    crash: str
    """Id of the crash whose frames are meant; empty where a second run answers for a silent one."""
    about: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """A question and what came back; `said` is None where nothing could be found out, and why."""

    question: Question
    said: dict[str, Json] | None
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Watchpoint:
    """A line of the user's at which a proof run is to write down values."""

    place: Place
    """As it was in the first run; without a line: a library's function, by its full name."""
    texts: tuple[str, ...]
    """Names, attributes, subscripts and views of tensors, as the patched line can write them; of a
    function, names of its arguments."""
    after: bool = False
    """Once the statement has run; otherwise before it does."""


@dataclass(frozen=True, slots=True)
class Passed:
    """Values at a watched line, one of the first times that a proof run came by."""

    process: Process
    watched: Watchpoint
    step: int
    """Optimizer steps before it."""
    values: tuple[Value, ...]
    """What could be read there; `text` is as the watchpoint has it."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation in the story of a tensor, from a second run with a recorder."""

    serial: int
    name: str
    place: Place | None
    """The user's line; `inside` is the innermost line, which may be a library's."""
    inside: Place | None
    own: bool
    shape: tuple[int, ...]
    dtype: str
    contiguous: bool
    takes: tuple[int, ...] = ()
    """Serials of the tensors that went in."""
    numbers: tuple[float, ...] = ()
    """Plain numbers among its arguments: the 0.9 of `0.9 * loss`, the bounds of a clamp."""
    names: tuple[str, ...] = ()
    """As the line writes them, where the operation is a statement `name = ...`."""
    elements: int = 0
    saturated: int = 0
    """Elements that a clamp moved to one of its bounds."""
    least: float | None = None
    greatest: float | None = None
    """Of what went in."""
    result: float | None = None
    """Of an operation that gives a single number."""
    grad: bool = False
    """Its result belongs to a graph."""
    device: str = ""


@dataclass(frozen=True, slots=True)
class Script:
    """A file of the user's own code as it was run."""

    file: str
    text: str
    main: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """What a run left or met outside its own folder, temporary files and library caches."""

    process: Process
    what: str
    """`wrote`, `connected`, `started` (a program that cannot be watched) or `unprotected` (a
    sandbox without walls)."""
    where: str


@dataclass(frozen=True, slots=True)
class Confined:
    """What of the kernel keeps a run in a sandbox from what is outside."""

    process: Process
    by: str
    """`namespaces`, `landlock` (with seccomp) or `trusted`: nothing."""


@dataclass(frozen=True, slots=True)
class Chance:
    """The state in which a random stream of the main process began."""

    stream: str
    """`random`, `numpy` or `torch`."""
    state: list[Json]


@dataclass(frozen=True, slots=True)
class Imported:
    """A library that takes long to import, or such a part of it, as the main process has it."""

    name: str
    path: str
    """Of its `__init__.py`, in full, unlike files that findings name."""


@dataclass(frozen=True, slots=True)
class Shrunk:
    """Batches of one size of one loader, in a check: cut to their first rows, or left alone."""

    process: Process
    place: Place | None
    """Where the loader was made."""
    rows: int | None
    """As the loader drew them, where it draws rows."""
    kept: int | None
    why_not: str = ""
    """Why they were left alone; empty where they were cut."""


@dataclass(frozen=True, slots=True)
class NotObserved:
    """What could not be watched, and why."""

    what: str
    why: str
    process: Process = Process()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What one process saw of a law: see `doctor/measures`. Written every few seconds and at the
    end; the last one of each process counts."""

    process: Process


@dataclass(frozen=True, slots=True)
class Ended:
    """How the whole run ended, as its parent saw it."""

    command: tuple[str, ...]
    script: str | None
    code: int
    """As the shell would say it: 128 + n for a signal."""
    seconds: float
    peak: int | None = None
    """Most bytes resident, over all processes together."""
    steps: int = 0


Observation = (
    Script
    | Crash
    | Swallowed
    | Steps
    | Death
    | Answer
    | Passed
    | Trace
    | Confined
    | Chance
    | Imported
    | Shrunk
    | NotObserved
    | Ended
    | Measure
)
