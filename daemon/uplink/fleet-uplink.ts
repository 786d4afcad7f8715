import { join } from 'node:path'
import type { Envelope } from '../../shared/wire/envelope.ts'
import type { Coverage } from '../coordinators/coverage.ts'
import { CoverageFile } from '../coordinators/coverage-file.ts'
import { KnownCoordinators } from '../coordinators/known-coordinators.ts'
import { genuineDesired } from '../desired/believable.ts'
import type { FleetCell } from '../fleet-cell.ts'
import { spoolLimits } from '../live-settings.ts'
import { Nudge } from './nudge.ts'
import { quarantineNotice } from './quarantine-notice.ts'
import { Uplink } from './uplink.ts'

/** Options shared by all connections to the coordinators. */
export const reachOf = ({ parts, identity, url, health }: FleetCell) => {
  const { config, logger, signal } = parts
  const coverage = new CoverageFile(config.state_dir, logger, signal)
  return {
    identity,
    url,
    coordinators: new KnownCoordinators({
      url,
      hasPinnedAuthority: identity.coordinator_ca !== undefined,
    }),
    connectTimeoutSeconds: config.coordinator.connect_timeout_seconds,
    health,
    nudge: new Nudge(),
    quarantine: quarantineNotice(identity.cell_id, logger),
    onCoverage: (plane: string, measured: Coverage) => coverage.record(plane, measured),
  }
}

/** Opens the uplink of a cell; what passes over it sets the clock of the coordinators. */
export const openFleetUplink = (cell: FleetCell, reach: ReturnType<typeof reachOf>): Uplink => {
  const { parts, identity, clock, births, listTrustedKeys } = cell
  const { config, leave, logger } = parts
  const { outboxBytes, findingsBytes, ...telemetryLimits } = spoolLimits(config)
  const onSend = ({ type, id }: Envelope, replica: string): void => {
    if (type !== 'birth') return
    clock.markRequest(id, replica)
    births.add(id, replica)
  }
  const uplink = new Uplink({
    ...reach,
    spool: { folder: join(config.state_dir, 'spool', 'telemetry'), ...telemetryLimits },
    outbox: { folder: join(config.state_dir, 'spool', 'acks'), maxBytes: outboxBytes },
    findings: { folder: join(config.state_dir, 'spool', 'findings'), maxBytes: findingsBytes },
    onSend,
    logger,
  })
  leave?.addEventListener('abort', () => uplink.sayDraining(), { once: true })
  uplink.onEnd(replica => clock.markEnd(replica))
  uplink.on('desired', ({ body, at }) => {
    const keys = { cellId: identity.cell_id, trusted: listTrustedKeys() }
    const { answers, issued_at = at } = genuineDesired(body, keys) ?? {}
    if (answers !== undefined) clock.markAnswer(answers, issued_at)
  })
  return uplink
}
