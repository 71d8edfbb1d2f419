"""The words of the project as frozen pydantic models. No input, no output, no clock."""
