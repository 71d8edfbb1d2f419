"""A database whose server does what it is asked, and once does not come to say so."""

from collections.abc import Callable
from typing import TypeVar

from typing_extensions import override

from bot.errors import StoreError
from bot.store.database import Database, Transaction

Answer = TypeVar("Answer")


class LosesAnAnswer(Database):
    """A server that went away once after it had written something down, and before it said so.

    Args:
        real: Where it is written.
    """

    def __init__(self, real: Database) -> None:
        super().__init__("postgresql://nobody@localhost/none")
        self._real = real
        self._is_away = True

    @override
    async def do(self, call: Callable[[Transaction], Answer]) -> Answer:
        answer = await self._real.do(call)
        if self._is_away:
            self._is_away = False
            raise StoreError("the server closed the connection")
        return answer
