"""What learn, update, --stream and compare do: from a corpus to a model, step by step."""
