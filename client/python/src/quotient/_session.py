"""A connection to a server. Every unary call has a deadline and is repeated while the server is unavailable."""

from __future__ import annotations

import os
import threading
from typing import Any, Callable, TypeVar

import grpc

from quotient._retry import Retry
from quotient._transport import Transport
from quotient.errors import Error, Unavailable, from_rpc
from quotient.v1 import blob_pb2_grpc, capabilities_pb2, capabilities_pb2_grpc, optimizer_pb2_grpc

T = TypeVar("T")

DEFAULT_ADDRESS = "127.0.0.1:7070"
ADDRESS_VARIABLE = "QUOTIENT_SERVER"

# What a call may take usually.
CALL_SECONDS = 60.0
# How long to keep retrying at the first contact, when there may be no server at all.
FIRST_PATIENCE = 10.0


class Session:
    """Connects when it is used for the first time. Over a blocking transport it is thread-safe."""

    def __init__(self, transport: Transport, address: str | None, patience: float) -> None:
        self.transport = transport
        self.address = address or os.environ.get(ADDRESS_VARIABLE) or DEFAULT_ADDRESS
        self.patience = patience
        self._lock = threading.Lock()
        self._channel: Any = None
        self._stubs: dict[Any, Any] = {}
        self._capabilities: capabilities_pb2.Capabilities | None = None

    def new_retry(self) -> Retry:
        return Retry(self.patience)

    async def blobs(self) -> blob_pb2_grpc.BlobServiceStub:
        await self.capabilities()
        return self._stub(blob_pb2_grpc.BlobServiceStub)

    async def jobs(self) -> optimizer_pb2_grpc.OptimizerServiceStub:
        await self.capabilities()
        return self._stub(optimizer_pb2_grpc.OptimizerServiceStub)

    async def capabilities(self) -> capabilities_pb2.Capabilities:
        """The server's versions and limits. Raises `Unavailable` if no server answers."""
        if self._capabilities is None:
            stub = self._stub(capabilities_pb2_grpc.CapabilitiesServiceStub)
            retry = Retry(min(FIRST_PATIENCE, self.patience))
            self._capabilities = await self._repeat(
                retry, stub.GetCapabilities, capabilities_pb2.GetCapabilitiesRequest())
        return self._capabilities

    async def unary(self, method: Any, request: Any) -> Any:
        """The response of a call that may be repeated safely."""
        return await self._repeat(self.new_retry(), method, request)

    async def pause(self, retry: Retry, error: Error) -> None:
        """Waits until the next attempt, or raises the error if there should be none."""
        try:
            seconds = retry.pause_after(error)
        except Unavailable as last:
            raise Unavailable(last.reason, f"server {self.address}: {last.message}") from None
        await self.transport.pause(seconds)

    async def close(self) -> None:
        with self._lock:
            channel, self._channel = self._channel, None
            self._stubs.clear()
        if channel is not None:
            await self.transport.close(channel)

    async def _repeat(self, retry: Retry, method: Any, request: Any) -> Any:
        while True:
            try:
                return await self.transport.unary(method, request, CALL_SECONDS)
            except grpc.RpcError as error:
                await self.pause(retry, from_rpc(error))

    def _stub(self, kind: Callable[[Any], T]) -> T:
        with self._lock:
            if kind not in self._stubs:
                if self._channel is None:
                    self._channel = self.transport.channel(self.address)
                self._stubs[kind] = kind(self._channel)
            return self._stubs[kind]
