"""Settings as users write them: durations, labels that select, and their types."""
