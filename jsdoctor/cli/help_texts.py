"""What `--help` says of commands: a paragraph that begins with a backspace keeps its lines."""

CHECK_HELP = """Check a JetStream deployment, live or captured, and what lies beside it: logs, packets, manifests.

Reads only, but for the consumer that a --scan makes and deletes.

\b
Examples:
  jsdoctor check                              the selected nats context
  jsdoctor check --context prod-sys           system account: sees everything
  jsdoctor check -s nats://app:pw@host:4222   plain account: its own streams
  jsdoctor check --monitor http://host:8222   HTTP monitoring, once per server
  jsdoctor check --kube -n nats               the pods of a Kubernetes namespace
  jsdoctor check --select JSD4 --format json  consumer rules, as JSON
  jsdoctor check --bundle FILE.zip            what jsdoctor capture wrote
  jsdoctor check --logs nats.log              logs alone; with -s or --bundle both
  jsdoctor check --loki URL --loki-query '{app="nats"}' --since 6h
  jsdoctor check --pcap nats.pcap             packets; both ends: --pcap A --pcap B
  jsdoctor check --manifest deploy/           what is to be deployed; with -s its change
"""

SERVE_HELP = """Check a deployment again and again, and serve the findings as metrics for Prometheus.

A check that comes to no report leaves the metrics of the last one, whose age grows.

\b
Examples:
  jsdoctor serve --context prod-sys                            at http://127.0.0.1:9855/metrics
  jsdoctor serve --context prod-sys --listen 0.0.0.0:9855 --every 5m
"""

AUDIT_HELP = """Audit logs of servers and clients, of any size. Connects to no NATS server.

\b
Examples:
  jsdoctor audit logs/                              a directory, rotated and packed files too
  jsdoctor audit --timezone Europe/Berlin 'n*.log'  times without a zone are of that one
  jsdoctor audit --master spark://host:7077 /mnt/logs
  jsdoctor audit --remote sc://host:15002 s3://bucket/nats
  jsdoctor check --logs nats.log                    one file, or beside a deployment
"""

COMPARE_HELP = """Compare two JSON reports: which findings are new, worse, better, gone, or not judged any more.

The reports may be of check or audit, of any age. Exit code 1: a finding at or above --fail-on is new or worse.

\b
Examples:
  jsdoctor check -o today.json                       a report a day
  jsdoctor compare yesterday.json today.json         what has changed since
  jsdoctor compare main.json branch.json -o diff.md  for a merge request
"""

CAPTURE_HELP = """Capture the evidence of a live deployment into a file, to be checked later or elsewhere.

Reads only, but for the consumer that a --scan makes and deletes. Secrets are taken out before anything is written.

\b
Examples:
  jsdoctor capture -o prod.zip                   the selected nats context
  jsdoctor capture -o prod.zip --context sys     system account: sees everything
  jsdoctor capture -o prod.zip --logs /var/log/nats --since 2h     with the relevant lines of logs
  jsdoctor capture -o prod.zip --loki URL --loki-query '{app="nats"}' --since 6h
  jsdoctor capture -o prod.zip --this-host --pcap nats.pcap --report
  jsdoctor check --bundle prod.zip               then, anywhere
"""

DIAGNOSE_HELP = """Diagnose a symptom: each documented cause confirmed, ruled out, or undecided and what decides it.

Reads only. A --probe is traced by servers, never stored.

\b
Examples:
  jsdoctor diagnose "nats: wrong last sequence: 5123" --stream ORDERS --expected-seq 5120
  jsdoctor diagnose --symptom consumer-stalled --stream ORDERS --consumer billing
  jsdoctor diagnose --code 10077 --bundle FILE.zip
  tail -1 app.log | jsdoctor diagnose - --logs app.log
  jsdoctor diagnose --offline "duplicate orders"      what it could be, without looking
  jsdoctor diagnose --probe orders.new                which stream would take a message
"""

BASELINE_HELP = """Accept the findings that are there today, so that only new ones count; forget those that are fixed.

\b
Examples:
  jsdoctor baseline write jsdoctor-baseline.json
  jsdoctor check --baseline jsdoctor-baseline.json
  jsdoctor baseline prune jsdoctor-baseline.json
"""
