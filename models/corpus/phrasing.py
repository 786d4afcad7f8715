"""Turns a fact into one of very many questions, and any question into sloppier ones."""

import re

from grammar import expand, read_frames
from synonyms import reword
from words import LISTS, invented_word

FRAMES = read_frames('questions')

#: Probability of the first frame, the most usual one.
PLAIN_SHARE = 0.35

#: Informal spellings of words, applied to a small part of the questions.
SWAPS = {
    'do not': "don't", 'what is': "what's", 'you': 'u', 'please': 'pls', 'are': 'r', 'for': '4',
    'cannot': "can't", 'requests': 'calls', 'request': 'call', 'metre': 'meter', 'does': 'do',
    'month': 'mo', 'minute': 'min', 'per': 'a', 'I': 'we', 'my': 'our', 'show': 'give', 'what': 'wat',
    'machine': 'box', 'many': 'much', 'explain': 'clarify', 'error': 'err', 'and': '&',
}

#: Words that do not say what a question is about.
FILLERS = set(
    'a an the is are was do does did i we you it to of for in on at with my me our your this that '
    'these and or if be can could would should may must will have has get there here one how what '
    'which'.split())


def question(fact, random):
    """A wording of the fact before any styling, often with other words of the same meaning."""
    text = plain_question(fact, random)
    kind = random.random()
    if kind < 0.4:
        text = reword(text, random, 0.3)
    if 0.32 < kind < 0.46:
        text = keywords(text, random)
    return text


def keywords(text, random):
    """Keywords of a question, often in another order, as typed into a search box."""
    words = [word for word in re.split(r'[\s,?!]+', text) if word]
    kept = [word for word in words if word.lower() not in FILLERS]
    if not kept:
        return text
    if random.random() < 0.5:
        random.shuffle(kept)
    return ' '.join(kept)


def plain_question(fact, random):
    kinds = [kind for kind, wordings in
             (('noun', fact.nouns), ('do', fact.dos), ('ask', fact.asks)) if wordings]
    weights = {'noun': 1.0, 'do': 1.2, 'ask': 1.2}
    kind = random.choices(kinds, [weights[kind] for kind in kinds])[0]
    if kind == 'ask':
        return expand(random.choice(fact.asks), random)
    frames, wordings = (FRAMES['noun'], fact.nouns) if kind == 'noun' else (FRAMES['do'], fact.dos)
    frame = expand(frames[0] if random.random() < PLAIN_SHARE else random.choice(frames), random)
    return frame.replace("' s", "'s").replace('{x}', expand(random.choice(wordings), random))


def style(text, random, small_talk=False):
    """Politeness, punctuation, case and typing errors, as people write."""
    if not small_talk and random.random() < 0.2:
        text = addition('prefix', random) + ' ' + text
    if not small_talk and random.random() < 0.14:
        text = re.sub(r' ([,.?])', r'\1', text + ' ' + addition('suffix', random))
    if random.random() < 0.08:
        text = swap_words(text, random)
    if random.random() < 0.08:
        text = typing_error(text, random)
    return case_and_end(text, random)


def addition(kind, random):
    """Names and numbers in it are met nowhere else, so the model learns to look past them."""
    text = expand(random.choice(FRAMES[kind]), random)
    text = text.replace('NAME', random.choice(LISTS['names']))
    text = text.replace('FAKE', invented_word(random).capitalize())
    return text.replace('NUMBER', str(random.randint(2, 40)))


def case_and_end(text, random):
    kind = random.random()
    if kind < 0.68:
        text = text[:1].upper() + text[1:]
    elif kind < 0.93:
        text = text.lower()
    elif kind < 0.95:
        text = text.upper()
    if text[-1] in '.!?:':
        return text
    ends = {'?': 60, '': 25, '.': 9, '!': 2, '??': 2, ' ?': 2}
    return text + random.choices(list(ends), list(ends.values()))[0]


def swap_words(text, random):
    found = [word for word in SWAPS if f' {word} ' in f' {text} ']
    if not found:
        return text
    word = random.choice(found)
    return f' {text} '.replace(f' {word} ', f' {SWAPS[word]} ', 1).strip()


def typing_error(text, random):
    """One letter left out, doubled, exchanged with its neighbour, or mistyped; never a digit."""
    places = [at for at in range(1, len(text) - 1) if text[at:at + 2].isalpha()]
    if not places:
        return text
    at = random.choice(places)
    kind = random.randrange(4)
    if kind == 0:
        return text[:at] + text[at + 1:]
    if kind == 1:
        return text[:at] + text[at] + text[at:]
    if kind == 2:
        return text[:at] + text[at + 1] + text[at] + text[at + 2:]
    return text[:at] + random.choice('abcdefghijklmnopqrstuvwxyz') + text[at + 1:]
