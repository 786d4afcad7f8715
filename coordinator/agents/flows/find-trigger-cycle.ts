import { type FlowStep, type FlowsConfig, pathOf, type SynergiesConfig } from './flow.ts'

/** Skill by which a step of a flow starts a synergy. */
const TRIGGER = 'synergy-trigger'

/**
 * Finds synergies whose flows start each other in a circle, so that one run would be followed by
 * others for ever: the ids from one back to itself, or undefined.
 */
export const findTriggerCycle = (
  synergies: SynergiesConfig,
  flows: FlowsConfig,
): string[] | undefined => {
  const ids = Object.keys(synergies)
  const next = (id: string): string[] =>
    (synergies[id]?.flows ?? []).flatMap(flow =>
      (flows[flow]?.steps ?? []).flatMap(step => listTriggered(step, ids)),
    )
  const done = new Set<string>()
  const walk = (id: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(id)) return [...path.slice(path.indexOf(id)), id]
    if (done.has(id)) return undefined
    for (const other of next(id)) {
      const cycle = walk(other, [...path, id])
      if (cycle !== undefined) return cycle
    }
    done.add(id)
    return undefined
  }
  for (const id of ids) {
    const cycle = walk(id, [])
    if (cycle !== undefined) return cycle
  }
  return undefined
}

/** Synergies that a step may start; any of them where an earlier step decides. */
const listTriggered = ({ skill, input, compensate }: FlowStep, ids: readonly string[]): string[] =>
  [{ skill, input }, ...(compensate === undefined ? [] : [compensate])].flatMap(call => {
    const { synergy_id, dry_run = true } = call.input
    if (call.skill !== TRIGGER || dry_run === true) return []
    const isOpen = typeof synergy_id === 'object' && synergy_id && pathOf(synergy_id) !== undefined
    return isOpen ? [...ids] : ids.filter(id => id === synergy_id)
  })
