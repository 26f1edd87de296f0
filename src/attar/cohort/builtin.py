"""The cohorts that come with attar; licence, source and processing are beside each file in data/."""

import io
from dataclasses import dataclass
from importlib import resources

import pandas as pd

from attar.cohort.files import read_parquet


@dataclass(frozen=True)
class Builtin:
    """One embedded cohort. `rows` counts all rows, `prevalence` is per target among the rows that record it."""

    name: str
    title: str
    targets: tuple[str, ...]
    rows: int
    features: int
    prevalence: tuple[float, ...]
    licence: str
    citation: str

    def frame(self) -> pd.DataFrame:
        """Return the whole table."""
        file = resources.files(__package__) / "data" / f"{self.name}.parquet"
        return read_parquet(io.BytesIO(file.read_bytes()), self.name)


CATALOGUE: dict[str, Builtin] = {
    row.name: row
    for row in (
        Builtin(
            name="support2",
            title="SUPPORT: seriously ill adults in five US hospitals, death in hospital",
            targets=("hospdead",),
            rows=9105,
            features=23,
            prevalence=(0.2592,),
            licence="public, Vanderbilt Biostatistics (hbiostat.org/data); UCI copy CC BY 4.0",
            citation="Knaus WA et al. The SUPPORT prognostic model. Ann Intern Med 1995;122:191-203.",
        ),
        Builtin(
            name="nhanes",
            title="NHANES 2017-2018: US adults, eight diagnoses they report",
            targets=(
                "label_asthma",
                "label_arthritis",
                "label_heart_attack",
                "label_stroke",
                "label_cancer",
                "label_diabetes",
                "label_sleep_trouble",
                "label_depression_phq9_ge10",
            ),
            rows=5265,
            features=43,
            prevalence=(0.1513, 0.3057, 0.0483, 0.0485, 0.1047, 0.1589, 0.2813, 0.0906),
            licence="US public domain",
            citation="CDC, National Center for Health Statistics. National Health and Nutrition Examination Survey "
            "2017-2018. Hyattsville, MD.",
        ),
    )
}
