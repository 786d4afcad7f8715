import type { Participant } from './conversation.ts'
import { findLeadingObject, type Mention, mentions } from './mention.ts'

/** Facts about a skill that participates. */
export interface SpeakingSkill {
  id: string
  name: string
  description: string
  /** True when the skill only reads, so that running it by mistake changes nothing. */
  reads: boolean
  /** True when the skill can run without input. */
  needsNothing: boolean
}

/** Participant that is to answer, and its input. */
export interface Addressee {
  participant: Participant
  /** Text after the mention; undefined when the message names no participant. */
  argument: string | undefined
}

/**
 * Chooses the participants that answer a message, by rules alone: those it names, in their order;
 * if it names none and `autoRoute` is on, the skill that it clearly matches, else the first model,
 * else the first agent.
 */
export const chooseSpeakers = (
  text: string,
  participants: readonly Participant[],
  { autoRoute, skills }: { autoRoute: boolean; skills: (id: string) => SpeakingSkill | undefined },
): Addressee[] => {
  const named = dropJsonMentions(text, mentions(text, participants))
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

/** Drops mentions inside the JSON that follows another mention; those are data. */
const dropJsonMentions = <P>(text: string, named: readonly Mention<P>[]): Mention<P>[] => {
  let dataEnds = 0
  return named.filter(({ start, end }) => {
    if (start < dataEnds) return false
    const rest = text.slice(end)
    const json = findLeadingObject(rest)
    if (json !== undefined) dataEnds = end + rest.indexOf('{') + json.length
    return true
  })
}

/** Points for a word in the name of a skill; a word in its description counts 1. */
const NAME_POINTS = 2
const CLEAR_POINTS = 4
const CLEAR_LEAD = 2

/**
 * Returns the skill whose name and description share words with a text, if the match is clear. Only
 * skills that read and need no input qualify, since the message does not name them.
 */
const clearSkill = (
  text: string,
  participants: readonly Participant[],
  skills: (id: string) => SpeakingSkill | undefined,
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

const pointsOf = ({ id, name, description }: SpeakingSkill, words: ReadonlySet<string>): number => {
  const named = wordsOf(`${id} ${name}`)
  const described = [...wordsOf(description)].filter(word => !named.has(word))
  const inName = [...named].filter(word => words.has(word)).length
  return inName * NAME_POINTS + described.filter(word => words.has(word)).length
}

/** Returns the significant words of a text: four letters or more, without common words. */
const wordsOf = (text: string): Set<string> =>
  new Set(
    (text.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? []).filter(word => !EVERYWHERE.has(word)),
  )

const EVERYWHERE: ReadonlySet<string> = new Set(
  'about also been could does each from give have into list make many more much only over please show some tell than that their them then there these they this those what when where which will with would your'.split(
    ' ',
  ),
)
