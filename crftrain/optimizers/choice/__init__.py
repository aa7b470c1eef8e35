"""What chooses among the others: auto."""
