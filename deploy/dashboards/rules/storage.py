"""Alerts on the disk and on what is stored."""

from model import Alert, Group
from rules.conditions import happened

STORAGE = Group("quotient-storage", (
    Alert("QuotientStorageDown", "quotient_storage_up == 0", "2m", "critical",
          "{{ $labels.instance }} cannot store results.",
          "The job store or the disk refuses writes. Jobs that have ended wait with their checkpoints, and the "
          "server is not ready. It tries again by itself.",
          ("Read the log for the error: a full disk, a file system that is mounted read-only, a lost volume.",
           "Make room or mend the volume. There is no need for a restart.",
           "If the log says that quotient-job cannot be started or belongs to another build, install both programs "
           "together and restart the server.")),
    Alert("QuotientStorageErrors", happened("quotient_storage_errors_total"), "1m", "warning",
          "Operations of the job store of {{ $labels.instance }} that failed: {{ $value | printf \"%.0f\" }}.",
          "Operations failed and were tried again or refused. If this goes on, QuotientStorageDown follows.",
          ("Read the log for the error, and `dmesg` for errors of the disk.",)),
    Alert("QuotientStorageSlow",
          'histogram_quantile(0.99, sum by (job, instance, le) '
          '(rate(quotient_storage_op_seconds_bucket{op="write"}[15m]))) > 1',
          "15m", "warning",
          "Writes of {{ $labels.instance }} take up to {{ $value | humanizeDuration }}.",
          "A write is on the disk when it ends, so submissions and workers wait for it.",
          ("See what else writes to the disk, and whether it is a network disk: SQLite wants a local one.",)),
    Alert("QuotientDiskWillFill", "predict_linear(quotient_disk_free_bytes[1h], 4 * 3600) < 0", "30m", "warning",
          "The disk of {{ $labels.instance }} is full within 4 hours if this goes on.",
          "What the data folder's disk has free falls so fast that nothing is left in 4 hours.",
          ("Stored files (storage) says whether it is Quotient that fills it. Then lower --max-stored-bytes or "
           "--keep-days.",
           "Else find what does.")),
    Alert("QuotientDiskFull", "quotient_disk_free_bytes < 268435456", "5m", "critical",
          "The disk of {{ $labels.instance }} has {{ $value | humanize1024 }}B free.",
          "Below --min-free-bytes (256 MiB) the server takes no uploads. If you have set another limit, change this "
          "number.",
          ("Make room. The server removes what nobody needs by itself, but not what jobs in the store refer to: "
           "`quotient delete` removes a job, and its files soon after.",)),
    Alert("QuotientDiskSilent", "quotient_ready unless on (job, instance) quotient_disk_free_bytes", "10m", "warning",
          "The disk of {{ $labels.instance }} does not say what it has free.",
          "The server asks the file system of its data folder, which does not answer.",
          ("See whether the volume is mounted, and what `df` says of it.",)),
    Alert("QuotientBlobExcess", "quotient_blob_excess_bytes > 0", "2h", "warning",
          "{{ $labels.instance }} has {{ $value | humanize1024 }}B more than it should, and cannot remove it.",
          "Files take more room than --max-stored-bytes or the disk allow. Jobs in the store need them, or they were "
          "used within the hour.",
          ("Raise --max-stored-bytes or enlarge the disk, or lower --keep-days.",)),
    Alert("QuotientBlobsDamaged", happened("quotient_blobs_damaged_total"), "1m", "critical",
          "Stored files of {{ $labels.instance }} that are damaged: {{ $value | printf \"%.0f\" }}.",
          "Files did not have the bytes that were written, or could not be read. They were set aside, and can be "
          "sent or made anew. The disk, its controller or the machine's memory fails.",
          ("The log names the files. Look at `dmesg` and `smartctl -a` for errors of the disk.",
           "Move the data folder to another disk before more is lost.")),
    Alert("QuotientCheckpointsFail", happened('quotient_checkpoints_total{outcome="failed"}'), "1m", "warning",
          "Checkpoints that {{ $labels.instance }} could not write: {{ $value | printf \"%.0f\" }}.",
          "Searches go on, but if the server ends, work since their last checkpoints is lost.",
          ("As for QuotientStorageErrors; checkpoints are the largest files that are written often, so a full disk "
           "shows here first.",)),
    Alert("QuotientUploadsPileUp", "quotient_uploads_open > 400", "10m", "warning",
          "{{ $value }} uploads to {{ $labels.instance }} are open.",
          "Uploads were begun and not ended. At --max-uploads (512) clients have to wait. If you have set another "
          "limit, change this number.",
          ("Uploads per second and Bytes received per second (storage) say whether they go on. Clients that begin "
           "and go away leave them open for an hour.",)),
))
