"""The sandbox: isolated execution of untrusted code.

The entry point is `sandbox.workspace.Sandboxes`.
"""
