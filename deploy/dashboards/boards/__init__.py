"""All dashboards."""

from boards.clients import CLIENTS
from boards.devices import DEVICES
from boards.queue import QUEUE
from boards.search import SEARCH
from boards.service import SERVICE
from boards.storage import STORAGE
from boards.timing import TIMING

ALL = (SERVICE, QUEUE, SEARCH, TIMING, DEVICES, STORAGE, CLIENTS)

# Metrics of the table that no panel shows, each with the reason.
LEFT_OUT = {}
