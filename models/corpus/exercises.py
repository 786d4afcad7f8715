"""Questions whose answer depends on their numbers and names: VRAM levels, choices, copying, sums."""

from grammar import expand, fill, read_frames
from phrasing import style
from words import LISTS, invented_word

FRAMES = read_frames('exercises')

VERBS = 'start stop reboot move open close blink drive lift lower rotate calibrate dock park home pause'.split()
DEVICES = 'rover robot arm drone printer camera sensor pump light plug lift cart valve'.split()
SHAPES = {'line': ['line'], 'circle': ['circle'], 'grid': ['grid'], 'v_shape': ['v shape', 'v_shape', 'V']}
SPACINGS = ['1', '2', '3', '4', '5', '1.5', '2.5', '0.5', '10']
SHORT_WORDS = ('hello yes no ok pong ping test done ready shoal fleet gate cell key world good this is '
               'a the and').split()
#: Signs and words of sums, the usual ones more often.
SIGNS = ['plus', 'plus', 'minus', 'times', '+', '+', '+', '-', '-', '*', '*', 'x', '/', 'divided by',
         'multiplied by', 'to the power of', '^', 'modulo', '%']
COUNTED = 'cells robots apples requests tokens books cars euros people eggs models GPUs'.split()
NUMBER_WORDS = ('two three four five six seven eight nine ten eleven twelve fifteen twenty fifty '
                'hundred').split()
#: The one answer to everything that would have to be computed.
CALCULATION_ANSWER = 'I do not calculate or count. Please use a calculator or a larger model.'
KEY_PREFIXES = ['svc-dev-', 'svc-dev-', 'sk-', 'key-', 'dev-', 'svc-', 'api-', 'token-']
KEY_LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789'


def ask(frame, random, **values):
    """Values are put in after the wording is chosen: they may hold any sign."""
    return fill(expand(random.choice(FRAMES[frame]), random), **values)


def cell_name(random):
    number = random.randint(0, 99)
    return random.choice([
        f'cell-{number:02d}', f'cell-{number:02d}', f'cell-{number}', f'edge-{number}',
        f'gpu-{number}', f'gpu-{random.choice("abcdefgh")}', f'lab-{invented_word(random)}',
        f'node{number}', f'cell {number}', f'{invented_word(random)}-{number}',
        f'rack{random.randint(1, 9)}-{number}'])


def device_name(random):
    return f'{random.choice(DEVICES)}-{random.choice([random.randint(1, 99), invented_word(random)])}'


def percent(random):
    """A percentage, often near the thresholds, sometimes with a decimal."""
    low, high = random.choice([(0, 100), (80, 100), (88, 98)])
    value = random.randint(low, high)
    return f'{value}.{random.randint(1, 9)}' if random.random() < 0.1 and value < 100 else str(value)


def vram_level(random):
    used, cell = percent(random), cell_name(random)
    named = random.random() < 0.5
    text = ask('level-on-cell' if named else 'level', random, cell=cell,
               used=used + random.choice(['%', ' percent']))
    subject = f'{cell} is at {used} percent. That' if named else f'{used} percent'
    if float(used) > 95:
        return text, f'{subject} is above 95, so the level is critical.'
    if float(used) > 90:
        return text, f'{subject} is above 90, so the level is warn.'
    return text, f'{subject} is not above 90, so the level is ok.'


def busy_choice(random):
    first, second = cell_name(random), cell_name(random)
    a, b = random.sample(range(0, 101), 2)
    unit = random.choice(['%', ' percent'])
    text = ask('busy', random, first=first, second=second, a=f'{a}{unit}', b=f'{b}{unit}')
    best, low, high = (first, a, b) if a < b else (second, b, a)
    return text, f'{best}, because {low} percent is less than {high} percent.'


def number(random):
    """Mostly small, as in questions that test a model; sometimes a word, with a decimal or a minus."""
    value = random.randint(0, random.choice([10, 20, 99, 999, 100_000]))
    kind = random.random()
    if kind < 0.15:
        return random.choice(NUMBER_WORDS)
    if kind < 0.2:
        return f'{value}.{random.randint(1, 99)}'
    return f'-{value + 1}' if kind < 0.23 else str(value)


def calculation(random):
    """Sums, comparisons and counts: a model of this size gets them wrong, so it declines them all."""
    sign = random.choice(SIGNS)
    a, b, c = (number(random) for _ in range(3))
    frame = random.choices(['sum', 'word-problem', 'compare', 'count'], [6, 2, 1.5, 1.5])[0]
    text = ask(frame, random, a=a, b=b, c=c, sign=sign, more=random.choice(SIGNS),
               thing=random.choice(COUNTED), name=random.choice(LISTS['names']))
    return style(text, random), CALCULATION_ANSWER


def any_word(random):
    return random.choice([
        random.choice(LISTS['plain']), random.choice(LISTS['things']), random.choice(LISTS['names']),
        random.choice(SHORT_WORDS), invented_word(random), cell_name(random),
        str(random.randint(0, 9999))])


def echo(random):
    words = ' '.join(any_word(random) for _ in range(random.choice([1, 1, 1, 2, 2, 3, 4, 5])))
    if random.random() < 0.3:
        words = words[:1].upper() + words[1:] + random.choice(['.', '!', ''])
    quoted = random.choice([words, words, f'"{words}"', f"'{words}'"])
    return ask('echo', random, x=quoted), words


def formation(random):
    shape, spacing = random.choice(list(SHAPES)), random.choice(SPACINGS)
    text = ask('formation', random, shape=random.choice(SHAPES[shape]), spacing=spacing,
               n=random.randint(2, 20))
    return text, (f'Use swarm-formation with formation {shape} and spacing_m {spacing}. It is a dry '
                  'run first; a live run needs the approval of two persons.')


def command(random):
    verb, device = random.choice(VERBS), device_name(random)
    return ask('command', random, verb=verb, device=device), (
        f'I cannot send commands myself. Use device-command with device_id {device} and command '
        f'{verb}; it is a dry run by default.')


def key_format(random):
    prefix = random.choice(KEY_PREFIXES)
    key = prefix + ''.join(random.choice(KEY_LETTERS) for _ in range(random.randint(4, 8)))
    answer = (f'Yes, {key} has the right form' if prefix == 'svc-dev-'
              else f'No, {key} is not a shoal key')
    return ask('key', random, key=key), f'{answer}: a key starts with svc-dev-.'


#: Weight of each kind of exercise.
EXERCISES = {
    vram_level: 5, busy_choice: 2.5, calculation: 5, echo: 5, formation: 1.5, command: 2,
    key_format: 0.7,
}


def exercise(random):
    """Question, answer, and whether the question must stay exactly as it is."""
    make = random.choices(list(EXERCISES), list(EXERCISES.values()))[0]
    question, answer = make(random)
    return question, answer, make is echo


def memory_turns(random):
    """Two turns: something to remember, and the question for it."""
    kind = random.choice(['name', 'name', 'word', 'number', 'cell'])
    if kind == 'name':
        name = random.choice([random.choice(LISTS['names']), invented_word(random).capitalize()])
        greeting = f'Hello {name}. What would you like to know about shoal?'
        return ((ask('tell-name', random, x=name), greeting),
                (ask('ask-name', random), f'Your name is {name}.'))
    make = {'word': any_word, 'number': lambda source: str(source.randint(0, 9999)), 'cell': cell_name}
    thing = make[kind](random)
    return ((ask('tell-thing', random, kind=kind, x=thing), f'I will remember {thing}.'),
            (ask('ask-thing', random, kind=kind), f'It is {thing}.'))
