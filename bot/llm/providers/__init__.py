"""The providers by kind: openai-chat, anthropic, command-line agents, and those that need no model."""
