"""Uploads blobs to a server and downloads them. Transfers are resumed after an interruption and checked
by digest, as in client/cpp/blob_client.cc."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from typing import Callable

import grpc

from quotient._session import Session
from quotient.errors import Error, ServerError, Unavailable, from_rpc
from quotient.v1 import blob_pb2, common_pb2

# A server takes a stream for idle whose 64 KiB take long, and counts whole messages.
CHUNK_BYTES = 64 << 10
# Between two pieces of what is hashed, Ctrl-C is noticed.
HASHED_AT_ONCE = 1 << 24
DIGESTS_PER_CALL = 1000
# Reasons that say that an upload is not where it was.
LOST = ("NOT_FOUND", "UPLOAD_OFFSET")


def digest_of(data: memoryview) -> common_pb2.Digest:
    digest = hashlib.sha256()
    for begin in range(0, len(data), HASHED_AT_ONCE):
        digest.update(data[begin:begin + HASHED_AT_ONCE])
    return common_pb2.Digest(sha256=digest.hexdigest(), size_bytes=len(data))


async def upload(session: Session, blobs: Sequence[tuple[common_pb2.Digest, memoryview]]) -> None:
    """Uploads those of the blobs that the server does not have."""
    stub = await session.blobs()
    data = {digest.sha256: (digest, view) for digest, view in blobs}
    digests = [digest for digest, _ in data.values()]
    for begin in range(0, len(digests), DIGESTS_PER_CALL):
        request = blob_pb2.FindMissingRequest(blobs=digests[begin:begin + DIGESTS_PER_CALL])
        for digest in (await session.unary(stub.FindMissing, request)).missing:
            if digest.sha256 not in data:
                raise ServerError("INTERNAL", "the server misses a blob that it was not asked about")
            await _Upload(session, *data[digest.sha256]).run()


class _Upload:
    """One upload, with what is kept from one attempt to the next."""

    def __init__(self, session: Session, digest: common_pb2.Digest, data: memoryview) -> None:
        self._session = session
        self._digest = digest
        self._data = data
        self._id = ""  # Empty if the upload was not started.
        self._offset = 0

    async def run(self) -> None:
        retry = self._session.new_retry()
        while True:
            before = self._offset
            try:
                if await self._attempt():
                    return
                error: Error = Unavailable("UNAVAILABLE", "the upload was cut off")
            except grpc.RpcError as failure:
                error = from_rpc(failure)
            except Error as failure:  # Its call was repeated already.
                error = failure
                if failure.reason not in LOST:
                    raise
            if self._offset > before:
                retry.progressed()
            if error.reason in LOST:
                # The server has lost the upload, or its offset has changed. The next attempt asks for both.
                if error.reason == "NOT_FOUND":
                    self._id, self._offset = "", 0
                error = Unavailable("UNAVAILABLE", error.message)
            await self._session.pause(retry, error)

    async def _attempt(self) -> bool:
        """Sends what the server does not have yet. Returns whether it has all of it then."""
        stub = await self._session.blobs()
        if not self._id:
            start = blob_pb2.StartUploadRequest(blob=self._digest)
            started = await self._session.unary(stub.StartUpload, start)
            if started.done:
                return True
            self._id, self._offset = started.upload_id, started.committed_offset
        else:
            query = blob_pb2.QueryUploadRequest(upload_id=self._id)
            self._offset = (await self._session.unary(stub.QueryUpload, query)).committed_offset
        # The server is not trusted: an impossible offset must not make this loop.
        if not 0 <= self._offset <= len(self._data):
            raise ServerError("INTERNAL", f"the server says that it has {self._offset} of {len(self._data)} "
                                          "bytes of an upload")
        most = (await self._session.capabilities()).max_chunk_bytes
        chunk_bytes = min(CHUNK_BYTES, most) if most > 0 else CHUNK_BYTES
        return (await self._session.transport.send(stub.Upload, self._requests(chunk_bytes))).done

    def _requests(self, chunk_bytes: int) -> Iterator[blob_pb2.UploadRequest]:
        header = blob_pb2.UploadRequest.Header(upload_id=self._id, offset=self._offset)
        yield blob_pb2.UploadRequest(header=header)
        for begin in range(self._offset, len(self._data), chunk_bytes):
            yield blob_pb2.UploadRequest(data=bytes(self._data[begin:begin + chunk_bytes]))
        yield blob_pb2.UploadRequest(finish=True)


async def download(session: Session, blob: common_pb2.Digest, sink: Callable[[bytes], object]) -> None:
    """Passes the bytes of a blob to `sink` in order. Raises BLOB_CORRUPT if they do not have the digest,
    which is known only after `sink` has received them."""
    stub = await session.blobs()
    retry = session.new_retry()
    digest, offset = hashlib.sha256(), 0
    while True:
        request = blob_pb2.DownloadRequest(blob=blob, offset=offset)
        try:
            async with aclosing(session.transport.read(stub.Download, request)) as responses:
                async for response in responses:
                    offset += len(response.data)
                    if offset > blob.size_bytes:
                        raise _damaged(blob)
                    sink(response.data)
                    digest.update(response.data)
                    retry.progressed()
            break
        except grpc.RpcError as error:
            await session.pause(retry, from_rpc(error))
    if offset != blob.size_bytes or digest.hexdigest() != blob.sha256:
        raise _damaged(blob)


def _damaged(blob: common_pb2.Digest) -> Error:
    return ServerError("BLOB_CORRUPT", f"blob {blob.sha256}/{blob.size_bytes} arrived damaged")


async def download_bytes(session: Session, blob: common_pb2.Digest) -> bytes:
    data = bytearray()
    await download(session, blob, data.extend)
    return bytes(data)
