"""Facts that follow from the tables of the folder `tables`."""

from pathlib import Path

from facts import Fact
from grammar import fill, read_frames

FRAMES = read_frames('tables')


def rows(name):
    """The lines of a table as lists of columns."""
    path = Path(__file__).parent / 'tables' / f'{name}.txt'
    lines = path.read_text(encoding='utf-8').splitlines()
    return [line.split(' | ') for line in lines if line and not line.startswith('#')]


TIERS = [name for name, *_ in rows('tiers')]
KNOWN_CODES = {status for status, *_ in rows('errors')}


def asks(frames, **values):
    return [fill(frame, **values) for frame in FRAMES[frames]]


def other_words(column):
    """Splits values at `;`; `-` stands for none."""
    return [] if column == '-' else column.split('; ')


def tier_facts():
    """One fact per tier and limit, with `about` for follow-up questions."""
    for tier, price, month, minute, tokens, models in rows('tiers'):
        quota = 'no monthly limit' if month == 'unlimited' else f'{month} requests per month'
        answers = {
            'price': f'{tier} costs {price} per month.',
            'month': f'{tier} has {quota}.',
            'minute': f'{tier} allows {minute} requests per minute.',
            'tokens': f'{tier} allows up to {tokens} tokens per request.',
            'models': f'{tier} has {models}.',
            'all': f'{tier} costs {price} per month, with {quota}, {minute} a minute, '
                   f'up to {tokens} tokens per request, and {models}.',
        }
        name = f'({tier}|the {tier} tier|{tier.lower()})'
        for figure, answer in answers.items():
            yield Fact(f'tier-{tier.lower()}-{figure}', asks=asks(f'tier-{figure}', tier=name),
                       answer=answer, about=('tier', figure, tier))


def model_facts():
    for model, lowest, what in rows('models'):
        where = {'Free': 'It is on every tier.', 'Pro': 'It needs Pro or Enterprise.',
                 'Enterprise': 'It needs Enterprise.'}[lowest]
        yield Fact(f'model-{model}', nouns=[model, f'the model {model}'],
                   asks=asks('model', model=model), answer=f'{model} is {what}. {where}',
                   about=('model', 'what', model))
        for tier in TIERS:
            included = TIERS.index(tier) >= TIERS.index(lowest)
            answer = (f'Yes. {tier} includes {model}.' if included
                      else f'No. {model} {where.removeprefix("It ")}')
            yield Fact(f'model-{model}-on-{tier.lower()}', answer=answer,
                       asks=asks('model-on-tier', model=model, tier=tier))


def error_facts():
    for status, code, words, answer in rows('errors'):
        yield Fact(f'error-{status}', answer=answer, about=('error', 'what', status),
                   nouns=asks('error-name', status=status, code=code) + other_words(words),
                   asks=asks('error', status=status, code=code))
    for code, answer in rows('codes'):
        yield Fact(f'error-{code}', nouns=[code, f'the error {code}', f'error {code}'],
                   asks=asks('code', code=code), answer=answer)


def gate_facts():
    for gate, purpose, actions, approver in rows('gates'):
        wanted = '|'.join(other_words(actions))
        yield Fact(gate, nouns=[gate, f'the gate {gate}', gate.removeprefix('gate.')],
                   asks=asks('gate', gate=gate, purpose=purpose, actions=wanted),
                   answer=f'{gate} is the gate for {purpose}; {approver} must approve.',
                   about=('gate', 'what', gate))


def module_facts():
    for module, words, does in rows('modules'):
        yield Fact(f'module-{module}', answer=f'{module} {does}.', about=('module', 'what', module),
                   nouns=[module, f'the {module} (module|skill)', *other_words(words)],
                   asks=asks('module', module=module, does=does))


def table_facts():
    return [*tier_facts(), *model_facts(), *error_facts(), *gate_facts(), *module_facts()]
