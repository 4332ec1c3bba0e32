"""How calls are made: blocking, or in an event loop.

The rest of the package is written once, as coroutines over a transport. Those over `Blocking` never
suspend, because its methods block instead, so `run` can bring such a coroutine to its end without an
event loop. Those over `Asyncio` are awaited in the caller's loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Coroutine, Iterable
from typing import Any, Callable, Protocol, TypeVar

import grpc
import grpc.aio

T = TypeVar("T")

# The keepalive times are those of server/rpc/server.cc, the others those of client/cpp/connection.cc: a
# server that was restarted is found in about two seconds, and proxies for the web are not used.
CHANNEL_OPTIONS = [
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.min_reconnect_backoff_ms", 5_000),
    ("grpc.enable_http_proxy", 0),
]


class Transport(Protocol):
    """Methods of stubs are called through it; they raise grpc.RpcError."""

    def channel(self, address: str) -> Any:
        """A channel, to make stubs with."""

    async def unary(self, method: Any, request: Any, timeout: float) -> Any:
        """The response to one request."""

    async def send(self, method: Any, requests: Iterable[Any]) -> Any:
        """The response to a stream of requests."""

    def read(self, method: Any, request: Any) -> AsyncGenerator[Any, None]:
        """The responses to one request. Closing the generator cancels the call."""

    async def pause(self, seconds: float) -> None:
        """Lets the time pass."""

    async def compute(self, function: Callable[..., T], *arguments: Any) -> T:
        """Calls a function that takes long, such as one that hashes a file."""

    async def close(self, channel: Any) -> None:
        """Closes a channel."""


class Blocking:
    def channel(self, address: str) -> Any:
        return grpc.insecure_channel(address, CHANNEL_OPTIONS)

    async def unary(self, method: Any, request: Any, timeout: float) -> Any:
        return method(request, timeout=timeout)

    async def send(self, method: Any, requests: Iterable[Any]) -> Any:
        call = method.future(iter(requests))
        try:
            return call.result()
        finally:
            call.cancel()

    async def read(self, method: Any, request: Any) -> AsyncGenerator[Any, None]:
        call = method(request)
        try:
            for response in call:
                yield response
        finally:
            call.cancel()

    async def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    async def compute(self, function: Callable[..., T], *arguments: Any) -> T:
        return function(*arguments)

    async def close(self, channel: Any) -> None:
        channel.close()


class Asyncio:
    def channel(self, address: str) -> Any:
        return grpc.aio.insecure_channel(address, CHANNEL_OPTIONS)

    async def unary(self, method: Any, request: Any, timeout: float) -> Any:
        return await method(request, timeout=timeout)

    async def send(self, method: Any, requests: Iterable[Any]) -> Any:
        return await method(requests)

    async def read(self, method: Any, request: Any) -> AsyncGenerator[Any, None]:
        call = method(request)
        try:
            async for response in call:
                yield response
        finally:
            call.cancel()

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def compute(self, function: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.to_thread(function, *arguments)

    async def close(self, channel: Any) -> None:
        await channel.close()


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine over `Blocking` to its end."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise RuntimeError("a coroutine over a blocking transport has suspended")
