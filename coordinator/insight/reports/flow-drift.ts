import type { DriftItem } from './drift.ts'

/** A flow or a synergy: its configuration, its record in the register, and the tenant's runs. */
export interface SequenceFacts {
  kind: 'flow' | 'synergy'
  id: string
  /** Skills of the configured steps, in order; undefined when the configuration lacks it. */
  configured: readonly string[] | undefined
  /** Record of the register that the tenant keeps. */
  record: { state: 'planned' | 'active' | 'retired'; skills: readonly string[] } | undefined
  /** True when the register of this kind has records, so that it declares all that there should be. */
  hasRegister: boolean
  /** Runs that are kept: those of the last 90 days. */
  runs: { done: number; failed: number; open: number }
  /** Open runs whose steps are not the configured ones. */
  strayRuns: readonly string[]
}

const NAMED_RUNS = 3

/** A flow that is neither configured nor run nor declared as active is not there at all. */
export const sequenceItem = (facts: SequenceFacts): DriftItem[] => {
  const judged = facts.configured === undefined ? judgeMissing(facts) : judgeConfigured(facts)
  if (judged === undefined) return []
  const [drift, evidence] = judged
  return [{ kind: facts.kind, id: facts.id, class: drift, evidence }]
}

type Judgement = [drift: DriftItem['class'], evidence: string]

const judgeMissing = ({ record, runs }: SequenceFacts): Judgement | undefined => {
  if (runs.open > 0) return ['PEARL', `${runs.open} runs are open, and it is not configured`]
  if (record?.state === 'active') return ['CRUFT', 'active in the register, and not configured']
  const ended = runs.done + runs.failed
  return ended === 0
    ? undefined
    : ['CRUFT', `${ended} runs are kept, and it is no longer configured`]
}

const judgeConfigured = (facts: SequenceFacts): Judgement => {
  const { configured = [], record, hasRegister, runs, strayRuns } = facts
  if (strayRuns.length > 0) {
    const named = strayRuns.slice(0, NAMED_RUNS).join(', ')
    return ['LIVE_SHIM', `${strayRuns.length} open runs continue with earlier steps: ${named}`]
  }
  if (record?.state === 'retired') return ['CRUFT', 'retired in the register, and still configured']
  if (record?.state === 'active' && record.skills.join() !== configured.join())
    return [
      'LIVE_SHIM',
      `configured as ${configured.join(', ')}; the register has ${record.skills.join(', ')}`,
    ]
  if (runs.failed > 0 && runs.done === 0)
    return ['CRUFT', `configured, and all of ${runs.failed} ended runs have failed`]
  if (record === undefined && hasRegister && runs.done > 0)
    return ['PEARL', `${runs.done} runs were done, and the register lacks it`]
  const ran =
    runs.done === 0
      ? 'no run has ended in 90 days'
      : `${runs.done} runs were done, ${runs.failed} failed`
  return ['LEGIT', `configured; ${ran}`]
}
