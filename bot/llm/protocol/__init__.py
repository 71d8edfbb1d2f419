"""The wire format between us and a model: type, version, payload; code stays outside of it."""
