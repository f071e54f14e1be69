{{/*
Copyright 2026 The Loss Scaler Service Authors
SPDX-License-Identifier: Apache-2.0
*/}}

{{- define "lossscaler.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 52 | trimSuffix "-" }}
{{- end }}

{{/*
52: the names of a StatefulSet's revisions, 11 longer, are labels, which end at 63.
*/}}
{{- define "lossscaler.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if .Values.fullnameOverride }}
{{- $name = .Values.fullnameOverride }}
{{- else if not (contains $name .Release.Name) }}
{{- $name = printf "%s-%s" .Release.Name $name }}
{{- else }}
{{- $name = .Release.Name }}
{{- end }}
{{- $name | trunc 52 | trimSuffix "-" }}
{{- end }}

{{/*
What selects the parts of a release; takes (list . COMPONENT). The component server is
its pod, and in a StatefulSet can never be changed.
*/}}
{{- define "lossscaler.selector" -}}
{{- $root := first . -}}
app.kubernetes.io/name: {{ include "lossscaler.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name | quote }}
app.kubernetes.io/component: {{ last . }}
{{- end }}

{{/*
Labels of a part; takes (list . COMPONENT).
*/}}
{{- define "lossscaler.labels" -}}
{{- $root := first . -}}
{{ include "lossscaler.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with $root.Values.extraLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "lossscaler.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "lossscaler.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "lossscaler.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/*
Not empty if strangers are kept out and nobody on the way can listen.
*/}}
{{- define "lossscaler.protected" -}}
{{- if and .Values.tls.existingSecret (or .Values.tokens.existingSecret .Values.tls.clientCA.existingSecret) -}}
true
{{- end }}
{{- end }}

{{/*
Not empty if the pod has an admin port: for Prometheus, or since with TLS probes need it.
*/}}
{{- define "lossscaler.admin" -}}
{{- if or .Values.metrics.enabled .Values.tls.existingSecret -}}
true
{{- end }}
{{- end }}

{{/*
Refuses values that would leave the server open without a word, or that contradict.
*/}}
{{- define "lossscaler.check" -}}
{{- $tls := .Values.tls.existingSecret }}
{{- if and .Values.tls.clientCA.existingSecret (not $tls) }}
{{- fail "tls.clientCA.existingSecret is set, but without TLS no client shows a certificate: set tls.existingSecret too" }}
{{- end }}
{{- if not (or .Values.insecure (include "lossscaler.protected" .)) }}
{{- if $tls }}
{{- fail "TLS is on, but anyone could call: set tokens.existingSecret or tls.clientCA.existingSecret too; or, on a network on which everyone is trusted, insecure=true" }}
{{- end }}
{{- fail "nothing would protect the server: set tls.existingSecret, and tokens.existingSecret or tls.clientCA.existingSecret; or, on a network on which everyone is trusted, insecure=true" }}
{{- end }}
{{- if and (or .Values.serviceMonitor.enabled .Values.prometheusRule.enabled) (not .Values.metrics.enabled) }}
{{- fail "serviceMonitor.enabled and prometheusRule.enabled are of no use without metrics: set metrics.enabled too" }}
{{- end }}
{{- $instead := dict
  "listen" "listenHost" "admin_listen" "metrics.enabled" "insecure" "insecure" "admin_insecure" "networkPolicy.metrics"
  "tls_cert" "tls.existingSecret" "tls_key" "tls.existingSecret" "tls_client_ca" "tls.clientCA" "token_file" "tokens"
  "store" "persistence" "drain_timeout" "drainTimeoutSeconds" }}
{{- range $key, $_ := .Values.settings }}
{{- with get $instead $key }}
{{- fail (printf "settings.%s is set by the chart: use the value %s instead" $key .) }}
{{- end }}
{{- end }}
{{- end }}
