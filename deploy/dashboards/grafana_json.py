"""Writes a dashboard as the JSON that Grafana imports: the classic model, with the panels of Grafana 10 and newer."""

import json

import promql

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
# What every selector is restricted to, so that the choices above the panels hold for all of them.
CHOSEN = 'job=~"$job",instance=~"$instance"'
SCHEMA_VERSION = 42
COLUMNS = 24
TYPES = {"lines": "timeseries", "areas": "timeseries", "bars": "timeseries", "number": "stat", "heat": "heatmap",
         "states": "state-timeline", "table": "table"}
TOOLTIP = {"mode": "multi", "sort": "desc"}


def written(dashboard):
    return json.dumps(as_model(dashboard), indent=1, ensure_ascii=False) + "\n"


def as_model(dashboard):
    return {
        "id": None,
        "uid": f"quotient-{dashboard.name}",
        "title": dashboard.title,
        "description": dashboard.question,
        "tags": ["quotient"],
        "timezone": "browser",
        "editable": True,
        "graphTooltip": 1,  # The cross hair is in all panels.
        "time": {"from": "now-6h", "to": "now"},
        "timepicker": {},
        "refresh": "30s",
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "links": [{"title": "Quotient", "type": "dashboards", "tags": ["quotient"], "asDropdown": True,
                   "icon": "external link", "includeVars": True, "keepTime": True, "targetBlank": False,
                   "tooltip": "", "url": ""}],
        "templating": {"list": variables(dashboard)},
        "annotations": {"list": annotations()},
        "panels": panels(dashboard),
    }


def variables(dashboard):
    source = {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus",
              "hide": 0, "refresh": 1, "regex": "", "multi": False, "includeAll": False, "options": []}
    return [
        source,
        variable("job", "Service", "label_values(quotient_ready, job)"),
        variable("instance", "Server", 'label_values(quotient_ready{job=~"$job"}, instance)'),
        *(variable(extra.name, extra.label,
                   f"label_values({promql.with_matchers(extra.expr, CHOSEN)}, {extra.values})")
          for extra in dashboard.variables)]


def variable(name, label, query):
    return {
        "name": name, "label": label, "type": "query", "datasource": SOURCE, "definition": query,
        "query": query, "hide": 0, "refresh": 2, "regex": "", "sort": 1, "multi": True, "includeAll": True,
        "options": [],
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]}}


def annotations():
    starts = promql.with_matchers("process_start_time_seconds", CHOSEN) + " * 1000"
    return [
        {"name": "Annotations & Alerts", "builtIn": 1, "type": "dashboard", "enable": True, "hide": True,
         "iconColor": "rgba(0, 211, 255, 1)", "datasource": {"type": "grafana", "uid": "-- Grafana --"}},
        {"name": "Starts", "enable": True, "hide": False, "iconColor": "blue", "datasource": SOURCE,
         "expr": starts, "useValueForTime": True, "step": "60s", "titleFormat": "Start of {{instance}}",
         "textFormat": "", "tagKeys": ""}]


def panels(dashboard):
    """Rows one below the other; the panels of a row from left to right, as far as there is room."""
    made, y = [], 0

    def add(panel, place):
        made.append({"id": len(made) + 1, **panel, "gridPos": place})

    for row in dashboard.rows:
        add({"type": "row", "title": row.title, "collapsed": False, "panels": []},
            {"x": 0, "y": y, "w": COLUMNS, "h": 1})
        y += 1
        for panel, x, down in placed(row.panels):
            add(as_panel(panel), {"x": x, "y": y + down, "w": panel.width, "h": panel.height})
        y += height_of(row.panels)
    return made


def placed(row):
    """(panel, column, line) of each panel in a row."""
    x = down = height = 0
    for panel in row:
        if x + panel.width > COLUMNS:
            x, down, height = 0, down + height, 0
        yield panel, x, down
        x += panel.width
        height = max(height, panel.height)


def height_of(row):
    return max(down + panel.height for panel, _, down in placed(row))


def as_panel(panel):
    made = {
        "type": TYPES[panel.kind],
        "title": panel.title,
        "description": panel.what,
        "datasource": SOURCE,
        "targets": [target(panel, place, query) for place, query in enumerate(panel.queries)],
        "fieldConfig": {"defaults": defaults(panel), "overrides": []},
        "options": OPTIONS[panel.kind](panel),
    }
    if panel.kind == "table":
        made["transformations"] = [
            {"id": "organize", "options": {"excludeByName": {"Time": True, "Value": True}}}]
    return made


def target(panel, place, query):
    is_now = panel.kind in ("number", "table")
    return {
        "refId": chr(ord("A") + place),
        "datasource": SOURCE,
        "editorMode": "code",
        "expr": promql.with_matchers(query.expr, CHOSEN),
        "legendFormat": query.legend or "__auto",
        "format": {"heat": "heatmap", "table": "table"}.get(panel.kind, "time_series"),
        "instant": is_now,
        "range": not is_now,
    }


def defaults(panel):
    found = {
        "unit": panel.unit,
        "color": {"mode": "thresholds" if panel.kind in ("number", "states") else "palette-classic"},
        "mappings": mappings(panel.names),
        "thresholds": {"mode": "absolute",
                       "steps": [{"color": panel.base, "value": None},
                                 *({"color": colour, "value": value} for value, colour in panel.limits)]},
        "custom": CUSTOM[panel.kind](panel),
    }
    for key, value in (("min", panel.low), ("max", panel.high), ("decimals", panel.decimals)):
        if value is not None:
            found[key] = value
    if panel.kind == "number":
        found["noValue"] = "no data"
    return found


def mappings(names):
    if not names:
        return []
    return [{"type": "value", "options": {
        str(value): {"text": text, "color": colour, "index": place}
        for place, (value, text, colour) in enumerate(names)}}]


FILLS = {"lines": 10, "areas": 40, "bars": 70}


def line_style(panel):
    return {
        # Points that stand alone can be seen as bars only.
        "drawStyle": "bars" if panel.kind == "bars" else "line",
        "lineInterpolation": "linear", "lineWidth": 1, "fillOpacity": FILLS[panel.kind], "gradientMode": "none",
        "showPoints": "never", "spanNulls": False, "axisPlacement": "auto", "scaleDistribution": {"type": "linear"},
        "stacking": {"group": "A", "mode": "none" if panel.kind == "lines" else "normal"},
        "thresholdsStyle": {"mode": "dashed" if panel.limits else "off"}}


CUSTOM = {
    **dict.fromkeys(FILLS, line_style),
    "number": lambda panel: {},
    "heat": lambda panel: {"scaleDistribution": {"type": "linear"}},
    "states": lambda panel: {"lineWidth": 0, "fillOpacity": 70},
    "table": lambda panel: {"align": "auto", "inspect": False},
}


def legend(panel):
    return {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []}


OPTIONS = {
    **dict.fromkeys(FILLS, lambda panel: {"legend": legend(panel), "tooltip": TOOLTIP}),
    "number": lambda panel: {
        "graphMode": "none", "colorMode": "value", "justifyMode": "auto", "textMode": "value",
        "wideLayout": True, "showPercentChange": False, "percentChangeColorMode": "standard",
        "orientation": "auto", "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}},
    "heat": lambda panel: {
        "calculate": False, "cellGap": 1, "showValue": "never", "filterValues": {"le": 1e-9},
        "color": {"mode": "scheme", "scheme": "Oranges", "fill": "dark-orange", "scale": "exponential",
                  "exponent": 0.5, "steps": 64, "reverse": False},
        "rowsFrame": {"layout": "auto"}, "yAxis": {"unit": panel.unit, "axisPlacement": "left"},
        "legend": {"show": True}, "exemplars": {"color": "rgba(255,0,255,0.7)"},
        "tooltip": {"mode": "single", "yHistogram": False, "showColorScale": False}},
    "states": lambda panel: {
        "showValue": "never", "rowHeight": 0.8, "mergeValues": True, "alignValue": "left",
        "legend": legend(panel), "tooltip": {"mode": "single", "sort": "none"}},
    "table": lambda panel: {
        "frameIndex": 0, "showHeader": True, "cellHeight": "sm",
        "footer": {"show": False, "reducer": ["sum"], "countRows": False, "fields": []}},
}
