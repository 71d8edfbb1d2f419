"""Build real objects from settings; the only folder that names concrete classes."""
