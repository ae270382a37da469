"""Measures whole steps in this process.

python -m benchmarks.distilling.measure_steps NAME SHARE ANSWER
"""

import json
import sys
from pathlib import Path

import torch

from benchmarks.distilling.step_meter import StepMeter
from benchmarks.distilling.step_workload import make_step_workload
from benchmarks.distilling.steps import STEPS


def measured(name: str, share: float) -> dict[str, object]:
    meter = StepMeter()
    STEPS[name].train(make_step_workload(share), meter)
    return meter.answer("torch", "transformers", *STEPS[name].packages)


if __name__ == "__main__":
    torch.set_num_threads(1)
    answer = measured(sys.argv[1], float(sys.argv[2]))
    Path(sys.argv[3]).write_text(json.dumps(answer), encoding="utf-8")
