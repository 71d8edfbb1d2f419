"""Containers on a kernel without IPv6."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from docker.errors import APIError
from typing_extensions import override

from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec

MISSING = "open /proc/sys/net/ipv6/conf/lo/disable_ipv6: no such file or directory"


class Without(DockerBackend):
    """A daemon on which two containers are started at the same time, and neither can have IPv6."""

    def __init__(self) -> None:
        super().__init__(SandboxSpec())
        self.both = Barrier(2, timeout=10)
        self.asked: list[bool] = []
        self.message = MISSING

    @override
    def _start_container(self, *of: Any, ipv6: bool) -> Any:
        self.asked.append(ipv6)
        if ipv6:
            self.both.wait()
            raise APIError(self.message)
        return of[0]


def test_containers_that_start_at_the_same_time_all_start_without_ipv6() -> None:
    backend = Without()
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda image: backend._start(image, "mission"), ("a", "b")))
    backend._start("c", "mission")
    assert backend.asked == [True, True, False, False, False]


def test_another_error_is_not_tried_again() -> None:
    backend = Without()
    backend.both, backend.message = Barrier(1), "no space left on device"
    with pytest.raises(APIError):
        backend._start("a", "mission")
    assert backend.asked == [True]
