"""What is wrong with fields: their paths, and the causes of an Invalid status."""
