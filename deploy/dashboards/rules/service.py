"""Alerts on servers and on the calls of clients."""

from blame import ERROR_BUDGET
from model import Alert, Group
from rules.conditions import happened, on_ours

INTERNAL_CALLS = ('grpc_server_handled_total{grpc_service=~"quotient.v1.*",'
                  'grpc_code=~"Unknown|Internal|DataLoss"}')
QUICK_METHODS = ("FindMissing|StartUpload|QueryUpload|GetCapabilities|SubmitJob|LookupResult|GetJob|ListJobs|"
                 "CancelJob|StopJob|DeleteJob")
QUICK = ('{grpc_service=~"quotient.v1.*",grpc_type="unary",grpc_method=~"' + QUICK_METHODS + '"}')
# Of a few calls a single failure would be a large share.
FEWEST_FAILURES = 5


def burns(factor, long, short):
    return (f"job:grpc_server_failures:ratio{long} > {factor * ERROR_BUDGET:g} "
            f"and on (job) job:grpc_server_failures:ratio{short} > {factor * ERROR_BUDGET:g} "
            f"and on (job) job:grpc_server_failures:increase{long} >= {FEWEST_FAILURES}")


SERVERS = Group("quotient-servers", (
    Alert("QuotientAbsent", 'absent(up{job=~".*quotient.*"})', "5m", "critical",
          "Prometheus scrapes no Quotient server.",
          "Prometheus has no target whose scrape job has quotient in its name, so nobody would be told if the "
          "service were gone.",
          ("Look at /targets of Prometheus and at its service discovery: was the deployment removed or renamed?",
           "If the scrape job has another name, give it one that contains quotient: QuotientDown goes by it, too.")),
    Alert("QuotientDown", 'up{job=~".*quotient.*"} == 0', "2m", "critical",
          "{{ $labels.instance }} does not answer Prometheus.",
          "The server has ended, hangs, or cannot be reached at the address of --metrics-listen.",
          ("See whether the process runs, and read the end of its log: it says why it ended.",
           "If it runs, ask `/livez` at the same address. If that does not answer either, restart it: jobs go on "
           "from their last checkpoints.",
           "If it answers you but not Prometheus, look for a network policy or a changed port.")),
    Alert("QuotientNoReadyServer", "sum by (job) (quotient_ready) == 0", "2m", "critical",
          "No server of {{ $labels.job }} is ready.",
          "Every server answers, but none takes jobs. Clients are told to come back later.",
          ("Ask each server `/readyz`: it names the obstacle, which is starting, storage or draining.",
           "For storage go on with QuotientStorageDown; for draining see what stops the servers.")),
    Alert("QuotientServerNotReady",
          "quotient_ready == 0 and on (job, instance) quotient_draining == 0", "15m", "warning",
          "{{ $labels.instance }} has not been ready for 15 minutes.",
          "The server answers, but takes no jobs, and it is not draining.",
          ("Ask it `/readyz` for the obstacle. It tries again by itself, so a restart rarely helps.",)),
    Alert("QuotientDrainHangs", "quotient_draining == 1", "5m", "warning",
          "{{ $labels.instance }} has been draining for 5 minutes.",
          "A server that was told to end should be gone after --endpoint-grace-seconds, --drain-seconds and the 20 "
          "seconds that jobs get to leave their checkpoints.",
          ("Read its log for what it waits for. A second SIGTERM, or SIGKILL, ends it; no job is lost by that.",)),
    Alert("QuotientRestarts", on_ours("changes(process_start_time_seconds[1h]) > 2"), "1m", "warning",
          "{{ $labels.instance }} was restarted {{ $value }} times in an hour.",
          "The server ends again and again. Each time, jobs that ran begin anew from their last checkpoints.",
          ("Read the ends of its last logs. After DEVICE_LOST it ends on purpose to be started anew: go on with "
           "QuotientDeviceDown.",
           "If the supervisor kills it, compare its memory limit with Memory (service), and its probes with "
           "`/livez`.")),
    Alert("QuotientFileDescriptors", on_ours("process_open_fds / process_max_fds > 0.8"), "10m", "warning",
          "{{ $labels.instance }} has {{ $value | humanizePercentage }} of its file descriptors open.",
          "Without free descriptors the server cannot accept connections or open files.",
          ("Watchers (clients) and Open uploads (storage) say what holds them.",
           "Raise the limit (`ulimit -n`, LimitNOFILE of systemd).")),
))

CALLS = Group("quotient-errors", (
    Alert("QuotientErrorBudgetBurnsFast", burns(14.4, "1h", "5m"), "2m", "critical",
          "{{ $value | humanizePercentage }} of the calls to {{ $labels.job }} fail by its fault.",
          "Within an hour, calls failed so often that two days of this use up the error budget of a month (0.1 % of "
          "all calls), and it goes on.",
          ("Failed by our fault, by method (clients) says which methods fail, and how.",
           "Unavailable comes with a full queue, a drain or a storage that is down; Internal and Unknown are errors "
           "of Quotient, whose log has more.")),
    Alert("QuotientErrorBudgetBurnsSlowly", burns(6, "6h", "30m"), "15m", "warning",
          "{{ $value | humanizePercentage }} of the calls to {{ $labels.job }} failed by its fault in six hours.",
          "Within six hours, calls failed so often that five days of this use up the error budget of a month (0.1 % "
          "of all calls), and it goes on.",
          ("As for QuotientErrorBudgetBurnsFast, in working hours.",)),
    Alert("QuotientInternalErrors", happened(INTERNAL_CALLS), "1m", "warning",
          "Calls that {{ $labels.instance }} answered with an internal error: {{ $value | printf \"%.0f\" }}.",
          "An invariant of Quotient did not hold, or stored data is damaged. Such answers are always an error of ours.",
          ("Find the error in the log, at the level error, and report it with the version of quotient_build_info.",
           "For DataLoss go on with QuotientBlobsDamaged.")),
    Alert("QuotientCallsSlow",
          "histogram_quantile(0.99, sum by (job, instance, le) "
          f"(rate(grpc_server_handling_seconds_bucket{QUICK}[15m]))) > 1", "15m", "warning",
          "Calls to {{ $labels.instance }} that should be quick take up to {{ $value | humanizeDuration }}.",
          "Calls that only ask the store take more than a second at p99. Builds and watchers feel that.",
          ("Compare with Time of operations of the job store, p99 (storage): if that is slow as well, the disk is.",
           "Else see whether other work takes the processors of the machine.")),
))
