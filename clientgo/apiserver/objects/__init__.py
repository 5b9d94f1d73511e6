"""Take an object from a request to storage: metadata, field ownership, the steps of a write."""
