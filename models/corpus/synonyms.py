"""Exchanges words of a question for others of the same meaning."""

import re
from pathlib import Path


def read_synonyms(path=Path(__file__).parent / 'words' / 'synonyms.txt'):
    lines = path.read_text(encoding='utf-8').splitlines()
    entries = [line.split(': ', 1) for line in lines if ': ' in line and line[0] != '#']
    return {word: others.split(', ') for word, others in entries}


SYNONYMS = read_synonyms()
LONGEST_FIRST = sorted(map(re.escape, SYNONYMS), key=len, reverse=True)
#: Whole words only, and not parts of a path or of an id.
ANY = re.compile(r'(?<![\w./-])(' + '|'.join(LONGEST_FIRST) + r')(?![\w./-])')


def reword(text, random, share):
    """Each word that has synonyms is exchanged with the probability `share`."""
    def exchange(match):
        return random.choice(SYNONYMS[match[0]]) if random.random() < share else match[0]
    return ANY.sub(exchange, text)
