#!/usr/bin/env bash
# The story of whoever owns the dashboards: a Prometheus with the rules scrapes a server at work, every query of the
# dashboards is answered, and an alert is tried.
#
#   dashboard_owner.sh MODEL.onnx [FOLDER]    FOLDER is made, default quotient-dashboards
#
# Needs an installation of Quotient, prometheus and promtool (Debian's package prometheus has both), curl and python3.
# Every command is printed.
set -euo pipefail
# shellcheck source=deploy/guide/stories/telling.sh
. "$(dirname "${BASH_SOURCE[0]}")/telling.sh"
begin_story dashboards 'prometheus promtool curl python3' "$@"

chapter 'The rules are valid'
run cp "$deploy/prometheus/recording.yml" "$deploy/prometheus/alerts.yml" "$deploy/prometheus/prometheus.yml" .
run promtool check rules recording.yml alerts.yml

chapter 'An alert on paper: a server does not answer from the fifth minute on'
cat >down_test.yml <<'END'
rule_files: [recording.yml, alerts.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - series: 'up{job="quotient", instance="a:9464"}'
        values: 1x4 0x5
    promql_expr_test:
      - expr: ALERTS{alertname="QuotientDown", alertstate="firing"}
        eval_time: 6m
      - expr: ALERTS{alertname="QuotientDown", alertstate="firing"}
        eval_time: 7m
        exp_samples:
          - labels: 'ALERTS{alertname="QuotientDown", alertstate="firing", instance="a:9464", job="quotient", severity="critical"}'
            value: 1
END
run cat down_test.yml
run promtool test rules down_test.yml

chapter 'A server, and a Prometheus that scrapes it each second'
start_server --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0 --data-dir data
run sed --in-place "s,localhost:9464,${http#http://},; s,15s,1s," prometheus.yml
run promtool check config prometheus.yml
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
url=http://127.0.0.1:$port
start prometheus.log prometheus --config.file=prometheus.yml --storage.tsdb.path=tsdb --web.listen-address="127.0.0.1:$port"
has() { promtool query instant "$url" "$1" | grep --quiet .; }
await has quotient_ready

chapter 'Load: jobs that succeed, one that is known, one that is cancelled, one that is refused'
for seed in 1 2 3; do
  run quotient optimize "$model" -o fast.onnx --budget 3s --seed "$seed" --server "$address"
done
run quotient optimize "$model" -o fast.onnx --budget 3s --seed 3 --server "$address" --only-cached
job=$(run quotient submit "$model" --budget 60s --seed 4 --server "$address")
run quotient cancel "$job" --server "$address"
echo 'no model' >broken.onnx
refused 3 MODEL_MALFORMED quotient optimize broken.onnx -o fast.onnx --server "$address"
await has 'sum(quotient_jobs_finished_total{state="succeeded"}) >= 3'

chapter 'Prometheus has evaluated all rules, and complains of none'
all_are_ok() {
  curl --silent --fail "$url/api/v1/rules" >rules.json
  grep --quiet '"health":"ok"' rules.json && ! grep --quiet '"health":"[^o]' rules.json
}
await all_are_ok
run curl --silent --fail "$url/api/v1/rules" >rules.json
grep --only-matching '"health":"[a-z]*"' rules.json | sort | uniq --count

chapter 'Every query of the dashboards is asked, and what Grafana would show is drawn (of GPUs, where there are any)'
run python3 -B "$deploy/dashboards/draw.py" "$url" --out pictures --minutes 1 --scrape-seconds 1
for board in "$deploy"/dashboards/grafana/*.json; do
  picture=pictures/$(basename "$board" .json).svg
  printf '%-24s %2d queries, %2d panels without data\n' "$picture" "$(grep --count '"expr": ' "$board")" \
    "$(grep --only-matching '>no data<' "$picture" | wc --lines)"
done

chapter 'The alert in truth: the server is killed, and Prometheus has seen it'
run kill -KILL "$server"
await has 'ALERTS{alertname="QuotientDown"}'
run promtool query instant "$url" 'ALERTS{alertname="QuotientDown"}'

end_story
