"""Whether what should stay as it is grows, by samples of it that are noisy."""

import statistics

WARM_UP = 1 / 3  # This share of the time is left out at the beginning, while caches and pools fill.
MOST_POINTS = 600  # The slopes of all pairs of points are looked at.


def theil_sen(points):
    """The slope of a line through points (x, y): the median of the slopes of all pairs. Up to 29 % of the points may lie
    anywhere without moving it far."""
    slopes = [(y2 - y1) / (x2 - x1)
              for i, (x1, y1) in enumerate(points) for x2, y2 in points[i + 1:] if x2 > x1]
    return statistics.median(slopes)


def thinned(points, most):
    """At most so many of the points: medians of groups that follow each other."""
    size = -(-len(points) // most)
    groups = [points[i:i + size] for i in range(0, len(points), size)]
    return [(statistics.mean(x for x, _ in group), statistics.median(y for _, y in group)) for group in groups]


class Growth:
    """What a quantity does after the warm-up, by points (seconds, value)."""

    def __init__(self, points):
        begin, end = points[0][0], points[-1][0]
        settled = [point for point in points if point[0] >= begin + WARM_UP * (end - begin)]
        if len(settled) < 3:
            raise ValueError("too few samples to tell a slope")
        settled = thinned(settled, MOST_POINTS)
        self.seconds = settled[-1][0] - settled[0][0]
        self.slope = theil_sen(settled)  # per second
        self.grown = self.slope * self.seconds
        self.level = statistics.median(y for _, y in settled)
        self.most = max(y for _, y in points)

    def is_within(self, least, share):
        """Whether it grew by no more than `least`, or than this share of its level, whichever is more."""
        return self.grown <= max(least, share * self.level)
