"""Pod Security: pods keep to the standard that the labels of their namespace name."""
