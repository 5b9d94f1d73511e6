"""What candidates compete for, and what is written into it."""
