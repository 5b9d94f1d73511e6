"""What happens to an object on its way to storage."""
