"""First set-up: creates the GitHub App by the manifest flow, guarded by a code from the console."""
