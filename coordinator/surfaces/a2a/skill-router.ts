import type { Skill } from '../../kernel/declaration/skill.ts'

export interface SkillCandidate {
  skill: Skill
  score: number
}

interface SkillRoute {
  /** Skill that is meant; undefined when it is not certain. */
  skill: Skill | undefined
  /** Best first, at most five. */
  candidates: SkillCandidate[]
}

/**
 * Number of characters of a text that are matched; a longer text is not a question, and matching it
 * would delay other requests.
 */
const MAX_CHARS = 4000

/** Words that do not help to identify a skill. */
const STOP = new Set(
  'a an and are at be by can do for from give how i in is it me my of on or please show tell that the to us was we what which who with you your'.split(
    ' ',
  ),
)

const wordsOf = (text: string): string[] =>
  (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).filter(word => !STOP.has(word)).map(stem)

/** `cells` and `cell` are the same word here. */
const stem = (word: string): string =>
  word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word

/**
 * Selects a skill for a sentence by its words alone: the same text always yields the same result. A
 * match is certain when the text has the name or the id of exactly one skill, or with a score of at
 * least 5 that is twice the second best. Only read-only skills are selected by a guess; skills that
 * act must be named.
 */
export const routeText = (whole: string, skills: readonly Skill[]): SkillRoute => {
  const text = whole.slice(0, MAX_CHARS)
  const words = ` ${text.toLowerCase().replaceAll(/[^a-z0-9_-]+/g, ' ')} `
  const asked = new Set(wordsOf(text))
  const ranked = skills
    .map(skill => ({ skill, score: scoreOf(skill, asked) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.skill.id < b.skill.id ? -1 : 1))
  const spoken = skills.filter(skill => isNamed(skill, words))
  const [best, next] = ranked
  const certain =
    spoken.length === 1
      ? spoken[0]
      : best !== undefined && best.score >= 5 && best.score >= 2 * (next?.score ?? 0)
        ? best.skill
        : undefined
  return {
    skill: certain?.effect === 'read' ? certain : undefined,
    candidates: ranked.slice(0, 5),
  }
}

const isNamed = ({ id, name }: Skill, words: string): boolean =>
  words.includes(` ${id} `) || words.includes(` ${name.toLowerCase()} `)

/** Points for each asked word: 3 in the id, 2 in the name or a tag, 1 in the description. */
const scoreOf = ({ id, name, tags, description }: Skill, asked: ReadonlySet<string>): number => {
  const [ids, names, others] = [id, `${name} ${tags.join(' ')}`, description].map(
    text => new Set(wordsOf(text)),
  )
  let score = 0
  for (const word of asked)
    score += ids?.has(word) ? 3 : names?.has(word) ? 2 : others?.has(word) ? 1 : 0
  return score
}
