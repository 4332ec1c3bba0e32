"""How long jobs wait and run, and how their attempts and processes end."""

from model import Dashboard, Panel, Query, Row
from queries import STEP, buckets, events, gauge, mean, per_second, quantile, quantiles

WAITING = Row("Waiting", (
    Panel("Jobs by state", "Those that are not over. queued: they wait for a worker.",
          (Query('sum by (state) (quotient_jobs{state=~"queued|running|cancelling"})', "{{state}}"),),
          "areas", low=0),
    Panel("Oldest wait", "For how long the job has waited that has waited for longest, since it came or came back to "
                         "the queue. It should fall whenever a job ends.",
          (gauge("quotient_queue_oldest_age_seconds", how="max"),), unit="s", low=0,
          limits=((3600, "red"),)),
    Panel("Refused submissions per hour", "QUEUE_FULL: too many jobs wait. QUOTA_JOBS and QUOTA_BYTES: one client has "
          "too many. other: mostly for the client to mend, such as a file that is not there.",
          (Query(f"sum by (reason) (rate(quotient_jobs_refused_total{STEP})) * 3600", "{{reason}}"),), "areas",
          width=24, height=6),
    Panel("Wait before the first attempt", "Half of the jobs waited for less than p50. Only jobs that have begun are "
                                           "counted.",
          quantiles("quotient_job_queue_seconds"), unit="s", low=0),
    Panel("Waits", "How many jobs waited for how long.", (buckets("quotient_job_queue_seconds"),),
          "heat", "s"),
))

RUNNING = Row("Running", (
    Panel("Time of each phase, p50", "Of an attempt. The search takes what the budget leaves; measuring should not "
                                     "take longer than the search for long.",
          (quantile(0.5, "quotient_job_run_seconds", "phase"),), unit="s", low=0),
    Panel("Time of each phase, p95", "A phase that is slow for a few jobs shows here and not at p50.",
          (quantile(0.95, "quotient_job_run_seconds", "phase"),), unit="s", low=0),
    Panel("Time of each phase, mean", "What an average attempt consists of.",
          (mean("quotient_job_run_seconds", "phase"),), "areas", "s", low=0),
    Panel("Jobs that run", "Leases. Fewer than --workers while jobs wait means that workers are lost or that a job "
                           "has to run alone.",
          (gauge("quotient_leases"),), low=0),
))

ENDS = Row("Ends", (
    Panel("Attempts by how they ended", "process_died, lease_lost and device_lost count against the job, which fails "
                                        "after three of them; the others do not.",
          (events("quotient_job_attempts_total", "end"),), "bars"),
    Panel("Processes by how they ended", "ok: delivered. error: it said why not. died: without a word, as after a "
                                         "crash. killed: the server ended it, since it was not wanted any more, hung "
                                         "or took too much memory.",
          (per_second("quotient_job_processes_total", "end"),), "areas"),
    Panel("Memory of processes", "What each process of a job had at most.",
          (buckets("quotient_job_process_memory_bytes"),), "heat", "bytes"),
    Panel("Memory of processes, quantiles", "What workers need, to size their machine: p99 times the jobs that run "
                                            "at once.",
          quantiles("quotient_job_process_memory_bytes"), unit="bytes", low=0),
))

KEPT = Row("Kept", (
    Panel("Jobs that have ended, in the store", "They stay until nobody has asked for them for --keep-days, or until "
                                                "there is no room.",
          (Query('sum by (state) (quotient_jobs{state=~"succeeded|failed|cancelled"})', "{{state}}"),),
          "areas", low=0),
    Panel("Jobs removed per hour", "age: nobody has asked for them in --keep-days. space: there was no room. "
                                   "request: DeleteJob.",
          (Query(f"sum by (cause) (rate(quotient_jobs_removed_total{STEP})) * 3600", "{{cause}}"),), "areas"),
))

QUEUE = Dashboard(
    "queue", "Quotient: queue",
    "How long do jobs wait and run, where does their time go, and how do attempts end?",
    (WAITING, RUNNING, ENDS, KEPT))
