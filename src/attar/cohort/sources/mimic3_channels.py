"""What mimic3-benchmarks measures: 17 channels, the spellings of their categories, and 25 diagnoses."""

from collections.abc import Mapping

from attar.cohort.schema import Channel

PHENOTYPES = (
    "Acute and unspecified renal failure",
    "Acute cerebrovascular disease",
    "Acute myocardial infarction",
    "Cardiac dysrhythmias",
    "Chronic kidney disease",
    "Chronic obstructive pulmonary disease and bronchiectasis",
    "Complications of surgical procedures or medical care",
    "Conduction disorders",
    "Congestive heart failure; nonhypertensive",
    "Coronary atherosclerosis and other heart disease",
    "Diabetes mellitus with complications",
    "Diabetes mellitus without complication",
    "Disorders of lipid metabolism",
    "Essential hypertension",
    "Fluid and electrolyte disorders",
    "Gastrointestinal hemorrhage",
    "Hypertension with complications and secondary hypertension",
    "Other liver diseases",
    "Other lower respiratory disease",
    "Other upper respiratory disease",
    "Pleurisy; pneumothorax; pulmonary collapse",
    "Pneumonia (except that caused by tuberculosis or sexually transmitted disease)",
    "Respiratory failure; insufficiency; arrest (adult)",
    "Septicemia (except in labor)",
    "Shock",
)

SPELLINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "Capillary refill rate": {"0.0": ("0.0", "0"), "1.0": ("1.0", "1")},
    "Glascow coma scale eye opening": {
        "2 To Pain": ("2 To pain", "To Pain"),
        "3 To speech": ("3 To speech", "To Speech"),
        "1 No Response": ("1 No Response",),
        "4 Spontaneously": ("4 Spontaneously", "Spontaneously"),
        "0 None": ("None",),
    },
    "Glascow coma scale motor response": {
        "1 No Movement": ("1 No Response", "No response"),
        "3 Abnormal flexion": ("3 Abnorm flexion", "Abnormal Flexion"),
        "2 Abnormal extension": ("2 Abnorm extensn", "Abnormal extension"),
        "4 Flex-withdraws": ("4 Flex-withdraws", "Flex-withdraws"),
        "5 Localizes Pain": ("5 Localizes Pain", "Localizes Pain"),
        "6 Obeys Commands": ("6 Obeys Commands", "Obeys Commands"),
    },
    "Glascow coma scale total": {
        total: (total, f"{total}.0")
        for total in ("11", "10", "13", "12", "15", "14", "3", "5", "4", "7", "6", "9", "8")
    },
    "Glascow coma scale verbal response": {
        "1 No Response": ("1 No Response", "No Response", "No Response-ETT", "1.0 ET/Trach"),
        "4 Confused": ("4 Confused", "Confused"),
        "2 Incomprehensible sounds": ("2 Incomp sounds", "Incomprehensible sounds"),
        "3 Inappropriate Words": ("3 Inapprop words", "Inappropriate Words"),
        "5 Oriented": ("5 Oriented", "Oriented"),
    },
}
"""Categories in the paper's order, each with the spellings in the files: two charting systems, two sets of words."""


def _categorical(name: str) -> Channel:
    return Channel(name=name, kind="categorical", values=tuple(SPELLINGS[name]))


CHANNELS = (
    _categorical("Capillary refill rate"),
    Channel(name="Diastolic blood pressure", unit="mmHg"),
    Channel(name="Fraction inspired oxygen", unit="fraction"),
    _categorical("Glascow coma scale eye opening"),
    _categorical("Glascow coma scale motor response"),
    _categorical("Glascow coma scale total"),
    _categorical("Glascow coma scale verbal response"),
    Channel(name="Glucose", unit="mg/dL"),
    Channel(name="Heart Rate", unit="bpm"),
    Channel(name="Height", unit="cm"),
    Channel(name="Mean blood pressure", unit="mmHg"),
    Channel(name="Oxygen saturation", unit="%"),
    Channel(name="Respiratory rate", unit="breaths/min"),
    Channel(name="Systolic blood pressure", unit="mmHg"),
    Channel(name="Temperature", unit="°C"),
    Channel(name="Weight", unit="kg"),
    Channel(name="pH"),
)
