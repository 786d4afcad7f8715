/**
 * Text of llama.cpp's grammar language (grammars/README.md). An alternative of nothing is written
 * as an empty literal: after `|` or `::=` a line break would join the next rule.
 */
export const NOTHING = '""'

export const literal = (text: string): string =>
  `"${text.replace(/["\\]/g, character => `\\${character}`).replace(/\n/g, '\\n')}"`

/** `after` follows once the text is written. No text may be the beginning of another one. */
interface Branch {
  text: string
  after: string
}

/**
 * Alternatives that branch at the first differing character: an engine then follows as many
 * branches as there are next characters, not as many as there are texts.
 */
export const oneOf = (branches: readonly Branch[]): string => {
  const [first, ...others] = branches as [Branch, ...Branch[]]
  if (others.length === 0) return `${literal(first.text)} ${first.after}`.trimEnd()
  const shared = commonLength(branches.map(({ text }) => text))
  const rest = branches.map(({ text, after }) => ({ text: text.slice(shared), after }))
  const byCharacter = [...Map.groupBy(rest, ({ text }) => [...text][0] ?? '').values()]
  const alternatives = `(${byCharacter.map(oneOf).join(' | ')})`
  return shared === 0 ? alternatives : `${literal(first.text.slice(0, shared))} ${alternatives}`
}

/** Whole characters, counted in UTF-16 units. */
const commonLength = (texts: readonly string[]): number => {
  let length = 0
  for (const character of texts[0] as string) {
    if (!texts.every(text => text.startsWith(character, length))) break
    length += character.length
  }
  return length
}

/** `{min,max}` behind an expression. */
export const times = (expression: string, min: number, max: number | undefined): string =>
  min === 0 && max === undefined ? `${expression}*` : `${expression}{${min},${max ?? ''}}`

/**
 * `min` to `max` items. Both are names of rules: the engine counts what is inside of brackets
 * several times.
 *
 * @param next a comma and an item
 */
export const list = (item: string, next: string, min: number, max: number | undefined): string => {
  if (max === 0) return NOTHING
  const more = times(next, Math.max(0, min - 1), max === undefined ? undefined : max - 1)
  return min > 0 ? `${item} ${more}` : `(${item} ${more})?`
}
