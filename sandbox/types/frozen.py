"""The base class of all values here: immutable, with strict fields."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value: immutable, with strict fields."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64"
    )

    def with_(self, **changes: Any) -> Self:
        """Return a copy with some fields changed, validated again."""
        return self.model_validate(
            {**{name: getattr(self, name) for name in type(self).model_fields}, **changes}
        )
