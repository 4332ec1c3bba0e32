"""What clients do, written once for both kinds of transport (_transport.py)."""

from __future__ import annotations

import asyncio
import dataclasses
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import grpc

from quotient import _blobs, result as results
from quotient._model import ModelLike, OpenModel, open_model
from quotient._session import Session
from quotient.errors import Cancelled, Error, NoResult, Unavailable, from_rpc, from_status
from quotient.options import to_messages
from quotient.progress import Bar, Progress, of_progress, of_transition, state_name
from quotient.report import Report
from quotient.v1 import common_pb2, model_pb2, optimizer_pb2

ENDED = (optimizer_pb2.JOB_STATE_SUCCEEDED, optimizer_pb2.JOB_STATE_FAILED, optimizer_pb2.JOB_STATE_CANCELLED)

# What withdrawing a request may take when the user wants to leave.
WITHDRAW_PATIENCE = 2.0

JOBS_PER_PAGE = 500


@dataclasses.dataclass(frozen=True)
class Wish:
    """What a job is to do with a model."""

    model: ModelLike
    name: str | None
    external_location: str | None
    options: Mapping[str, Any]


@dataclasses.dataclass
class JobRecord:
    """A job as the server last described it, and the request that this client has in it, if any."""

    job: optimizer_pb2.Job
    request_id: str = ""


async def submit(session: Session, wish: Wish, skip_cache_lookup: bool) -> JobRecord:
    options, policy = to_messages(wish.options)
    with open_model(wish.model, wish.name) as model:
        manifest, blobs = await _manifest_of(session, model)
        await _blobs.upload(session, blobs)
        request = optimizer_pb2.SubmitJobRequest(
            request_id=str(uuid.uuid4()), model=manifest, options=options, model_name=model.name,
            external_location=wish.external_location or results.external_location_of(model.name),
            skip_cache_lookup=skip_cache_lookup, policy=policy)
        response = await session.unary((await session.jobs()).SubmitJob, request)
    return JobRecord(response.job, request.request_id)


async def lookup(session: Session, wish: Wish) -> JobRecord:
    options, _ = to_messages(wish.options)
    with open_model(wish.model, wish.name) as model:
        manifest, _ = await _manifest_of(session, model)
        request = optimizer_pb2.LookupResultRequest(
            model=manifest, options=options,
            external_location=wish.external_location or results.external_location_of(model.name))
        return JobRecord(await session.unary((await session.jobs()).LookupResult, request))


async def _manifest_of(session: Session, model: OpenModel) -> tuple[
        model_pb2.ModelManifest, list[tuple[common_pb2.Digest, memoryview]]]:
    digest_of = _blobs.digest_of
    graph = await session.transport.compute(digest_of, model.graph)
    manifest, blobs = model_pb2.ModelManifest(graph=graph), [(graph, model.graph)]
    for location, data in model.external.items():
        digest = await session.transport.compute(digest_of, data)
        manifest.external_files.add(location=location, blob=digest)
        blobs.append((digest, data))
    return manifest, blobs


async def get(session: Session, name: str) -> JobRecord:
    return JobRecord(await session.unary((await session.jobs()).GetJob, optimizer_pb2.GetJobRequest(name=name)))


async def newest(session: Session, limit: int) -> list[JobRecord]:
    stub = await session.jobs()
    request = optimizer_pb2.ListJobsRequest()
    jobs: list[JobRecord] = []
    while len(jobs) < limit:
        request.page_size = min(limit - len(jobs), JOBS_PER_PAGE)
        page = await session.unary(stub.ListJobs, request)
        jobs += map(JobRecord, page.jobs)
        request.page_token = page.next_page_token
        if not request.page_token:
            break
    return jobs


async def cancel(session: Session, record: JobRecord) -> None:
    request = optimizer_pb2.CancelJobRequest(name=record.job.name, request_id=record.request_id)
    record.job = await session.unary((await session.jobs()).CancelJob, request)


async def stop(session: Session, record: JobRecord) -> None:
    request = optimizer_pb2.StopJobRequest(name=record.job.name, request_id=record.request_id)
    record.job = await session.unary((await session.jobs()).StopJob, request)


async def delete(session: Session, record: JobRecord) -> None:
    # If the call is repeated, only the answer of the first one may have been lost. So the job is looked for
    # first, and may be missing then.
    await get(session, record.job.name)
    request = optimizer_pb2.DeleteJobRequest(name=record.job.name, allow_missing=True)
    await session.unary((await session.jobs()).DeleteJob, request)


async def watch(session: Session, record: JobRecord) -> AsyncGenerator[Progress, None]:
    """Tells all changes of a job's state, those before the call, too, and its progress, until it has ended.
    Reconnects when the stream is lost, since the job continues. The record is kept up to date."""
    stub = await session.jobs()
    retry = session.new_retry()
    sequence = 0  # Of the latest change that was told.
    while True:
        request = optimizer_pb2.WatchJobRequest(name=record.job.name, from_sequence=sequence)
        try:
            async with aclosing(session.transport.read(stub.WatchJob, request)) as events:
                async for event in events:
                    retry.progressed()
                    if event.HasField("snapshot"):
                        record.job = event.snapshot
                    elif event.HasField("transition") and event.transition.sequence > sequence:
                        sequence = event.transition.sequence
                        yield of_transition(event.transition)
                    elif event.HasField("progress"):
                        yield of_progress(event.progress)
            if record.job.state in ENDED:
                return
            error: Error = Unavailable("UNAVAILABLE", "the stream ended before the job")
        except grpc.RpcError as failure:
            error = from_rpc(failure)
        await session.pause(retry, error)


async def wait(session: Session, record: JobRecord) -> None:
    async with aclosing(watch(session, record)) as events:
        async for _ in events:
            pass


def check_outcome(job: optimizer_pb2.Job) -> None:
    """Raises the error of a job that has no result."""
    if job.state == optimizer_pb2.JOB_STATE_FAILED:
        raise from_status(job.error)
    if job.state == optimizer_pb2.JOB_STATE_CANCELLED:
        raise Cancelled("CANCELLED", f"{job.name} was cancelled")
    if job.state != optimizer_pb2.JOB_STATE_SUCCEEDED:
        raise NoResult("JOB_NOT_FINISHED", f"{job.name} is {state_name(job.state)}")


async def fetch_report(session: Session, record: JobRecord) -> Report:
    result = (await _ended(session, record)).result
    json_text = await _blobs.download_bytes(session, result.report_json)
    page = await _blobs.download_bytes(session, result.report_html)
    return Report(json_text.decode(), page.decode(errors="replace"))


async def fetch_result(session: Session, record: JobRecord) -> results.Result:
    job = await _ended(session, record)
    result = job.result
    report = await fetch_report(session, record)
    improved = result.outcome == optimizer_pb2.JobResult.IMPROVED
    files: dict[str, common_pb2.Digest] = {}
    if result.external_location:
        files[result.external_location] = result.external_data
    elif not improved:  # It is the original, whose weights it needs.
        files = {file.location: file.blob for file in job.model.external_files}
    made = results.Result(job.name, improved, report, list(files))
    for location, blob in {**files, made.path.name: result.model}.items():
        with open(made.place_of(location), "wb") as file:
            await _blobs.download(session, blob, file.write)
    return made


async def _ended(session: Session, record: JobRecord) -> optimizer_pb2.Job:
    """The whole job, of which snapshots leave out what can be large, when it has ended with a result."""
    if record.job.state not in ENDED:
        await wait(session, record)
    record.job = (await get(session, record.job.name)).job
    check_outcome(record.job)
    return record.job


async def optimize(session: Session, wish: Wish, skip_cache_lookup: bool, only_cached: bool,
                   progress: bool | None) -> results.Result:
    """Submits a job, shows its progress, and returns its result. If this is interrupted, by Ctrl-C or by the
    cancellation of its task, it withdraws the request, which ends the job unless others want it, too."""
    if only_cached and skip_cache_lookup:
        raise TypeError("only_cached and skip_cache_lookup exclude each other")
    if only_cached:
        return await fetch_result(session, await lookup(session, wish))
    record = await submit(session, wish, skip_cache_lookup)
    bar = Bar(record.job.model_name, progress)
    try:
        async with aclosing(watch(session, record)) as events:
            async for event in events:
                bar.show(event)
        return await fetch_result(session, record)
    except (KeyboardInterrupt, asyncio.CancelledError) as interruption:
        interruption.add_note(await _withdraw(session, record))
        raise
    finally:
        bar.close(record.job.state == optimizer_pb2.JOB_STATE_SUCCEEDED)


async def _withdraw(session: Session, record: JobRecord) -> str:
    """Withdraws the request, which must not take long, and says how that went."""
    quick = Session(session.transport, session.address, WITHDRAW_PATIENCE)
    try:
        await cancel(quick, record)
        return f"{record.job.name} cancelled"
    except Error as error:
        return f"{record.job.name} could not be cancelled: {error.message}"
    finally:
        await quick.close()
