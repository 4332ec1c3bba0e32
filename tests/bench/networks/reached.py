#!/usr/bin/env python3
"""When runs with more rules come to what runs with fewer rules ended at.

    reached.py FEWER.csv MORE.csv

Both files are of network_bench --curves, with the same networks, devices, strategies and seeds. A row for
each of them but seeds: the cost at the start, the least that FEWER ended at over the seeds, and MORE, and the median
seconds until the best cost of each is within 0.1 % of what FEWER ended at; "never" if most runs do not come to it.
Exit status: 1 if MORE ends higher somewhere.
"""
import argparse
import csv
import math
import statistics
import sys

SLACK = 1.001


def curves_of(path):
    """Of each network, device and strategy the curves of its seeds: pairs of seconds and cost."""
    curves = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            of_seeds = curves.setdefault((row["network"], row["device"], row["strategy"]), {})
            of_seeds.setdefault(row["seed"], []).append((float(row["at"]), float(row["cost_us"])))
    return {key: list(of_seeds.values()) for key, of_seeds in curves.items()}


def least(curves):
    return min(curve[-1][1] for curve in curves)


def seconds_to(curves, cost):
    return statistics.median(next((at for at, here in curve if here <= cost * SLACK), math.inf) for curve in curves)


def text(seconds):
    return "never" if seconds == math.inf else f"{seconds:.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fewer", metavar="FEWER.csv")
    parser.add_argument("more", metavar="MORE.csv")
    arguments = parser.parse_args()
    fewer, more = curves_of(arguments.fewer), curves_of(arguments.more)
    is_higher = False
    for key, curves in fewer.items():
        cost, now = least(curves), least(more[key])
        is_higher |= now > cost * SLACK
        print(f"| {' | '.join(key)} | {curves[0][0][1]:.2f} | {cost:.2f} | {now:.2f} |"
              f" {text(seconds_to(curves, cost))} | {text(seconds_to(more[key], cost))} |")
    sys.exit(1 if is_higher else 0)


if __name__ == "__main__":
    main()
