"""Draws a dashboard with its data as SVG, about as Grafana would."""

import html
import math

import grafana_json
import scales

COLUMN, LINE = 42, 26  # Pixels of the grid.
TITLE, LEGEND, AXIS, GAP = 22, 18, 60, 6
LETTER, CAPITAL = 6.8, 8.4  # About what a letter takes.
SHADES = 5
COLOURS = ("#7eb26d", "#eab839", "#6ed0e0", "#ef843c", "#e24d42", "#1f78c1", "#ba43a9", "#705da0")
NAMED = {"green": "#3f9142", "orange": "#d9822b", "red": "#c4352e", "blue": "#2b6cb0"}
STYLE = """<style>
text{font:11px sans-serif;fill:#333}.t{font-weight:bold}.n{font-size:26px}.m{fill:#777}
.b{fill:#f4f5f5}.c{fill:#fff;stroke:#ddd}.g{stroke:#e4e4e4}
@media(prefers-color-scheme:dark){text{fill:#ddd}.m{fill:#999}.b{fill:#111217}.c{fill:#181b1f;stroke:#2c2f35}
.g{stroke:#2c2f35}}
</style>"""


def text(x, y, words, kind="", anchor="start"):
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}" text-anchor="{anchor}">{html.escape(words)}</text>'


def rectangle(x, y, width, height, colour="", kind="", opacity=1.0):
    style = f'class="{kind}"' if kind else f'fill="{colour}"' + (f' opacity="{opacity:.2f}"' if opacity < 1 else "")
    return f'<rect x="{x:.0f}" y="{y:.0f}" width="{max(width, 1):.0f}" height="{max(height, 1):.0f}" {style}/>'


def shortened(words, width):
    room = int(width / LETTER)
    return words if len(words) <= room else words[:max(room - 2, 1)] + ".."


class Box:
    """Where a panel is drawn."""

    def __init__(self, panel, x, y, start, end):
        self.panel = panel
        self.x, self.y = x * COLUMN, y * LINE
        self.width, self.height = panel.width * COLUMN - GAP, panel.height * LINE - GAP
        self.start, self.end = start, end
        self.left, self.right = self.x + AXIS, self.x + self.width - 10
        self.top, self.bottom = self.y + TITLE + 6, self.y + self.height - LEGEND - 16

    def frame(self):
        return [rectangle(self.x, self.y, self.width, self.height, kind="c"),
                text(self.x + 8, self.y + 16, shortened(self.panel.title, self.width - 10), "t")]

    def x_of(self, time):
        return self.left + (self.right - self.left) * (time - self.start) / (self.end - self.start)

    def y_of(self, value, low, high):
        return self.bottom - (self.bottom - self.top) * (value - low) / (high - low)

    def times(self):
        seconds = self.end - self.start
        begin = f"-{seconds:.0f} s" if seconds < 120 else f"-{seconds / 60:.0f} min"
        return [text(self.left, self.bottom + 13, begin, "m"),
                text(self.right, self.bottom + 13, "now", "m", "end")]

    def legend(self, entries):
        """(colour, words) of each line; what has no room is counted."""
        made, x = [], self.x + 8
        for place, (colour, words) in enumerate(entries):
            width = 20 + sum(CAPITAL if letter.isupper() else LETTER for letter in words)
            if x + width > self.x + self.width - (40 if place + 1 < len(entries) else 0):
                made.append(text(x, self.y + self.height - 7, f"+ {len(entries) - place}", "m"))
                break
            made += [rectangle(x, self.y + self.height - 14, 8, 8, colour),
                     text(x + 12, self.y + self.height - 7, words)]
            x += width
        return made

    def nothing(self):
        return [text(self.x + self.width / 2, self.y + self.height / 2 + 10, "no data", "m", "middle")]


def colour_of(place):
    return COLOURS[place % len(COLOURS)]


def path(points):
    """Through points, of which those inside of a horizontal run are left out; NaN is a gap."""
    made, pen = [], False
    for place, point in enumerate(points):
        if point is None:
            pen = False
            continue
        around = points[place - 1:place + 2] if place else []
        if pen and len(around) == 3 and all(one is not None and one[1] == point[1] for one in around):
            continue
        made.append(f"{'L' if pen else 'M'}{point[0]},{point[1]}")
        pen = True
    return "".join(made)


def aligned(data):
    """The values of each series at the same times, a step apart; NaN where it has none."""
    times = sorted({time for _, values in data for time, _ in values})
    step = min((after - before for before, after in zip(times, times[1:])), default=1)
    if times:
        times = [times[0] + step * place for place in range(round((times[-1] - times[0]) / step) + 1)]
    known = [{round(time): value for time, value in values} for _, values in data]
    return times, [[one.get(round(time), math.nan) for time in times] for one in known]


def stacked(series):
    """(bottom, top) of each value, where each series stands on those before it; None where it has no value."""
    made, heights = [], [0.0] * len(series[0])
    for values in series:
        one = []
        for place, value in enumerate(values):
            one.append((heights[place], heights[place] + value) if math.isfinite(value) else None)
            heights[place] += value if math.isfinite(value) else 0.0
        made.append(one)
    return made


def grid(box, marks):
    made = []
    for mark in marks:
        y = box.y_of(mark, marks[0], marks[-1])
        made += [f'<path class="g" d="M{box.left},{y:.0f}H{box.right}"/>',
                 text(box.left - 5, y + 4, scales.text_of(mark, box.panel.unit), "m", "end")]
    return made


def named_colours(data):
    return [(colour_of(place), name) for place, (name, _) in enumerate(data)]


def lines(box, data):
    times, series = aligned(data)
    values = [value for one in series for value in one if math.isfinite(value)]
    if not values:
        return box.nothing()
    low = min(values) if box.panel.low is None else min(0, *values)
    marks = scales.ticks(low, max(values), box.panel.unit)
    made = grid(box, marks)
    for place, one in reversed(list(enumerate(series))):
        points = [(round(box.x_of(time)), round(box.y_of(value, marks[0], marks[-1]))) if math.isfinite(value) else None
                  for time, value in zip(times, one)]
        made.append(f'<path fill="none" stroke="{colour_of(place)}" stroke-width="1.5" d="{path(points)}"/>')
    return made + box.times() + box.legend(named_colours(data))


def areas(box, data):
    """Also bars, since what has no neighbour is as wide as a step."""
    times, series = aligned(data)
    if not times:
        return box.nothing()
    stacks = stacked(series)
    marks = scales.ticks(0, max(span[1] for one in stacks for span in one if span), box.panel.unit)
    half = (box.x_of(times[1]) - box.x_of(times[0])) / 2 if len(times) > 1 else 3
    made = grid(box, marks)
    for place, one in enumerate(stacks):
        shapes = []
        for run in runs(one, box.panel.kind == "bars"):
            xs = [round(box.x_of(times[at])) for at in run]
            if len(run) == 1:
                xs, run = [round(xs[0] - half), round(xs[0] + half)], run * 2
            tops = path([(x, round(box.y_of(one[at][1], marks[0], marks[-1]))) for x, at in zip(xs, run)])
            feet = path([(x, round(box.y_of(one[at][0], marks[0], marks[-1]))) for x, at in zip(xs[::-1], run[::-1])])
            shapes.append(f"{tops}L{feet[1:]}Z")
        made.append(f'<path fill="{colour_of(place)}" d="{"".join(shapes)}"/>')
    return made + box.times() + box.legend(named_colours(data))


def runs(spans, is_bars):
    """Places that follow each other without a gap; of bars each stands alone."""
    found = []
    for place, span in enumerate(spans):
        if span is None:
            continue
        if found and found[-1][-1] == place - 1 and not is_bars:
            found[-1].append(place)
        else:
            found.append([place])
    return found


def limit_colour(panel, value):
    found = panel.base
    for limit, colour in panel.limits:
        if value >= limit:
            found = colour
    return NAMED[found]


def number(box, data):
    if not data:
        return box.nothing()
    value = data[0][1][-1][1]
    named = {one: (words, colour) for one, words, colour in box.panel.names}
    words, colour = named.get(value, (scales.text_of(value, box.panel.unit), None))
    fill = NAMED[colour] if colour else limit_colour(box.panel, value)
    return [f'<text x="{box.x + box.width / 2:.0f}" y="{box.y + box.height - 24}" class="n" text-anchor="middle" '
            f'style="fill:{fill}">{html.escape(words)}</text>']


def heat(box, data):
    """A row for each bucket, the darker the more is in it and not in those below."""
    rows = sorted((float(name), dict(values)) for name, values in data)
    cells, before = [], {}
    for _, values in rows:
        cells.append({time: value - before.get(time, 0.0) for time, value in values.items()})
        before = values
    most = max((value for row in cells for value in row.values()), default=0)
    if most <= 0:
        return box.nothing()
    used = [place for place, row in enumerate(cells) if max(row.values(), default=0) > 1e-9]
    shown = range(max(used[0] - 1, 0), used[-1] + 1)
    height = (box.bottom - box.top) / len(shown)
    width = max((box.right - box.left) / len(before), 2)
    made, shades = [], {}
    for line, place in enumerate(shown):
        y = round(box.bottom - (line + 1) * height)
        if line % max(len(shown) // 6, 1) == 0:
            bound = rows[place][0]
            made.append(text(box.left - 5, y + height / 2 + 4,
                             scales.text_of(bound, box.panel.unit) if math.isfinite(bound) else "more", "m", "end"))
        for time, value in cells[place].items():
            if value > 1e-9:
                shade = math.ceil(SHADES * (value / most) ** 0.5)
                x = round(min(box.x_of(time), box.right - width))
                shades.setdefault(shade, []).append(f"M{x},{y}h{width:.0f}v{max(height - 1, 1):.0f}h-{width:.0f}z")
    return made + [f'<path fill="#e8590c" opacity="{shade / SHADES:.1f}" d="{"".join(one)}"/>'
                   for shade, one in sorted(shades.items())] + box.times()


def states(box, data):
    named = {value: (words, colour) for value, words, colour in box.panel.names}
    if not data:
        return box.nothing()
    height = min((box.bottom - box.top) / len(data), 26)
    made = []
    for place, (name, values) in enumerate(data):
        y = box.top + place * height
        begin = 0
        for at in range(1, len(values) + 1):
            if at < len(values) and values[at][1] == values[begin][1]:
                continue
            _, colour = named.get(values[begin][1], ("", "blue"))
            x, end = box.x_of(values[begin][0]), box.x_of(values[min(at, len(values) - 1)][0])
            made.append(rectangle(x, y, end - x, height - 4, NAMED[colour], opacity=0.6))
            begin = at
        made.append(text(box.left + 4, y + height / 2 + 2, name))
    return made + box.times() + box.legend([(NAMED[colour], words) for words, colour in named.values()])


def table(box, data):
    made = []
    for place, (name, _) in enumerate(data):
        for line, words in enumerate(name.split(", ")):
            y = box.y + TITLE + 20 + 16 * (line + 4 * place)
            made.append(text(box.x + 10, y, shortened(words, box.width - 20)))
    return made or box.nothing()


KINDS = {"lines": lines, "areas": areas, "bars": areas, "number": number, "heat": heat, "states": states,
         "table": table}


def svg(board, data, start, end):
    """`data` has the series of each panel, by its title: (name, [(time, value), ...])."""
    made, y = [], 1
    made.append(text(8, 18, f"{board.title}: {board.question}", "t"))
    for row in board.rows:
        made.append(text(8, y * LINE + 18, row.title, "m"))
        y += 1
        for panel, column, down in grafana_json.placed(row.panels):
            box = Box(panel, column, y + down, start, end)
            made += box.frame() + KINDS[panel.kind](box, data[panel.title])
        y += grafana_json.height_of(row.panels)
    width, height = grafana_json.COLUMNS * COLUMN, y * LINE
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-6 0 {width + 6} {height}" width="{width + 6}">'
            f'{STYLE}<rect x="-6" width="{width + 6}" height="{height}" class="b"/>' + "\n".join(made) + "</svg>\n")
