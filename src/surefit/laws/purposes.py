"""Whether a script says that it trains on few rows on purpose."""

import re

from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording

ON_PURPOSE = re.compile(
    r"over-?fit|sanity|smoke|debug|one[ _-]batch|single[ _-]batch|few[ _-]?shot|fast_dev_run"
    r"|limit_\w*batches|max_(train_)?(batches|steps|samples)|profil|benchmark|curriculum",
    re.IGNORECASE,
)


def is_on_purpose(recording: Recording) -> bool:
    """By its words, comments among them."""
    return any(ON_PURPOSE.search(script.text) for script in recording.all(Script))
