"""What a server's folder says of its jobs, and what of that cannot be.

`read` returns the history of a data folder: its event log and what belongs to it. `anomalies` names everything in
it that breaks a promise. Clients add what they were told, since an acknowledged job that the folder does not know
is the worst of all.
"""

import collections
import dataclasses
import hashlib
import pathlib
import sqlite3

QUEUED, RUNNING, CANCELLING = "QUEUED", "RUNNING", "CANCELLING"
ENDS = ("SUCCEEDED", "FAILED", "CANCELLED")
MAX_ATTEMPTS = 3

# Which states may follow one another. The log also has notes, which leave a job in its state.
STEPS = {
    QUEUED: {QUEUED, RUNNING, "CANCELLED", "FAILED"},
    RUNNING: {RUNNING, QUEUED, CANCELLING, "SUCCEEDED", "FAILED"},
    CANCELLING: {"CANCELLED"},
}
# Reasons for which a running job goes back to the queue without having lost an attempt.
INNOCENT = {"drained", "interrupted", "storage_down"}


@dataclasses.dataclass(frozen=True)
class Transition:
    job: str
    sequence: int
    time_ms: int = dataclasses.field(compare=False)
    before: str
    after: str
    reason: str


@dataclasses.dataclass
class History:
    states: dict  # By the job's id: its state as the index has it.
    epochs: dict  # By the job's id: how many leases it has had.
    transitions: list
    submissions: dict  # By the request's id: the job's.
    leases: dict  # By the job's id: the epoch.
    blobs: set  # (digest, job) that are needed.
    counted: dict  # By (client, digest): (bytes, jobs) as the sums for quotas have it; no jobs for files that none has.
    totals: dict  # By a client: bytes.
    clients: dict  # By the job's id: whose it is.
    sizes: dict  # By a digest: bytes of the file of that name.
    present: dict  # By a digest: whether the file of that name has that content.
    rows: dict  # By the job's id: (bytes of its rows as they count, bytes of its record).


@dataclasses.dataclass
class Told:
    """What clients were told."""

    accepted: set = dataclasses.field(default_factory=set)  # Jobs.
    results: dict = dataclasses.field(default_factory=dict)  # By the job's id: digests of the model's file.
    deleted: set = dataclasses.field(default_factory=set)  # Jobs that a client may have deleted.
    watched: list = dataclasses.field(default_factory=list)  # For each watcher, the transitions that it saw.


def read(data):
    """Of a folder whose server has ended."""
    data = pathlib.Path(data)
    with sqlite3.connect(f"file:{data / 'quotient.db'}?mode=ro", uri=True) as database:
        jobs = database.execute(
            "SELECT job.id, job_index.state, job.lease_epoch, client FROM job JOIN job_index USING (number)").fetchall()
        transitions = database.execute(
            "SELECT job_id, sequence, time_ms, from_state, to_state, reason FROM job_transition "
            "ORDER BY job_id, sequence").fetchall()
        submissions = database.execute("SELECT request_id, job_id FROM submission").fetchall()
        leases = database.execute("SELECT job_id, epoch FROM job_lease").fetchall()
        blobs = database.execute("SELECT sha256, job_id FROM job_blob").fetchall()
        counted = database.execute("SELECT client, sha256, bytes, jobs FROM client_blob").fetchall()
        totals = database.execute("SELECT client, bytes FROM client_total").fetchall()
        rows = database.execute(
            "SELECT job.id, job_index.bytes, LENGTH(record) FROM job JOIN job_index USING (number)").fetchall()
    present, sizes = {}, {}
    for path in (data / "blobs").glob("??/??/*"):
        content = path.read_bytes()
        present[path.name] = hashlib.sha256(content).hexdigest() == path.name
        sizes[path.name] = len(content)
    return History({job: state for job, state, _, _ in jobs}, {job: epoch for job, _, epoch, _ in jobs},
                   [Transition(*row) for row in transitions], dict(submissions), dict(leases), set(blobs),
                   {(client, digest): (size, count) for client, digest, size, count in counted}, dict(totals),
                   {job: client for job, _, _, client in jobs}, sizes, present,
                   {job: (size, record) for job, size, record in rows})


def anomalies(history, told=Told(), damaged=frozenset()):
    """Texts; none if all promises were kept. `damaged` are jobs whose files were damaged on purpose."""
    found = []
    by_job = {job: [] for job in history.states}
    for transition in history.transitions:
        if transition.job in by_job:
            by_job[transition.job].append(transition)
        else:
            found.append(f"{transition.job}: the log has a job that is not there")
    for job, steps in by_job.items():
        found += [f"{job}: {text}" for text in anomalies_of_job(history, job, steps)]
    found += anomalies_of_clients(history, told)
    found += anomalies_of_watchers(history, told)
    found += anomalies_of_sums(history)
    for digest, job in sorted(history.blobs):
        if not history.present.get(digest) and job not in damaged:
            found.append(f"{job}: the blob {digest} is lost or damaged")
    return found


def anomalies_of_job(history, job, steps):
    if [step.sequence for step in steps] != list(range(1, len(steps) + 1)):
        yield f"the log has the numbers {[step.sequence for step in steps]}"
    state = QUEUED
    for step in steps:
        if step.before != state:
            yield f"{step.sequence}: from {step.before}, but it was {state}"
        if step.after not in STEPS.get(step.before, ()):
            yield f"{step.sequence}: from {step.before} to {step.after} ({step.reason})"
        state = step.after
    if not steps or steps[-1].after != history.states[job]:
        yield f"is {history.states[job]}, but the log ends otherwise"
    claims = [step for step in steps if step.reason == "claimed"]
    if len(claims) != history.epochs[job]:
        yield f"{len(claims)} leases in the log, {history.epochs[job]} in the job"
    charged = [step for step in steps
               if step.before == RUNNING and step.after == QUEUED and step.reason not in INNOCENT]
    if len(charged) >= MAX_ATTEMPTS:
        yield f"{len(charged)} attempts were charged and it was tried again"
    holds = history.states[job] in (RUNNING, CANCELLING)
    if holds != (job in history.leases):
        yield f"is {history.states[job]} and its lease is {history.leases.get(job)}"
    if holds and history.leases.get(job) != history.epochs[job]:
        yield f"its lease has the epoch {history.leases.get(job)} of {history.epochs[job]}"


def anomalies_of_clients(history, told):
    for job in sorted(told.accepted - told.deleted - set(history.states)):
        yield f"{job}: was accepted and is lost"
    for request, job in history.submissions.items():
        if job not in history.states:
            yield f"{job}: request {request} has a job that is not there"
    for job, digests in told.results.items():
        if len(set(digests)) > 1:
            yield f"{job}: clients got {len(set(digests))} different results"
        if history.states.get(job, "SUCCEEDED") != "SUCCEEDED":
            yield f"{job}: a client has its result, but it is {history.states[job]}"


def anomalies_of_watchers(history, told):
    known = {(step.job, step.sequence): step for step in history.transitions}
    for seen in told.watched:
        if [step.sequence for step in seen] != list(range(1, len(seen) + 1)):
            yield f"{seen[0].job}: a watcher saw the numbers {[step.sequence for step in seen]}"
        for step in seen:
            if step.job in history.states and known.get((step.job, step.sequence)) != step:
                yield f"{step.job}: a watcher saw {step}, which is not in the log"


def anomalies_of_sums(history):
    expected = collections.Counter(
        (history.clients[job], digest) for digest, job in history.blobs if job in history.clients)
    counts = {key: count for key, (_, count) in history.counted.items() if count}
    if counts != expected:
        yield f"the blobs of clients are counted as {counts}, but they are {dict(expected)}"
    yield from anomalies_of_loose_files(history)
    totals = collections.Counter()
    blobs = collections.Counter(job for _, job in history.blobs)
    for job, (size, record) in history.rows.items():
        totals[history.clients[job]] += size
        # As in server/jobs/convert.cc.
        if size != record + 1024 + 320 * blobs[job]:
            yield f"the rows of {job} count with {size} bytes, its record has {record}"
    for (client, digest), (size, _) in history.counted.items():
        totals[client] += size
        if history.present.get(digest) and size != history.sizes[digest]:
            yield f"the blob {digest} counts with {size} bytes"
    if history.totals != {client: total for client, total in totals.items() if total}:
        yield f"the sums of clients are {history.totals}, but they should be {dict(totals)}"


def anomalies_of_loose_files(history):
    """Of files that no job has, each of which counts for one client."""
    needed = {digest for digest, _ in history.blobs}
    loose = collections.Counter(digest for (_, digest), (_, count) in history.counted.items() if not count)
    for digest in sorted(loose):
        if digest in needed or loose[digest] > 1:
            yield f"the blob {digest} counts for {loose[digest]} clients without a job"
    for digest in sorted(set(history.present) - needed - set(loose)):
        yield f"the blob {digest} counts for nobody"


def unfinished(history):
    """Jobs that have not ended."""
    return sorted(job for job, state in history.states.items() if state not in ENDS)


def recoveries(history):
    """Seconds from when jobs were taken back to when they ran again, with what other jobs kept them waiting."""
    seconds = []
    taken = {}
    for step in history.transitions:
        if step.after == QUEUED and step.reason in ("interrupted", "lease_lost", "process_died", "drained"):
            taken[step.job] = step.time_ms
        elif step.reason == "claimed" and step.job in taken:
            seconds.append((step.time_ms - taken.pop(step.job)) / 1000)
    return seconds
