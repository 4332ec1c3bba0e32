"""Numbers for people, and where lines of a grid lie."""

import math

LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
BINARY = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def rounded(value):
    """Three digits."""
    text = f"{value:.3g}"
    return f"{value:.0f}" if "e" in text and abs(value) >= 1 else text


def scaled(value, units, plain=""):
    for size, name in units:
        if abs(value) >= size:
            return f"{rounded(value / size)} {name}"
    return f"{rounded(value)} {plain}".rstrip()


def seconds(value):
    if abs(value) >= 120:
        return f"{rounded(value / 60)} min"
    if abs(value) >= 1 or value == 0:
        return f"{rounded(value)} s"
    return f"{rounded(value * 1e3)} ms"


TEXTS = {
    "short": lambda value: scaled(value, LARGE),
    "s": seconds,
    "bytes": lambda value: scaled(value, BINARY, "B"),
    "binBps": lambda value: scaled(value, BINARY, "B") + "/s",
    "percentunit": lambda value: f"{rounded(value * 100)} %",
    "hertz": lambda value: f"{rounded(value / 1e9)} GHz",
    "celsius": lambda value: f"{rounded(value)} °C",
}


def text_of(value, unit):
    return "no data" if math.isnan(value) else TEXTS[unit](value)


def base_of(unit, high):
    """What round numbers of the unit are multiples of."""
    if unit in ("bytes", "binBps"):
        return next((size for size, _ in BINARY if high >= size), 1)
    return 60 if unit == "s" and high >= 120 else 1


def ticks(low, high, unit, count=4):
    """Round numbers of the unit from at most low to at least high."""
    if high <= low:
        high = low + (abs(low) or 1)
    base = base_of(unit, high)
    rough = (high - low) / count / base
    power = 10 ** math.floor(math.log10(rough))
    step = base * next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [step * place for place in range(first, last + 1)]
