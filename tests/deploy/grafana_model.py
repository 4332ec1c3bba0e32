"""Whether a dashboard has the form that Grafana documents, of the classic model: nothing that it does not know, nothing
missing, no panel over another one, no variable that is not there.

No Grafana runs in the tests. What is allowed is written down here for what our dashboards use, and is stricter than
Grafana.
"""

import re

ANY = object()


class Optional:
    def __init__(self, shape):
        self.shape = shape


class OneOf:
    def __init__(self, *values):
        self.values = values


SOURCE = {"type": OneOf("prometheus", "grafana"), "uid": OneOf("${datasource}", "-- Grafana --")}
COLOUR = OneOf("green", "orange", "red", "blue")
PLACE = {"x": int, "y": int, "w": int, "h": int}
LEGEND = {"displayMode": OneOf("list", "table", "hidden"), "placement": OneOf("bottom", "right"), "showLegend": bool,
          "calcs": [str]}
TOOLTIP = {"mode": OneOf("single", "multi", "none"), "sort": OneOf("none", "asc", "desc")}
LINEAR = {"type": OneOf("linear", "log", "ordinal", "symlog")}
UNITS = OneOf("short", "s", "bytes", "binBps", "percentunit", "hertz", "celsius")

TARGET = {"refId": str, "datasource": SOURCE, "editorMode": OneOf("code"), "expr": str, "legendFormat": str,
          "format": OneOf("time_series", "heatmap", "table"), "instant": bool, "range": bool}
MAPPING = {"type": OneOf("value"), "options": {str: {"text": str, "color": COLOUR, "index": int}}}
STEP = {"color": COLOUR, "value": OneOf(None, int, float)}
COLOUR_MODE = {"mode": OneOf("thresholds", "palette-classic")}
LINES = {
    "drawStyle": OneOf("line", "bars", "points"),
    "lineInterpolation": OneOf("linear", "smooth", "stepBefore", "stepAfter"), "lineWidth": int, "fillOpacity": int,
    "gradientMode": OneOf("none", "opacity", "hue", "scheme"), "showPoints": OneOf("auto", "never", "always"),
    "spanNulls": bool, "axisPlacement": OneOf("auto", "left", "right", "hidden"), "scaleDistribution": LINEAR,
    "stacking": {"group": str, "mode": OneOf("none", "normal", "percent")},
    "thresholdsStyle": {"mode": OneOf("off", "line", "dashed", "area")}}
STAT = {
    "graphMode": OneOf("none", "area"), "colorMode": OneOf("value", "background", "none"),
    "justifyMode": OneOf("auto", "center"), "textMode": OneOf("auto", "value", "value_and_name", "name", "none"),
    "wideLayout": bool, "showPercentChange": bool,
    "percentChangeColorMode": OneOf("standard", "inverted", "same_as_value"),
    "orientation": OneOf("auto", "horizontal", "vertical"),
    "reduceOptions": {"calcs": [OneOf("lastNotNull", "last", "max", "mean")], "fields": str, "values": bool}}
HEATMAP = {
    "calculate": bool, "cellGap": int, "showValue": OneOf("auto", "never", "always"), "filterValues": {"le": float},
    "color": {"mode": OneOf("scheme", "opacity"), "scheme": str, "fill": str,
              "scale": OneOf("linear", "exponential"), "exponent": float, "steps": int, "reverse": bool},
    "rowsFrame": {"layout": OneOf("auto", "le", "ge", "unknown")},
    "yAxis": {"unit": UNITS, "axisPlacement": OneOf("left", "right", "hidden")}, "legend": {"show": bool},
    "exemplars": {"color": str},
    "tooltip": {"mode": OneOf("single", "multi", "none"), "yHistogram": bool, "showColorScale": bool}}
TIMELINE = {"showValue": OneOf("auto", "never", "always"), "rowHeight": float, "mergeValues": bool,
            "alignValue": OneOf("left", "center", "right"), "legend": LEGEND, "tooltip": TOOLTIP}
TABLE = {"frameIndex": int, "showHeader": bool, "cellHeight": OneOf("sm", "md", "lg"),
         "footer": {"show": bool, "reducer": [str], "countRows": bool, "fields": [str]}}
# By the type of the panel: its options, and what its fields may have besides.
PANELS = {
    "timeseries": ({"legend": LEGEND, "tooltip": TOOLTIP}, LINES),
    "stat": (STAT, {}),
    "heatmap": (HEATMAP, {"scaleDistribution": LINEAR}),
    "state-timeline": (TIMELINE, {"lineWidth": int, "fillOpacity": int}),
    "table": (TABLE, {"align": OneOf("auto", "left", "right", "center"), "inspect": bool}),
}
ROW = {"id": int, "type": OneOf("row"), "title": str, "collapsed": bool, "panels": [ANY], "gridPos": PLACE}
LINK = {"title": str, "type": OneOf("dashboards"), "tags": [str], "asDropdown": bool, "icon": str, "includeVars": bool,
        "keepTime": bool, "targetBlank": bool, "tooltip": str, "url": str}
VARIABLE = {"name": str, "label": str, "type": OneOf("query", "datasource"), "datasource": Optional(SOURCE),
            "definition": Optional(str), "query": str, "hide": OneOf(0, 1, 2), "refresh": OneOf(1, 2), "regex": str,
            "sort": Optional(OneOf(0, 1, 2, 3, 4)), "multi": bool, "includeAll": bool, "options": [ANY],
            "current": Optional({"selected": bool, "text": [str], "value": [str]})}
ANNOTATION = {"name": str, "builtIn": Optional(OneOf(1)), "type": Optional(OneOf("dashboard")), "enable": bool,
              "hide": bool, "iconColor": str, "datasource": SOURCE, "expr": Optional(str),
              "useValueForTime": Optional(bool), "step": Optional(str), "titleFormat": Optional(str),
              "textFormat": Optional(str), "tagKeys": Optional(str)}
DASHBOARD = {
    "id": OneOf(None), "uid": str, "title": str, "description": str, "tags": [str], "timezone": OneOf("browser", "utc"),
    "editable": bool, "graphTooltip": OneOf(0, 1, 2), "time": {"from": str, "to": str}, "timepicker": {},
    "refresh": str, "schemaVersion": OneOf(42), "version": int, "links": [LINK], "templating": {"list": [VARIABLE]},
    "annotations": {"list": [ANNOTATION]}, "panels": [ANY]}
# Grafana's own variables; the others have to be in the dashboard.
BUILT_IN = {"__rate_interval", "__range", "__interval", "__all"}


def panel_shape(kind):
    options, custom = PANELS[kind]
    return {
        "id": int, "type": str, "title": str, "description": str, "datasource": SOURCE, "targets": [TARGET],
        "gridPos": PLACE, "options": options,
        "transformations": Optional([{"id": OneOf("organize"), "options": {"excludeByName": {str: bool}}}]),
        "fieldConfig": {"overrides": [ANY], "defaults": {
            "unit": UNITS, "color": COLOUR_MODE, "mappings": [MAPPING], "custom": custom,
            "thresholds": {"mode": OneOf("absolute"), "steps": [STEP]}, "min": Optional(OneOf(int, float)),
            "max": Optional(OneOf(int, float)), "decimals": Optional(int), "noValue": Optional(str)}}}


def misfits(value, shape, where):
    if shape is ANY:
        return
    if isinstance(shape, OneOf):
        if not any(type(value) is one if isinstance(one, type) else (value == one and type(value) is type(one))
                   for one in shape.values):
            yield f"{where} is {value!r}"
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{where} is no list"
            return
        for place, part in enumerate(value):
            yield from misfits(part, shape[0], f"{where}[{place}]")
    elif isinstance(shape, dict):
        yield from misfits_of_object(value, shape, where)
    elif type(value) is not shape:
        yield f"{where} is {value!r}"


def misfits_of_object(value, shape, where):
    if not isinstance(value, dict):
        yield f"{where} is no object"
        return
    if str in shape:  # Any names.
        for name, part in value.items():
            yield from misfits(part, shape[str], f"{where}.{name}")
        return
    for name in value.keys() - shape.keys():
        yield f"{where} has an unknown {name}"
    for name, part in shape.items():
        is_optional = isinstance(part, Optional)
        if name in value:
            yield from misfits(value[name], part.shape if is_optional else part, f"{where}.{name}")
        elif not is_optional:
            yield f"{where} has no {name}"


def overlaps(panels):
    taken = {}
    for panel in panels:
        place = panel["gridPos"]
        if place["w"] < 1 or place["h"] < 1 or place["x"] < 0 or place["x"] + place["w"] > 24:
            yield f"{panel['title']} does not fit into the grid"
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        for other in sorted({taken[cell] for cell in cells & taken.keys()}):
            yield f"{panel['title']} lies over {other}"
        taken.update(dict.fromkeys(cells, panel["title"]))


def unknown_variables(board):
    known = {variable["name"] for variable in board["templating"]["list"]} | BUILT_IN
    texts = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    texts += [variable["query"] for variable in board["templating"]["list"]]
    texts += [annotation.get("expr", "") for annotation in board["annotations"]["list"]]
    for text in texts:
        for name in re.findall(r"\$\{?(\w+)", text):
            if name not in known:
                yield f"there is no variable {name}"


def mistakes(board):
    found = list(misfits(board, DASHBOARD, "dashboard"))
    for panel in board["panels"]:
        kind = panel.get("type")
        if kind != "row" and kind not in PANELS:
            found.append(f"a panel of the type {kind}")
            continue
        shape = ROW if kind == "row" else panel_shape(kind)
        found += misfits(panel, shape, panel.get("title", "panel"))
        refs = [target["refId"] for target in panel.get("targets", ())]
        if len(set(refs)) != len(refs):
            found.append(f"{panel['title']}: two queries are called the same")
        values = [step["value"] for step in panel.get("fieldConfig", {}).get("defaults", {}).get(
            "thresholds", {}).get("steps", [])]
        if values and (values[0] is not None or values[1:] != sorted(values[1:])):
            found.append(f"{panel['title']}: thresholds begin with none and rise")
    ids = [panel.get("id") for panel in board["panels"]]
    if len(set(ids)) != len(ids):
        found.append("two panels have one id")
    if not re.fullmatch(r"[a-z-]{8,40}", board["uid"]):
        found.append(f"uid {board['uid']}")
    return found + list(overlaps(board["panels"])) + list(unknown_variables(board))
