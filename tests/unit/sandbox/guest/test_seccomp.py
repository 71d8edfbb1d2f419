"""The filter, run by a small interpreter of classic BPF: what it denies, and what it lets through."""

import struct

import pytest

from sandbox.guest import seccomp
from sandbox.guest.seccomp import AARCH64, ALLOW, DENY, KILL, MISSING, X86_64, Table

TABLES = pytest.mark.parametrize("table", [X86_64, AARCH64], ids=["x86_64", "aarch64"])


def decide(
    table: Table, number: int, first: int = 0, second: int = 0, *, audit: int | None = None
) -> int:
    """What the filter returns for one call."""
    data = struct.pack(
        "<IIQQQQQQQ", number, table.audit if audit is None else audit, 0, first, second, 0, 0, 0, 0
    )
    code = list(struct.iter_unpack("<HBBI", seccomp.program(table)))
    place, value = 0, 0
    while True:
        operation, yes, no, operand = code[place]
        place += 1
        if operation == seccomp.LOAD:
            (value,) = struct.unpack_from("<I", data, operand)
        elif operation == seccomp.EQUAL:
            place += yes if value == operand else no
        elif operation == seccomp.AT_LEAST:
            place += yes if value >= operand else no
        elif operation == seccomp.ANY_BIT:
            place += yes if value & operand else no
        else:
            return int(operand)


@TABLES
def test_every_denied_call_is_denied(table: Table) -> None:
    assert {decide(table, number) for number in table.denied.values()} == {DENY}


@TABLES
@pytest.mark.parametrize("family", [1, 2, 10, 16])
def test_usual_sockets_are_allowed(table: Table, family: int) -> None:
    assert decide(table, table.socket, family) == ALLOW
    assert decide(table, table.socketpair, family) == ALLOW


@TABLES
@pytest.mark.parametrize("family", [0, 3, 17, 29, 31, 38, 40, 44])
def test_unusual_sockets_are_denied(table: Table, family: int) -> None:
    assert decide(table, table.socket, family) == DENY
    assert decide(table, table.socketpair, family) == DENY


@TABLES
def test_typing_into_a_terminal_is_denied_and_other_requests_are_not(table: Table) -> None:
    assert decide(table, table.ioctl, 0, 0x5412) == DENY
    assert decide(table, table.ioctl, 0, 0x541C) == DENY
    assert decide(table, table.ioctl, 0, 0x5401) == ALLOW


@TABLES
@pytest.mark.parametrize(
    "flag", [0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000]
)
def test_new_namespaces_are_denied(table: Table, flag: int) -> None:
    assert decide(table, table.clone, flag | 17) == DENY


@TABLES
def test_threads_and_forks_are_allowed(table: Table) -> None:
    assert decide(table, table.clone, 17) == ALLOW
    assert decide(table, table.clone, 0x3D0F00) == ALLOW
    assert decide(table, seccomp.CLONE3) == MISSING


@TABLES
def test_another_architecture_is_killed(table: Table) -> None:
    assert decide(table, 0, audit=0x40000003) == KILL


def test_the_second_table_of_calls_is_denied() -> None:
    assert decide(X86_64, seccomp.X32_BIT | 1) == DENY


@TABLES
def test_ordinary_calls_are_allowed(table: Table) -> None:
    ordinary = (
        set(range(440))
        - set(table.denied.values())
        - {table.socket, table.socketpair, seccomp.CLONE3}
    )
    assert {decide(table, number) for number in ordinary} == {ALLOW}
    assert len(ordinary) > 350


@TABLES
def test_the_program_is_short_enough_for_the_kernel(table: Table) -> None:
    assert len(seccomp.program(table)) // 8 <= 4096


def test_kernel_numbers_of_this_machine_agree() -> None:
    import ctypes
    import os

    kernel = seccomp.Kernel()
    assert kernel.filters == (os.uname().machine in seccomp.TABLES)
    assert ctypes.sizeof(seccomp._Program) == 16
