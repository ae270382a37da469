"""Whether the doctor is silent on healthy runs of surefit's own recipes.

    python benchmarks/healthy_recipes.py [--steps 500] [--only sft|pretrain|distill]

Each recipe trains on its embedded defaults under `surefit run`, in a process and a folder of its
own. A finding above a note is a false alarm of its law.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
CALLS = {
    "sft": "surefit.sft(max_steps={steps}, epochs=40, out='run')",
    "pretrain": "surefit.pretrain(max_steps={steps}, epochs=60, out='run')",
    "distill": "surefit.distill(steps={steps}, out='run')",
}

HEAD = (
    "| recipe | steps | ended with | findings | laws | minutes |\n"
    "| --- | --- | --- | --- | --- | --- |"
)


def line(recipe: str, steps: int) -> str:
    """Of the table."""
    with tempfile.TemporaryDirectory(prefix="surefit-") as folder:
        call = CALLS[recipe].format(steps=steps)
        script, told = Path(folder) / "train.py", Path(folder) / "told.json"
        script.write_text(f"import surefit\n\nif __name__ == '__main__':\n    {call}\n")
        command = [
            sys.executable,
            "-m",
            "surefit",
            "run",
            "--laws",
            "--json",
            str(told),
            script.name,
        ]
        source = {"PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": "1"}
        began = time.monotonic()
        subprocess.run(
            command, cwd=folder, env=os.environ | source, capture_output=True, check=False
        )
        minutes = (time.monotonic() - began) / 60
        said = json.loads(told.read_text(encoding="utf-8"))
    findings = ", ".join(
        f"{finding['rule']} ({finding['severity']})" for finding in said["findings"]
    )
    laws = Counter(law["state"] for law in said["laws"])
    counts = ", ".join(f"{count} {state}" for state, count in laws.most_common())
    code = said["ended"]["code"]
    return f"| {recipe} | {steps} | {code} | {findings or 'none'} | {counts} | {minutes:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--only", choices=list(CALLS))
    asked = parser.parse_args()
    print(HEAD)
    for recipe in [asked.only] if asked.only else CALLS:
        print(line(recipe, asked.steps), flush=True)


if __name__ == "__main__":
    main()
