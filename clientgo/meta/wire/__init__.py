"""What a server answers: which JSON counts as an object, a list, an event or a refusal."""
