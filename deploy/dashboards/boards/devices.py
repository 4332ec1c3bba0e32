"""Whether devices work, and what GPUs do."""

from model import Dashboard, Panel, Query, Row
from queries import BUSY_SECONDS, STEP, events

NO_GPU = "the machine has no GPU"
GPU = "{{instance}} GPU {{gpu}}"

USE = Row("Use by jobs", (
    Panel("Devices", "Whether the last job on the device could use it. A device is here from the end of its first "
                     "job on.",
          (Query("min by (device) (quotient_device_up)", "{{device}}"),), "states", height=6,
          names=((0, "lost", "red"), (1, "up", "green"))),
    Panel("Device failures", "Runs of jobs in which their device failed, whether it recovered or was lost. A model "
                             "that crashes a library causes some; many come from the device or its library.",
          (events("quotient_device_failures_total", "device"),), "bars", height=6,
          may_be_empty="no device fails"),
))

NOW = Row("GPUs", (
    Panel("Answers", "Whether the GPU answers its driver's library for monitoring, NVML. While the driver hangs "
                     "nothing is known of GPUs.",
          (Query("quotient_gpu_up", GPU),), "states", height=6,
          names=((0, "lost", "red"), (1, "up", "green")), may_be_empty=NO_GPU),
    Panel("Busy", "Share of the time in which any kernel ran, of any process.",
          (Query("quotient_gpu_utilization_ratio", GPU),), unit="percentunit", height=6, low=0, high=1,
          may_be_empty=NO_GPU),
    Panel("Memory", "What is taken of the GPU's memory, by any process.",
          (Query("quotient_gpu_memory_used_bytes", GPU + " used"),
           Query("quotient_gpu_memory_total_bytes", GPU + " has")), unit="bytes", low=0,
          may_be_empty=NO_GPU),
    Panel("GPU-seconds for each job that succeeded", "Busy time of all GPUs within an hour, by any process, divided "
                                                     "by the jobs that succeeded in it.",
          (Query(f"sum({BUSY_SECONDS}) / "
                 '(sum(increase(quotient_jobs_finished_total{state="succeeded"}[1h])) > 0)', "seconds"),),
          unit="s", low=0, may_be_empty=NO_GPU),
))

CLOCKS = Row("Clocks of GPUs", (
    Panel("Clock", "Present clock of the multiprocessors. Times that were measured at different clocks cannot be "
                   "compared.",
          (Query("quotient_gpu_sm_clock_hertz", GPU),), unit="hertz", low=0, may_be_empty=NO_GPU),
    Panel("Temperature", "A GPU that is too hot lowers its clocks.",
          (Query("quotient_gpu_temperature_celsius", GPU),), unit="celsius", may_be_empty=NO_GPU),
    Panel("Held down now", "Why clocks are held down at this moment.",
          (Query("quotient_gpu_throttled == 1", GPU + " {{cause}}"),), "states",
          names=((1, "held down", "orange"),), may_be_empty=NO_GPU),
    Panel("Share of time held down", "By cause. More than a tenth spoils measurements.",
          (Query(f"rate(quotient_gpu_throttled_seconds_total{STEP})", GPU + " {{cause}}"),),
          unit="percentunit", low=0, limits=((0.1, "red"),), may_be_empty=NO_GPU),
))

ERRORS = Row("Errors of GPUs", (
    Panel("Errors", "Between two points. ecc_corrected: memory was mended, which is no harm by itself. "
                    "ecc_uncorrected and xid: the driver has reported a critical error, and results since then are "
                    "in doubt.",
          (Query(f"increase(quotient_gpu_errors_total{STEP})", GPU + " {{kind}}"),), width=24, height=6,
          low=0, may_be_empty=NO_GPU),
))

DEVICES = Dashboard(
    "devices", "Quotient: devices",
    "Do devices work, and do GPUs run at their full clocks and without errors?",
    (USE, NOW, CLOCKS, ERRORS))
