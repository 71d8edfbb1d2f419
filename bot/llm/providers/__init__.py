"""Model providers: openai-chat, anthropic, command-line agents, and some without a model."""
