"""What a program shows of itself: metrics, log fields, traces, health, a debug page."""
