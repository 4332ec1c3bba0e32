"""All rules for Prometheus."""

from rules.devices import DEVICES, TIMES
from rules.queue import JOBS, QUEUE
from rules.recorded import RECORDED
from rules.service import CALLS, SERVERS
from rules.storage import STORAGE

ALERTING = (SERVERS, CALLS, QUEUE, JOBS, DEVICES, TIMES, STORAGE)

ALERTS = tuple(alert for group in ALERTING for alert in group.rules)
RECORDED_RULES = tuple(rule for group in RECORDED for rule in group.rules)
