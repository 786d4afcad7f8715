import * as z from 'zod'
import { GpuFacts, HostFacts } from '../../../shared/wire/announce.ts'
import { EngineReport, GpuSample, HostSample } from '../../../shared/wire/telemetry.ts'
import type { Cell as LiveCell } from '../../fleet/cell.ts'
import { engineReports } from '../../fleet/cell.ts'
import type { Cell } from '../../keys/cells.ts'

/** A cell as lists show it. `null` means that it is not known. */
export const CellSummary = z.object({
  id: z.string(),
  name: z.string(),
  presence: z.enum(['unknown', 'ready', 'draining', 'suspect', 'dead', 'revoked']),
  version: z.string().nullable(),
  /** Model ids that are loaded. */
  models: z.array(z.string()),
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
  sample: z
    .object({ taken_at: z.iso.datetime(), host: HostSample, gpus: z.array(GpuSample) })
    .nullable(),
})

export const summaryOf = (cell: Cell, live: LiveCell | undefined): z.input<typeof CellSummary> => ({
  id: cell.id,
  name: live?.announce?.name ?? cell.name,
  presence: cell.revokedAt === undefined ? (live?.presence ?? 'unknown') : 'revoked',
  version: live?.announce?.version ?? null,
  models: live
    ? engineReports(live)
        .filter(report => report.state === 'ready')
        .flatMap(report => report.models)
    : [],
  linked: live?.link !== undefined,
  link_round_trip_ms: live?.link?.roundTripMs() ?? null,
  enrolled_at: new Date(cell.enrolledAt).toISOString(),
})

export const detailsOf = (cell: Cell, live: LiveCell | undefined): z.input<typeof CellDetails> => ({
  ...summaryOf(cell, live),
  epoch: live?.epoch ?? cell.epoch,
  host: live?.announce?.host ?? null,
  gpus: live?.announce?.gpus ?? [],
  tags: live?.announce?.tags ?? [],
  engines: live ? engineReports(live) : [],
  sample: live?.sample
    ? {
        taken_at: new Date(live.sample.taken_at).toISOString(),
        host: live.sample.host,
        gpus: live.sample.gpus,
      }
    : null,
})
