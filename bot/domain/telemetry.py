"""Options of telemetry; everything is off by default."""

from pydantic import ConfigDict, Field, SecretStr

from sandbox.types import Frozen


class TelemetryOptions(Frozen):
    """Figures and traces for monitoring systems."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    metrics: bool = False
    """Answer Prometheus at `/metrics`; needs `metaagent[metrics]`."""
    metrics_token: SecretStr | None = None
    """Bearer token that a scraper must send."""
    otlp_url: str | None = Field(default=None, pattern=r"^https?://\S+$")
    """Address of an OpenTelemetry collector (OTLP over HTTP) for traces of missions, such as
    `http://127.0.0.1:4318/v1/traces`; needs `metaagent[otel]`."""


class Figures(Frozen):
    """The figures of one answer."""

    totals: dict[str, tuple[int, float, float]] = Field(default_factory=dict)
    """By outcome: missions, seconds and US dollars since the first mission."""
    active: dict[str, tuple[int, str]] = Field(default_factory=dict)
    """By state: the number of missions, and since when the oldest one is (ISO 8601)."""
    oldest_s: float = 0.0
    """Age of the oldest waiting mission, in seconds."""
    fates: dict[str, int] = Field(default_factory=dict)
    working: bool = True
