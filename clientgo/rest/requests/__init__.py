"""From a request as it is built to its response: attempts, retries, throttling, watch streams."""
