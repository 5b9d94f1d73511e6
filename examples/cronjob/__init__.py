"""Kubernetes' CronJob as a custom resource: the larger example of the operator layer."""
