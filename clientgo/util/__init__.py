"""What the packages above share, as in client-go and apimachinery: time, waiting, threads, text."""
