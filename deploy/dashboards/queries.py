"""Queries that many panels and rules have in common."""

from model import Query

# Grafana puts the time between two points of the panel here, and four scrapes at least.
STEP = "[$__rate_interval]"

# Of each GPU within an hour, or since the start of the server.
BUSY_SECONDS = ("avg_over_time(quotient_gpu_utilization_ratio[1h]) * on (job, instance) group_left () "
                "clamp_max(time() - process_start_time_seconds, 3600)")


def per_second(metric, label, matchers="", limit=""):
    """The rate of a counter, a line for each value of the label. `limit` leaves lines out: " > 0"."""
    return Query(f"sum by ({label}) (rate({metric}{matchers}{STEP})){limit}", f"{{{{{label}}}}}")


def total_per_second(metric, legend, matchers=""):
    return Query(f"sum(rate({metric}{matchers}{STEP}))", legend)


def events(metric, label, matchers=""):
    """For bars: how often something happened between two points; nothing where it did not."""
    return Query(f"sum by ({label}) (increase({metric}{matchers}{STEP})) > 0", f"{{{{{label}}}}}")


def gauge(metric, label="instance", how="sum"):
    return Query(f"{how} by ({label}) ({metric})", f"{{{{{label}}}}}")


def quantile(share, histogram, label="", matchers=""):
    by = f"le, {label}" if label else "le"
    legend = f"{{{{{label}}}}}" if label else f"p{share * 100:g}"
    return Query(f"histogram_quantile({share}, sum by ({by}) "
                 f"(rate({histogram}_bucket{matchers}{STEP})))", legend)


def quantiles(histogram, matchers=""):
    return tuple(quantile(share, histogram, matchers=matchers) for share in (0.5, 0.95, 0.99))


def mean(histogram, label):
    return Query(f"sum by ({label}) (rate({histogram}_sum{STEP})) / "
                 f"sum by ({label}) (rate({histogram}_count{STEP}))", f"{{{{{label}}}}}")


def buckets(histogram, matchers=""):
    """For a panel of the kind heat."""
    return Query(f"sum by (le) (increase({histogram}_bucket{matchers}{STEP}))", "{{le}}")
