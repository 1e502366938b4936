"""What tests share: cases and their evidence, rules as they are shipped, deployments."""
