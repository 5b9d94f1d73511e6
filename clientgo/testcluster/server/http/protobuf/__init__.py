"""Objects of the Kubernetes API in protobuf: bodies of requests and responses.

Upstream: apimachinery ``runtime/serializer/protobuf``.
"""

PROTOBUF_TYPE = "application/vnd.kubernetes.protobuf"
