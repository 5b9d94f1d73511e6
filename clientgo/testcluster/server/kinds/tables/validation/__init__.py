"""Validation by the tables: which places of an object are checked, how, and what is then said."""
