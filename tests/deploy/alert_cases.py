"""When each alert comes and when it does not, as series of Prometheus: a value per minute, from minute 0 on.

`Fires` says in which minute the alert comes; it must not be there a minute earlier. Numbers are close to the limits of
the rules. Series without the labels job and instance are those of one server, A.
"""

import dataclasses

A = {"job": "quotient", "instance": "a:9464"}
SERVICE = {"job": "quotient"}
GPU = {**A, "gpu": "0"}
OTHER = 'job="node",instance="a:9100"'  # Another program.
CALLS = 'grpc_service="quotient.v1.OptimizerService",grpc_method="GetJob",grpc_type="unary"'
READY = {"quotient_ready": "1x600"}
OLD_PROCESS = {"process_start_time_seconds": "-100000x600"}
YOUNG_PROCESS = {"process_start_time_seconds": "_ _ 60x600"}  # First scraped a minute after its start.


@dataclasses.dataclass(frozen=True)
class Fires:
    alert: str
    comes: int  # Minutes.
    series: dict
    summary: str
    labels: dict = dataclasses.field(default_factory=lambda: A)
    still: int = 0  # Until when it stays, at least, with the same summary.


@dataclasses.dataclass(frozen=True)
class Quiet:
    alert: str
    why: str
    series: dict
    at: int  # All minutes up to this one are looked at, from `since` on.
    since: int = 0


def finished(state, reason=""):
    return f'quotient_jobs_finished_total{{state="{state}",reason="{reason}"}}'


def calls(code, matchers=CALLS):
    return f'grpc_server_handled_total{{{matchers},grpc_code="{code}"}}'


def times(histogram, matchers, **counts):
    """A histogram: so many events a minute of up to half a second, up to one, and up to five."""
    total, made = 0, {}
    for le, name in (("0.5", "half"), ("1", "one"), ("5", "five"), ("+Inf", "more")):
        total += counts.get(name, 0)
        made[f'{histogram}_bucket{{{matchers},le="{le}"}}'] = f"0+{total}x600"
    return made


def event_cases(alert, counter, summary, others=()):
    """Of an alert that tells of each event for an hour. `others` are series that it has nothing to do with."""
    return (
        Fires(alert, 32, {**OLD_PROCESS, counter: "0x30 1x200"}, summary, still=90),
        # It happened before the first scrape, which is no rise for Prometheus.
        Fires(alert, 3, {**YOUNG_PROCESS, counter: "_ _ 1x200"}, summary, still=60),
        Quiet(alert, "that was more than an hour ago", {**OLD_PROCESS, counter: "0x30 1x300"}, 300, since=93),
        Quiet(alert, "that was at the start, more than an hour ago", {
            **YOUNG_PROCESS, counter: "_ _ 1x200"}, 200, since=63),
        Quiet(alert, "that was long before", {**OLD_PROCESS, counter: "5x200"}, 200),
        Quiet(alert, "the server was started anew since", {
            "process_start_time_seconds": "-100000x30 1800x120", counter: "5x30 0x120"}, 120),
        *(Quiet(alert, f"{other} is something else", {**OLD_PROCESS, other: "0+1x120"}, 120) for other in others),
        *(Quiet(alert, f"{other} is something else, of a young process", {**YOUNG_PROCESS, other: "_ _ 5+1x120"}, 100)
          for other in others))


SERVERS = (
    Fires("QuotientAbsent", 5, {f"up{{{OTHER}}}": "1x60"}, "Prometheus scrapes no Quotient server.", {}),
    # A series that ends is looked at for 5 more minutes.
    Fires("QuotientAbsent", 21, {"up": "1x10"}, "Prometheus scrapes no Quotient server.", {}),
    Quiet("QuotientAbsent", "a server that is down is still a target", {"up": "0x60"}, 60),

    Fires("QuotientDown", 5, {"up": "1x2 0x20"}, "a:9464 does not answer Prometheus."),
    Quiet("QuotientDown", "a scrape that fails once", {"up": "1x5 0 1x20"}, 20),
    Quiet("QuotientDown", "another program is down", {f"up{{{OTHER}}}": "0x20"}, 20),

    Fires("QuotientNoReadyServer", 7, {
        "quotient_ready": "1x4 0x20", 'quotient_ready{job="quotient",instance="b:9464"}': "0x20"},
          "No server of quotient is ready.", SERVICE),
    Quiet("QuotientNoReadyServer", "another one is ready", {
        "quotient_ready": "1x4 0x20", 'quotient_ready{job="quotient",instance="b:9464"}': "1x20"}, 20),

    Fires("QuotientServerNotReady", 20, {"quotient_ready": "1x4 0x60", "quotient_draining": "0x60"},
          "a:9464 has not been ready for 15 minutes."),
    Quiet("QuotientServerNotReady", "it drains", {"quotient_ready": "0x60", "quotient_draining": "1x60"}, 60),
    Quiet("QuotientServerNotReady", "it was ready for a moment", {
        "quotient_ready": "0x14 1 0x14 1x9", "quotient_draining": "0x60"}, 35),

    Fires("QuotientDrainHangs", 8, {"quotient_draining": "0x2 1x60"},
          "a:9464 has been draining for 5 minutes."),
    Quiet("QuotientDrainHangs", "it ends after two minutes", {"quotient_draining": "0x2 1x2 stale"}, 30),

    Fires("QuotientRestarts", 13, {**READY, "process_start_time_seconds": "0x3 200x3 500x3 700x60"},
          "a:9464 was restarted 3 times in an hour."),
    Quiet("QuotientRestarts", "an upgrade, and one more restart", {
        **READY, "process_start_time_seconds": "0x3 200x3 500x60"}, 60),
    Quiet("QuotientRestarts", "one every hour", {
        **READY, "process_start_time_seconds": "0x59 3600x59 7200x59 10800x59"}, 230),
    Quiet("QuotientRestarts", "another program restarts", {
        f"process_start_time_seconds{{{OTHER}}}": "0x3 200x3 500x3 700x60"}, 60),

    Fires("QuotientFileDescriptors", 14, {
        **READY, "process_open_fds": "100x3 900x60", "process_max_fds": "1000x60"},
          "a:9464 has 90% of its file descriptors open."),
    Quiet("QuotientFileDescriptors", "there are enough", {
        **READY, "process_open_fds": "700x60", "process_max_fds": "1000x60"}, 60),
    Quiet("QuotientFileDescriptors", "another program has many", {
        f"process_open_fds{{{OTHER}}}": "900x60", f"process_max_fds{{{OTHER}}}": "1000x60"}, 60),
)

GOOD, BAD = calls("OK"), calls("Unavailable")
FAST, SLOWLY = "QuotientErrorBudgetBurnsFast", "QuotientErrorBudgetBurnsSlowly"
SHOP = 'job="shop",instance="a:1",grpc_service="shop.Cart",grpc_method="Get",grpc_type="unary"'
MODELS = 'grpc_service="quotient.v1.ModelService",grpc_method="InspectModel",grpc_type="unary"'
ERRORS = (
    # From minute 61 on a tenth of all calls fail: 1.44 % of those of an hour are reached 8 minutes later.
    Fires(FAST, 71, {GOOD: "0+100x200", BAD: "0x60 10+10x140"}, "1.8% of the calls to quotient fail by its fault.",
          SERVICE),
    Fires(FAST, 5, {GOOD: "0+98x200", BAD: "0+2x200"}, "2% of the calls to quotient fail by its fault.", SERVICE),
    # Few calls, of which 6 fail.
    Fires(FAST, 67, {GOOD: "0+1x200", BAD: "0x60 1+1x5 6x100"}, "9.091% of the calls to quotient fail by its fault.",
          SERVICE),
    Quiet(FAST, "few calls, of which 4 fail", {GOOD: "0+1x200", BAD: "0x60 1+1x3 4x100"}, 160),
    Quiet(FAST, "it has become better", {GOOD: "0+100x200", BAD: "0x60 10+10x8 91+1x140"}, 115, since=77),
    Quiet(FAST, "0.9 % fail", {GOOD: "0+991x200", BAD: "0+9x200"}, 200),
    Quiet(FAST, "clients ask for what there is not", {GOOD: "0+100x200", calls("NotFound"): "0+50x200"}, 200),
    Quiet(FAST, "another program's calls fail", {
        calls("OK", SHOP): "0+10x200", calls("Internal", SHOP): "0+10x200"}, 200),

    Fires(SLOWLY, 20, {GOOD: "0+99x500", BAD: "0+1x500"}, "1% of the calls to quotient failed by its fault in six "
                                                          "hours.",
          SERVICE),
    Quiet(SLOWLY, "it has become better", {GOOD: "0+1000x500", BAD: "0+20x120 2404+4x300"}, 400, since=155),
    Quiet(SLOWLY, "an hour of it", {GOOD: "0+1000x500", BAD: "0+1x299 320+20x59 1501+1x100"}, 450),
    Quiet(SLOWLY, "0.4 % fail", {GOOD: "0+996x500", BAD: "0+4x500"}, 500),
    Quiet(SLOWLY, "few calls, of which 4 fail", {GOOD: "0+0.1x500", BAD: "0x60 1+1x3 4x400"}, 450),

    *event_cases("QuotientInternalErrors", calls("Internal"), "Calls that a:9464 answered with an internal error: 1.",
                 others=(BAD, calls("Internal", CALLS.replace("quotient.v1", "shop")))),

    Fires("QuotientCallsSlow", 16, times("grpc_server_handling_seconds", CALLS, half=989, five=11),
          "Calls to a:9464 that should be quick take up to 1.364s."),
    Quiet("QuotientCallsSlow", "they are quick", times("grpc_server_handling_seconds", CALLS, half=980, one=20), 60),
    Quiet("QuotientCallsSlow", "calls that read models may take long",
          times("grpc_server_handling_seconds", MODELS, five=10), 60),
)

QUEUED = 'quotient_jobs{state="queued"}'
REFUSED = 'quotient_jobs_refused_total{reason="QUEUE_FULL"}'
QUEUE = (
    Fires("QuotientQueueStalled", 25, {**READY, QUEUED: "0x4 1x60", "quotient_leases": "1x4 0x60"},
          "No job runs on a:9464; waiting: 1.", {**A, "state": "queued"}),
    Quiet("QuotientQueueStalled", "a long job runs", {**READY, QUEUED: "7x60", "quotient_leases": "1x60"}, 60),
    Quiet("QuotientQueueStalled", "jobs run, and few scrapes see one", {
        **READY, QUEUED: "7x60", "quotient_leases": " ".join(["0x6 1"] * 8)}, 55),
    Quiet("QuotientQueueStalled", "nothing waits", {
        **READY, QUEUED: "0x60", 'quotient_jobs{state="succeeded"}': "9x60", "quotient_leases": "0x60"}, 60),
    Quiet("QuotientQueueStalled", "the storage is down, which has its own alert", {
        "quotient_ready": "0x60", QUEUED: "7x60", "quotient_leases": "0x60"}, 60),

    Fires("QuotientQueueOldestAge", 66, {"quotient_queue_oldest_age_seconds": "0+60x200"},
          "A job has waited on a:9464 for 1h 6m 0s."),
    Quiet("QuotientQueueOldestAge", "jobs wait for an hour at most", {
        "quotient_queue_oldest_age_seconds": "0+60x60 0+60x60"}, 120),

    Fires("QuotientQueueNearlyFull", 20, {QUEUED: "10x9 900x60"}, "The queue of a:9464 is nearly full: 900 jobs.",
          {**A, "state": "queued"}),
    Quiet("QuotientQueueNearlyFull", "there is room", {QUEUED: "700x60"}, 60),
    Quiet("QuotientQueueNearlyFull", "jobs that are over do not wait", {
        'quotient_jobs{state="succeeded"}': "5000x60"}, 60),

    Fires("QuotientQueueFull", 11, {REFUSED: "0x9 1x60"}, "a:9464 turns jobs away, since its queue is full.", still=19),
    Quiet("QuotientQueueFull", "there is room again", {REFUSED: "0x9 1x60"}, 60, since=20),
    Quiet("QuotientQueueFull", "one client has too many", {REFUSED.replace("QUEUE_FULL", "QUOTA_JOBS"): "0+1x60"}, 60),

    Fires("QuotientDeadlinesMissed", 15, {finished("failed", "QUEUE_DEADLINE"): "0x9 4x60"},
          "Jobs of quotient that did not begin before their deadlines: 4.", SERVICE),
    Quiet("QuotientDeadlinesMissed", "two an hour are late", {
        finished("failed", "QUEUE_DEADLINE"): "0x29 1x29 2x29 3x29 4x29 5x29 6x29"}, 200),
    Quiet("QuotientDeadlinesMissed", "jobs fail for other reasons", {finished("failed", "RUN_BUDGET"): "0+1x100"}, 100),
)

JOBS = (
    Fires("QuotientJobFailures", 17, {finished("succeeded"): "0+11x100", finished("failed", "STORAGE_DOWN"): "0+1x100"},
          "8.333% of the jobs of quotient fail by its fault.", SERVICE),
    Quiet("QuotientJobFailures", "4 % do", {
        finished("succeeded"): "0+24x100", finished("failed", "STORAGE_DOWN"): "0+1x100"}, 100),
    Quiet("QuotientJobFailures", "users send what cannot be read", {
        finished("succeeded"): "0+1x100", finished("failed", "MODEL_MALFORMED"): "0+3x100"}, 100),
    Quiet("QuotientJobFailures", "jobs are cancelled and late", {
        finished("cancelled", "CANCELLED"): "0+1x100", finished("failed", "QUEUE_DEADLINE"): "0+1x100"}, 100),
    Quiet("QuotientJobFailures", "one of a few", {
        finished("succeeded"): "0x20 1x100", finished("failed", "INTERNAL"): "0x20 1x100"}, 100),

    *event_cases("QuotientPoisonedJob", finished("failed", "POISONED"), "A job of a:9464 killed its process three "
                                                                        "times.",
                 others=(finished("failed", "MODEL_SHAPE"),)),

    Fires("QuotientProcessesDie", 14, {'quotient_job_processes_total{end="died"}': "0x9 1+1x60"},
          "Processes of jobs that died on a:9464 in 10 minutes: 5."),
    Quiet("QuotientProcessesDie", "one poisoned job", {'quotient_job_processes_total{end="died"}': "0x9 1 2 3x60"}, 60),
    Quiet("QuotientProcessesDie", "one now and then", {
        'quotient_job_processes_total{end="died"}': "0x6 1x6 2x6 3x6 4x6 5x6 6x6 7x6"}, 50),
    Quiet("QuotientProcessesDie", "processes are ended by the server", {
        'quotient_job_processes_total{end="killed"}': "0+5x60"}, 60),

    *event_cases("QuotientServerKilledByJob", 'quotient_job_attempts_total{end="lease_lost"}',
                 "A job of a:9464 was running when the server died.",
                 others=('quotient_job_attempts_total{end="drained"}',)),
)

FAILURES = 'quotient_device_failures_total{device="onnxruntime"}'
XIDS = 'quotient_gpu_errors_total{gpu="0",gpu_uuid="u",kind="xid"}'
HELD_DOWN = 'quotient_gpu_throttled_seconds_total{gpu="0",gpu_uuid="u",cause="power"}'
DEVICES = (
    Fires("QuotientDeviceDown", 15, {'quotient_device_up{device="cuda"}': "1x4 0x60"},
          "The device cuda of a:9464 cannot be used.", {**A, "device": "cuda"}),
    Quiet("QuotientDeviceDown", "it recovers", {'quotient_device_up{device="cuda"}': "1x4 0x8 1x60"}, 60),

    Fires("QuotientDeviceFailures", 13, {FAILURES: "0x9 1+1x2 3x60"},
          "Jobs in which the device onnxruntime of a:9464 failed in an hour: 3.", {**A, "device": "onnxruntime"}),
    Quiet("QuotientDeviceFailures", "one model crashes it", {FAILURES: "0x9 1 2x60"}, 60),
    Quiet("QuotientDeviceFailures", "now and then", {FAILURES: "0x39 1x39 2x39 3x39 4x39"}, 190),

    Fires("QuotientGpuDown", 8, {'quotient_gpu_up{gpu="0",gpu_uuid="u"}': "1x2 0x60"},
          "GPU 0 of a:9464 does not answer.", {**GPU, "gpu_uuid": "u"}),
    Quiet("QuotientGpuDown", "there is none", READY, 60),

    Fires("QuotientGpuErrors", 32, {XIDS: "0x30 1x100"}, "GPU 0 of a:9464 reported xid errors.", {**GPU, "kind": "xid"},
          still=90),
    Quiet("QuotientGpuErrors", "that was more than an hour ago", {XIDS: "0x30 1x300"}, 300, since=93),
    Quiet("QuotientGpuErrors", "memory was mended, and an error of last week is still counted", {
        XIDS.replace("xid", "ecc_corrected"): "0+1x60", XIDS.replace("xid", "ecc_uncorrected"): "3x60"}, 60),

    # 9 seconds of each minute, from minute 10 on.
    Fires("QuotientGpuThrottled", 35, {HELD_DOWN: "0x9 9+9x90", HELD_DOWN.replace("power", "thermal"): "0x100"},
          "The clocks of GPU 0 of a:9464 are held down for 15% of the time.", GPU),
    Quiet("QuotientGpuThrottled", "for 4 seconds of each minute", {HELD_DOWN: "0+4x100"}, 100),
)

MEASURED, NOISY, HIT = (f'quotient_timing_measurements_total{{outcome="{outcome}"}}'
                        for outcome in ("measured", "noisy", "hit"))
COLLAPSED = "QuotientTimingHitsCollapsed"
TIMES = (
    Fires("QuotientTimingNoisy", 41, {NOISY: "0+2x200", MEASURED: "0+3x200"},
          "40% of the measurements of quotient are noisy.", SERVICE),
    Quiet("QuotientTimingNoisy", "a fifth is", {NOISY: "0+2x200", MEASURED: "0+8x200"}, 200),
    Quiet("QuotientTimingNoisy", "there were few", {NOISY: "0x100 39x100", MEASURED: "0x100 1x100"}, 200),

    # Of ten times nine are known, and one from minute 201 on.
    Fires(COLLAPSED, 266, {HIT: "0+2.25x200 450.25+0.25x200", MEASURED: "0+0.25x200 52.25+2.25x200"},
          "Only 10% of the times that quotient needs are known.", SERVICE),
    Quiet(COLLAPSED, "two thirds of what it was", {HIT: "0+9x200 1806+6x200", MEASURED: "0+1x200 204+4x200"}, 400),
    Quiet(COLLAPSED, "few were asked for", {
        HIT: "0+1.35x200 270.15+0.15x200", MEASURED: "0+0.15x200 31.35+1.35x200"}, 400),
    Quiet(COLLAPSED, "they never were known", {HIT: "0+1x400", MEASURED: "0+9x400"}, 400),
)

WRITES, READS = 'op="write"', 'op="read"'
FREE = "quotient_disk_free_bytes"
STORAGE = (
    Fires("QuotientStorageDown", 5, {"quotient_storage_up": "1x2 0x20"}, "a:9464 cannot store results."),
    Quiet("QuotientStorageDown", "it works again at once", {"quotient_storage_up": "1x2 0 1x20"}, 20),

    *event_cases("QuotientStorageErrors", 'quotient_storage_errors_total{op="write"}',
                 "Operations of the job store of a:9464 that failed: 1."),

    Fires("QuotientStorageSlow", 16, times("quotient_storage_op_seconds", WRITES, half=989, five=11),
          "Writes of a:9464 take up to 1.364s."),
    Quiet("QuotientStorageSlow", "writes are quick, a few reads are not", {
        **times("quotient_storage_op_seconds", WRITES, half=980, one=20),
        **times("quotient_storage_op_seconds", READS, half=90, five=30)}, 60),

    # 100 GB; then 500 MB are taken every minute.
    Fires("QuotientDiskWillFill", 269, {FREE: "1e11x200 99500000000-500000000x190"},
          "The disk of a:9464 is full within 4 hours if this goes on."),
    Quiet("QuotientDiskWillFill", "a model comes and goes", {FREE: "1e10x30 6e9x10 1e10x60"}, 100),
    Quiet("QuotientDiskWillFill", "it fills slowly", {FREE: "1e11-1e7x200"}, 200),

    Fires("QuotientDiskFull", 10, {FREE: "1e10x4 209715200x20"}, "The disk of a:9464 has 200MiB free."),
    Quiet("QuotientDiskFull", "there is room", {FREE: "314572800x20"}, 20),

    # What is scraped no more is looked at for 5 minutes, unless it is known to be gone.
    Fires("QuotientDiskSilent", 15, {**READY, FREE: "1e10x4 stale"}, "The disk of a:9464 does not say what it has "
                                                                     "free."),
    Quiet("QuotientDiskSilent", "it says so", {**READY, FREE: "1e10x60"}, 60),
    Quiet("QuotientDiskSilent", "the server is gone", {}, 60),

    Fires("QuotientBlobExcess", 130, {"quotient_blob_excess_bytes": "0x9 1073741824x300"},
          "a:9464 has 1GiB more than it should, and cannot remove it."),
    Quiet("QuotientBlobExcess", "it is removed an hour later", {"quotient_blob_excess_bytes": "0x9 1e9x70 0x300"}, 300),

    *event_cases("QuotientBlobsDamaged", "quotient_blobs_damaged_total", "Stored files of a:9464 that are damaged: 1."),

    *event_cases("QuotientCheckpointsFail", 'quotient_checkpoints_total{outcome="failed"}',
                 "Checkpoints that a:9464 could not write: 1.",
                 others=('quotient_checkpoints_total{outcome="saved"}',)),

    Fires("QuotientUploadsPileUp", 15, {"quotient_uploads_open": "3x4 500x60"}, "500 uploads to a:9464 are open."),
    Quiet("QuotientUploadsPileUp", "there are many, but not too many", {"quotient_uploads_open": "350x60"}, 60),
)

CASES = (*SERVERS, *ERRORS, *QUEUE, *JOBS, *DEVICES, *TIMES, *STORAGE)

# --- Of all alerts at once

# A server at work: what its metrics are, each minute.
HEALTHY = {
    "up": "1x180", "quotient_ready": "1x180", "quotient_storage_up": "1x180", "quotient_draining": "0x180",
    QUEUED: "5x180", REFUSED: "0x180", "quotient_queue_oldest_age_seconds": "40x180", "quotient_leases": "1x180",
    finished("succeeded"): "0+2x180", finished("failed", "MODEL_SHAPE"): "0+1x180",
    finished("failed", "POISONED"): "0x180", finished("failed", "QUEUE_DEADLINE"): "0x180",
    finished("failed", "INTERNAL"): "0x180",
    GOOD: "0+600x180", BAD: "0x180", calls("Internal"): "0x180",
    **times("grpc_server_handling_seconds", CALLS, half=600),
    'quotient_job_attempts_total{end="lease_lost"}': "0x180",
    'quotient_job_processes_total{end="ok"}': "0+3x180", 'quotient_job_processes_total{end="died"}': "0x180",
    'quotient_device_up{device="cuda"}': "1x180", FAILURES: "0x180",
    'quotient_gpu_up{gpu="0",gpu_uuid="u"}': "1x180", XIDS: "0x180", HELD_DOWN: "0+1x180",
    HIT: "0+50x180", MEASURED: "0+20x180", NOISY: "0+1x180",
    **times("quotient_storage_op_seconds", WRITES, half=600),
    'quotient_storage_errors_total{op="write"}': "0x180", FREE: "1e11-1e6x180",
    "quotient_blob_excess_bytes": "0x180", "quotient_blobs_damaged_total": "0x180",
    'quotient_checkpoints_total{outcome="failed"}': "0x180", "quotient_uploads_open": "2x180",
    "process_open_fds": "90x180", "process_max_fds": "1024x180", "process_start_time_seconds": "-9000x180",
}


def started_anew(series, values):
    """The healthy server, told to end after an hour and started again two minutes later, with its counters at 0."""
    if series == "process_start_time_seconds":
        return "-9000x59 _x2 3660x120"
    per_minute = values.rpartition("x")[0]
    return f"{per_minute}x59 _x2 {per_minute}x120"
