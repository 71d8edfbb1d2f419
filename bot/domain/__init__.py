"""Domain values as frozen pydantic models, without input, output or a clock."""
