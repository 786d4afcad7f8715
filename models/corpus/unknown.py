"""Questions that the model must answer with "I do not know", the look-alikes included."""

from grammar import expand, read_frames
from synonyms import reword
from tables import KNOWN_CODES
from words import LISTS, invented_word

ANSWER = 'I do not know that. I am a small demonstration model and know only about shoal.'

FRAMES = read_frames('unknown')
LOOK_ALIKE_SHARE = 0.38

SLOTS = {
    'THING': 'things', 'SUBJECT': 'subjects', 'PLACE': 'places', 'PERSON': 'people', 'TECH': 'tech',
    'ACTIVITY': 'activities', 'ATTRIBUTE': 'attributes', 'WRITING': 'writing', 'NAME': 'names',
    'PLAIN': 'plain',
}


def unknown_code(random):
    while True:
        highest = random.choice([599, 520, 9999])
        code = str(random.randint(100, highest))
        if code not in KNOWN_CODES:
            return code


def fill_slots(text, random):
    makers = {slot: (lambda name=name: random.choice(LISTS[name]))
              for slot, name in SLOTS.items()}
    makers |= {'FAKE': lambda: invented_word(random), 'NUM': lambda: str(random.randint(1, 99)),
               'BADCODE': lambda: unknown_code(random)}
    for slot, make in makers.items():
        while slot in text:
            text = text.replace(slot, make(), 1)
    return text.replace(' s ', 's ')


def unknown_question(random):
    kind = 'look-alike' if random.random() < LOOK_ALIKE_SHARE else 'everyday'
    text = fill_slots(expand(random.choice(FRAMES[kind]), random), random)
    return reword(text, random, 0.3) if random.random() < 0.3 else text


