"""The objects behind a fake client: versions, patches, field ownership and watches."""
