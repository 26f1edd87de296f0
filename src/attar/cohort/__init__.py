"""How a table or series get in: read, checked, described and split."""

from attar.cohort.schema import Channel, Column, Schema, Target
from attar.cohort.series import Series
from attar.cohort.split import Split
from attar.cohort.table import Cohort

__all__ = ["Channel", "Cohort", "Column", "Schema", "Series", "Split", "Target"]
