import t from 'tap'
import { canonicalJson } from '../../shared/canonical-json.ts'
import { formatOutput } from '../../shared/print.ts'
import { escapeHidden, escapeHiddenInText } from '../../shared/visible.ts'

t.test('hidden, bidirectional and control characters are written as code points', async t => {
  for (const [what, given, shown] of [
    ['letters of the world and pictures stay', 'plain ä 中 Zürich 🚀', 'plain ä 中 Zürich 🚀'],
    ['an escape sequence', '\u001b[2Jx', '\\u{1b}[2Jx'],
    ['line ends, tabs and bells', 'a\nb\rc\td\u0007', 'a\\u{a}b\\u{d}c\\u{9}d\\u{7}'],
    ['controls of C1', '\u009b31m\u0085', '\\u{9b}31m\\u{85}'],
    ['delete and nothing', 'a\u007f\u0000', 'a\\u{7f}\\u{0}'],
    ['turned text', '\u202egnp.exe\u202c', '\\u{202e}gnp.exe\\u{202c}'],
    ['isolates', '\u2066a\u2069', '\\u{2066}a\\u{2069}'],
    [
      'no width',
      'a\u200b\u200c\u200d\u2060\ufeff',
      'a\\u{200b}\\u{200c}\\u{200d}\\u{2060}\\u{feff}',
    ],
    ['line and paragraph separators', 'a\u2028b\u2029', 'a\\u{2028}b\\u{2029}'],
    ['tags', 'a\u{e0041}\u{e007f}', 'a\\u{e0041}\\u{e007f}'],
    ['variation selectors', 'a\ufe0f\u{e0100}', 'a\\u{fe0f}\\u{e0100}'],
    [
      'blanks that are no space',
      'a\u3164\u00a0\u2800\u3000',
      'a\\u{3164}\\u{a0}\\u{2800}\\u{3000}',
    ],
    ['joiners of graphemes', 'a\u034f', 'a\\u{34f}'],
    ['half of a pair', 'a\ud800', 'a\\u{d800}'],
    ['private use', 'a\ue000', 'a\\u{e000}'],
  ] as const)
    t.equal(escapeHidden(given), shown, what)
})

t.test('the text of a model keeps its lines and emoji', async t => {
  const given = 'a\n\tb\u00a0c ❤\ufe0f\u200d\u001b[1m\u202e'
  t.equal(escapeHiddenInText(given), 'a\n\tb\u00a0c ❤\ufe0f\u200d\\u{1b}[1m\\u{202e}')
})

t.test('escaped canonical JSON differs for different values', async t => {
  const values = [{ 'a\u200b': 1 }, { 'a\\u{200b}': 1 }, { a: 1 }, { 'a\\\\u{200b}': 1 }]
  const texts = values.map(value => escapeHidden(canonicalJson(value)))
  t.equal(new Set(texts).size, values.length, texts.join(' '))
})

t.test('tables and records of the command line are escaped the same way', async t => {
  const text = formatOutput([{ name: 'b\u{e0041}' }, { name: 'c\u3164' }], 'text')
  t.match(text, 'b\\u{e0041}')
  t.match(text, 'c\\u{3164}')
})
