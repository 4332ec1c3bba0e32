"""Alerts on jobs: their waiting, their failures, their processes."""

from model import Alert, Group
from rules.conditions import happened

QUEUE = Group("quotient-queue", (
    Alert("QuotientQueueStalled",
          'quotient_jobs{state="queued"} > 0 and on (job, instance) max_over_time(quotient_leases[10m]) == 0 '
          "and on (job, instance) quotient_ready == 1", "10m", "critical",
          "No job runs on {{ $labels.instance }}; waiting: {{ $value }}.",
          "The server is ready and has jobs, but no worker has taken one for 10 minutes.",
          ("Read the log for what workers say; `quotient jobs` shows which device the waiting jobs need.",
           "Restart the server. Nothing is lost by that; if jobs run then, report the log of before.")),
    Alert("QuotientQueueOldestAge", "quotient_queue_oldest_age_seconds > 3600", "5m", "warning",
          "A job has waited on {{ $labels.instance }} for {{ $value | humanizeDuration }}.",
          "A job waits for longer than an attempt may take (--max-job-seconds). Either there are too few workers, or "
          "one client fills the queue; clients are served in turn, so the others do not wait for all of its jobs.",
          ("Jobs that run (queue) and Time of each phase, mean (queue) say whether jobs run, and how long.",
           "Add servers, raise --workers (jobs wait for each other's measurements, which Jobs that wait for the "
           "measurements of another one (timing) shows), or lower the budgets of the clients.")),
    Alert("QuotientQueueNearlyFull", 'quotient_jobs{state="queued"} > 800', "10m", "warning",
          "The queue of {{ $labels.instance }} is nearly full: {{ $value }} jobs.",
          "From --max-queued-jobs (1000) on, submissions are refused with QUEUE_FULL. If you have set another limit, "
          "change this number.",
          ("As for QuotientQueueOldestAge. `quotient jobs` shows whose jobs these are.",)),
    Alert("QuotientQueueFull",
          'sum by (job, instance) (increase(quotient_jobs_refused_total{reason="QUEUE_FULL"}[10m])) > 0',
          "1m", "critical",
          "{{ $labels.instance }} turns jobs away, since its queue is full.",
          "As many jobs wait as --max-queued-jobs allows, and clients are told to come back later.",
          ("As for QuotientQueueOldestAge. If jobs do not run at all, as for QuotientQueueStalled.",)),
    Alert("QuotientDeadlinesMissed",
          'sum by (job) (increase(quotient_jobs_finished_total{reason="QUEUE_DEADLINE"}[1h])) > 3', "5m", "warning",
          "Jobs of {{ $labels.job }} that did not begin before their deadlines: {{ $value | printf \"%.0f\" }}.",
          "Jobs whose clients have set a deadline for their beginning failed, because they waited for too long.",
          ("As for QuotientQueueOldestAge: the service is too small for what is asked of it.",)),
))

JOBS = Group("quotient-failures", (
    Alert("QuotientJobFailures",
          "1 - job:quotient_jobs_succeeded:ratio30m > 0.05 and on (job) "
          "job:quotient_jobs_failed_by_server:increase30m >= 2", "15m", "critical",
          "{{ $value | humanizePercentage }} of the jobs of {{ $labels.job }} fail by its fault.",
          "Jobs fail because of the server, its storage or its devices. Models that are refused, and jobs that were "
          "cancelled or late, do not count.",
          ("Failures by reason (service) says why, and the log has each failure.",
           "STORAGE_DOWN: QuotientStorageDown. DEVICE_LOST, DEVICE_NOT_PRESENT: QuotientDeviceDown. POISONED: "
           "QuotientPoisonedJob. BLOB_CORRUPT: QuotientBlobsDamaged. INTERNAL: report it.")),
    Alert("QuotientPoisonedJob", happened('quotient_jobs_finished_total{reason="POISONED"}'), "1m", "warning",
          "A job of {{ $labels.instance }} killed its process three times.",
          "A job failed with POISONED: its process crashed, hung or took all memory on each attempt. The others go "
          "on. Its model is faulty, hostile or too large for the machine, or there is a bug in Quotient or in a "
          "library.",
          ("Find the job with `quotient jobs` and its end in the log: a signal, the memory, or silence.",
           "If memory ended it, compare Memory of processes (queue) with the machine.",
           "Else report it, with the model if it may be shown.")),
    Alert("QuotientProcessesDie",
          'sum by (job, instance) (increase(quotient_job_processes_total{end="died"}[10m])) > 3', "1m", "warning",
          "Processes of jobs that died on {{ $labels.instance }} in 10 minutes: {{ $value | printf \"%.0f\" }}.",
          "Processes that ran jobs or read models ended without a word. One model that crashes its process accounts "
          "for three; more come from a library, the kernel's out-of-memory killer, or somebody who tries models that "
          "crash.",
          ("The log says of each job how its process ended; `dmesg` has what the kernel killed for memory.",
           "If one client sends them, keep it out (network policy) and keep its models for a report.",)),
    Alert("QuotientServerKilledByJob", happened('quotient_job_attempts_total{end="lease_lost"}'), "1m", "warning",
          "A job of {{ $labels.instance }} was running when the server died.",
          "After an end that was not clean, the server blames a job for it. After three such attempts the job fails "
          "with POISONED.",
          ("Read the end of the log before: was the server killed for memory? Give it more, or lower --workers.",)),
))
