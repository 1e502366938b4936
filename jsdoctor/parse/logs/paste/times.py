"""Times as log viewers show them, at the start of a line, rewritten as RFC 3339 writes them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK = r"(?P<h>\d{1,2}):(?P<m>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))? ?(?P<half>[AaPp]\.?[Mm]\.?)?"
_END = r"(?=$|[\s|\]:,]) *[|\]:,]?\s*"
_FORMS = tuple(
    re.compile(r"\s*\[?" + form + _END)
    for form in (
        # Kibana, Grafana, Elastic: Nov 21, 2026 @ 10:00:00.123
        r"(?P<mon>[A-Za-z]{3})[a-z]* (?P<d>\d{1,2}),? (?P<y>\d{4})(?:,| @| at)? " + _CLOCK,
        # 21 Nov 2026 10:00:00, 21/Nov/2026:10:00:00
        r"(?P<d>\d{1,2})[ /-](?P<mon>[A-Za-z]{3})[a-z]*[ /-](?P<y>\d{4})[ :,]+" + _CLOCK,
        # Datadog: Nov 21 10:00:00.123
        r"(?P<mon>[A-Za-z]{3}) {1,2}(?P<d>\d{1,2}),? " + _CLOCK,
        r"(?P<y>\d{4})/(?P<mo>\d\d)/(?P<d>\d\d)[ T]" + _CLOCK,
        # Splunk and spreadsheets: 11/21/26 10:00:00.123 AM, 21.11.2026 10:00:00
        r"(?P<a>\d{1,2})[/.](?P<b>\d{1,2})[/.](?P<y>\d{2}|\d{4}),? " + _CLOCK,
    )
)
_EPOCH = re.compile(r"\s*(1\d{9})(\d{3}|\d{6}|\d{9})?" + _END)


def dated(line: str, year: int) -> str | None:
    """The line with its first time as `YYYY-MM-DDThh:mm:ss.ffffff`; None when it does not begin with such a time."""
    for form in _FORMS:
        match = form.match(line)
        at = _moment(match.groupdict(), year) if match else None
        if match and at:
            return f"{at:%Y-%m-%dT%H:%M:%S.%f} {line[match.end() :]}"
    epoch = _EPOCH.match(line)
    if epoch:
        return f"{datetime.fromtimestamp(int(epoch[1]), UTC):%Y-%m-%dT%H:%M:%S}Z {line[epoch.end() :]}"
    return None


def _moment(fields: dict[str, str | None], year: int) -> datetime | None:
    name = fields.get("mon")
    day, month = fields.get("d"), str(_MONTHS.index(name.lower()) + 1) if name and name.lower() in _MONTHS else None
    month = fields.get("mo") or month
    if fields.get("a"):  # the month comes first, unless it cannot
        month, day = fields["a"], fields["b"]
        if int(month or 0) > 12:
            month, day = day, month
    hour = int(fields["h"] or 0)
    half = (fields["half"] or "")[:1].lower()
    if half:
        hour = hour % 12 + 12 * (half == "p")
    of_year = int(fields.get("y") or year)
    fraction = ((fields["f"] or "") + "000000")[:6]
    try:
        return datetime(
            of_year + 2000 * (of_year < 100),
            int(month or 0),
            int(day or 0),
            hour,
            int(fields["m"] or 0),
            int(fields["s"] or 0),
            int(fraction),
            tzinfo=UTC,
        )
    except ValueError:
        return None
