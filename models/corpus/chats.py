"""Combines questions and answers into chats for training."""

from pathlib import Path

import unknown
from exercises import exercise, memory_turns
from facts import all_facts
from grammar import expand, fill
from phrasing import FRAMES, question, style

SYSTEMS = [line for line in (Path(__file__).parent / 'words' / 'systems.txt').read_text().splitlines()
           if line and not line.startswith('#')]

FACTS = all_facts()
WRITTEN = [fact for fact in FACTS if fact.about is None]
TABLES = [fact for fact in FACTS if fact.about is not None]
#: Weight by number of wordings: facts with many wordings occur more often.
WEIGHTS = [len(fact.nouns + fact.dos + fact.asks) ** 0.5 for fact in WRITTEN]
#: Facts that changed since the weights to be continued were trained occur so many times as often.
BOOST = 8
RELATED = {fact.about: fact for fact in TABLES}

#: Short, complete questions that get nothing before or after them.
SMALL_TALK = {
    'greeting', 'thanks', 'bye', 'okay', 'no', 'praise', 'complaint', 'again', 'ping', 'more',
    'foreign', 'how-are-you',
}


def boost(names):
    """Lets the written facts of these names occur more often."""
    unknown = set(names) - {fact.name for fact in WRITTEN}
    if unknown:
        raise ValueError(f'no such facts: {", ".join(sorted(unknown))}')
    WEIGHTS[:] = [weight * (BOOST if fact.name in names else 1)
                  for fact, weight in zip(WRITTEN, WEIGHTS)]


def fact_turns(random):
    """One fact, sometimes with a follow-up question: "and Pro?" """
    fact = random.choices(WRITTEN, WEIGHTS)[0] if random.random() < 0.66 else random.choice(TABLES)
    asked = style(question(fact, random), random, fact.name in SMALL_TALK)
    turns = [(asked, fact.answer)]
    while fact.about and random.random() < 0.25:
        table, row, _ = fact.about
        related = [other for about, other in RELATED.items() if about[:2] == (table, row)]
        fact = random.choice(related)
        follow_up = fill(expand(random.choice(FRAMES['follow-up']), random), x=fact.about[2])
        turns.append((style(follow_up, random, True), fact.answer))
    return turns


def unknown_turns(random):
    return [(style(unknown.unknown_question(random), random), unknown.ANSWER)]


def exercise_turns(random):
    """Names and numbers stay as they are, so only ordinary words get a capital letter."""
    asked, answer, exact = exercise(random)
    if asked.split()[0].isalpha() and random.random() < 0.5:
        asked = asked[:1].upper() + asked[1:]
    end = '' if exact or asked[-1] in '.?!' else random.choice(['', '', '?', '.'])
    return [(asked + end, answer)]


KINDS = {fact_turns: 0.6, unknown_turns: 0.18, exercise_turns: 0.22}


def turns(random):
    return random.choices(list(KINDS), list(KINDS.values()))[0](random)


def chat(random, min_turns):
    """A list of (role, text) with at least so many questions."""
    exchanges = []
    while len(exchanges) < min_turns:
        exchanges += turns(random)
    if random.random() < 0.06:
        exchanges = insert_memory(exchanges, random)
    messages = []
    if random.random() < 0.22:
        chosen = random.sample(SYSTEMS, random.choice([1, 1, 1, 2, 3]))
        messages.append(('system', ' '.join(chosen)))
    for asked, answer in exchanges:
        messages += [('user', asked), ('assistant', answer)]
    return messages


def insert_memory(exchanges, random):
    tell, ask = memory_turns(random)
    at = random.randrange(len(exchanges) + 1)
    later = random.randrange(at, len(exchanges) + 1)
    return [*exchanges[:at], tell, *exchanges[at:later], ask, *exchanges[later:]]


def single_chat(random):
    """One question. Facts are many, so they get more room here."""
    kind = random.choices([fact_turns, unknown_turns, exercise_turns], [0.72, 0.12, 0.16])[0]
    asked, answer = kind(random)[0]
    return [('user', asked), ('assistant', answer)]


def short_chat(random):
    return chat(random, random.choice([1, 1, 1, 1, 2, 2, 3]))


def medium_chat(random):
    return chat(random, random.randint(4, 8))


def long_chat(random):
    """As many turns as fit into the context; the trainer cuts at the end of a turn."""
    return chat(random, random.randint(10, 32))
