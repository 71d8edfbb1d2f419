"""The toolchain image: its Dockerfile, and how it is built when no registry can be reached."""
