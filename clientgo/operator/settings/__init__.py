"""Settings as users write them: durations, and labels that select."""
