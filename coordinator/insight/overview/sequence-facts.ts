import { isDeepStrictEqual } from 'node:util'
import { type FlowStep, REPAIR_FLOW } from '../../agents/flows/flow.ts'
import type { FlowViews } from '../../agents/flows/open.ts'
import { type FlowRun, hasEnded, type RunState } from '../../agents/flows/run.ts'
import type { RunCount } from '../../agents/flows/run-store.ts'
import type { Context } from '../../kernel/declaration/context.ts'
import { scopeOf } from '../../kernel/declaration/tenant-scope.ts'
import { flows as flowRegister } from '../registers/definitions/flows.ts'
import { synergies as synergyRegister } from '../registers/definitions/synergies.ts'
import type { RegisterViews } from '../registers/open.ts'
import type { SequenceFacts } from '../reports/flow-drift.ts'

/** Flows and synergies that are configured, recorded or run by the caller's tenant. */
export const gatherSequences = async (
  context: Context & FlowViews & RegisterViews,
): Promise<{ sequences: SequenceFacts[]; isExample: boolean }> => {
  const { flows, registers } = context
  const scope = scopeOf(context)
  const [counts, flowRecords, synergyRecords, open] = await Promise.all([
    flows.count(scope.tenantId),
    registers.readAll(flowRegister, scope),
    registers.readAll(synergyRegister, scope),
    flows.openRuns(scope.tenantId),
  ])
  const kept = { counts: Map.groupBy(counts, nameOf), open: Map.groupBy(open, nameOf) }
  const listSequences = (kind: Kind, ids: string[], records: readonly SequenceRecord[]) =>
    listIds(kind, [...ids, ...records.map(({ id }) => id)], kept).map(id =>
      describe({
        kind,
        id,
        steps: ids.includes(id) ? flows[kind](id).steps : undefined,
        record: records.find(record => record.id === id),
        hasRegister: records.length > 0,
        counts: kept.counts.get(`${kind} ${id}`) ?? [],
        open: kept.open.get(`${kind} ${id}`) ?? [],
      }),
    )
  return {
    sequences: [
      ...listSequences('flow', Object.keys(flows.flows), flowRecords.records),
      ...listSequences('synergy', Object.keys(flows.synergies), synergyRecords.records),
    ],
    isExample: flowRecords.isExample || synergyRecords.isExample,
  }
}

type Kind = SequenceFacts['kind']

interface SequenceRecord {
  id: string
  state: 'draft' | 'proposed' | 'active' | 'retired'
  skills: readonly string[]
}

/** Kind and id; the run of a synergy belongs to the synergy, not to its flows. */
const nameOf = ({ flowId, synergyId }: Pick<RunCount | FlowRun, 'flowId' | 'synergyId'>): string =>
  synergyId == null ? `flow ${flowId}` : `synergy ${synergyId}`

const listIds = (kind: Kind, known: string[], { counts }: { counts: Map<string, unknown> }) => {
  const prefix = `${kind} `
  const run = [...counts.keys()].flatMap(name =>
    name.startsWith(prefix) ? [name.slice(prefix.length)] : [],
  )
  return [...new Set([...known, ...run])].toSorted()
}

interface Sequence extends Pick<SequenceFacts, 'kind' | 'id' | 'hasRegister'> {
  /** Undefined for one that is not configured. */
  steps: readonly FlowStep[] | undefined
  record: SequenceRecord | undefined
  counts: readonly RunCount[]
  open: readonly FlowRun[]
}

const describe = ({ steps, record, counts, open, ...rest }: Sequence): SequenceFacts => {
  const sum = (isCounted: (state: RunState) => boolean): number =>
    counts.reduce((all, { state, runs }) => all + (isCounted(state) ? runs : 0), 0)
  const stray = steps === undefined ? [] : open.filter(run => !hasSteps(run.steps, steps))
  return {
    ...rest,
    configured: rest.id === REPAIR_FLOW ? ['repair-trigger'] : steps && skillsOf(steps),
    record: record && { state: stateOf(record), skills: record.skills },
    runs: {
      done: sum(state => state === 'done'),
      failed: sum(state => state === 'failed' || state === 'unknown'),
      open: sum(state => !hasEnded({ state })),
    },
    strayRuns: stray.map(({ id }) => id),
  }
}

const skillsOf = (steps: readonly FlowStep[]): string[] => steps.flatMap(({ skill }) => skill ?? [])

const stateOf = ({ state }: SequenceRecord): 'planned' | 'active' | 'retired' =>
  state === 'active' || state === 'retired' ? state : 'planned'

/** A run keeps its steps as JSON, which has no undefined members. */
const hasSteps = (kept: readonly FlowStep[], configured: readonly FlowStep[]): boolean =>
  isDeepStrictEqual(kept, JSON.parse(JSON.stringify(configured)))
