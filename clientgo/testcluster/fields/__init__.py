"""Who owns which field of an object, and patches that merge lists by key."""
