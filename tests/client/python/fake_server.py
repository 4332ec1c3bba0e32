"""A gRPC server in the same process, whose services say what a test wants, and both ways to use it."""

import asyncio
import contextlib
from concurrent import futures

import grpc
from google.rpc import error_details_pb2, status_pb2

from quotient._session import Session
from quotient._transport import Asyncio, Blocking, run
from quotient.v1 import blob_pb2_grpc, capabilities_pb2, capabilities_pb2_grpc, optimizer_pb2_grpc


class Capabilities(capabilities_pb2_grpc.CapabilitiesServiceServicer):
    def GetCapabilities(self, request, context):
        return capabilities_pb2.Capabilities(server_version="fake")


@contextlib.contextmanager
def serving(blobs=None, jobs=None):
    """Yields the address."""
    server = grpc.server(futures.ThreadPoolExecutor(4))
    capabilities_pb2_grpc.add_CapabilitiesServiceServicer_to_server(Capabilities(), server)
    if blobs is not None:
        blob_pb2_grpc.add_BlobServiceServicer_to_server(blobs, server)
    if jobs is not None:
        optimizer_pb2_grpc.add_OptimizerServiceServicer_to_server(jobs, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


def abort(context, code, reason=None, message=""):
    """Ends a call as the server does: with a reason, or without one, as gRPC itself does."""
    if reason is not None:
        status = status_pb2.Status(code=code.value[0], message=message)
        status.details.add().Pack(error_details_pb2.ErrorInfo(reason=reason, domain="quotient.dev"))
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(code, message)


class Blockingly:
    """Of a test case: how it uses a session."""

    def through(self, address, work, patience=5):
        """What the coroutine function `work` makes of a session."""
        return run(_used(Session(Blocking(), address, patience), work))


class InALoop:
    def through(self, address, work, patience=5):
        return asyncio.run(_used(Session(Asyncio(), address, patience), work))


async def _used(session, work):
    try:
        return await work(session)
    finally:
        await session.close()
