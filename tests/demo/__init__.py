"""The demo: red repositories on a local GitHub become pull requests, with the real service and the real sandbox."""
