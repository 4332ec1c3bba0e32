"""What clients ask for, and how they are answered. Metrics do not tell clients apart: labels have few values."""

from blame import FAILED_CALLS, OUR_SERVICES
from model import Dashboard, Panel, Query, Row, Variable
from queries import STEP, buckets, gauge, per_second

# The methods that were chosen above the panels.
CALLS = "{" + OUR_SERVICES + ',grpc_method=~"$method"}'
UNARY = "{" + OUR_SERVICES + ',grpc_method=~"$method",grpc_type="unary"}'
STREAMS = "{" + OUR_SERVICES + ',grpc_method=~"$method",grpc_type!="unary"}'

COUNTS = Row("Calls", (
    Panel("Calls per second, by method", "Calls that have begun.",
          (per_second("grpc_server_started_total", "grpc_method", CALLS, " > 0"),), "areas"),
    Panel("Calls per second, by status", "Calls that have ended. InvalidArgument, NotFound and the like are the "
                                         "clients'; Unknown, Internal, Unavailable and DataLoss are ours.",
          (Query(f"sum by (grpc_code) (rate(grpc_server_handled_total{CALLS}{STEP})) > 0", "{{grpc_code}}"),),
          "areas"),
    Panel("Failed by our fault, by method", "Calls between two points with the status Unknown, Internal, Unavailable "
                                            "or DataLoss.",
          (Query(f"sum by (grpc_method, grpc_code) (increase(grpc_server_handled_total{FAILED_CALLS}{STEP})) > 0",
                 "{{grpc_method}} {{grpc_code}}"),), "bars", may_be_empty="no call fails"),
    Panel("Calls in progress", "Begun and not ended. Streams of watchers and transfers stay for long.",
          (Query(f"sum by (grpc_method) (grpc_server_started_total{CALLS}) - "
                 f"sum by (grpc_method) (grpc_server_handled_total{CALLS}) > 0", "{{grpc_method}}",
                 shows_counters=True),), "areas"),
))


def duration(share):
    return (Query(f"histogram_quantile({share}, sum by (le, grpc_method) "
                  f"(rate(grpc_server_handling_seconds_bucket{UNARY}{STEP})))", "{{grpc_method}}"),)


TIMES = Row("Times", (
    Panel("Time of a call, p50", "Of unary methods. InspectModel, ValidateModel, VerifyResult and ReplayJournal do "
                                 "their work meanwhile, in a process; the others only ask the store.",
          duration(0.5), unit="s", low=0),
    Panel("Time of a call, p99", "Of unary methods.", duration(0.99), unit="s", low=0),
    Panel("Times of unary calls", "How many calls took how long.",
          (buckets("grpc_server_handling_seconds", UNARY),), "heat", "s"),
    Panel("Time of a stream, mean", "Of transfers and watchers, when they end.",
          (Query(f"sum by (grpc_method) (rate(grpc_server_handling_seconds_sum{STREAMS}{STEP})) / "
                 f"sum by (grpc_method) (rate(grpc_server_handling_seconds_count{STREAMS}{STEP}))",
                 "{{grpc_method}}"),), unit="s", low=0),
))

TRAFFIC = Row("Traffic", (
    Panel("Messages received per second", "From clients; an upload sends one for each chunk of up to 2 MiB.",
          (per_second("grpc_server_msg_received_total", "grpc_method", CALLS, " > 0"),), "areas", width=8),
    Panel("Messages sent per second", "To clients; watchers get one for each piece of progress.",
          (per_second("grpc_server_msg_sent_total", "grpc_method", CALLS, " > 0"),), "areas", width=8),
    Panel("Watchers", "Open WatchJob streams. At --max-watches (10000) more are refused.",
          (gauge("quotient_watchers"),), width=8, low=0, limits=((8000, "red"),)),
))

CLIENTS = Dashboard(
    "clients", "Quotient: clients",
    "What do clients ask for, how fast are they answered, and what fails?", (COUNTS, TIMES, TRAFFIC),
    variables=(Variable("method", "Method", "grpc_server_started_total{" + OUR_SERVICES + "}", "grpc_method"),))
