import type { Participant } from './conversation.ts'
import { leadingObject, type Mention, mentions } from './mention.ts'

/** What is known of a skill that takes part. */
export interface SkillFacts {
  id: string
  name: string
  description: string
  /** It only looks: nothing changes when it runs by mistake. */
  reads: boolean
  /** It can run without any input. */
  needsNothing: boolean
}

/** One who is to answer, and with what. */
export interface Addressed {
  participant: Participant
  /** The text behind the mention; undefined where nobody was named. */
  argument: string | undefined
}

/**
 * Who answers a message, by rules alone: those it names, in its order; where it names nobody and
 * `autoRoute` is on, the skill that it clearly speaks of, else the first model, else the first agent.
 */
export const chooseSpeakers = (
  text: string,
  participants: readonly Participant[],
  { autoRoute, skills }: { autoRoute: boolean; skills: (id: string) => SkillFacts | undefined },
): Addressed[] => {
  const named = outsideJson(text, mentions(text, participants))
  if (named.length > 0)
    return named
      .filter(({ participant }) => participant.type !== 'person')
      .map(mention => ({
        participant: mention.participant,
        argument: text.slice(mention.end, named[named.indexOf(mention) + 1]?.start),
      }))
  if (!autoRoute) return []
  const one =
    clearSkill(text, participants, skills) ??
    participants.find(({ type }) => type === 'model') ??
    participants.find(({ type }) => type === 'agent')
  return one === undefined ? [] : [{ participant: one, argument: undefined }]
}

/** A name inside the JSON that stands behind another name is data. */
const outsideJson = <P>(text: string, named: readonly Mention<P>[]): Mention<P>[] => {
  let dataEnds = 0
  return named.filter(({ start, end }) => {
    if (start < dataEnds) return false
    const rest = text.slice(end)
    const json = leadingObject(rest)
    if (json !== undefined) dataEnds = end + rest.indexOf('{') + json.length
    return true
  })
}

/** Words of a name count more than those of a description. */
const NAME_POINTS = 2
const CLEAR_POINTS = 4
const CLEAR_LEAD = 2

/**
 * The skill whose name and description have the words of a text in them, if it is clearly one: only
 * those that look and need no input, because nobody has asked for it by name.
 */
const clearSkill = (
  text: string,
  participants: readonly Participant[],
  skills: (id: string) => SkillFacts | undefined,
): Participant | undefined => {
  const words = wordsOf(text)
  const ranked = participants
    .filter(({ type }) => type === 'skill')
    .flatMap(participant => {
      const facts = skills(participant.id)
      if (facts === undefined || !facts.reads || !facts.needsNothing) return []
      return [{ participant, points: pointsOf(facts, words) }]
    })
    .toSorted((a, b) => b.points - a.points)
  const [best, second] = ranked
  if (best === undefined || best.points < CLEAR_POINTS) return undefined
  return best.points - (second?.points ?? 0) >= CLEAR_LEAD ? best.participant : undefined
}

const pointsOf = ({ id, name, description }: SkillFacts, words: ReadonlySet<string>): number => {
  const named = wordsOf(`${id} ${name}`)
  const described = [...wordsOf(description)].filter(word => !named.has(word))
  const inName = [...named].filter(word => words.has(word)).length
  return inName * NAME_POINTS + described.filter(word => words.has(word)).length
}

/** Words that tell something: of four letters and more, without those that stand everywhere. */
const wordsOf = (text: string): Set<string> =>
  new Set(
    (text.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? []).filter(word => !EVERYWHERE.has(word)),
  )

const EVERYWHERE: ReadonlySet<string> = new Set(
  'about also been could does each from give have into list make many more much only over please show some tell than that their them then there these they this those what when where which will with would your'.split(
    ' ',
  ),
)
