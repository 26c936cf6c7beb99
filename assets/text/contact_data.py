"""Contact data in a text: addresses, numbers and accounts by which somebody could be reached or charged."""

import re

PATTERNS = re.compile(
    r"""
      (?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+                                  # mail
    | (?:https?://|www\.)\S+                                                    # web
    | (?<![\w@.])[a-z0-9-]{1,63}\.(?:com|org|net|edu|gov|io)\b                  # its name alone: DNS allows 63 letters
    | (?<![\w@])@\w{3,}                                                         # account
    | \b(?:\d{1,3}\.){3}\d{1,3}\b                                               # IP
    | \b[A-Z]{2}\d{2}(?:\s?[A-Z0-9]{4}){3,7}(?:\s?[A-Z0-9]{1,3})?\b             # IBAN
    | \b(?:\d{4}[\s-]?){3}\d{3,4}\b                                             # card
    | \b\d{3}-\d{2}-\d{4}\b                                                     # US social security
    | (?<![\w+])\+\d{1,3}(?:[\s.-]?\(?\d{2,4}\)?){2,5}(?!\w) | (?<!\w)\(\d{3}\)\s?\d{3}-?\d{4}\b    # phone
    | \b\d{1,5}[A-Za-z]?\s(?:[NSEW]\.?\s)?(?:[A-Z][\w.'-]+\s){1,3}              # street, as in English and French
      (?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Square|Sq|Terrace|Way|Place|Pl)\b\.?
    | \b\d{1,4},?\s(?:bis\s)?(?:rue|avenue|boulevard|chemin|allée|impasse|quai)\s(?:d[eu]s?\s|de\sla\s|de\sl['’])?[A-Z]\w+
    | \b[A-ZÄÖÜ][\w-]*(?:straße|strasse|str\.|gasse|allee|weg|platz|straat|laan|plein)\s\d{1,4}[a-z]?\b   # as in German, Dutch
    | \b(?:Calle|Avenida|Plaza|Paseo|Via|Viale|Piazza|Corso|Rua|Praça|Travessa)\s(?:[\w.]+\s){1,4}?,?\s?\d{1,4}\b
    | \b(?:\d{3}[\s.-])?\d{3}[.-]\d{4}\b | \b1[3-9]\d{9}\b
    """,
    re.VERBOSE,
)


# Each of these has one of them. Most texts have none, which is seen much sooner.
SIGN = re.compile(r"[@\d]|://|www\.|\.[a-z]")


def contact_data(text: str) -> list[str]:
    """Return the pieces of the text that are contact data, in order."""
    return [match[0] for match in PATTERNS.finditer(text)] if SIGN.search(text) else []
