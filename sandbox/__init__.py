"""The sandbox: everything that touches code we do not trust. Public door: open_workspace, Workspace, the types."""
