"""From a model and sentences to labels, and how good they are."""
