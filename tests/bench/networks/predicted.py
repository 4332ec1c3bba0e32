#!/usr/bin/env python3
"""How well costs predict what graphs take: from the lines that network_bench writes.

    predicted.py RUNS.csv

Per device a table of the measured networks: predicted and measured time of the original and of the
result, what the result gains, and how far the predictions are off. Below it the median of that, how
many times its predicted time a graph takes at most (those predicted to take none aside), and the
networks that came out slower, or of which a GPU measured nothing, if any.
Exit status: 1 if there are some, 2 if RUNS.csv is not what network_bench writes."""

import argparse
import csv
import statistics
import sys


def read(path):
    """The rows with measured times, as numbers, by device; and those of GPUs without."""
    devices, missing = {}, []
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            numbers = {name: float(row[name]) for name in row
                       if name.endswith(("_us", "_norm")) and row[name] not in ("", "-")}
            if numbers.get("measured_before_us"):
                devices.setdefault(row["device"], []).append((row["network"], numbers))
            elif row["device"].startswith("cuda"):
                missing.append(f"{row['network']} on {row['device']}")
    return devices, missing


def off(predicted, measured):
    return abs(predicted - measured) / measured


def fail(message):
    print(message, file=sys.stderr)
    sys.exit(2)


def main(path):
    slower = []
    try:
        devices, missing = read(path)
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        fail(f"{path}: {error}")
    if not devices and not missing:
        fail(f"{path}: nothing in it was measured")
    for device, rows in devices.items():
        errors, ratios = [], []
        print(f"\n{device}\n{'network':16}{'predicted':>12}{'measured':>12}{'-> predicted':>14}"
              f"{'measured':>12}{'gain':>8}{'off':>8}{'error':>10}")
        for network, row in rows:
            before, after = row["measured_before_us"], row.get("measured_after_us") or 0
            after = after or before  # it came back as it was
            times = [(row["cost_before_us"], before), (row["cost_after_us"], after)]
            pair = [off(predicted, measured) for predicted, measured in times]
            errors += pair
            ratios += [measured / predicted for predicted, measured in times if predicted > 0]
            if after > before:
                slower.append(f"{network} on {device}")
            print(f"{network:16}{row['cost_before_us']:12.1f}{before:12.1f}"
                  f"{row['cost_after_us']:14.1f}{after:12.1f}{1 - after / before:8.1%}{max(pair):8.1%}{row.get('error_norm', 0):10.1e}")
        print(f"median of predictions off by {statistics.median(errors):.1%}")
        if ratios:
            print(f"measured at most {max(ratios):.2f} times predicted")
    for name in slower:
        print(f"slower: {name}")
    for name in missing:
        print(f"not measured: {name}")
    return 1 if slower or missing else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", metavar="RUNS.csv")
    sys.exit(main(parser.parse_args().runs))
