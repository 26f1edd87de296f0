"""attar: a clinical cohort in, a few hundred synthetic patients and their scores out."""

__version__ = "0.1.0"
