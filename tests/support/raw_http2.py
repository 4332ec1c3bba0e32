"""A client of HTTP/2 that may do what libraries of gRPC do not: open calls and say nothing, read nothing, come from
any address of this machine (127.0.0.2 is another client than 127.0.0.1 to a server).

    connection = Connection(server.address, source="127.0.0.2")
    stream = connection.open("/quotient.v1.OptimizerService/GetJob")
    connection.send(stream, request.SerializeToString())
    connection.read_until(lambda: stream in connection.ended)
"""

import socket
import struct
import time

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK = 0x1, 0x4, 0x1
INITIAL_WINDOW_SIZE = 4  # A setting.

PATIENCE_SECONDS = 120


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """A field that no table keeps. Both parts are shorter than 127 bytes."""
    return bytes([0, len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def head(path):
    fields = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost"),
              ("te", "trailers"), ("content-type", "application/grpc")]
    return b"".join(literal(name, value) for name, value in fields)


class Connection:
    """Of one thread. `window` is how many bytes of each answer the server may send unasked."""

    def __init__(self, address, source=None, window=None):
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS,
                                                source_address=source and (source, 0))
        settings = b"" if window is None else struct.pack(">HI", INITIAL_WINDOW_SIZE, window)
        self._socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, settings))
        self._next = 1
        self._bytes = b""
        self.answered = set()  # Streams with headers or more from the server.
        self.ended = set()     # Streams that the server has ended.
        self.is_closed = False

    def open(self, path):
        """A call without a request."""
        stream, self._next = self._next, self._next + 2
        self._socket.sendall(frame(HEADERS, END_HEADERS, stream, head(path)))
        return stream

    def open_many(self, path, count):
        first, self._next = self._next, self._next + 2 * count
        streams = list(range(first, self._next, 2))
        block = head(path)
        self._socket.sendall(b"".join(frame(HEADERS, END_HEADERS, stream, block) for stream in streams))
        return streams

    def send(self, stream, message):
        """The request, which is the last message of the client."""
        self._socket.sendall(
            frame(DATA, END_STREAM, stream, struct.pack(">BI", 0, len(message)) + message))

    def reset(self, stream):
        self._socket.sendall(frame(RST_STREAM, 0, stream, struct.pack(">I", 8)))

    def read(self, seconds=0.0):
        """Takes what has come, and waits so long for something if nothing has."""
        self._socket.settimeout(seconds)
        try:
            while not self.is_closed:
                part = self._socket.recv(1 << 16)
                if not part:
                    self.is_closed = True
                self._bytes += part
                self._take_frames()
                self._socket.settimeout(0)
        except (BlockingIOError, TimeoutError):
            pass
        except ConnectionError:
            self.is_closed = True
        self._socket.settimeout(PATIENCE_SECONDS)

    def read_until(self, condition):
        """Reads until something holds, or the connection is closed. Fails if that takes for ever."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition() and not self.is_closed:
            if time.monotonic() > deadline:
                raise AssertionError("the server does nothing")
            self.read(seconds=0.1)

    def close(self):
        self._socket.close()

    def _take_frames(self):
        while len(self._bytes) >= 9:
            length = int.from_bytes(self._bytes[:3], "big")
            if len(self._bytes) < 9 + length:
                return
            kind, flags = self._bytes[3], self._bytes[4]
            stream = int.from_bytes(self._bytes[5:9], "big")
            payload, self._bytes = self._bytes[9:9 + length], self._bytes[9 + length:]
            if kind in (DATA, HEADERS, RST_STREAM):
                self.answered.add(stream)
            if kind == RST_STREAM or (kind in (DATA, HEADERS) and flags & END_STREAM):
                self.ended.add(stream)
            if kind in (SETTINGS, PING) and not flags & ACK:
                self._socket.settimeout(PATIENCE_SECONDS)
                self._socket.sendall(frame(kind, ACK, 0, payload if kind == PING else b""))
                self._socket.settimeout(0)
