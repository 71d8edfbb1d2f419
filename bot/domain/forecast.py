"""The expected use of models by a mission."""

from pydantic import Field

from bot.domain.model import Role, Usage
from sandbox.types import Frozen


class MissionUsage(Frozen):
    """The calls of one mission that asked a model, without those of a coding agent."""

    calls: int = Field(ge=0)
    judge: Usage = Usage()
    fix: Usage = Usage()

    def by(self, role: Role) -> Usage:
        """Return the usage of a role."""
        return self.fix if role is Role.FIX else self.judge


class Forecast(Frozen):
    """The use of a median mission that asks a model, at the prices of the configured models."""

    missions: int = 0
    """Number of missions of all repositories it is computed from; 0 if it is assumed."""
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """None means that a price is unknown."""
