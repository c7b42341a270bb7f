"""Date formats: the month names, weekdays and forms of each language.

In a form, {d} is the day, {dd} the day with two digits, {nth} the day as an ordinal, {m} and {mm} the number
of the month, {month} and {mon} its full and abbreviated name, {y} the year, {weekday} the day of the week.
"""

from __future__ import annotations

from datetime import date
from typing import NamedTuple


class Calendar(NamedTuple):
    months: str  # twelve names separated by spaces
    short: str
    weekdays: str  # Monday first
    forms: tuple[str, ...]


NUMBERS = "1 2 3 4 5 6 7 8 9 10 11 12"


def write(day: date, language: str, form: str) -> str:
    """Return the date in a form of a language."""
    calendar = CALENDARS[language]
    return form.format(
        d=day.day,
        dd=f"{day.day:02}",
        nth=ordinal(day.day, language),
        m=day.month,
        mm=f"{day.month:02}",
        month=calendar.months.split()[day.month - 1],
        mon=calendar.short.split()[day.month - 1],
        y=day.year,
        weekday=calendar.weekdays.split()[day.weekday()],
    )


def ordinal(n: int, language: str) -> str:
    match language:
        case "en":
            teen = 11 <= n <= 13
            return f"{n}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"
        case "fr":
            return "1er" if n == 1 else str(n)
        case "it":
            return "l'" + str(n) if n in (8, 11) else "il 1º" if n == 1 else f"il {n}"
        case "pt":
            return "1º" if n == 1 else str(n)
    return str(n)


CALENDARS = {
    "en": Calendar(
        months="January February March April May June July August September October November December",
        short="Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
        weekdays="Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
        forms=(
            "{month} {d}, {y}",
            "{d} {month} {y}",
            "the {nth} of {month} {y}",
            "{month} {nth}, {y}",
            "{mon} {d}, {y}",
            "{mon} {nth}, {y}",
            "{dd}-{mon}-{y}",
            "{weekday}, {month} {d}, {y}",
            "{weekday} {d} {month} {y}",
        ),
    ),
    "de": Calendar(
        months="Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        short="Jan. Feb. März Apr. Mai Juni Juli Aug. Sept. Okt. Nov. Dez.",
        weekdays="Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
        forms=(
            "{d}. {month} {y}",
            "{dd}.{mm}.{y}",
            "{d}.{m}.{y}",
            "am {d}. {month} {y}",
            "{d}. {mon} {y}",
            "{weekday}, {d}. {month} {y}",
            "{weekday}, den {d}. {month} {y}",
        ),
    ),
    "fr": Calendar(
        months="janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        short="janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
        weekdays="lundi mardi mercredi jeudi vendredi samedi dimanche",
        forms=(
            "{nth} {month} {y}",
            "le {nth} {month} {y}",
            "{nth} {mon} {y}",
            "{weekday} {nth} {month} {y}",
            "le {weekday} {nth} {month} {y}",
        ),
    ),
    "es": Calendar(
        months="enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        short="ene. feb. mar. abr. may. jun. jul. ago. sept. oct. nov. dic.",
        weekdays="lunes martes miércoles jueves viernes sábado domingo",
        forms=(
            "{d} de {month} de {y}",
            "el {d} de {month} de {y}",
            "{d} {mon} {y}",
            "{weekday}, {d} de {month} de {y}",
            "el {weekday} {d} de {month} de {y}",
        ),
    ),
    "it": Calendar(
        months=(
            "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"
        ),
        short="gen feb mar apr mag giu lug ago set ott nov dic",
        weekdays="lunedì martedì mercoledì giovedì venerdì sabato domenica",
        forms=("{d} {month} {y}", "{nth} {month} {y}", "{d} {mon} {y}", "{weekday} {d} {month} {y}"),
    ),
    "pt": Calendar(
        months="janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        short="jan. fev. mar. abr. mai. jun. jul. ago. set. out. nov. dez.",
        weekdays="segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",
        forms=(
            "{nth} de {month} de {y}",
            "em {nth} de {month} de {y}",
            "{d} de {mon} de {y}",
            "{weekday}, {nth} de {month} de {y}",
        ),
    ),
    "nl": Calendar(
        months="januari februari maart april mei juni juli augustus september oktober november december",
        short="jan. feb. mrt. apr. mei jun. jul. aug. sep. okt. nov. dec.",
        weekdays="maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
        forms=("{d} {month} {y}", "op {d} {month} {y}", "{d} {mon} {y}", "{weekday} {d} {month} {y}"),
    ),
    "pl": Calendar(
        months=(
            "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września "
            "października listopada grudnia"
        ),
        short="sty lut mar kwi maj cze lip sie wrz paź lis gru",
        weekdays="poniedziałek wtorek środa czwartek piątek sobota niedziela",
        forms=(
            "{d} {month} {y}",
            "{d} {month} {y} r.",
            "{d} {mon} {y}",
            "{weekday}, {d} {month} {y} r.",
        ),
    ),
    "ja": Calendar(
        months=NUMBERS,
        short=NUMBERS,
        weekdays="月 火 水 木 金 土 日",
        forms=("{y}年{m}月{d}日", "{y}年{m}月{d}日（{weekday}）", "{y}年{m}月{d}日{weekday}曜日"),
    ),
    "zh": Calendar(
        months=NUMBERS,
        short=NUMBERS,
        weekdays="一 二 三 四 五 六 日",
        forms=(
            "{y}年{m}月{d}日",
            "{y}年{m}月{d}日星期{weekday}",
        ),
    ),
}
