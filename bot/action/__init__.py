"""The GitHub Action: one step of a workflow, from its inputs to its outputs."""
