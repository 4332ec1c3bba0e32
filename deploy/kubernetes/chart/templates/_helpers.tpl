{{/* The name of all objects: that of the release, with "quotient" in it. */}}
{{- define "quotient.name" -}}
{{- if contains "quotient" .Release.Name }}{{ .Release.Name }}{{ else }}{{ printf "%s-quotient" .Release.Name | trunc 63 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* What never changes between versions, since selectors cannot be changed. */}}
{{- define "quotient.selector" -}}
app.kubernetes.io/name: quotient
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "quotient.labels" -}}
{{ include "quotient.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "quotient.image" -}}
{{- with .Values.image.digest }}{{ printf "%s@%s" $.Values.image.repository . }}
{{- else }}{{ printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* The row of sizes.yaml that is chosen, as JSON. */}}
{{- define "quotient.size" -}}
{{- $sizes := .Files.Get "sizes.yaml" | fromYaml -}}
{{- get $sizes .Values.size | toJson -}}
{{- end }}

{{/* `flags` as arguments. Numbers come from Helm as floats, which would print 1e+09. */}}
{{- define "quotient.flags" -}}
{{- range $name, $value := .Values.flags }}
{{- if kindIs "bool" $value }}
{{- if $value }}
- --{{ $name }}
{{- end }}
{{- else if kindIs "string" $value }}
- {{ printf "--%s=%s" $name $value | quote }}
{{- else if not (kindIs "invalid" $value) }}
- --{{ $name }}={{ int64 $value }}
{{- end }}
{{- end }}
{{- end }}

{{/*
The seconds that a pod may take to end, after which it is killed: calls are answered as before until
none is routed to it; jobs have 20 s to leave their checkpoints (server/runner/process_runner.h,
end_seconds); calls in progress may end; 15 s are for what lies between, such as writing to a slow disk.
The defaults are those of quotientd (server/config/flags.h).
*/}}
{{- define "quotient.graceSeconds" -}}
{{- $flags := .Values.flags -}}
{{- $endpoints := hasKey $flags "endpoint-grace-seconds" | ternary (get $flags "endpoint-grace-seconds") 5 -}}
{{- $drain := hasKey $flags "drain-seconds" | ternary (get $flags "drain-seconds") 20 -}}
{{- add $endpoints 20 $drain 15 -}}
{{- end }}

{{/* What the restricted profile of Kubernetes' pod security standards asks of a container. */}}
{{- define "quotient.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* And of a pod. 10001 is the user of the image. */}}
{{- define "quotient.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
# A volume with many files would else be walked through at each start.
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "quotient.dataSize" -}}
{{- $size := include "quotient.size" . | fromJson -}}
{{- default (printf "%vGi" $size.dataGiB) .Values.data.size -}}
{{- end }}

{{- define "quotient.claim" -}}
{{- default (include "quotient.name" .) .Values.data.existingClaim -}}
{{- end }}

{{/*
Requests and limits: those of the size, or else those that were given, and GPUs. The node's disk holds
/tmp and logs, and the data where it has no volume.
*/}}
{{- define "quotient.resources" -}}
{{- $resources := deepCopy .Values.resources -}}
{{- if not $resources -}}
{{- $size := include "quotient.size" . | fromJson -}}
{{- $disk := add $size.temporaryGiB 1 (eq .Values.data.kind "ephemeral" | ternary $size.dataGiB 0) -}}
{{- $amounts := dict "cpu" (toString $size.cpu) "memory" (printf "%vGi" $size.memoryGiB) "ephemeral-storage" (printf "%vGi" $disk) -}}
{{- $resources = dict "requests" $amounts "limits" (deepCopy $amounts) -}}
{{- end -}}
{{- if .Values.gpu.count -}}
{{- $limits := default dict $resources.limits -}}
{{- $_ := set $limits .Values.gpu.resourceName (toString .Values.gpu.count) -}}
{{- $_ := set $resources "limits" $limits -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end }}
