"""What searches do, find and leave behind."""

from model import Dashboard, Panel, Query, Row
from queries import STEP, buckets, per_second, quantile, quantiles, total_per_second

GAINS = Row("What is found", (
    Panel("Results by outcome", "no_improvement: nothing faster was found or proved, and the original came back.",
          (Query(f"sum by (outcome) (rate(quotient_job_result_total{STEP})) * 3600", "{{outcome}}"),),
          "areas"),
    Panel("Share of results that improved", "By device and library. A drop after an upgrade of a library means that "
                                            "it now does by itself what Quotient did, or that its kernels are priced "
                                            "wrongly.",
          (Query('sum by (device, library) (rate(quotient_job_result_total{outcome="improved"}' + STEP + ")) / "
                 f"sum by (device, library) (rate(quotient_job_result_total{STEP}))",
                 "{{device}} {{library}}"),),
          unit="percentunit", low=0, high=1),
    Panel("Gains", "How many results take which part of their original's time.",
          (buckets("quotient_job_gain_ratio"),), "heat", "percentunit"),
    Panel("Gains, quantiles", "A tenth of the results take less than p10 of their original's time.",
          (quantile(0.1, "quotient_job_gain_ratio"), quantile(0.5, "quotient_job_gain_ratio"),
           quantile(0.9, "quotient_job_gain_ratio")), unit="percentunit", low=0),
))

WORK = Row("What is done", (
    Panel("Simulations per second", "Of searches that led to a result; they are counted at the end of each search, "
                                    "so long searches show as peaks.",
          (total_per_second("quotient_search_simulations_total", "simulations"),), low=0),
    Panel("E-nodes per second", "In the e-graphs of these searches, at their end.",
          (total_per_second("quotient_search_enodes_total", "e-nodes"),), low=0),
    Panel("Simulations for each result", "Less with the same budgets means that steps have become slower, or models "
                                         "larger.",
          (Query(f"sum(rate(quotient_search_simulations_total{STEP})) / "
                 f"sum(rate(quotient_job_result_total{STEP}))", "simulations"),), low=0),
    Panel("Time of the search", "From a job's first step of the search to its last one.",
          quantiles("quotient_job_run_seconds", '{phase="search"}'), unit="s", low=0),
))

CHECKPOINTS = Row("Checkpoints", (
    Panel("Checkpoints per second", "A search that was interrupted goes on from its last one. Failed ones cost work "
                                    "if the server ends, and mean that the storage fails.",
          (per_second("quotient_checkpoints_total", "outcome"),), "areas", width=8),
    Panel("Bytes of checkpoints per second", "What is written for them.",
          (total_per_second("quotient_checkpoint_bytes_total", "written"),), unit="binBps", width=8, low=0),
    Panel("Time to write a checkpoint", "The search waits meanwhile.",
          quantiles("quotient_checkpoint_seconds"), unit="s", width=8, low=0),
))

SEARCH = Dashboard(
    "search", "Quotient: search",
    "What do searches find, how much do they do for it, and is their work safe?",
    (GAINS, WORK, CHECKPOINTS))
