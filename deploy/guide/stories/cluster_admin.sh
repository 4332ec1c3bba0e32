#!/usr/bin/env bash
# The story of a cluster admin: what the chart installs is rendered and validated, and its container is run here as a
# kubelet would run it, with a backup. It needs no cluster.
#
#   cluster_admin.sh MODEL.onnx [FOLDER]      FOLDER is made, default quotient-cluster
#
# Needs an installation of Quotient, helm, kubernetes-validate (from PyPI), curl and sqlite3. Every command is printed.
set -euo pipefail
# shellcheck source=deploy/guide/stories/telling.sh
. "$(dirname "${BASH_SOURCE[0]}")/telling.sh"
begin_story cluster 'helm kubernetes-validate curl sqlite3' "$@"
kubernetes=$deploy/kubernetes

chapter 'The chart is linted and rendered with each of its files of values, and Kubernetes knows all fields'
for values in "$kubernetes"/values/*.yaml; do
  run helm lint "$kubernetes/chart" --strict --values "$values"
  run helm template quotient "$kubernetes/chart" --namespace quotient --values "$values" >"$(basename "$values")"
done
run kubernetes-validate --strict --quiet -k 1.27 ./*.yaml

chapter 'So are the Kustomize bases'
run kubernetes-validate --strict --quiet "$kubernetes"/base/*/[!k]*.yaml

chapter 'What cannot work is refused, with the reason'
refused any replicas helm template quotient "$kubernetes/chart" --set replicas=2

chapter 'The container of the Deployment, as a process: its flags, with ports and a volume of this machine'
mkdir pod volume
run helm template quotient "$kubernetes/chart" --values "$kubernetes/values/cpu.yaml" \
  --set flags.endpoint-grace-seconds=10 --show-only templates/deployment.yaml >pod/deployment.yaml
mapfile -t flags < <(sed -n 's/^ *- "\?\(--[^"]*\)"\?$/\1/p' pod/deployment.yaml |
  sed -e 's,0\.0\.0\.0:[0-9]*,127.0.0.1:0,' -e "s,/var/lib/quotient/,$folder/volume/,")
start_server "${flags[@]}"

chapter 'The probes of a kubelet in their order, and a job'
await curl --silent --fail "$http/livez"
await curl --silent --fail "$http/readyz"
run curl --silent --fail "$http/readyz"
run quotient optimize "$model" -o fast.onnx --budget 10s --server "$address"

chapter 'A backup, while the server goes on'
run quotient-backup volume/data >quotient.tar
run ls -l quotient.tar

chapter 'The pod is told to end while jobs run and wait: it is not ready, but lives and answers, and then it ends in time'
for seed in {1..12}; do
  job=$(run quotient submit "$model" --budget 1s --seed "$seed" --server "$address")
done
run kill "$server"
is_draining() { curl --silent "$http/readyz" | grep --quiet draining; }
await is_draining
run curl --silent "$http/readyz" "$http/livez"
run quotient jobs --server "$address"
told=$SECONDS
wait "$server"
printf 'it ended in %d seconds, of\n%s\n' "$((SECONDS - told))" "$(grep terminationGracePeriodSeconds pod/deployment.yaml)"

chapter 'The next pod on the same volume ends the jobs'
start_server "${flags[@]}"
await curl --silent --fail "$http/readyz"
run quotient watch "$job" --server "$address"
run quotient jobs --server "$address"
run quotient result "$job" -o last.onnx --server "$address"
stop_server

chapter 'The backup in a new volume has the first result'
run mv volume volume.old
mkdir volume again
run quotient-restore volume/data <quotient.tar
start_server "${flags[@]}"
await curl --silent --fail "$http/readyz"
run quotient optimize "$model" -o again/fast.onnx --budget 10s --server "$address" --only-cached
run cmp fast.onnx again/fast.onnx
stop_server

end_story
