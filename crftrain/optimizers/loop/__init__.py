"""The loop over sequences, and one sequence's gradient."""
