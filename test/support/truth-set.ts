import { EvidenceGraph } from '../../discovery/entities/evidence-graph.ts'
import type { Observation } from '../../discovery/entities/observation.ts'
import { isExclusive } from '../../discovery/entities/trace.ts'
import { TEST_PSEUDONYMS } from './pseudonyms.ts'
import { createWorld } from './truth-world.ts'

/** How well the registry found out which sightings are of one thing. */
interface TruthScore {
  seed: number
  sightings: number
  things: number
  entities: number
  precision: number
  recall: number
  f1: number
  /** Precision of pairs among hosts that show the identity of another one, and these. */
  spoofedPrecision: number
  /** Recall of pairs among hosts that answer at two interfaces at once. */
  multiHomedRecall: number
  /** Entities with two values of a key of which a thing has one. */
  contradictions: number
  /** Largest wrong merges and splits, for a reader who looks for their cause. */
  mistakes: string[]
}

/** Shows a generated world to the registry and compares its entities with the truth. */
export const scoreWorld = (seed: number, things: number, hours: number): TruthScore => {
  const sightings = createWorld(seed, things, hours)
  const graph = new EvidenceGraph(TEST_PSEUDONYMS)
  const founders = sightings.map(({ observation }) => findFounder(graph, observation))
  const table = new Map<string, number>()
  const entities = new Map<string, number>()
  const truths = new Map<string, number>()
  const count = (map: Map<string, number>, name: string): void => {
    map.set(name, (map.get(name) ?? 0) + 1)
  }
  for (const [n, { truth }] of sightings.entries()) {
    const entity = graph.traces.get(founders[n] ?? '')?.entityId ?? `lost ${n}`
    count(table, `${entity} ${truth}`)
    count(entities, entity)
    count(truths, truth)
  }
  const only = (prefix: RegExp): ReadonlyMap<string, number> =>
    new Map([...table].filter(([name]) => prefix.test(name)))
  const spoofed = only(/ spoof(ed|er)[0-9]+$/)
  const multiHomed = only(/ multihomed[0-9]+$/)
  const [both, claimed, actual] = [countPairs(table), countPairs(entities), countPairs(truths)]
  return {
    seed,
    sightings: sightings.length,
    things: truths.size,
    entities: entities.size,
    precision: both / claimed,
    recall: both / actual,
    f1: (2 * both) / (claimed + actual),
    spoofedPrecision: ratio(countPairs(spoofed), countPairs(sumBy(spoofed, 0))),
    multiHomedRecall: ratio(countPairs(multiHomed), countPairs(sumBy(multiHomed, 1))),
    contradictions: countContradictions(graph),
    mistakes: listMistakes(table),
  }
}

/** Oldest trace of the entity that a sighting was recorded for; it goes where that entity goes. */
const findFounder = (graph: EvidenceGraph, observation: Observation): string | undefined => {
  const seen = graph.observe(observation, observation.at)
  if (seen?.isNewEvidence) graph.regroup([seen.trace.id])
  return seen?.trace.entityId?.replace('ent_', '')
}

/** Sums rows named `<entity> <truth>` by one of the two. */
const sumBy = (table: ReadonlyMap<string, number>, part: 0 | 1): ReadonlyMap<string, number> => {
  const sums = new Map<string, number>()
  for (const [name, size] of table) {
    const of = splitRow(name)[part]
    sums.set(of, (sums.get(of) ?? 0) + size)
  }
  return sums
}

const splitRow = (name: string): [entity: string, truth: string] => {
  const at = name.lastIndexOf(' ')
  return [name.slice(0, at), name.slice(at + 1)]
}

/** A share; 1 of nothing. */
const ratio = (part: number, whole: number): number => (whole === 0 ? 1 : part / whole)

const countPairs = (sizes: ReadonlyMap<string, number>): number =>
  [...sizes.values()].reduce((sum, size) => sum + (size * (size - 1)) / 2, 0)

/** Counts entities that carry two values of an exclusive key. */
const countContradictions = (graph: EvidenceGraph): number => {
  const byEntity = Map.groupBy(graph.traces.values(), ({ entityId }) => entityId)
  return [...byEntity.values()].reduce((sum, traces) => {
    const keys = traces.flatMap(trace => trace.keys.filter(({ kind }) => isExclusive(kind)))
    const kinds = new Set(keys.map(({ kind }) => kind))
    const values = new Set(keys.map(({ kind, value }) => `${kind} ${value}`))
    return sum + (values.size > kinds.size ? 1 : 0)
  }, 0)
}

const listMistakes = (table: ReadonlyMap<string, number>): string[] => {
  const rows = [...table].map(([name, size]) => {
    const [entity, truth] = splitRow(name)
    return { entity, truth, size }
  })
  const wrong = (by: 'entity' | 'truth'): string[] =>
    [...Map.groupBy(rows, row => row[by])]
      .filter(([, parts]) => parts.length > 1)
      .map(([name, parts]) => {
        const sizes = parts.map(
          ({ entity, truth, size }) => `${by === 'entity' ? truth : entity}:${size}`,
        )
        return `${by} ${name} = ${sizes.join(' + ')}`
      })
  return [...wrong('entity'), ...wrong('truth')]
}
