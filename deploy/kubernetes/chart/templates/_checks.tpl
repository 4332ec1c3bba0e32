{{/*
What values.schema.json cannot refuse with a reason. Each message names the value, what is allowed, and why.
*/}}
{{- define "quotient.checks" -}}
{{- $values := .Values -}}
{{- if ne (int $values.replicas) 1 -}}
{{- fail (printf "replicas is %v, and must be 1: the server keeps its jobs in SQLite on a volume that one process owns, so a second pod could not use them" $values.replicas) -}}
{{- end -}}
{{- if eq $values.image.tag "latest" -}}
{{- fail "image.tag is latest, and must name a version: a restart of the pod must not be an update" -}}
{{- end -}}
{{- if and (gt (int $values.gpu.count) 0) (eq $values.image.repository "quotient") -}}
{{- fail (printf "gpu.count is %v, and must be 0 with the default image.repository, quotient: that image has no CUDA. Name your image with CUDA in image.repository (README.md, \"GPUs\")" $values.gpu.count) -}}
{{- end -}}
{{- if eq $values.data.kind "ephemeral" -}}
{{- range $name := list "existingClaim" "size" "storageClass" -}}
{{- with get $values.data $name -}}
{{- fail (printf "data.%s is %s, and must be empty with data.kind ephemeral, which claims no volume" $name .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
