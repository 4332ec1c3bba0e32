"""The first look: is the service well, and what does it give?"""

from blame import ERROR_BUDGET, FAILED_CALLS, OUR_CALLS, SERVER_FAILURES
from model import Dashboard, Panel, Query, Row
from queries import STEP, events, gauge, per_second, quantile

# Numbers for the whole service, in one line.
NOW = Row("Now", (
    Panel("Ready servers", "Servers that take jobs and can store results. None is an outage.",
          (Query("sum(quotient_ready)"),), "number", width=3, height=4,
          limits=((1, "green"),), base="red", decimals=0),
    Panel("Storage", "Whether all servers can store results. Jobs wait while they cannot.",
          (Query("min(quotient_storage_up)"),), "number", width=3, height=4,
          names=((0, "down", "red"), (1, "up", "green"))),
    Panel("Draining", "Servers that were told to end and finish what they do.",
          (Query("sum(quotient_draining)"),), "number", width=3, height=4,
          limits=((1, "orange"),), decimals=0),
    Panel("Jobs waiting", "Jobs in the queue.", (Query('sum(quotient_jobs{state="queued"})'),),
          "number", width=3, height=4, limits=((500, "orange"), (800, "red")), decimals=0),
    Panel("Jobs running", "Leases that workers hold, one for each job that runs.",
          (Query("sum(quotient_leases)"),), "number", width=3, height=4, base="blue", decimals=0),
    Panel("Oldest wait", "For how long the job has waited that has waited for longest.",
          (Query("max(quotient_queue_oldest_age_seconds)"),), "number", "s", width=3, height=4,
          limits=((1800, "orange"), (3600, "red"))),
    Panel("Our failures", "Of the jobs that ended within an hour, the share that failed because of the server, its "
                          "storage or its devices. Refused models do not count.",
          (Query(f"sum(increase(quotient_jobs_finished_total{SERVER_FAILURES}[1h])) / "
                 "(sum(increase(quotient_jobs_finished_total[1h])) > 0) or vector(0)"),),
          "number", "percentunit", width=3, height=4, limits=((0.01, "orange"), (0.05, "red")),
          decimals=1),
    Panel("Budget burn", f"How much faster than allowed calls fail by the server's fault, within an hour: "
          f"at 1 the budget of {ERROR_BUDGET:.1%} of all calls is just kept.",
          (Query(f"sum(increase(grpc_server_handled_total{FAILED_CALLS}[1h])) / "
                 f"(sum(increase(grpc_server_handled_total{OUR_CALLS}[1h])) > 0) / {ERROR_BUDGET} "
                 "or vector(0)"),),
          "number", "short", width=3, height=4, limits=((1, "orange"), (14.4, "red")), decimals=1),
))

JOBS = Row("Jobs", (
    Panel("Jobs ended per hour", "By how they ended. Failures have their reasons beside.",
          (Query(f"sum by (state) (rate(quotient_jobs_finished_total{STEP})) * 3600", "{{state}}"),),
          "areas"),
    Panel("Failures by reason", "Jobs that failed between two points. MODEL_..., LIMIT_... and OPTION_... are the "
                                "users' models and wishes; POISONED, INTERNAL, STORAGE_DOWN and DEVICE_... are ours.",
          (events("quotient_jobs_finished_total", "reason", '{state="failed"}'),), "bars",
          may_be_empty="no job fails"),
    Panel("Submissions per hour", "new: a job was begun. joined: it waits or runs already. cache_hit: the result was "
                                  "there.",
          (Query(f"sum by (disposition) (rate(quotient_jobs_submitted_total{STEP})) * 3600",
                 "{{disposition}}"),), "areas"),
    Panel("Share of submissions that cost nothing", "Those that joined an equal job or found its result.",
          (Query('sum(rate(quotient_jobs_submitted_total{disposition=~"joined|cache_hit"}' + STEP + ")) / "
                 f"sum(rate(quotient_jobs_submitted_total{STEP}))", "joined or known"),),
          unit="percentunit", low=0, high=1),
    Panel("Results per hour", "Whether something was gained, by the device that the job was for.",
          (Query(f"sum by (outcome, device) (rate(quotient_job_result_total{STEP})) * 3600",
                 "{{outcome}} on {{device}}"),), "areas"),
    Panel("Time of a result, relative to its original", "Half of the results take less than p50. 1 means that the "
                                                        "original came back; above 1 nothing should be.",
          (quantile(0.1, "quotient_job_gain_ratio"), quantile(0.5, "quotient_job_gain_ratio"),
           quantile(0.9, "quotient_job_gain_ratio")), unit="percentunit", low=0),
))

SERVERS = Row("Servers", (
    Panel("Ready", "Whether each server takes jobs. One that drains or cannot store is not ready.",
          (gauge("quotient_ready"),), "states", width=12, height=6,
          names=((0, "not ready", "red"), (1, "ready", "green"))),
    Panel("What runs", "Versions. The engine's version is part of the key of each job: results of another one are "
                       "not used.",
          (Query("max by (instance, version, engine) (quotient_build_info)"),), "table", height=6),
    Panel("Processors", "Cores that the server's own process takes. Jobs run in processes of their own, which are "
                        "not in this.",
          (Query(f"rate(process_cpu_seconds_total{STEP})", "{{instance}}"),), width=6, low=0),
    Panel("Memory", "Resident memory of the server's own process.",
          (Query("process_resident_memory_bytes", "{{instance}}"),), unit="bytes", width=6, low=0),
    Panel("File descriptors", "Of those that the process may have. Connections, uploads and watchers take them.",
          (Query("process_open_fds / process_max_fds", "{{instance}}"),), unit="percentunit", width=6,
          low=0, limits=((0.8, "red"),)),
    Panel("Time since the start", "Counters begin anew with each start.",
          (Query("time() - process_start_time_seconds", "{{instance}}"),), unit="s", width=6, low=0),
    Panel("Calls per second", "By service. Health checks are those of probes.",
          (per_second("grpc_server_handled_total", "grpc_service"),), width=12),
    Panel("Calls that failed by our fault", "Share with the status Unknown, Internal, Unavailable or DataLoss.",
          (Query(f"sum(rate(grpc_server_handled_total{FAILED_CALLS}{STEP})) / "
                 f"sum(rate(grpc_server_handled_total{OUR_CALLS}{STEP}))", "failed"),),
          unit="percentunit", low=0),
))

SERVICE = Dashboard(
    "service", "Quotient: service",
    "Is the service well, and what does it give?", (NOW, JOBS, SERVERS))
