"""Whether kernels are timed well, and how often their times are known already."""

from model import Dashboard, Panel, Query, Row
from queries import STEP, per_second, quantiles, total_per_second

TIMED = 'quotient_timing_measurements_total{outcome=~"measured|noisy"}'
NOISY = 'quotient_timing_measurements_total{outcome="noisy"}'
KNOWN = 'quotient_timing_measurements_total{outcome="hit"}'
UNSUPPORTED = 'quotient_timing_measurements_total{outcome="unsupported"}'

ASKED = Row("Asked for", (
    Panel("Kernels asked for per second", "hit: its time was known. measured: it was run. noisy: it was run on a "
                                          "machine that was never quiet. unsupported: the device has no such kernel.",
          (per_second("quotient_timing_measurements_total", "outcome"),), "areas"),
    Panel("Share of times that were known", "A collapse means that the timing store was lost, or that the device has "
                                            "changed: another driver, library or number of threads has times of its "
                                            "own.",
          (Query(f"sum(rate({KNOWN}{STEP})) / sum(rate(quotient_timing_measurements_total{STEP}))", "known"),),
          unit="percentunit", low=0, high=1),
    Panel("Share of measurements that were noisy", "Other work on the machine disturbs what is timed. Results get "
                                                   "worse, and jobs take longer.",
          (Query(f"sum(rate({NOISY}{STEP})) / sum(rate({TIMED}{STEP}))", "noisy"),),
          unit="percentunit", low=0, high=1, limits=((0.25, "red"),)),
    Panel("Share of kernels that a device lacks", "Of those that were asked for. Many of them waste the time of the "
                                                  "search.",
          (Query(f"sum(rate({UNSUPPORTED}{STEP})) / sum(rate(quotient_timing_measurements_total{STEP}))",
                 "unsupported"),),
          unit="percentunit", low=0),
))

TIME = Row("Time", (
    Panel("Jobs that wait for the measurements of another one", "On average, at each moment. Kernels are timed one "
                                                                "job at a time, so more workers help less the more "
                                                                "jobs wait here.",
          (total_per_second("quotient_lane_wait_seconds_total", "waiting"),), low=0),
    Panel("Time to measure original and candidates", "The phase in which whole models are run in turns.",
          quantiles("quotient_job_run_seconds", '{phase="measure"}'), unit="s", low=0),
))

TIMING = Dashboard(
    "timing", "Quotient: timing",
    "Are kernels timed on a quiet machine, and how many of their times are known already?",
    (ASKED, TIME))
