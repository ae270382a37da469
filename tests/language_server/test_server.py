"""`surefit lsp` as an editor uses it: a client of pygls starts it and talks to it over stdio."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient

from surefit import __version__
from swapped_product import HEADLINE, SCRIPT

WIDE = SCRIPT.replace("scores =", "'🜁'; scores =")
"""A character that is two units of UTF-16, before what is marked."""
BROKEN = "if x\n"
SECONDS = 60


class Editor:
    """A client with one workspace, and what the server told it without being asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.client = LanguageClient("tests", "1")
        self.told: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()
        self.shown: list[str] = []
        self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(
            lambda told: self.told.put_nowait(told)
        )
        self.client.feature(lsp.WINDOW_SHOW_MESSAGE)(lambda it: self.shown.append(it.message))

    async def start(self) -> lsp.InitializeResult:
        await self.client.start_io(sys.executable, "-m", "surefit", "lsp")
        parameters = lsp.InitializeParams(
            capabilities=lsp.ClientCapabilities(), root_uri=self.folder.as_uri()
        )
        result = await self.client.initialize_async(parameters)
        self.client.initialized(lsp.InitializedParams())
        return result

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    async def diagnostics(self, name: str = "train.py") -> list[lsp.Diagnostic]:
        told = await asyncio.wait_for(self.told.get(), SECONDS)
        assert told.uri == self.uri(name)
        return list(told.diagnostics)

    async def open(self, text: str, name: str = "train.py") -> list[lsp.Diagnostic]:
        item = lsp.TextDocumentItem(self.uri(name), "python", 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return await self.diagnostics(name)

    def change(self, text: str, version: int = 2) -> None:
        whole = lsp.TextDocumentContentChangeWholeDocument(text)
        document = lsp.VersionedTextDocumentIdentifier(version, self.uri("train.py"))
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [whole]))

    @property
    def document(self) -> lsp.TextDocumentIdentifier:
        return lsp.TextDocumentIdentifier(self.uri("train.py"))

    async def hover(self, line: int, column: int) -> lsp.Hover | None:
        where = lsp.HoverParams(self.document, lsp.Position(line, column))
        return await self.client.text_document_hover_async(where)

    async def quick_fixes(self, where: lsp.Range) -> list[Any]:
        context = lsp.CodeActionContext([])
        asked = lsp.CodeActionParams(self.document, where, context)
        return list(await self.client.text_document_code_action_async(asked) or [])

    async def leave(self) -> int | None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        server: Any = self.client._server
        code: int = await asyncio.wait_for(server.wait(), SECONDS)
        await self.client.stop()  # type: ignore[no-untyped-call]
        return code


def in_editor(folder: Path, work: Callable[[Editor], Awaitable[None]]) -> None:
    async def run() -> None:
        editor = Editor(folder)
        result = await editor.start()
        assert result.server_info == lsp.ServerInfo("surefit", __version__)
        await work(editor)
        assert await editor.leave() == 0

    asyncio.run(run())


def applied(text: str, edits: list[lsp.TextEdit]) -> str:
    """As an editor does it: columns in units of UTF-16, the last edit first."""
    lines = text.splitlines(keepends=True)
    for edit in sorted(edits, key=lambda it: it.range.start.line, reverse=True):
        begin, end = edit.range.start, edit.range.end
        assert begin.line == end.line
        raw = lines[begin.line].encode("utf-16-le")
        new = edit.new_text.encode("utf-16-le")
        raw = raw[: begin.character * 2] + new + raw[end.character * 2 :]
        lines[begin.line] = raw.decode("utf-16-le")
    return "".join(lines)


def test_a_script_is_opened_and_mended(tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        (found,) = await editor.open(WIDE)
        assert (found.code, found.source) == ("product-does-not-fit", "surefit")
        assert found.severity == lsp.DiagnosticSeverity.Warning
        assert found.message.startswith(HEADLINE)
        column = len("'🜁'; scores = ") + 1
        assert found.range == lsp.Range(lsp.Position(4, column), lsp.Position(4, column + 5))

        page = await editor.hover(4, column + 2)
        assert page is not None
        assert isinstance(page.contents, lsp.MarkupContent)
        assert page.contents.value.startswith("**product-does-not-fit** `SF309`")
        assert "## What to do" in page.contents.value
        assert await editor.hover(0, 0) is None

        (fix,) = await editor.quick_fixes(found.range)
        assert fix.title == "Swap them back: `answers.transpose(-2, -1)`."
        assert (fix.kind, fix.is_preferred) == ("quickfix", True)
        mended = applied(WIDE, fix.edit.changes[editor.uri("train.py")])
        assert mended == WIDE.replace("@ answers", "@ answers.transpose(-2, -1)")
        assert await editor.quick_fixes(lsp.Range(lsp.Position(0, 0), lsp.Position(1, 0))) == []

        editor.change(mended)
        assert await editor.diagnostics() == []
        editor.change(BROKEN, 3)
        assert [found.code for found in await editor.diagnostics()] == ["not-python"]
        editor.change(SCRIPT, 4)  # asked at once, before it was read for itself
        (fix,) = await editor.quick_fixes(lsp.Range(lsp.Position(4, 9), lsp.Position(4, 9)))
        assert applied(SCRIPT, fix.edit.changes[editor.uri("train.py")]) != SCRIPT
        assert len(await editor.diagnostics()) == 1

        (tmp_path / "pyproject.toml").write_text("[tool.surefit]\nignore = ['SF3']\n")
        save = lsp.DidSaveTextDocumentParams(editor.document)
        editor.client.text_document_did_save(save)
        assert await editor.diagnostics() == []
        (tmp_path / "pyproject.toml").write_text("[tool.surefit]\nignroe = ['SF3']\n")
        editor.client.text_document_did_save(save)
        assert len(await editor.diagnostics()) == 1
        assert "`ignroe` is not a setting of `[tool.surefit]`." in editor.shown[0]
        editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(editor.document))
        assert await editor.diagnostics() == []

        with pytest.raises(JsonRpcException, match="is not supported"):
            await editor.client.text_document_definition_async(
                lsp.DefinitionParams(editor.document, lsp.Position(0, 0))
            )

    in_editor(tmp_path, work)
