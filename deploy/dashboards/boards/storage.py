"""Whether the disk has room, and whether what is stored is quick and whole."""

from model import Dashboard, Panel, Query, Row
from queries import buckets, events, gauge, per_second, quantile, total_per_second

ROOM = Row("Room", (
    Panel("Free on the disk", "Of the data folder. Below twice --min-free-bytes results are removed for want of "
                              "room, below --min-free-bytes (256 MiB) uploads are refused.",
          (gauge("quotient_disk_free_bytes", how="min"),), unit="bytes", low=0,
          limits=((256 * 2**20, "green"),), base="red"),
    Panel("Free in four hours", "If the last hour went on like this. Below 0 the disk would be full.",
          (Query("predict_linear(quotient_disk_free_bytes[1h], 4 * 3600)", "{{instance}}"),), unit="bytes"),
    Panel("Stored files", "As of the last round that looked for unused ones (every ten minutes).",
          (gauge("quotient_blob_bytes"),), unit="bytes", low=0),
    Panel("Too much", "What that round found to be too much and could not remove, since jobs need it or it was just "
                      "used. If it stays, --max-stored-bytes is too little, or the disk.",
          (gauge("quotient_blob_excess_bytes"),), unit="bytes", low=0),
    Panel("Files removed per second", "As unused.", (total_per_second("quotient_blobs_removed_total", "files"),),
          low=0),
    Panel("Bytes removed per second", "Of these files.",
          (total_per_second("quotient_blob_removed_bytes_total", "bytes"),), unit="binBps", low=0),
))

HEALTH = Row("Health", (
    Panel("Storage", "0 while results cannot be stored: jobs that have ended wait, and the server is not ready.",
          (gauge("quotient_storage_up", how="min"),), "states", width=8, height=6,
          names=((0, "down", "red"), (1, "up", "green"))),
    Panel("Failed operations of the job store", "Between two points. The server tries again by itself.",
          (events("quotient_storage_errors_total", "op"),), "bars", width=8, height=6,
          may_be_empty="the storage works"),
    Panel("Damaged files", "Stored files that were found damaged and set aside, since the start of each server. Any "
                           "means that a disk lies or fails.",
          (Query("sum by (instance) (quotient_blobs_damaged_total)", "{{instance}}", shows_counters=True),),
          width=8, height=6, low=0, limits=((1, "red"),), decimals=0),
    Panel("Time of operations of the job store, p50", "A write is on the disk when it ends, so this is what a "
                                                      "submission costs at least.",
          (quantile(0.5, "quotient_storage_op_seconds", "op"),), unit="s", low=0),
    Panel("Time of operations of the job store, p99", "Above a second, submissions and workers are held up.",
          (quantile(0.99, "quotient_storage_op_seconds", "op"),), unit="s", low=0, limits=((1, "red"),)),
    Panel("Operations of the job store per second", "Reads and writes.",
          (per_second("quotient_storage_op_seconds_count", "op"),), low=0),
    Panel("Times of writes", "How many writes took how long.",
          (buckets("quotient_storage_op_seconds", '{op="write"}'),), "heat", "s"),
))

UPLOADS = Row("Uploads", (
    Panel("Uploads per second", "deduplicated: the server had the file. digest_mismatch: other bytes arrived than "
                                "were announced. interrupted: the client went away; it can go on where it was.",
          (per_second("quotient_uploads_total", "outcome"),), "areas"),
    Panel("Bytes received per second", "In uploads.",
          (total_per_second("quotient_upload_bytes_total", "received"),), unit="binBps", low=0),
    Panel("Open uploads", "Uploads that were begun and not ended. At --max-uploads (512) more have to wait.",
          (gauge("quotient_uploads_open"),), low=0, limits=((400, "red"),)),
    Panel("Room that they still need", "It is kept free for them.",
          (gauge("quotient_upload_reserved_bytes"),), unit="bytes", low=0),
))

STORAGE = Dashboard(
    "storage", "Quotient: storage",
    "Has the disk room, is the store quick, and is what it holds whole?", (ROOM, HEALTH, UPLOADS))
