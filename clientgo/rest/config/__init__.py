"""How to reach a server, and as whom: from arguments, kubeconfig or service account."""
