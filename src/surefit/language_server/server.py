"""The server: requests of an editor in, findings of open scripts out."""

from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, BinaryIO

from surefit import __version__
from surefit.errors import WrongCall
from surefit.lint_settings import LintSettings, project_above, settings_for
from surefit.linting import lint_text

from .open_script import QUICK_FIX, OpenScript
from .wire import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Message,
    NotAMessage,
    read_message,
    write_message,
)

QUIET_SECONDS = 0.2
"""So long nothing is typed before a changed text is read."""
WHOLE_TEXT = 1
ERROR, LOG = 1, 4
NOTEBOOK = ".ipynb"


class EditorServer:
    """One editor; `serve` returns the exit code when it leaves."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO) -> None:
        self.incoming = incoming
        self.outgoing = outgoing
        self.documents: dict[str, OpenScript] = {}
        self.folder = Path.cwd()
        self.initialized = False
        self.shut_down = False
        self.complaint = ""
        self.requests: dict[str, Callable[[Any], Any]] = {
            "initialize": self.initialize,
            "shutdown": self.shutdown,
            "textDocument/hover": self.hover,
            "textDocument/codeAction": self.code_actions,
        }
        self.notifications: dict[str, Callable[[Any], None]] = {
            "textDocument/didOpen": self.did_open,
            "textDocument/didChange": self.did_change,
            "textDocument/didSave": self.did_save,
            "textDocument/didClose": self.did_close,
        }

    def serve(self) -> int:
        messages: SimpleQueue[Message | NotAMessage | None] = SimpleQueue()
        Thread(target=self.read_all, args=(messages,), daemon=True).start()
        while True:
            try:
                message = messages.get(timeout=QUIET_SECONDS if self.waiting() else None)
            except Empty:
                self.check(self.waiting()[0])
                continue
            if message is None:  # the editor is gone
                return 1
            if isinstance(message, NotAMessage):
                self.fail(None, PARSE_ERROR, str(message))
            elif message.get("method") == "exit":
                return 0 if self.shut_down else 1
            else:
                self.take(message)

    def read_all(self, messages: "SimpleQueue[Message | NotAMessage | None]") -> None:
        while True:
            try:
                message: Message | NotAMessage | None = read_message(self.incoming)
            except NotAMessage as error:
                message = error
            messages.put(message)
            if message is None or (isinstance(message, dict) and message.get("method") == "exit"):
                return

    def take(self, message: Message) -> None:
        method, number = message.get("method"), message.get("id")
        if method is None:  # an answer; nothing is asked of the editor
            return
        try:
            if number is None:
                self.notifications.get(method, ignore)(message.get("params"))
            elif method not in self.requests:
                self.fail(number, METHOD_NOT_FOUND, f"{method} is not supported")
            elif self.shut_down or self.initialized == (method == "initialize"):
                self.fail(number, INVALID_REQUEST, f"{method} comes at the wrong time")
            else:
                result = self.requests[method](message.get("params") or {})
                write_message(self.outgoing, {"id": number, "result": result})
        except Exception as error:  # noqa: BLE001 - a wrong request must not end the server
            said = f"{method}: {type(error).__name__}: {error}"
            if number is None:
                self.say(LOG, said)
            else:
                self.fail(number, INTERNAL_ERROR, said)

    def initialize(self, params: Message) -> Message:
        self.initialized = True
        folders = params.get("workspaceFolders") or [{"uri": params.get("rootUri")}]
        if folders[0]["uri"]:
            self.folder = OpenScript(folders[0]["uri"], "").path
        return {
            "capabilities": {
                "positionEncoding": "utf-16",
                "textDocumentSync": {"openClose": True, "change": WHOLE_TEXT, "save": True},
                "hoverProvider": True,
                "codeActionProvider": {"codeActionKinds": [QUICK_FIX]},
            },
            "serverInfo": {"name": "surefit", "version": __version__},
        }

    def shutdown(self, _params: Message) -> None:
        self.shut_down = True

    def hover(self, params: Message) -> Message | None:
        document = self.documents.get(params["textDocument"]["uri"])
        return document.hover(params["position"]) if document else None

    def code_actions(self, params: Message) -> list[Message]:
        """Of the text as it is now: what was typed last is read first."""
        document = self.documents.get(params["textDocument"]["uri"])
        only = params.get("context", {}).get("only")
        if document is None or (only is not None and QUICK_FIX not in only):
            return []
        if not document.is_current:
            self.check(document)
        return list(document.quick_fixes(params["range"]))

    def did_open(self, params: Message) -> None:
        opened = params["textDocument"]
        document = OpenScript(opened["uri"], opened["text"], opened.get("version"))
        self.documents[document.uri] = document
        if document.path.suffix != NOTEBOOK:  # as text it is JSON
            self.check(document)

    def did_change(self, params: Message) -> None:
        document = self.documents[params["textDocument"]["uri"]]
        document.text = params["contentChanges"][-1]["text"]
        document.version = params["textDocument"].get("version")

    def did_save(self, params: Message) -> None:
        """Read again, also where only the settings of the project have changed."""
        project_above.cache_clear()
        self.documents[params["textDocument"]["uri"]].checked = None

    def did_close(self, params: Message) -> None:
        document = self.documents.pop(params["textDocument"]["uri"])
        self.publish(document.uri, [], None)

    def waiting(self) -> list[OpenScript]:
        """Documents whose text is not the one that was read."""
        return [
            document
            for document in self.documents.values()
            if not document.is_current and document.path.suffix != NOTEBOOK
        ]

    def check(self, document: OpenScript) -> None:
        document.checked = document.text
        try:
            linted = lint_text(self.name_of(document.path), document.text)
            settings = self.settings(document.path)
            document.findings = tuple(filter(settings.tells, linted.findings))
            for fault in linted.faults:
                self.say(LOG, fault)
        except Exception as error:  # noqa: BLE001 - the next text may be one that can be read
            document.findings = ()
            self.say(LOG, f"{document.path.name}: {type(error).__name__}: {error}")
        self.publish(document.uri, document.diagnostics(), document.version)

    def name_of(self, path: Path) -> str:
        return str(path.relative_to(self.folder) if path.is_relative_to(self.folder) else path)

    def settings(self, path: Path) -> LintSettings:
        """Of the project; defaults where its file is wrong, which is told once."""
        try:
            return settings_for(path, LintSettings(), ())
        except WrongCall as error:
            if str(error) != self.complaint:
                self.complaint = str(error)
                self.say(ERROR, f"surefit: {error}", shown=True)
            return LintSettings()

    def publish(self, uri: str, diagnostics: list[Message], version: int | None) -> None:
        params: Message = {"uri": uri, "diagnostics": diagnostics}
        if version is not None:
            params["version"] = version
        self.notify("textDocument/publishDiagnostics", params)

    def say(self, kind: int, text: str, *, shown: bool = False) -> None:
        method = "window/showMessage" if shown else "window/logMessage"
        self.notify(method, {"type": kind, "message": text})

    def notify(self, method: str, params: Message) -> None:
        write_message(self.outgoing, {"method": method, "params": params})

    def fail(self, number: Any, code: int, said: str) -> None:
        error = {"code": code, "message": said}
        write_message(self.outgoing, {"id": number, "error": error})


def ignore(_params: Any) -> None:
    """Of a notification that is not known, as the protocol asks."""
