"""What an informer of many objects costs: constants, a model made of them, and runs to check it."""
