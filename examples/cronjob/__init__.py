"""Kubernetes' CronJob once more, as a kind of one's own: the operator layer's larger example."""
