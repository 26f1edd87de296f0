"""What a condensed set is worth: models trained on it, tested on real patients."""
