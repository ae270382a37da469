"""A model card, filled in from what a run was asked to do and what it measured."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from surefit import __version__
from surefit.data.templates import PLAIN
from surefit.metrics.perplexity import Perplexity

MACHINES_OWN = {
    *("out", "resume", "threads", "report_to", "project", "run_name", "log_every", "save_every"),
    *("max_memory_gb", "readers", "cache_teacher", "offload_teacher", "force"),
    *("data", "eval_data", "model", "student_model", "teacher_model", "generate_batch_size"),
}
"""Settings that say nothing of the model, or that the card has elsewhere."""

HOW = {
    "sft": "fine-tuned on rows of prompts and answers",
    "distill": "distilled from a teacher",
    "pretrain": "pretrained on feature sequences",
}
TAGS = {"sft": ["sft"], "distill": ["distillation"], "pretrain": ["pretraining", "features"]}

TO_LOAD = {
    "text": """\
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained("FOLDER")
tokenizer = AutoTokenizer.from_pretrained("FOLDER")""",
    "features": """\
from surefit.models.features import FeatureModel

model = FeatureModel.from_pretrained("FOLDER")""",
}


def model_card(
    recipe: str,
    settings: Mapping[str, Any],
    report: Mapping[str, Any],
    segments: Sequence[Mapping[str, Any]],
    system: str | None = None,
) -> str:
    """`report` is empty for a run that is not done; `system` is the turn that every training row
    began with."""
    base = settings.get("model") or settings.get("student_model")
    parts = [
        _front_matter(recipe, base),
        f"# A model {HOW[recipe]}",
        _about(recipe, settings, report, base),
        f"## Scores\n\n{_scores(recipe, report)}",
        f"## How to load it\n\n```python\n{TO_LOAD['features' if recipe == 'pretrain' else 'text']}"
        "\n```",
        *([] if recipe == "pretrain" else [f"## Prompts\n\n{_prompts(settings, system)}"]),
        f"## Training settings\n\n{_settings(settings)}",
        *([f"## Segments\n\n{_segments(segments)}"] if len(segments) > 1 else []),
        f"Trained with surefit {__version__}, `surefit {recipe}`.",
    ]
    return "\n\n".join(parts) + "\n"


def _front_matter(recipe: str, base: str | None) -> str:
    tags = "".join(f"\n- {tag}" for tag in (*TAGS[recipe], "surefit"))
    on_hub = base is not None and base.count("/") == 1 and not base.startswith((".", "/", "~"))
    named = f"base_model: {base}\n" if on_hub else ""
    library = "" if recipe == "pretrain" else "library_name: transformers\n"
    return f"---\n{named}{library}tags:{tags}\n---"


def _about(
    recipe: str, settings: Mapping[str, Any], report: Mapping[str, Any], base: str | None
) -> str:
    rows = f", {report['training_rows']:,} rows to train on" if report else ""
    held = f" and {report['held_out_rows']:,} to validate on" if report else ""
    evaluated = settings.get("eval_data")
    lines = [
        *([f"- **Base model:** {_name(base)}"] if base else []),
        *([f"- **Teacher:** {_name(settings['teacher_model'])}"] if recipe == "distill" else []),
        f"- **Data:** {_name(settings['data'])}{rows}{held}"
        + (f" (from {_name(evaluated)})" if evaluated else ""),
        *([f"- **Steps:** {report['steps']:,}"] if report else []),
        *([f"- **Training time:** {report['seconds']:,.0f} s"] if report else []),
    ]
    return "\n".join(lines)


def _scores(recipe: str, report: Mapping[str, Any]) -> str:
    if not report:
        return "The run is not done; these are its best weights so far."
    rows = [
        (name, _figure(before), _figure(after))
        for name, before, after in _measured(recipe, report)
        if after is not None
    ]
    if not rows:
        return "No rows were held out: nothing was measured."
    table = ["| on held-out rows | before training | after |", "| --- | --- | --- |"]
    return "\n".join([*table, *(f"| {' | '.join(row)} |" for row in rows)])


def _measured(
    recipe: str, report: Mapping[str, Any]
) -> list[tuple[str, float | None, float | None]]:
    loss = ("loss, mean over tokens", "validation_loss_before", "validation_loss")
    if recipe == "sft":
        names = [
            ("F1, mean over rows", "f1_before", "f1"),
            ("exact match", "", "exact_match"),
            loss,
        ]
    elif recipe == "pretrain":
        names = [("loss, mean over steps", "validation_loss_before", "validation_loss")]
    else:
        names = [
            ("cross entropy, mean over tokens", "cross_entropy_before", "cross_entropy"),
            ("KL to the teacher", "divergence_before", "divergence"),
            ("same top token as the teacher", "agreement_before", "agreement"),
        ]
    found = [(name, report.get(first), report.get(last)) for name, first, last in names]
    if recipe == "distill":
        both = (report["cross_entropy_before"], report["cross_entropy"])
        before, after = (Perplexity(entropy, 1).value for entropy in both)
        found.insert(0, ("perplexity", before, after))
    return found


def _prompts(settings: Mapping[str, Any], system: str | None) -> str:
    template = settings.get("template")
    first = f"Every training row began with this system turn:\n\n> {system}\n\n" if system else ""
    if template == "chat":
        return f"{first}The tokenizer's chat template."
    text = PLAIN if template == "plain" else str(template)
    return f"{first}The answer follows this text after a space:\n\n```\n{text}\n```"


def _settings(settings: Mapping[str, Any]) -> str:
    shown = {
        name: value
        for name, value in settings.items()
        if name not in MACHINES_OWN and value is not None and value is not False
    }
    lines = [f"| `{name}` | {_cell(value)} |" for name, value in shown.items()]
    return "\n".join(["| setting | value |", "| --- | --- |", *lines])


def _segments(segments: Sequence[Mapping[str, Any]]) -> str:
    lengths = (
        ", ".join(f"{name} {value}" for name, value in segment.items() if name != "from_step")
        for segment in segments
    )
    both = zip(segments, lengths, strict=True)
    return "\n".join(f"- after step {segment['from_step']}: {length}" for segment, length in both)


def _cell(value: object) -> str:
    text = " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    text = PurePath(text).name if text.startswith(("/", "~", "./", "../")) else text
    return text.replace("|", "\\|").replace("\n", "\\n")


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _name(source: str) -> str:
    """A hub name as it is; of a path on this machine its last part."""
    looks_like_path = source.startswith((".", "/", "~")) or source.count("/") > 1
    has_ending = bool(PurePath(source).suffix) and "/" in source
    return PurePath(source).name if looks_like_path or has_ending else source
