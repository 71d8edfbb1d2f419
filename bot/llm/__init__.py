"""How we talk to a language model, whichever it is."""
