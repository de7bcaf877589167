"""Rows of a run log as JSON lines, whichever trainer they come from."""
import json
import math
from collections.abc import Mapping


def json_row(row: Mapping) -> str:
    """A log row as a JSON line; what could not be measured, or is not finite, is null, since JSON has no nan."""
    clean = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
    return json.dumps(clean) + "\n"
