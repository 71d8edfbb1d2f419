"""From settings to real objects: the only folder that names concrete classes."""
