{{- define "metaagent.name" -}}
{{- if contains "metaagent" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-metaagent{{ end }}
{{- end }}

{{- define "metaagent.selector" -}}
app.kubernetes.io/name: metaagent
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "metaagent.labels" -}}
{{ include "metaagent.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "metaagent.claim" -}}
{{ .Values.storage.volume.existingClaim | default (printf "%s-blobs" (include "metaagent.name" .)) }}
{{- end }}

{{- /* Variables from the Secret; a missing key is an error unless `optional`. */}}
{{- define "metaagent.fromSecret" -}}
{{- range .keys }}
- name: {{ . }}
  valueFrom: {secretKeyRef: {name: {{ $.root.Values.secret | quote }}, key: {{ . }}, optional: {{ $.optional }}}}
{{- end }}
{{- end }}

{{- /* Variables of both processes, and settings of one of them. `needed` and `optional` are its secrets. */}}
{{- define "metaagent.env" -}}
{{- $root := .root }}
{{- $values := $root.Values }}
- name: HOME
  value: /data
- name: METAAGENT_DATA_DIR
  # Not the volume itself, which belongs to root: the folder is made private.
  value: /data/metaagent
- name: METAAGENT_APP_ID
  value: {{ $values.app.id | quote }}
- name: METAAGENT_APP_SLUG
  value: {{ $values.app.slug | quote }}
- name: METAAGENT_STORAGE__URL
  value: {{ $values.storage.url | default "file:///blobs/metaagent" | quote }}
- name: METAAGENT_DATABASE_URL
  valueFrom: {secretKeyRef: {name: {{ $values.database.secret | default $values.secret | quote }}, key: {{ $values.database.key | quote }}}}
{{- include "metaagent.fromSecret" (dict "root" $root "keys" (concat (list "METAAGENT_PRIVATE_KEY") .needed) "optional" false) }}
{{- $storage := list "METAAGENT_STORAGE__KEY_ID" "METAAGENT_STORAGE__KEY" "METAAGENT_STORAGE__TOKEN" }}
{{- include "metaagent.fromSecret" (dict "root" $root "keys" (concat $storage .optional) "optional" true) }}
{{- with $values.publicUrl | default (ternary (printf "https://%s" $values.ingress.host) "" $values.ingress.enabled) }}
- name: METAAGENT_PUBLIC_URL
  value: {{ . | quote }}
{{- end }}
{{- range $name, $value := mergeOverwrite (dict) $values.env .own.env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "metaagent.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "metaagent.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "metaagent.mounts" -}}
- {name: data, mountPath: /data}
- {name: tmp, mountPath: /tmp}
{{- if not .Values.storage.url }}
- {name: blobs, mountPath: /blobs}
{{- end }}
{{- end }}

{{- define "metaagent.volumes" -}}
- {name: data, emptyDir: {}}
- {name: tmp, emptyDir: {}}
{{- if not .Values.storage.url }}
- name: blobs
  persistentVolumeClaim: {claimName: {{ include "metaagent.claim" . | quote }}}
{{- end }}
{{- end }}

{{- /* What both pods have: their account, image and place. */}}
{{- define "metaagent.pod" -}}
# A Service named metaagent would otherwise set METAAGENT_PORT to an address, which is a setting.
enableServiceLinks: false
automountServiceAccountToken: false
{{- with .root.Values.serviceAccount }}
serviceAccountName: {{ . | quote }}
{{- end }}
terminationGracePeriodSeconds: 60
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .own.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .own.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .own.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "metaagent.image" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}
