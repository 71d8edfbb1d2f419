"""MetaAgent: turns a red check into a reviewed fix."""

__version__ = "0.1.0"
