"""Says in one line what came of a job."""

import argparse
import json


def milliseconds(us):
    return f"{us / 1e3:.1f} ms" if us >= 1e3 else f"{us / 1e3:.3f} ms"


def percent(value):
    return f"{value:.0f} %" if value >= 1 else f"{value:.2g} %"  # Less than one is not rounded to 0 %.


def taken(report):
    """The candidate that is the result, as far as the report has candidates."""
    return next((each for each in report.get("considered", ()) if each["taken"]), {"grounds": "measured"})


def gain_kind(report):
    """What there is less of: a busy machine compares the CPU time of runs on one thread."""
    return "CPU time on one thread" if taken(report).get("cpu_time_percent") else "time"


def headline(report):
    model = report["model"]
    if report["outcome"] != "improved":
        reason = report["passed_through"]
        reason = f" ({reason.replace('_', ' ').lower()})" if reason else ""
        return f"{model}: nothing faster was found{reason}; the result is the model as it was."
    before, after = report["original"], report["optimized"]
    interval = report["speedup_interval_percent"]
    if (report["speedup_percent"] or 0) <= 0 or (interval and interval["low"] <= 0):
        return (f"{model}: of {before['nodes']} nodes {after['nodes']} are left, and the results are equal; the measurement"
                " does not tell whether that is faster. The table says why it was taken.")
    how = "surely" if taken(report)["grounds"] in ("measured", "cpu_time") else "likely"
    surely = f" ({how} {percent(interval['low'])} to {percent(interval['high'])})" if interval else ""
    device = report["device"]
    place = f" in {device['library']}" if device["library"] else ""
    medians = [figures["measured_us"]["median"] for figures in (before, after)]
    # On a busy machine no times with all threads are told.
    times = "" if None in medians else f": {milliseconds(medians[0])} before, {milliseconds(medians[1])} after"
    return (f"{model} takes {percent(report['speedup_percent'])} less {gain_kind(report)}{place} on {device['hardware']}{surely}{times}."
            f" Of {before['nodes']} nodes {after['nodes']} are left, and the results are equal.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", metavar="REPORT.json", help="what `quotient optimize --report` writes")
    with open(parser.parse_args().report, encoding="utf-8") as file:
        print(headline(json.load(file)))
