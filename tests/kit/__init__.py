"""What deploy/ has for Prometheus, Grafana, Kubernetes and Homebrew, tried with the programs that read it."""
