"""Measures one loss in this process: once there and back, after a small one.

python -m benchmarks.distilling.measure NAME SHARE ANSWER
"""

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

import torch

from benchmarks.distilling.contenders import CONTENDERS
from benchmarks.distilling.workload import make_workload
from benchmarks.peers.meter import OWN_REFERENCES, megabytes


def measured(name: str, share: float) -> dict[str, object]:
    contender = CONTENDERS[name]
    given = make_workload(share)
    contender.prepare(given.first(8))()
    given.hidden.grad = given.weight.grad = None
    run = contender.prepare(given)
    OWN_REFERENCES.write_text("5", encoding="ascii")
    resident = megabytes("VmRSS")
    began = time.process_time()
    loss = run()
    seconds = time.process_time() - began
    return {
        "cpu": seconds,
        "memory": megabytes("VmHWM") - resident,
        "loss": loss,
        "load": os.getloadavg()[0],
        "versions": {one: version(one) for one in ("torch", *contender.packages)},
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    answer = measured(sys.argv[1], float(sys.argv[2]))
    Path(sys.argv[3]).write_text(json.dumps(answer), encoding="utf-8")
