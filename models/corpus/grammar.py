"""A small notation for many wordings of one sentence.

`(a|b|c)` is one of them, `[a]` is `a` or nothing. Brackets nest. `{name}` is a place to fill in.
`[DONE]`, which ends a stream, stands for itself.
"""

import re
from pathlib import Path

FRAMES_FOLDER = Path(__file__).parent / 'frames'


def alternatives(text):
    """Splits `a | b (c|d) | e` at the bars that stand outside of brackets."""
    parts, depth, part = [], 0, ''
    for char in text:
        depth += (char in '([') - (char in ')]')
        if char == '|' and depth == 0:
            parts.append(part.strip())
            part = ''
        else:
            part += char
    parts.append(part.strip())
    return parts


def read_frames(name):
    """The lines of a file of the folder `frames`, by the `[heading]` above them."""
    frames = {}
    for line in (FRAMES_FOLDER / f'{name}.txt').read_text(encoding='utf-8').splitlines():
        heading = re.fullmatch(r'\[([\w-]+)\]', line)
        if heading:
            lines = frames[heading[1]] = []
        elif line and not line.startswith('#'):
            lines.append(line)
    return frames


def fill(text, **values):
    """Puts the values into the places named in braces."""
    for name, value in values.items():
        text = text.replace('{' + name + '}', str(value))
    return text


def expand(text, random):
    """One random wording of the notation."""
    while True:
        innermost = re.search(r'\(([^()\[\]]*)\)|\[(?!DONE)([^()\[\]]*)\]', text)
        if innermost is None:
            return re.sub(r'\s+', ' ', text).strip()
        if innermost[1] is not None:
            chosen = random.choice(innermost[1].split('|'))
        else:
            chosen = random.choice(innermost[2].split('|')) if random.random() < 0.5 else ''
        text = text[:innermost.start()] + chosen + text[innermost.end():]
