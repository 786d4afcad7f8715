"""Our own word lists, and words that do not exist."""

from pathlib import Path

SYLLABLES = '''
ba be bi bo bu da de di do du fa fe fi ga go gra gre ha he hi ja jo ka ke ki ko la le li lo lu
ma me mi mo mu na ne ni no nu pa pe pi po pra ra re ri ro ru sa se shi so su ta te ti to tra va
ve vi vo wa we xa ya yo za ze zo bran clo dren fost gling harn jask kelp lorn mink nord plim
quor rund spel tronk ulm vint wesk yorp
'''.split()


def read_lists(path=Path(__file__).parent / 'words' / 'unknown.txt'):
    lists = {}
    for line in path.read_text(encoding='utf-8').splitlines():
        if ': ' in line and not line.startswith('#'):
            name, words = line.split(': ', 1)
            lists[name] = [word.strip() for word in words.split('|')]
    return lists


LISTS = read_lists()


def invented_word(random):
    return ''.join(random.choice(SYLLABLES) for _ in range(random.choice([2, 2, 2, 3, 3])))
