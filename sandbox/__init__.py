"""The sandbox: everything that touches code we do not trust. Its door is `sandbox.workspace.Sandboxes`."""
