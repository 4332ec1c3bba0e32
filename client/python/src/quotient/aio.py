"""The client for asyncio: as quotient.Client, with methods to await. A client belongs to one event loop."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import TYPE_CHECKING, Any

from quotient import _work
from quotient._model import ModelLike
from quotient._session import Session
from quotient._text import printable
from quotient._transport import Asyncio
from quotient.progress import Progress, state_name
from quotient.report import Report
from quotient.result import Result

if TYPE_CHECKING:
    from typing import Unpack

    from quotient.options import Options


class Client:
    """See quotient.Client."""

    def __init__(self, address: str | None = None, *, patience: float = 60) -> None:
        self._session = Session(Asyncio(), address, patience)

    async def submit(self, model: ModelLike, *, name: str | None = None, external_location: str | None = None,
                     skip_cache_lookup: bool = False, **options: Unpack[Options]) -> Job:
        wish = _work.Wish(model, name, external_location, options)
        return Job(self._session, await _work.submit(self._session, wish, skip_cache_lookup))

    async def optimize(self, model: ModelLike, *, name: str | None = None, external_location: str | None = None,
                       skip_cache_lookup: bool = False, only_cached: bool = False, progress: bool | None = None,
                       **options: Unpack[Options]) -> Result:
        """Cancelling the task withdraws the request."""
        wish = _work.Wish(model, name, external_location, options)
        return await _work.optimize(self._session, wish, skip_cache_lookup, only_cached, progress)

    async def job(self, name: str) -> Job:
        return Job(self._session, await _work.get(self._session, name))

    async def jobs(self, limit: int = 50) -> list[Job]:
        return [Job(self._session, record) for record in await _work.newest(self._session, limit)]

    async def close(self) -> None:
        await self._session.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Job:
    """See quotient.Job. `await job` is `await job.result()`."""

    def __init__(self, session: Session, record: _work.JobRecord) -> None:
        self._session = session
        self._record = record

    @property
    def name(self) -> str:
        return self._record.job.name

    @property
    def model_name(self) -> str:
        return self._record.job.model_name

    @property
    def state(self) -> str:
        return state_name(self._record.job.state)

    def __await__(self) -> Generator[Any, None, Result]:
        return self.result().__await__()

    def progress(self) -> AsyncGenerator[Progress, None]:
        return _work.watch(self._session, self._record)

    async def wait(self) -> Job:
        await _work.wait(self._session, self._record)
        return self

    async def result(self) -> Result:
        return await _work.fetch_result(self._session, self._record)

    async def report(self) -> Report:
        return await _work.fetch_report(self._session, self._record)

    async def cancel(self) -> None:
        await _work.cancel(self._session, self._record)

    async def stop(self) -> None:
        await _work.stop(self._session, self._record)

    async def delete(self) -> None:
        await _work.delete(self._session, self._record)

    def __repr__(self) -> str:
        return printable(f"<quotient.aio.Job {self.name}: {self.model_name}, {self.state}>")


async def optimize(model: ModelLike, *, address: str | None = None, patience: float = 60, name: str | None = None,
                   external_location: str | None = None, skip_cache_lookup: bool = False,
                   only_cached: bool = False, progress: bool | None = None,
                   **options: Unpack[Options]) -> Result:
    """`Client.optimize` over a connection of its own."""
    async with Client(address, patience=patience) as client:
        return await client.optimize(
            model, name=name, external_location=external_location, skip_cache_lookup=skip_cache_lookup,
            only_cached=only_cached, progress=progress, **options)
