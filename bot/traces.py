"""One OpenTelemetry trace for each mission, with its stages and model calls as spans.

The only code that imports opentelemetry, and only when a collector is configured. A trace is sent
when its mission has ended, from the stored times: it is complete even if several processes ran the
mission.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from bot import __version__
from bot.domain.mission_record import Detail, MissionRecord, StageMark
from bot.errors import SettingsError

TIMEOUT_S = 5.0
"""Timeout for the collector, in seconds."""
SECOND_NS = 1_000_000_000

log = logging.getLogger(__name__)


class Traces:
    """Sends traces of ended missions to a collector, in a thread of its own.

    Args:
        url: The collector's address for traces.

    Raises:
        SettingsError: the library is not installed.
    """

    def __init__(self, url: str) -> None:
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            raise SettingsError(
                "telemetry.otlp_url needs the OpenTelemetry SDK", "install metaagent[otel]"
            ) from error
        resource = Resource.create({"service.name": "metaagent", "service.version": __version__})
        # Not the global provider: libraries in this process must not be traced.
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint=url, timeout=TIMEOUT_S)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("metaagent", __version__)

    def send(
        self, record: MissionRecord, stages: Sequence[StageMark], detail: Detail | None
    ) -> None:
        """Queue the trace of an ended mission; it is sent in the background.

        Args:
            record: The mission.
            stages: Its stages.
            detail: Its detail, which has the model calls.
        """
        from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

        end = _nanoseconds(record.ended_at)
        start = _nanoseconds(record.began_at or record.queued_at) or end
        root = self._tracer.start_span(
            "mission", kind=SpanKind.CONSUMER, start_time=start, attributes=_about(record)
        )
        if record.verdict == "ERROR":
            root.set_status(Status(StatusCode.ERROR, record.reason))
        within = set_span_in_context(root)
        starts = [_nanoseconds(mark.at) for mark in stages]
        for mark, begin, finish in zip(stages, starts, [*starts, end][1:], strict=True):
            attributes = {"metaagent.detail": mark.detail}
            span = self._tracer.start_span(
                mark.name, context=within, start_time=begin, attributes=attributes
            )
            span.end(end_time=max(begin, finish))
        for call in (detail or {}).get("calls", ()):
            # A call's own start is not stored: its span begins with the mission.
            span = self._tracer.start_span(
                f"chat {_model(call)}",
                context=within,
                kind=SpanKind.CLIENT,
                start_time=start,
                attributes=_about_call(call),
            )
            span.end(end_time=start + int(call["seconds"] * SECOND_NS))
        root.end(end_time=max(start, end))

    def close(self) -> None:
        """Send what is queued, and stop."""
        self._provider.shutdown()


def open_traces(url: str | None) -> Traces | None:
    """Return the sender of traces, or None if no collector is configured.

    Raises:
        SettingsError: the library is not installed.
    """
    return Traces(url) if url else None


def _about(record: MissionRecord) -> dict[str, Any]:
    values = {
        "metaagent.mission": record.mission_id,
        "metaagent.outcome": record.verdict,
        "metaagent.trigger": record.trigger,
        "metaagent.failure": record.kind,
        "metaagent.rung": record.rung,
        "metaagent.template": record.template,
        "metaagent.confidence": record.confidence,
        "metaagent.cost_usd": record.cost_usd,
        "vcs.repository.name": record.place,
        "vcs.ref.head.name": record.branch,
        "vcs.ref.head.revision": record.head_sha,
        "vcs.change.id": str(record.pull_request) if record.pull_request else None,
    }
    return {name: value for name, value in values.items() if value not in {None, ""}}


def _about_call(call: Mapping[str, Any]) -> dict[str, Any]:
    provider, _, model = str(call["model"]).partition(":")
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": model or provider,
        "gen_ai.usage.input_tokens": int(call["input_tokens"]),
        "gen_ai.usage.output_tokens": int(call["output_tokens"]),
        "metaagent.stage": str(call["stage"]),
    }


def _model(call: Mapping[str, Any]) -> str:
    return str(call["model"]).rpartition(":")[2]


def _nanoseconds(moment: str) -> int:
    """Return a moment as nanoseconds since 1970; 0 if it is empty."""
    return int(datetime.fromisoformat(moment).timestamp() * SECOND_NS) if moment else 0
