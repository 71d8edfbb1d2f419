"""Billing: every model call is reserved before it is made and settled afterwards."""

from collections.abc import Awaitable, Callable, Mapping

from bot.domain.account import Account
from bot.domain.forecast import Forecast
from bot.domain.model import Completion, Finish, ModelCall, ModelTrouble, Prompt, Role, Usage
from bot.domain.model_error import ModelError
from bot.llm.estimate import Tokens
from bot.llm.forecast import forecast_mission
from bot.llm.prices import Prices
from bot.ports import Ledger

_PLENTY = Usage(input_tokens=1_000_000, output_tokens=1_000_000)


class Billing:
    """Bills model calls.

    Args:
        ledger: Records every call.
        prices: Prices of tokens.
    """

    def __init__(self, ledger: Ledger, prices: Prices) -> None:
        self._ledger = ledger
        self._prices = prices
        self._tokens = Tokens()

    def is_free(self, model: str) -> bool:
        """Return True if a model is free of charge.

        Args:
            model: Model as configured, without address and key.
        """
        return self._prices.cost(model, _PLENTY) == 0.0

    async def forecast(self, models: Mapping[Role, str]) -> Forecast:
        """Return the expected use of models by a mission.

        Args:
            models: The first model of each role that is asked.

        Raises:
            StoreError: The ledger cannot be read.
        """
        return forecast_mission(await self._ledger.recent_missions(), self._prices, models)

    async def pay(
        self,
        account: Account,
        call: ModelCall,
        prompt: Prompt,
        *,
        key: str,
        complete: Callable[[], Awaitable[Completion]],
    ) -> tuple[Completion, ModelCall]:
        """Return an answer and its cost, or the recorded answer if it was paid before.

        Args:
            account: Account to charge.
            call: Stage and model of the call.
            prompt: The prompt.
            key: Identifies the question within its mission.
            complete: Sends the prompt.

        Raises:
            ModelError: There was no answer. `calls` has the failed call; it is empty if there was
                no money.
        """
        tools = sum(len(tool.model_dump_json()) for tool in prompt.tools)
        characters = len(prompt.system) + len(prompt.user) + tools
        reads = self._tokens.of(call.model, characters)
        # The cost is unknown before the answer, so its upper bound is reserved.
        worst = self._prices.at_most(call.model, reads, prompt.max_tokens)
        call = call.with_(reserved_usd=worst, reserved_tokens=reads + prompt.max_tokens)
        reserved = await self._ledger.reserve(account, key, call)
        if reserved.answer is not None:
            return reserved.answer, self._answer(call, reserved.answer).with_(remembered=True)
        # A cancelled call stays reserved, because it may have been billed.
        try:
            answer = await complete()
        except ModelError as error:
            failed = call.with_(trouble=error.trouble, attempts=error.attempts)
            error.calls = (failed,)
            await self._ledger.settle(reserved.id, failed, None)
            raise
        self._tokens.learn(call.model, characters, answer.usage.input_tokens)
        answered = self._answer(call, answer)
        await self._ledger.settle(reserved.id, answered, answer)
        return answer, answered

    def _answer(self, call: ModelCall, answer: Completion) -> ModelCall:
        return call.with_(
            trouble=ModelTrouble.REFUSAL if answer.finish is Finish.REFUSAL else None,
            attempts=answer.attempts,
            usage=answer.usage,
            cost_usd=self._cost(call.model, answer),
            latency_s=round(answer.latency_s, 3),
        )

    def _cost(self, model: str, answer: Completion) -> float | None:
        if answer.cost_usd is not None:
            return answer.cost_usd
        # A server that reports no tokens is not free.
        counted = answer.usage != Usage() or self.is_free(model)
        return self._prices.cost(model, answer.usage) if counted else None
