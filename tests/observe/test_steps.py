"""Step observations of real trainings, and that observing changes nothing in them."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from surefit.doctor.observations import NotObserved, ParameterSeen, RootSeen, Steps
from surefit.doctor.recording import read
from surefit.observe.inside import spool
from surefit.observe.inside.training.last_event import read_last

pytestmark = pytest.mark.slow  # it trains in many ways, in two processes
HERE = Path(__file__).parent
COMPILED = ("compiled", "compiled_step")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a process left."""

    code: int
    results: dict[str, Any]
    spool: Path

    def lines(self) -> list[str]:
        """All that its processes wrote."""
        files = sorted(self.spool.glob("*.jsonl"))
        return [line for file in files for line in file.read_text().splitlines()]

    def steps(self, training: str) -> Steps:
        line = json.dumps({"saw": "Steps", **self.results[training]["steps"]})
        return next(read([line]).all(Steps))


def run(folder: Path, arm: str, names: Iterable[str] = (), **environment: str) -> Ran:
    out, where = folder / f"{arm}.json", folder / arm
    where.mkdir()
    source = str(HERE.parents[1] / "src")
    kept = {**os.environ, "PYTHONPATH": source, spool.FOLDER: str(where), **environment}
    command = [sys.executable, "run_trainings.py", arm, str(out), *names]
    ended = subprocess.run(command, cwd=HERE, env=kept, check=False)
    return Ran(ended.returncode, json.loads(out.read_text()) if out.exists() else {}, where)


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run(tmp_path_factory.mktemp("observed"), "observed", UNCOMPILED)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run(tmp_path_factory.mktemp("plain"), "plain", UNCOMPILED)


UNCOMPILED = (
    "plain_loop",
    "mixed_precision",
    "scaler_with_fused_step",
    "disabled_scaler",
    "accumulation",
    "closure",
    "closure_of_an_ordinary_optimizer",
    "adversaries",
    "workers",
    "copies",
    "lazy_layers",
    "sparse_gradients",
    "layers_in_a_list",
    "head_swapped_after_the_optimizer",
    "teacher_with_old_gradients",
    "updates_by_hand",
    "frozen_and_held_later",
    "rounded_away",
    "saturated",
    "not_finite",
    "cleared_before_the_step",
    "labels_in_the_batch",
    "under_modes_of_the_user",
    "checkpointed",
    "warned_and_raised",
    "teachers",
    "nested_and_failing_steps",
    "step_that_fails_for_good",
    "evaluation_in_a_thread",
    "transformed",
    "scripted_and_traced",
    "forked",
)


@pytest.mark.parametrize("training", UNCOMPILED)
def test_observing_changes_not_a_bit(training: str, observed: Ran, plain: Ran) -> None:
    assert observed.results[training]["digest"] == plain.results[training]["digest"]


@pytest.mark.slow
def test_observing_changes_nothing_that_is_compiled(tmp_path: Path) -> None:
    """Values, and the numbers of graphs and of breaks in them."""
    one, other = (run(tmp_path, arm, COMPILED) for arm in ("observed", "plain"))
    for training in COMPILED:
        assert one.results[training]["digest"] == other.results[training]["digest"]
    assert one.steps("compiled").cycles == {"ZTBS": 6}
    assert one.steps("compiled").parameters[0].name == "0.weight"


def test_nothing_failed_in_the_observer(observed: Ran) -> None:
    assert list(read(observed.lines()).all(NotObserved)) == []


def test_letters_tell_the_order_of_events(observed: Ran) -> None:
    def cycles(training: str) -> dict[str, int]:
        return observed.steps(training).cycles

    assert cycles("plain_loop") == {"ZTBCS": 11, "eZTBCS": 1}
    assert cycles("accumulation") == {"TBTBTBTBS": 1, "ZTBTBTBTBS": 4}
    assert cycles("mixed_precision") == {"ZTBUCAS": 5, "ZTBUCAX": 1}
    assert cycles("scaler_with_fused_step") == {"ZTBAS": 3, "ZTBAX": 1}
    assert cycles("disabled_scaler") == {"ZTBS": 3}
    assert cycles("closure") == {"ZTBZTBZTBZTBS": 3}
    assert cycles("adversaries") == {"TZTBS": 8, "ZTBS": 8}
    assert cycles("cleared_before_the_step") == {"TBZS": 7}
    assert cycles("teacher_with_old_gradients") == {"ZTBS": 3, "tZTBS": 6}
    assert cycles("nested_and_failing_steps") == {"ZZTBS": 6}


def test_what_other_threads_call_is_not_in_the_order_of_events(observed: Ran) -> None:
    assert observed.steps("evaluation_in_a_thread").cycles == {"ZTBS": 20}


def test_recomputed_forwards_are_no_events(observed: Ran) -> None:
    assert observed.steps("checkpointed").cycles == {"ZTBS": 3}


def test_losses_are_those_that_the_script_saw(observed: Ran) -> None:
    seen = observed.steps("plain_loop")
    assert [step for step, _ in seen.losses] == list(range(12))
    assert seen.backwards == 12
    assert seen.least_loss == min(value for _, value in seen.losses)
    assert seen.greatest_loss == max(value for _, value in seen.losses)
    assert seen.loss_at is not None
    assert seen.loss_at.file == str(HERE / "trainings.py")


def test_losses_are_those_before_scaling(observed: Ran) -> None:
    seen = observed.steps("mixed_precision")
    finite = [value for _, value in seen.losses if value < 1e9]
    assert len(finite) == 5
    assert all(0.9 < value < 1.3 for value in finite)  # about ln 3, and not 1024 times that
    assert seen.losses_not_finite == 1
    assert [step for step, _ in seen.losses] == [0, 1, 2, 3, 3, 4]


def test_steps_that_a_scaler_leaves_out_are_no_steps(observed: Ran) -> None:
    for training, taken in (("mixed_precision", 5), ("scaler_with_fused_step", 3)):
        seen = observed.steps(training)
        assert (seen.steps, seen.skipped) == (taken, 1)
        assert all(parameter.unchanged == 0 for parameter in seen.parameters)


def test_optimizers_have_their_rates(observed: Ran) -> None:
    (seen,) = observed.steps("accumulation").optimizers
    assert (seen.kind, seen.tensors, seen.steps) == ("SGD", 4, 5)
    assert seen.first_rate == 0.1
    assert seen.highest_rate == seen.last_rate == pytest.approx(0.046)


def test_a_step_inside_another_is_part_of_it_and_a_failed_one_is_none(observed: Ran) -> None:
    seen = observed.steps("nested_and_failing_steps")
    assert [(one.kind, one.steps) for one in seen.optimizers] == [("Twice", 5), ("SGD", 1)]
    assert seen.steps == 6


def test_parameters_are_looked_at_before_and_after(observed: Ran) -> None:
    seen = observed.steps("plain_loop")
    assert seen.looked == 12
    assert names(seen.parameters) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    first = seen.parameters[0]
    assert (first.shape, first.dtype, first.layer) == ((16, 6), "float32", "Linear")
    assert first.held_by == seen.optimizers[0].serial
    assert first.sampled == 12 * 64
    assert (first.looked, first.absent, first.zero, first.unchanged) == (12, 0, 0, 0)


def test_gradients_of_a_closure_are_looked_at_after_the_step(observed: Ran) -> None:
    for training in ("closure", "closure_of_an_ordinary_optimizer"):
        seen = observed.steps(training)
        assert seen.optimizers[0].without_gradient == 0
        assert all(one.looked == 3 and one.absent == 0 for one in seen.parameters)
        assert seen.parameters[0].sampled == 3 * 64


def test_gradients_that_are_absent_zero_or_not_finite(observed: Ran) -> None:
    cleared = observed.steps("cleared_before_the_step")
    assert (cleared.optimizers[0].without_gradient, cleared.optimizers[0].looked) == (7, 7)
    assert all(one.absent == one.looked == 7 for one in cleared.parameters)
    assert all(one.zero == 4 for one in observed.steps("saturated").parameters)
    overflown = observed.steps("not_finite")
    assert [one.not_finite for one in overflown.parameters] == [2] * 4
    assert overflown.losses_not_finite == 4


def test_updates_that_rounding_takes_away(observed: Ran) -> None:
    seen = observed.steps("rounded_away").parameters
    assert sum(one.unchanged for one in seen) > 0.95 * sum(one.sampled for one in seen)
    weight = seen[0]
    assert weight.dtype == "bfloat16"
    assert weight.update == pytest.approx(5e-6, rel=0.01)
    assert weight.spacing is not None
    assert weight.spacing > 50 * 5e-6
    assert observed.steps("plain_loop").parameters[0].update is None


def test_sparse_gradients_are_judged_by_their_values(observed: Ran) -> None:
    table = observed.steps("sparse_gradients").parameters[0]
    assert (table.layer, table.looked, table.absent, table.zero) == ("Embedding", 4, 0, 0)


def test_lazy_layers_have_shapes_once_they_have_run(observed: Ran) -> None:
    assert observed.steps("lazy_layers").parameters[0].shape == (8, 6)


def test_layers_in_a_list_are_outside(observed: Ran) -> None:
    seen = observed.steps("layers_in_a_list")
    assert names(seen.outside) == [
        "middle[0].weight",
        "middle[0].bias",
        "middle[1].weight",
        "middle[1].bias",
    ]
    assert not any(one.registered or one.changed or one.held_by for one in seen.outside)
    assert root(seen, "HidesLayers").tensors == 8
    assert root(seen, "HidesLayers").held == 4
    assert seen.outside[0].root == root(seen, "HidesLayers").serial


def test_a_layer_made_after_the_optimizer_is_outside(observed: Ran) -> None:
    seen = observed.steps("head_swapped_after_the_optimizer")
    assert names(seen.outside) == ["2.weight", "2.bias"]
    assert all(one.registered for one in seen.outside)
    assert all(one.serial > seen.optimizers[0].serial for one in seen.outside)


@pytest.mark.parametrize(
    "training",
    [
        "plain_loop",  # a model that gets no gradient
        "adversaries",  # gradients that flow through the other's model
        "teacher_with_old_gradients",
        "frozen_and_held_later",
        "copies",
    ],
)
def test_what_some_optimizer_holds_is_not_outside(training: str, observed: Ran) -> None:
    assert observed.steps(training).outside == ()


def test_what_is_updated_by_hand_is_said_to_change(observed: Ran) -> None:
    seen = observed.steps("updates_by_hand").outside
    assert names(seen) == ["weight", "bias"]
    assert all(one.changed for one in seen)


def test_a_copied_model_is_a_root_of_its_own(observed: Ran) -> None:
    seen = observed.steps("copies")
    counts = [(one.kind, one.training, one.held) for one in seen.roots if one.training]
    assert counts == [("Sequential", 2, 4), ("Sequential", 3, 4)]
    assert len({one.root for one in seen.parameters}) == 2


def test_roots_are_counted_by_mode(observed: Ran) -> None:
    seen = observed.steps("plain_loop")
    called, idle = root(seen, "Sequential"), root(seen, "Linear")
    assert (called.training, called.evaluating, called.parameters) == (12, 6, 163)
    assert (idle.training, idle.evaluating, idle.nested) == (0, 0, 0)
    assert idle.called_at is None


def test_a_teacher_that_another_module_calls_is_not_idle(observed: Ran) -> None:
    seen = observed.steps("teachers")
    assert root(seen, "Sequential").nested == 3  # at the first, second and fourth call
    assert root(seen, "Linear").nested == 0
    assert root(seen, "Sequential").held == 0


def test_what_no_optimizer_holds_is_told_with_the_calls_that_ran_it(observed: Ran) -> None:
    (teacher,) = observed.steps("teacher_with_old_gradients").beside
    assert (teacher.kind, teacher.learned, teacher.moved, teacher.frozen) == (
        "Sequential",
        True,
        False,
        False,
    )
    assert (teacher.training, teacher.evaluating, teacher.idle) == (9, 0, 6)
    (site,) = teacher.sites
    line = (HERE / "trainings.py").read_text().splitlines()[(site.place.line or 0) - 1]
    assert line[site.column : site.end_column] == "teacher(x)"
    assert teacher.width == 3


def test_what_is_held_is_not_beside(observed: Ran) -> None:
    assert observed.steps("adversaries").beside == ()
    assert [one.kind for one in observed.steps("plain_loop").beside] == ["Linear"]


def test_losses_have_labels_and_a_place(observed: Ran) -> None:
    trained, evaluated = observed.steps("plain_loop").loss_calls
    assert (trained.name, trained.calls, trained.looked) == ("cross_entropy", 12, 12)
    assert trained.labels == 12 * 32
    assert 0 < trained.supervised < trained.labels  # `ignore_index=2`
    assert (trained.shape, trained.target_shape) == ((32, 3), (32,))
    assert (trained.training, evaluated.training) == (True, False)
    assert evaluated.supervised == evaluated.labels == 6 * 32
    assert trained.place is not None
    assert trained.place.line is not None
    assert trained.probabilities == 0


def test_probabilities_in_the_place_of_logits(observed: Ran) -> None:
    (seen,) = observed.steps("cleared_before_the_step").loss_calls
    assert (seen.probabilities, seen.looked) == (7, 7)


def test_labels_in_a_batch_are_counted_in_both_modes(observed: Ran) -> None:
    seen = observed.steps("labels_in_the_batch").labels
    assert [one.supervised for one in seen] == [12] * 17
    assert [one.training for one in seen] == [True] * 16 + [False]
    assert seen[0].shape == (4, 5)
    assert [one.step for one in seen] == [*range(16), 20]


def test_workers_of_a_loader_train_nothing(observed: Ran) -> None:
    seen = observed.steps("workers")
    assert (seen.steps, seen.backwards) == (6, 6)
    workers = [one for one in read(observed.lines()).all(Steps) if one.process.role == "worker"]
    assert len(workers) == 4  # two in each of two epochs; their rows call a module
    assert all((one.steps, one.backwards, one.cycles) == (0, 0, {}) for one in workers)


def test_a_forked_child_counts_for_itself(observed: Ran) -> None:
    assert observed.steps("forked").steps == 4
    written = {seen.process.pid: seen for seen in read(observed.lines()).all(Steps) if seen.steps}
    *_, child = written.values()  # the last word of the last process that trained
    assert (child.steps, child.cycles) == (2, {"ZTBS": 2})
    assert [step for step, _ in child.losses] == [0, 1]


def test_a_killed_process_leaves_its_last_event(tmp_path: Path) -> None:
    ended = run(tmp_path, "observed", ["killed"])
    assert ended.code == -signal.SIGKILL
    (file,) = ended.spool.glob("*.last")
    last = read_last(file)
    assert last is not None
    assert (last.letter, last.under_way, last.steps) == ("B", True, 2)
    assert last.events == 11  # three times Z, T and B, twice S
    assert last.in_words() == "during a backward pass, with 2 optimizer steps completed"
    assert max(seen.steps for seen in read(ended.lines()).all(Steps)) == 2


def test_a_proof_looks_at_every_step_and_stops(observed: Ran, tmp_path: Path) -> None:
    proof = {spool.PROOF: "1", spool.STOP_AFTER: "10"}
    ended = run(tmp_path, "observed", ["plain_loop"], **proof)
    assert ended.code == 0
    assert ended.results == {}  # it was stopped before it could write them
    *_, seen = read(ended.lines()).all(Steps)
    assert (seen.steps, seen.looked) == (10, 10)
    assert seen.losses == observed.steps("plain_loop").losses[:10]
    assert seen.parameters[0].sampled == 10 * 96  # of a tensor this small every element


def test_a_proof_goes_on(tmp_path: Path) -> None:
    """What was written when it came to its goal is that of a run that was stopped there."""
    proof = {spool.PROOF: "1", spool.STOP_AFTER: "8", spool.GO_ON: "60"}
    ended = run(tmp_path, "observed", ["plain_loop"], **proof)
    assert ended.code == 0
    assert ended.results != {}
    (goal,) = ended.spool.glob(f"*{spool.GOAL}")
    written = goal.with_suffix(".jsonl").read_bytes()[: int(goal.read_text())]
    *_, seen = read(written.decode().splitlines()).all(Steps)
    assert (seen.steps, seen.looked) == (8, 8)
    *_, seen = read(ended.lines()).all(Steps)
    assert seen.steps > 8


def names(seen: Iterable[ParameterSeen]) -> list[str]:
    return [one.name for one in seen]


def root(seen: Steps, kind: str) -> RootSeen:
    return next(one for one in seen.roots if one.kind == kind)
