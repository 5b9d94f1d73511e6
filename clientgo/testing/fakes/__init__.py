"""The parts of a fake client: actions, reactors, discovery and its transport."""
