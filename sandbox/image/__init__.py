"""The toolchain image: its Dockerfile, and its build without a registry."""
