"""Search-based repair inside the sandbox: finds one-edit candidates, tries them in forked, warm pytest processes."""
