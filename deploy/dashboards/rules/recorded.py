"""Recording rules: what alerts need over long times, and what is worth to be kept for long."""

from blame import FAILED_CALLS, OUR_CALLS, SERVER_FAILURES
from model import Group, Recorded
from queries import BUSY_SECONDS

TIMED = '{outcome=~"measured|noisy"}'
BURN_WINDOWS = ("5m", "30m", "1h", "6h")
SHARES = ((0.5, "p50"), (0.95, "p95"), (0.99, "p99"))


def quantile_rules(share, name):
    return (
        Recorded(f"job:quotient_job_queue_seconds:{name}_30m",
                 f"histogram_quantile({share}, sum by (job, le) "
                 "(rate(quotient_job_queue_seconds_bucket[30m])))",
                 f"Wait before the first attempt, {name} of half an hour."),
        Recorded(f"job_phase:quotient_job_run_seconds:{name}_30m",
                 f"histogram_quantile({share}, sum by (job, phase, le) "
                 "(rate(quotient_job_run_seconds_bucket[30m])))",
                 f"Time of each phase, {name} of half an hour.", labels=("job", "phase")))


JOBS = Group("quotient-jobs", (
    Recorded("job:quotient_jobs_finished:increase30m",
             "sum by (job) (increase(quotient_jobs_finished_total[30m]))",
             "Jobs that ended in half an hour."),
    Recorded("job:quotient_jobs_failed_by_server:increase30m",
             f"sum by (job) (increase(quotient_jobs_finished_total{SERVER_FAILURES}[30m]))",
             "Of these, jobs that failed because of the server, its storage or its devices."),
    Recorded("job:quotient_jobs_succeeded:ratio30m",
             "1 - job:quotient_jobs_failed_by_server:increase30m / "
             "(job:quotient_jobs_finished:increase30m > 0)",
             "Share of these jobs that did not fail by the server's fault."),
    *(rule for share, name in SHARES for rule in quantile_rules(share, name)),
    Recorded("job:quotient_gpu_busy_seconds:per_job1h",
             f"sum by (job) ({BUSY_SECONDS}) / "
             '(sum by (job) (increase(quotient_jobs_finished_total{state="succeeded"}[1h])) > 0)',
             "Busy time of GPUs, by any process, for each job that succeeded in an hour."),
))

TIMING = Group("quotient-timing", (
    Recorded("job:quotient_timing_measurements:increase1h",
             "sum by (job) (increase(quotient_timing_measurements_total[1h]))",
             "Kernels whose time jobs asked for in an hour."),
    Recorded("job:quotient_timing_hits:ratio1h",
             'sum by (job) (increase(quotient_timing_measurements_total{outcome="hit"}[1h])) / '
             "(job:quotient_timing_measurements:increase1h > 0)",
             "Share of these that were known before."),
    Recorded("job:quotient_timing_runs:increase1h",
             f"sum by (job) (increase(quotient_timing_measurements_total{TIMED}[1h]))",
             "Kernels that were run in an hour."),
    Recorded("job:quotient_timing_noisy:ratio1h",
             'sum by (job) (increase(quotient_timing_measurements_total{outcome="noisy"}[1h])) / '
             "(job:quotient_timing_runs:increase1h > 0)",
             "Share of these that ran on a machine that was never quiet."),
))

CALLS = Group("quotient-calls", tuple(rule for window in BURN_WINDOWS for rule in (
    Recorded(f"job:grpc_server_failures:increase{window}",
             f"sum by (job) (increase(grpc_server_handled_total{FAILED_CALLS}[{window}]))",
             f"Calls of our services that failed by the server's fault in {window}."),
    Recorded(f"job:grpc_server_failures:ratio{window}",
             f"job:grpc_server_failures:increase{window} / "
             f"(sum by (job) (increase(grpc_server_handled_total{OUR_CALLS}[{window}])) > 0)",
             f"Their share of all calls of our services in {window}."))))

RECORDED = (JOBS, TIMING, CALLS)
