"""Conditions that alerts have in common."""

HOUR = 3600


def happened(counter, more_than=0):
    """True for an hour after the counter rose. What happened between the start of a process and the first scrape is no
    rise for Prometheus, so a young process is taken at its word: what it has counted it has counted within the hour.
    """
    return (f"sum by (job, instance) (increase({counter}[1h])) > {more_than} or "
            f"sum by (job, instance) ({counter}) > {more_than} "
            f"and on (job, instance) time() - process_start_time_seconds < {HOUR}")


def on_ours(condition):
    """Of metrics that other programs have, too: only on servers of ours."""
    return f"{condition} and on (job, instance) quotient_ready"
