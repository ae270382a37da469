"""`%load_ext surefit`: a failing cell is diagnosed below its traceback; `%%surefit` watches one."""

import ast
from typing import Any

from surefit.errors import SurefitError
from surefit.observe.in_process import install
from surefit.observe.inside.unseen import strip
from surefit.render import html
from surefit.watching import Findings, watch

from .cell_crash import diagnose_crash
from .mended_cell import MendedCell, mended_cell

FIX = "fix"
USAGE = "`%%surefit` watches a cell; `%surefit fix` inserts the fixed cell."


_loaded: list["Extension"] = []


def load(shell: Any) -> None:
    _loaded.append(Extension(shell))
    _loaded[-1].load()


def unload(shell: Any) -> None:
    for extension in [extension for extension in _loaded if extension.shell is shell]:
        extension.unload()
        _loaded.remove(extension)


class Extension:
    """What one notebook has of surefit while it is loaded."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.mended: MendedCell | None = None

    def load(self) -> None:
        install()
        self.shell.events.register("post_run_cell", self.after_cell)
        if not self.shell.custom_exceptions:
            self.shell.set_custom_exc((Exception,), show_traceback)
        self.shell.register_magic_function(self.magic, "line_cell", "surefit")

    def unload(self) -> None:
        self.shell.events.unregister("post_run_cell", self.after_cell)
        if self.shell.custom_exceptions == (Exception,):
            self.shell.set_custom_exc((), None)
        self.shell.magics_manager.magics["line"].pop("surefit", None)
        self.shell.magics_manager.magics["cell"].pop("surefit", None)

    def after_cell(self, result: Any) -> None:
        """A refusal of surefit has told itself; what is no `Exception` is no fault."""
        error = result.error_in_exec
        if not isinstance(error, Exception) or isinstance(error, SurefitError):
            return
        try:
            findings = diagnose_crash(error)
        except Exception as fault:  # noqa: BLE001 - the user's error has been shown; one line below it
            print(f"surefit could not diagnose this: {type(fault).__name__}: {fault}")
            return
        if findings:
            self.show(findings)

    def show(self, findings: Findings) -> None:
        """With the mended cell as the next one. Jupyter Lab takes no next cell from one that
        failed, so that the way to it is told."""
        written = self.shell.history_manager.input_hist_raw
        self.mended = mended_cell(findings, written)
        shown = html.findings_html(findings)
        if self.mended is not None:
            self.shell.set_next_input(self.mended.text)
            shown += (
                "<div>To try the fix, run <code>%surefit fix</code> in a new cell: it inserts "
                "the fixed"
                f" <code>In[{self.mended.number}]</code>.</div>"
            )
        display_html(shown, findings)

    def magic(self, line: str, cell: str | None = None) -> Any:
        """`%%surefit` watches a cell; `%surefit fix` inserts the fixed cell."""
        __tracebackhide__ = True
        if cell is not None:
            return self.watched(cell)
        if line.strip() == FIX and self.mended is not None:
            self.shell.set_next_input(self.mended.text, replace=True)
        else:
            print("There is no fix to try." if line.strip() == FIX else USAGE)
        return None

    def watched(self, cell: str) -> Any:
        """Runs the cell as it is, its lines where they stand, and shows what is wrong in it."""
        __tracebackhide__ = True
        blank = len(cell) - len(cell.lstrip("\n"))  # IPython leaves them out
        text = "\n" * (blank + 1) + self.shell.transform_cell(cell)
        number = len(self.shell.history_manager.input_hist_raw) - 1
        file = self.shell.compile.cache(text, number)
        body = self.shell.compile.ast_parse(text, filename=file)
        last = body.body.pop() if body.body and isinstance(body.body[-1], ast.Expr) else None
        watched = watch(quiet=True)
        value = None
        try:
            with watched:
                exec(compile(body, file, "exec"), self.shell.user_ns)
                if last is not None:
                    value = eval(
                        compile(ast.Expression(last.value), file, "eval"), self.shell.user_ns
                    )
        finally:
            if watched.findings:
                self.show(watched.findings)
        if not watched.findings:
            print(f"surefit: no findings; {laws_measured(watched)}")
        return value


def show_traceback(
    shell: Any, kind: type[BaseException], error: BaseException, _traceback: Any, tb_offset: Any
) -> None:
    """As IPython does it, without the frames of what surefit put around functions of libraries."""
    strip(error)
    shell.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset)


def laws_measured(watched: watch) -> str:
    count = sum(bool(state.watched.on) for state in watched.laws)
    return f"{count} of {len(watched.laws)} laws were measured"


def display_html(shown: str, findings: Findings) -> None:
    from IPython.display import display

    lines = "\n".join(f"{finding.place}: {finding.headline}" for finding in findings)
    display({"text/html": shown, "text/plain": lines}, raw=True)  # type: ignore[no-untyped-call]
