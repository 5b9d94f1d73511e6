"""What runs in the containers of pods, and what it writes."""
