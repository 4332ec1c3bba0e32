"""Alerts on devices and on what is measured with them."""

from model import Alert, Group

DEVICES = Group("quotient-devices", (
    Alert("QuotientDeviceDown", "quotient_device_up == 0", "10m", "critical",
          "The device {{ $labels.device }} of {{ $labels.instance }} cannot be used.",
          "The last job on the device could not use it, and none has since. Jobs for it fail or wait.",
          ("The log says what the device answered: a lost GPU, a driver or a library that is not there any more.",
           "For a GPU run `nvidia-smi`; if that hangs or names an error, reset the GPU or the machine, then restart "
           "the server.",
           "For onnxruntime see whether the file of --onnxruntime is there and was not replaced.")),
    Alert("QuotientDeviceFailures",
          "sum by (job, instance, device) (increase(quotient_device_failures_total[1h])) > 2", "1m", "warning",
          "Jobs in which the device {{ $labels.device }} of {{ $labels.instance }} failed in an hour: {{ $value | "
          "printf \"%.0f\" }}.",
          "The device failed while jobs ran, and recovered or was lost. Their results are kept from equal jobs.",
          ("See in the log whether it is one model: then its kernels crash the library, and the library is to be "
           "updated.",
           "Else go on as for QuotientDeviceDown.")),
    Alert("QuotientGpuDown", "quotient_gpu_up == 0", "5m", "critical",
          "GPU {{ $labels.gpu }} of {{ $labels.instance }} does not answer.",
          "The driver does not know the GPU any more.",
          ("`nvidia-smi` and `dmesg | grep -i xid` say what happened. Reset the GPU or the machine.",)),
    Alert("QuotientGpuErrors",
          'sum by (job, instance, gpu, kind) (increase(quotient_gpu_errors_total{kind=~"xid|ecc_uncorrected"}[1h])) '
          '> 0',
          "1m", "critical",
          "GPU {{ $labels.gpu }} of {{ $labels.instance }} reported {{ $labels.kind }} errors.",
          "The driver has reported a critical error of the GPU, or memory that could not be corrected. What ran at "
          "that time may be wrong; results of jobs are checked against the host before they are returned.",
          ("`dmesg | grep -i xid` has the number of the error, and NVIDIA's list of Xid errors what it means.",
           "If it comes again, take the GPU out of service.")),
    Alert("QuotientGpuThrottled",
          "max by (job, instance, gpu) (rate(quotient_gpu_throttled_seconds_total[15m])) > 0.1", "15m", "warning",
          "The clocks of GPU {{ $labels.gpu }} of {{ $labels.instance }} are held down for {{ $value | "
          "humanizePercentage }} of the time.",
          "Times that were measured meanwhile are too long, and not equally so for all kernels.",
          ("Held down now and Share of time held down (devices) name the cause.",
           "thermal: look after the cooling. power: a GPU under full load may reach its limit; lower its clocks for "
           "good with `nvidia-smi -lgc`, so that all times are comparable.")),
))

TIMES = Group("quotient-times", (
    Alert("QuotientTimingNoisy",
          "job:quotient_timing_noisy:ratio1h > 0.25 and on (job) job:quotient_timing_runs:increase1h > 50",
          "30m", "warning",
          "{{ $value | humanizePercentage }} of the measurements of {{ $labels.job }} are noisy.",
          "Kernels were timed on a machine that was never quiet. Results get worse, and jobs take longer.",
          ("Find out what else runs on the machine, and move it away or give the server cores of its own.",
           "See that the server may go before other work (SYS_NICE, see server/README.md).")),
    Alert("QuotientTimingHitsCollapsed",
          "job:quotient_timing_hits:ratio1h < 0.5 * avg_over_time(job:quotient_timing_hits:ratio1h[7d]) and on (job) "
          "job:quotient_timing_measurements:increase1h > 100", "30m", "warning",
          "Only {{ $value | humanizePercentage }} of the times that {{ $labels.job }} needs are known.",
          "That is less than half of what it was on average for a week. Kernels are measured anew, so jobs take "
          "longer.",
          ("Was a driver, a library, the processor or --threads changed? Then the device is another one, and the "
           "ratio recovers by itself.",
           "Is the data folder the same as before? An empty one has no times.",
           "New kinds of models bring new kernels: then it is no fault.")),
))
