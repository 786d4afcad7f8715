import * as z from 'zod'
import { GpuFacts, HostFacts } from '../../../../shared/wire/announce.ts'
import { FIRST_CAPABILITY } from '../../../../shared/wire/capability.ts'
import { VerbFacts } from '../../../../shared/wire/command.ts'
import { EngineReport, GpuSample, HostSample } from '../../../../shared/wire/telemetry.ts'
import type { OperatorSettings } from '../../enrolment/cell-settings.ts'
import type { EnrolledCell } from '../../enrolment/cells.ts'
import type { Cell } from '../cell.ts'
import { engineReports } from '../cell.ts'
import { type CellMetric, metricsOf } from '../metrics.ts'
import { isGone, PRESENCES } from '../presence.ts'

/** Operator-defined labels of a cell, such as `site: north`. */
export const CellLabels = z.record(
  z.string().regex(/^[a-z0-9]([a-z0-9._/-]{0,61}[a-z0-9])?$/),
  z.string().max(256),
)

/** A cell as lists show it. `null` means that it is not known. */
export const CellSummary = z.object({
  id: z.string(),
  name: z.string(),
  presence: z.enum([...PRESENCES, 'quarantined', 'revoked']),
  /** An operator has taken it out of routing. */
  drained: z.boolean(),
  labels: CellLabels,
  /** Tenant to which the cell is dedicated; null for a shared cell. */
  tenant_id: z.string().nullable(),
  version: z.string().nullable(),
  /** Model ids that are loaded. */
  models: z.array(z.string()),
  /** GPU utilization from the newest sample; null when unknown. */
  gpu_percent: z.number().nullable(),
  vram_used_percent: z.number().nullable(),
  slots_busy_percent: z.number().nullable(),
  queued: z.int().nullable(),
  linked: z.boolean(),
  link_round_trip_ms: z.number().nullable(),
  enrolled_at: z.iso.datetime(),
})

/** Everything that is known of one cell now. */
export const CellDetails = CellSummary.extend({
  epoch: z.int(),
  host: HostFacts.nullable(),
  gpus: z.array(GpuFacts),
  tags: z.array(z.string()),
  engines: z.array(EngineReport),
  /** Capability level of the daemon; null before its first report. */
  capability: z.int().nullable(),
  /** Verbs that the cell accepts as commands. */
  verbs: z.array(VerbFacts),
  sample: z
    .object({ taken_at: z.iso.datetime(), host: HostSample, gpus: z.array(GpuSample) })
    .nullable(),
})

export const cellSummaryOf = (
  cell: EnrolledCell,
  live: Cell | undefined,
  settings: OperatorSettings,
): z.input<typeof CellSummary> => ({
  id: cell.id,
  name: live?.announce?.name ?? cell.name,
  presence: presenceOf(cell, live),
  drained: settings.drainedAt !== undefined,
  labels: settings.labels,
  tenant_id: settings.owner?.tenantId ?? null,
  version: live?.announce?.version ?? null,
  models: modelsOf(live),
  ...loadOf(live),
  linked: live?.link !== undefined,
  link_round_trip_ms: live?.link?.roundTripMs() ?? null,
  enrolled_at: new Date(cell.enrolledAt).toISOString(),
})

/** An operator's decision about a cell takes precedence over its observed presence. */
const presenceOf = (cell: EnrolledCell, live: Cell | undefined) => {
  if (cell.revokedAt !== undefined) return 'revoked'
  return cell.quarantinedAt === undefined ? (live?.presence ?? 'unknown') : 'quarantined'
}

/** Models that can be requested now; the models of a cell that is gone cannot. */
const modelsOf = (live: Cell | undefined): string[] =>
  live === undefined || isGone(live.presence)
    ? []
    : engineReports(live)
        .filter(report => report.state === 'ready')
        .flatMap(report => report.models)

const LOAD = [
  'gpu_percent',
  'vram_used_percent',
  'slots_busy_percent',
  'queued',
] as const satisfies CellMetric[]

/** Load of a live cell; the last sample of a cell that is gone says nothing about the present. */
const loadOf = (live: Cell | undefined) => {
  const sample = live === undefined || isGone(live.presence) ? undefined : live.sample
  const metrics = sample && metricsOf(sample)
  const entries = LOAD.map(name => [name, metrics?.[name] ?? null])
  return Object.fromEntries(entries) as Record<(typeof LOAD)[number], number | null>
}

/** Tags from the cell's join token and from its announcement. */
export const tagsOf = (cell: EnrolledCell, live: Cell | undefined): string[] => [
  ...new Set([...cell.tags, ...(live?.announce?.tags ?? [])]),
]

export const detailsOf = (
  cell: EnrolledCell,
  live: Cell | undefined,
  settings: OperatorSettings,
): z.input<typeof CellDetails> => ({
  ...cellSummaryOf(cell, live, settings),
  epoch: live?.epoch ?? cell.epoch,
  host: live?.announce?.host ?? null,
  gpus: live?.announce?.gpus ?? [],
  tags: tagsOf(cell, live),
  engines: live ? engineReports(live) : [],
  capability: live?.announce ? (live.announce.capability ?? FIRST_CAPABILITY) : null,
  verbs: live?.announce?.verbs ?? [],
  sample: live?.sample
    ? {
        taken_at: new Date(live.sample.taken_at).toISOString(),
        host: live.sample.host,
        gpus: live.sample.gpus,
      }
    : null,
})
