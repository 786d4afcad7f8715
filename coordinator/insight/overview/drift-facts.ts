import { ShoalError } from '../../../shared/errors.ts'
import { isLive } from '../../access/keys/key.ts'
import type { KeyViews } from '../../access/keys/open.ts'
import type { QuotaViews } from '../../access/quota/open.ts'
import type { FlowViews } from '../../agents/flows/open.ts'
import { engineReports } from '../../fleet/cells/cell.ts'
import type { FleetViews } from '../../fleet/cells/open.ts'
import { isPresent } from '../../fleet/cells/presence.ts'
import type { ControlViews } from '../../fleet/control/open.ts'
import type { EnrolmentViews } from '../../fleet/enrolment/open.ts'
import type { ModelViews } from '../../fleet/models/open.ts'
import type { Context } from '../../kernel/declaration/context.ts'
import { scopeOf } from '../../kernel/declaration/tenant-scope.ts'
import type { RegisterViews } from '../registers/open.ts'
import type { DriftFacts } from '../reports/drift.ts'
import { comparePeriods } from '../reports/period.ts'
import { gatherSequences } from './sequence-facts.ts'

interface GatheredDrift {
  facts: DriftFacts
  /** True when records of the example organisation are among the declarations. */
  isExample: boolean
}

/** What there is and what is declared; keys, runs and records are those of the caller's tenant. */
export const gatherDriftFacts = async (
  context: Context &
    ControlViews &
    EnrolmentViews &
    FleetViews &
    FlowViews &
    KeyViews &
    ModelViews &
    QuotaViews &
    RegisterViews,
): Promise<GatheredDrift> => {
  const { cells, fleet, catalogue, usage, keys, configs, now } = context
  const scope = scopeOf(context)
  const [enrolled, lines, listed, { sequences, isExample }] = await Promise.all([
    cells.list(),
    usage.read({
      ...scope,
      ...comparePeriods(now()).current,
      groupBy: ['model'],
      limit: 1000,
    }),
    keys.list(scope),
    gatherSequences(context),
  ])
  const valid = enrolled.filter(({ revokedAt }) => revokedAt === undefined)
  const ids = new Set(valid.map(({ id }) => id))
  const tags = new Set(valid.flatMap(cell => cell.tags))
  const requests = new Map(
    lines.map(({ model, ok, cancelled, failed }) => [model, ok + cancelled + failed]),
  )
  const present = [...fleet.cells()].filter(cell => isPresent(cell.presence))
  const declared = new Set(catalogue.map(({ id }) => id))
  const facts: DriftFacts = {
    now: now(),
    sequences,
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
  return { facts, isExample }
}

const standingOf = async ({ configs }: ControlViews, cellId: string) => {
  const shown = await configs.show(cellId).catch(toUnreadable)
  if (shown instanceof ShoalError) return { cellId, isApplied: false, reason: shown.message }
  const { reported, version } = shown
  if (reported === undefined) return { cellId, isApplied: undefined, reason: '' }
  const isApplied = reported.state === 'applied' && reported.applied_version === version
  const reason = `${reported.state}, version ${reported.applied_version} of ${version}`
  return { cellId, isApplied, reason }
}

/** Error of a cell to which a document applies that cannot be read. */
const toUnreadable = (error: unknown): ShoalError => {
  if (error instanceof ShoalError && error.code === 'internal') return error
  throw error
}
