"""Connections that are closed if a request does not arrive in time."""

from __future__ import annotations

from asyncio import BaseTransport, Transport
from typing import Final, cast, final

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEAD_SECONDS: Final = 5.0
"""How long a client may take to send the head of a request."""


@final
class PromptProtocol(H11Protocol):
    """Uvicorn's protocol, which itself waits for ever for the rest of a request."""

    _deadline = None

    def connection_made(self, transport: BaseTransport) -> None:
        """Starts the time for the first request."""
        super().connection_made(cast(Transport, transport))
        self._start()

    def data_received(self, data: bytes) -> None:
        """Stops the time if this is the end of a head; starts it at the beginning of another."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._stop()
        elif self._deadline is None and self._is_between_requests:
            self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the time."""
        self._stop()
        super().connection_lost(exc)

    @property
    def _is_between_requests(self) -> bool:
        cycle = cast(RequestResponseCycle | None, self.cycle)  # declared without None
        return cycle is None or cycle.response_complete

    def _start(self) -> None:
        self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
