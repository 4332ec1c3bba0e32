"""The blocking client. quotient.aio has the same one for asyncio."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from quotient import _work
from quotient._model import ModelLike
from quotient._session import Session
from quotient._text import printable
from quotient._transport import Blocking, run
from quotient.progress import Progress, state_name
from quotient.report import Report
from quotient.result import Result

if TYPE_CHECKING:
    from typing import Unpack

    from quotient.options import Options


class Client:
    """A connection to a server, which is made when it is needed. Thread-safe.

    `address` is "HOST:PORT", by default $QUOTIENT_SERVER, else 127.0.0.1:7070. `patience` is how many seconds
    to keep trying when the server goes away; at the first contact 10 s at most.
    """

    def __init__(self, address: str | None = None, *, patience: float = 60) -> None:
        self._session = Session(Blocking(), address, patience)

    def submit(self, model: ModelLike, *, name: str | None = None, external_location: str | None = None,
               skip_cache_lookup: bool = False, **options: Unpack[Options]) -> Job:
        """Queues a job, which is durable when this returns. An equal job that waits, runs or is done is returned
        instead of a new one, unless `skip_cache_lookup` is set.

        `name` is for people to read, by default the file's. `external_location` is what the result calls the
        file of its weights if they are not inside the model, by default "NAME.optimized.onnx.data".
        """
        wish = _work.Wish(model, name, external_location, options)
        return Job(self._session, run(_work.submit(self._session, wish, skip_cache_lookup)))

    def optimize(self, model: ModelLike, *, name: str | None = None, external_location: str | None = None,
                 skip_cache_lookup: bool = False, only_cached: bool = False, progress: bool | None = None,
                 **options: Unpack[Options]) -> Result:
        """Submits a job and returns its result. Ctrl-C withdraws the request, which ends the job unless another
        client requested it, too.

        With `only_cached` no work is started: it returns the result of an equal job, or raises `NoResult`.
        `progress` says whether to show a bar; None: in terminals and notebooks.
        """
        wish = _work.Wish(model, name, external_location, options)
        return run(_work.optimize(self._session, wish, skip_cache_lookup, only_cached, progress))

    def job(self, name: str) -> Job:
        """A job that was submitted before, here or elsewhere. Raises `NotFound`."""
        return Job(self._session, run(_work.get(self._session, name)))

    def jobs(self, limit: int = 50) -> list[Job]:
        """The newest jobs of all clients."""
        return [Job(self._session, record) for record in run(_work.newest(self._session, limit))]

    def close(self) -> None:
        run(self._session.close())

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Job:
    """A job on a server. It does not depend on its client, which may end and come back by the job's name."""

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
        """"QUEUED", "RUNNING", "CANCELLING", "SUCCEEDED", "FAILED" or "CANCELLED", when it was last heard of."""
        return state_name(self._record.job.state)

    def progress(self) -> Iterator[Progress]:
        """Changes of the job's state from its beginning on, and its progress, until it has ended."""
        events = _work.watch(self._session, self._record)
        try:
            while True:
                yield run(events.__anext__())
        except StopAsyncIteration:
            return
        finally:
            run(events.aclose())

    def wait(self) -> Job:
        """Blocks until the job has ended, well or not."""
        run(_work.wait(self._session, self._record))
        return self

    def result(self) -> Result:
        """Waits for the job and fetches its result. Raises the job's error if it has none."""
        return run(_work.fetch_result(self._session, self._record))

    def report(self) -> Report:
        """Waits for the job and fetches the report of its result alone."""
        return run(_work.fetch_report(self._session, self._record))

    def cancel(self) -> None:
        """Withdraws the request of this client, which ends the job unless others want it, too. A job that came
        from `Client.job` is cancelled for all."""
        run(_work.cancel(self._session, self._record))

    def stop(self) -> None:
        """Tells the job to finish with the best result that it has, unless others want all of it."""
        run(_work.stop(self._session, self._record))

    def delete(self) -> None:
        """Removes a job that has ended from the server, with its result."""
        run(_work.delete(self._session, self._record))

    def __repr__(self) -> str:
        return printable(f"<quotient.Job {self.name}: {self.model_name}, {self.state}>")


def optimize(model: ModelLike, *, address: str | None = None, patience: float = 60, name: str | None = None,
             external_location: str | None = None, skip_cache_lookup: bool = False, only_cached: bool = False,
             progress: bool | None = None, **options: Unpack[Options]) -> Result:
    """`Client.optimize` over a connection of its own."""
    with Client(address, patience=patience) as client:
        return client.optimize(
            model, name=name, external_location=external_location, skip_cache_lookup=skip_cache_lookup,
            only_cached=only_cached, progress=progress, **options)
