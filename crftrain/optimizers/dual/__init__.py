"""Ascent of the dual: oeg, sdca."""
