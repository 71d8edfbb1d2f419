"""A mission is one trace: a real collector on loopback receives its stages and model calls."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from typing_extensions import override

from bot.domain.mission import Outcome
from bot.domain.mission_record import RecordState, StageMark
from bot.traces import Traces, open_traces
from tests.contract.test_mission_records import an_end

MINUTE = "2026-01-02T03:04"


class Collector:
    """Keeps what it receives."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector.bodies.append(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            @override
            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/traces"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def spans(self) -> list[Any]:
        found = []
        for body in self.bodies:
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                found += [span for scope in resource.scope_spans for span in scope.spans]
        return found


@pytest.fixture
def collector() -> Iterator[Collector]:
    running = Collector()
    yield running
    running.server.shutdown()
    running.server.server_close()


def attributes(span: Any) -> dict[str, str]:
    return {one.key: one.value.string_value or str(one.value.int_value) for one in span.attributes}


def test_a_mission_is_a_trace_with_its_stages_and_model_calls(collector: Collector) -> None:
    record = an_end(
        state=RecordState.ENDED, began_at=f"{MINUTE}:10+00:00", ended_at=f"{MINUTE}:40+00:00"
    )
    stages = [
        StageMark(name="reproduce", at=f"{MINUTE}:10+00:00"),
        StageMark(name="fix", at=f"{MINUTE}:25+00:00", detail="rung 1"),
    ]
    call = {
        "stage": "fix",
        "model": "anthropic:some-model",
        "seconds": 2.5,
        "usd": 0.01,
        "input_tokens": 300,
        "output_tokens": 40,
    }
    traces = Traces(collector.url)
    traces.send(record, stages, {"calls": [call]})
    traces.close()
    spans = {span.name: span for span in collector.spans}
    assert set(spans) == {"mission", "reproduce", "fix", "chat some-model"}
    root = spans["mission"]
    assert {span.trace_id for span in spans.values()} == {root.trace_id}
    assert {spans[name].parent_span_id for name in ("reproduce", "fix")} == {root.span_id}
    seconds = {
        name: (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9
        for name, span in spans.items()
    }
    assert seconds == {"mission": 30, "reproduce": 15, "fix": 15, "chat some-model": 2.5}
    assert attributes(root)["metaagent.outcome"] == "FIXED"
    assert attributes(root)["metaagent.mission"] == "m-1"
    about_call = attributes(spans["chat some-model"])
    assert (about_call["gen_ai.request.model"], about_call["gen_ai.usage.input_tokens"]) == (
        "some-model",
        "300",
    )
    assert about_call["gen_ai.provider.name"] == "anthropic"


def test_an_error_is_one_in_the_trace_too(collector: Collector) -> None:
    traces = Traces(collector.url)
    ended = f"{MINUTE}:40+00:00"
    traces.send(an_end(outcome=Outcome.ERROR, reason="it broke", ended_at=ended), [], None)
    traces.close()
    (span,) = collector.spans
    assert (span.status.code, span.status.message) == (2, "it broke")


def test_without_a_collector_there_is_nothing() -> None:
    assert open_traces(None) is None
