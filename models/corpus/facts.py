"""Facts that the chat models know, each with many questions and one answer."""

from dataclasses import dataclass, field
from pathlib import Path

from grammar import alternatives

FOLDER = Path(__file__).parent / 'facts'


@dataclass
class Fact:
    """Questions in the notation of grammar.py, by kind of phrase."""

    name: str
    #: noun phrases, for frames such as "what is ..."
    nouns: list = field(default_factory=list)
    #: verb phrases in the base form, for frames such as "how do I ..."
    dos: list = field(default_factory=list)
    #: whole questions
    asks: list = field(default_factory=list)
    answer: str = ''
    #: (table, row, column) for facts of a table; a chat may ask on within the row
    about: tuple = None

    def __post_init__(self):
        self.nouns = [wording for text in self.nouns for wording in alternatives(text)]
        self.dos = [wording for text in self.dos for wording in alternatives(text)]
        self.asks = [wording for text in self.asks for wording in alternatives(text)]


KEYS = {'noun': 'nouns', 'do': 'dos', 'ask': 'asks'}


def written_facts():
    """The facts of the folder `facts`, in its own simple format: `[name]`, then `key: text`."""
    facts = []
    for path in sorted(FOLDER.glob('*.txt')):
        for block in path.read_text(encoding='utf-8').split('\n['):
            lines = block.splitlines()
            if not lines[0].endswith(']'):
                continue
            parts = {'nouns': [], 'dos': [], 'asks': [], 'answer': ''}
            for line in filter(None, map(str.strip, lines[1:])):
                key, text = line.split(': ', 1)
                if key == 'answer':
                    parts['answer'] = text
                else:
                    parts[KEYS[key]].append(text)
            facts.append(Fact(lines[0].rstrip(']'), **parts))
    return facts


def all_facts():
    from tables import table_facts
    facts = [*written_facts(), *table_facts()]
    for fact in facts:
        if not fact.answer or not (fact.nouns or fact.dos or fact.asks):
            raise ValueError(f'fact {fact.name} is not complete')
    return facts
