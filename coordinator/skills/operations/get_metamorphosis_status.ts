import * as z from 'zod'
import { engineReports } from '../../fleet/cell.ts'
import { isPresent } from '../../fleet/presence.ts'
import { isLive } from '../../keys/key.ts'
import type { Context } from '../../operations/context.ts'
import { DataState, dataState } from '../../operations/data-state.ts'
import { scopeOf } from '../../operations/tenant-scope.ts'
import { DRIFT_CLASSES, DRIFT_KINDS, type DriftFacts, scanDrift } from '../../reports/drift.ts'
import { comparePeriods } from '../../reports/period.ts'
import { percentOf } from '../../reports/service-figures.ts'
import { defineSkill } from '../skill.ts'

const Class = z.enum(DRIFT_CLASSES)

export default defineSkill({
  id: 'get_metamorphosis_status',
  name: 'Metamorphosis status',
  description:
    'Scan the drift of cells, models, settings and keys against what is declared: LEGIT, CRUFT, PEARL or LIVE_SHIM, with evidence.',
  tags: ['operations', 'drift', 'governance'],
  access: 'operator',
  effect: 'read',
  publishesInput: false,
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    tenant_id: z.string().describe('Keys and requests are those of this tenant.'),
    counts: z.record(Class, z.int()),
    legit_percent: z.number().nullable(),
    items: z.array(
      z.object({
        kind: z.enum(DRIFT_KINDS),
        id: z.string(),
        class: Class,
        evidence: z.string(),
      }),
    ),
  }),
  run: async (_input, context) => {
    const items = scanDrift(await observe(context))
    const counts = { LEGIT: 0, CRUFT: 0, PEARL: 0, LIVE_SHIM: 0 }
    for (const each of items) counts[each.class]++
    return {
      data_state: dataState(items.length),
      tenant_id: scopeOf(context).tenantId,
      counts,
      legit_percent: percentOf(counts.LEGIT, items.length),
      items,
    }
  },
})

const observe = async (context: Context): Promise<DriftFacts> => {
  const { cells, fleet, catalogue, usage, keys, configs, now } = context
  const scope = scopeOf(context)
  const [enrolled, lines, listed] = await Promise.all([
    cells.list(),
    usage.read({
      ...scope,
      ...comparePeriods(now()).current,
      groupBy: ['model'],
      limit: 1000,
    }),
    keys.list(scope),
  ])
  const valid = enrolled.filter(({ revokedAt }) => revokedAt === undefined)
  const ids = new Set(valid.map(({ id }) => id))
  const tags = new Set(valid.flatMap(cell => cell.tags))
  const requests = new Map(
    lines.map(({ model, ok, cancelled, failed }) => [model, ok + cancelled + failed]),
  )
  const present = [...fleet.cells()].filter(cell => isPresent(cell.presence))
  const declared = new Set(catalogue.map(({ id }) => id))
  return {
    now: now(),
    cells: valid.map(({ id, quarantinedAt }) => ({
      id,
      isPresent: isPresent(fleet.cell(id)?.presence ?? 'unknown'),
      isDrained: fleet.cell(id)?.drained ?? false,
      isQuarantined: quarantinedAt !== undefined,
    })),
    catalogue: catalogue.map(({ id }) => ({
      id,
      isServed: fleet.serves(id),
      requests: requests.get(id) ?? 0,
    })),
    undeclaredModels: present.flatMap(cell =>
      engineReports(cell).flatMap(({ models, state }) =>
        models
          .filter(id => !declared.has(id))
          .map(id => ({ id, cellId: cell.id, isLoaded: state === 'ready' })),
      ),
    ),
    configurations: await Promise.all(
      present.filter(({ id }) => ids.has(id)).map(async ({ id }) => standingOf(context, id)),
    ),
    documents: configs.list().map(({ scope, name }) => ({
      scope,
      name,
      isUsed: scope === 'fleet' || (scope === 'cell' ? ids : tags).has(name),
    })),
    keys: listed
      .filter(key => isLive(key, now()))
      .map(({ id, createdAt, lastUsedAt, expiresAt }) => ({
        id,
        createdAt,
        lastUsedAt,
        expiresAt,
      })),
  }
}

const standingOf = async ({ configs }: Context, cellId: string) => {
  const { reported, version } = await configs.show(cellId)
  if (reported === undefined) return { cellId, isApplied: undefined, reason: '' }
  const isApplied = reported.state === 'applied' && reported.applied_version === version
  const reason = `${reported.state}, version ${reported.applied_version} of ${version}`
  return { cellId, isApplied, reason }
}
