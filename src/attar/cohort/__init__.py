"""How a table gets in: read, checked, described and split."""

from attar.cohort.schema import Column, Schema, Target
from attar.cohort.split import Split
from attar.cohort.table import Cohort

__all__ = ["Cohort", "Column", "Schema", "Split", "Target"]
