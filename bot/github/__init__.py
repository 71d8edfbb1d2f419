"""The only code that knows githubkit."""
