import { canonicalJson } from '../../../shared/canonical-json.ts'
import { PolicyDocument } from './policy-document.ts'
import { listMovedRules } from './rule-moves.ts'

/**
 * One difference; `before` and `after` are canonical JSON. `order` gives the place of a moved,
 * added or removed rule, such as `{"behind":"other-rule","place":2}`; places start at 1.
 */
export interface PolicyChange {
  what: 'version' | 'order' | 'rule' | 'test' | 'gate'
  id: string
  change: 'added' | 'removed' | 'changed'
  before: string | null
  after: string | null
}

/**
 * Returns the changes from one document to another, in the order of the rules, of which the first
 * match decides.
 */
export const policyDifference = (before: unknown, after: unknown): PolicyChange[] => {
  const [old, wanted] = [PolicyDocument.parse(before), PolicyDocument.parse(after)]
  const version = (document: PolicyDocument) => new Map([['version', document.version]])
  const moved = new Set(listMovedRules(idsOf(old), idsOf(wanted)))
  return [
    ...changes('version', version(old), version(wanted)),
    ...changes('rule', rulesOf(old), rulesOf(wanted)),
    ...changes('order', placesOf(old), placesOf(wanted)).filter(
      ({ id, change }) => change !== 'changed' || moved.has(id),
    ),
    ...changes('gate', gatesOf(old), gatesOf(wanted)),
    ...changes('test', testsOf(old), testsOf(wanted)),
  ]
}

const idsOf = ({ rules }: PolicyDocument): string[] => rules.map(({ id }) => id)

interface Place {
  place: number
  /** The preceding rule; null for the first. */
  behind: string | null
}

const placesOf = (document: PolicyDocument): Map<string, Place> => {
  const ids = idsOf(document)
  return new Map(ids.map((id, at) => [id, { place: at + 1, behind: ids[at - 1] ?? null }]))
}

const rulesOf = ({ rules }: PolicyDocument) => new Map(rules.map(rule => [rule.id, rule]))
const gatesOf = ({ gates = {} }: PolicyDocument) => new Map(Object.entries(gates))
/** Id of a test: tests have no names, so their content identifies them. */
const testsOf = ({ tests }: PolicyDocument) =>
  new Map(tests.map(test => [canonicalJson(test), test]))

const changes = (
  what: PolicyChange['what'],
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): PolicyChange[] =>
  [...new Set([...before.keys(), ...after.keys()])].flatMap(key => {
    const [old, wanted] = [formatEntry(before, key), formatEntry(after, key)]
    if (old === wanted) return []
    const change = old === null ? 'added' : wanted === null ? 'removed' : 'changed'
    const id = what === 'test' ? nameOf(before.get(key) ?? after.get(key)) : key
    return [{ what, id, change, before: old, after: wanted }]
  })

const formatEntry = (all: ReadonlyMap<string, unknown>, key: string): string | null =>
  all.has(key) ? canonicalJson(all.get(key)) : null

const nameOf = (test: unknown): string => (test as { action_type: string }).action_type

/** Summary such as `1 rule added, rule other-rule moved from place 2 to 1, 2 tests removed`. */
export const summarizeChanges = (difference: readonly PolicyChange[]): string => {
  if (difference.length === 0) return 'nothing changes'
  const isMove = ({ what, change }: PolicyChange) => what === 'order' && change === 'changed'
  const counts = new Map<string, number>()
  for (const { what, change } of difference)
    if (what !== 'version' && what !== 'order')
      counts.set(`${what} ${change}`, (counts.get(`${what} ${change}`) ?? 0) + 1)
  const parts = [
    ...[...counts].map(([name, count]) => formatCount(name, count)),
    ...movesOf(difference.filter(isMove)),
  ]
  return parts.length === 0 ? 'only the version differs' : parts.join(', ')
}

/** Maximum number of moves named in a summary; further ones are only counted. */
const NAMED_MOVES = 3

const movesOf = (moves: readonly PolicyChange[]): string[] => {
  if (moves.length > NAMED_MOVES) return [formatCount('rule moved', moves.length)]
  return moves.map(
    ({ id, before, after }) =>
      `rule ${id} moved from place ${placeIn(before)} to ${placeIn(after)}`,
  )
}

const placeIn = (json: string | null): number => (JSON.parse(json ?? '{}') as Place).place

const formatCount = (name: string, count: number): string => {
  const [noun = '', ...rest] = name.split(' ')
  return [count, count === 1 ? noun : `${noun}s`, ...rest].join(' ')
}
