"""Dates in ten languages → ISO dates."""

from __future__ import annotations

import random
from datetime import date, timedelta

from dragoman.data.recipes.dates.calendars import CALENDARS, write

FIRST, LAST = date(1900, 1, 1), date(2100, 12, 31)
FORMS = tuple((language, form) for language, calendar in CALENDARS.items() for form in calendar.forms)
SIZES = {"train": 20_000, "valid": 500, "test": 1_000}


def splits(seed: int = 1) -> dict[str, list[tuple[str, str]]]:
    """Return the splits. Each day occurs once, in one split, so test dates are unseen in every language."""
    rng = random.Random(seed)
    numbers = iter(rng.sample(range((LAST - FIRST).days + 1), sum(SIZES.values())))
    return {
        name: [pair(FIRST + timedelta(days=next(numbers)), rng) for _ in range(size)]
        for name, size in SIZES.items()
    }


def pair(day: date, rng: random.Random) -> tuple[str, str]:
    language, form = rng.choice(FORMS)
    text = write(day, language, form)
    dice = rng.random()
    text = text.lower() if dice < 0.1 else text.upper() if dice < 0.2 else text
    return text, day.isoformat()
