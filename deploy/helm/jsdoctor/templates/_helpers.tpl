{{- define "jsdoctor.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* At most 40 characters: a CronJob adds 11 to the names of its jobs, and a name has 52. */}}
{{- define "jsdoctor.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "jsdoctor.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "jsdoctor.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "jsdoctor.selector" -}}
app.kubernetes.io/name: {{ include "jsdoctor.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "jsdoctor.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "jsdoctor.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "jsdoctor.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "jsdoctor.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "jsdoctor.kubeNamespace" -}}
{{- default .Release.Namespace .Values.kube.namespace -}}
{{- end -}}

{{- define "jsdoctor.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- $variant := ternary "-kubectl" "" .Values.kube.enabled -}}
{{- printf "%s:%s" .Values.image.repository (default (print .Chart.AppVersion $variant) .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* What every run looks at. */}}
{{- define "jsdoctor.arguments" -}}
{{- if not (or .Values.nats.servers .Values.monitor .Values.kube.enabled) -}}
{{- fail "nothing to look at: set nats.servers, monitor or kube.enabled" -}}
{{- end -}}
- --no-context
{{- with .Values.nats.servers }}
- {{ printf "--server=%s" . | quote }}
{{- end }}
{{- if .Values.nats.tls.first }}
- --tlsfirst
{{- end }}
{{- range .Values.monitor }}
- {{ printf "--monitor=%s" . | quote }}
{{- end }}
{{- if .Values.kube.enabled }}
- --kube
- {{ printf "--namespace=%s" (include "jsdoctor.kubeNamespace" .) | quote }}
{{- end }}
{{- if .Values.config }}
- --config=/etc/jsdoctor/jsdoctor.toml
{{- else }}
- --isolated
{{- end }}
{{- end -}}

{{- define "jsdoctor.environment" -}}
{{- $login := .Values.nats.login -}}
- name: HOME
  value: /tmp
{{- if $login.secret }}
{{- if eq $login.kind "creds" }}
- name: NATS_CREDS
  value: /run/secrets/nats/creds
{{- else if eq $login.kind "nkey" }}
- name: NATS_NKEY
  value: /run/secrets/nats/nkey
{{- else if eq $login.kind "token" }}
- name: NATS_TOKEN
  valueFrom:
    secretKeyRef: { name: {{ $login.secret | quote }}, key: {{ $login.tokenKey | quote }} }
{{- else }}
- name: NATS_USER
  valueFrom:
    secretKeyRef: { name: {{ $login.secret | quote }}, key: {{ $login.userKey | quote }} }
- name: NATS_PASSWORD
  valueFrom:
    secretKeyRef: { name: {{ $login.secret | quote }}, key: {{ $login.passwordKey | quote }} }
{{- end }}
{{- end }}
{{- with .Values.nats.tls }}
{{- if .secret }}
{{- if .ca }}
- name: NATS_CA
  value: /run/secrets/nats-tls/ca
{{- end }}
{{- if .cert }}
- name: NATS_CERT
  value: /run/secrets/nats-tls/cert
- name: NATS_KEY
  value: /run/secrets/nats-tls/key
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "jsdoctor.loginFile" -}}
{{- if and .Values.nats.login.secret (has .Values.nats.login.kind (list "creds" "nkey")) -}}yes{{- end -}}
{{- end -}}

{{/* A pod: root, component, arguments, resources, restart policy, and the rest of the container as YAML. */}}
{{- define "jsdoctor.pod" -}}
{{- $ := .root -}}
metadata:
  labels:
    {{- include "jsdoctor.selector" $ | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
    {{- with $.Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- if or $.Values.config $.Values.podAnnotations }}
  annotations:
    {{- if $.Values.config }}
    checksum/config: {{ $.Values.config | sha256sum }}
    {{- end }}
    {{- with $.Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
spec:
  serviceAccountName: {{ include "jsdoctor.serviceAccount" $ }}
  automountServiceAccountToken: {{ $.Values.kube.enabled }}
  restartPolicy: {{ .restartPolicy }}
  terminationGracePeriodSeconds: 10
  {{- with $.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $.Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    seccompProfile: { type: RuntimeDefault }
  containers:
    - name: jsdoctor
      image: {{ include "jsdoctor.image" $ | quote }}
      imagePullPolicy: {{ $.Values.image.pullPolicy }}
      args:
        - {{ if eq .component "exporter" }}serve{{ else }}check{{ end }}
        {{- include "jsdoctor.arguments" $ | nindent 8 }}
        {{- range .arguments }}
        - {{ . | quote }}
        {{- end }}
      env:
        {{- include "jsdoctor.environment" $ | nindent 8 }}
      {{- with .container }}
      {{- . | nindent 6 }}
      {{- end }}
      resources:
        {{- toYaml .resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      volumeMounts:
        - { name: tmp, mountPath: /tmp }
        {{- if include "jsdoctor.loginFile" $ }}
        - { name: login, mountPath: /run/secrets/nats, readOnly: true }
        {{- end }}
        {{- if $.Values.nats.tls.secret }}
        - { name: tls, mountPath: /run/secrets/nats-tls, readOnly: true }
        {{- end }}
        {{- if $.Values.config }}
        - { name: config, mountPath: /etc/jsdoctor, readOnly: true }
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: { sizeLimit: 256Mi }
    {{- if include "jsdoctor.loginFile" $ }}
    {{- with $.Values.nats.login }}
    - name: login
      secret:
        secretName: {{ .secret | quote }}
        defaultMode: 288 # 0440
        items:
          - { key: {{ ternary .credsKey .nkeyKey (eq .kind "creds") | quote }}, path: {{ .kind }} }
    {{- end }}
    {{- end }}
    {{- with $.Values.nats.tls }}
    {{- if .secret }}
    - name: tls
      secret:
        secretName: {{ .secret | quote }}
        defaultMode: 288 # 0440
        items:
          {{- if .ca }}
          - { key: {{ .ca | quote }}, path: ca }
          {{- end }}
          {{- if .cert }}
          - { key: {{ .cert | quote }}, path: cert }
          - { key: {{ .key | quote }}, path: key }
          {{- end }}
    {{- end }}
    {{- end }}
    {{- if $.Values.config }}
    - name: config
      configMap: { name: {{ include "jsdoctor.fullname" $ }} }
    {{- end }}
  {{- with $.Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $.Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $.Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
