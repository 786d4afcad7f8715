import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'

/** Logs once that the coordinator has quarantined this cell, and once when that ends. */
export interface QuarantineNotice {
  onRefused(error: Error): void
  onAccepted(): void
}

const WHAT_TO_DO =
  'this cell is in quarantine: another machine has connected with its identity. Stop the copy (a cloned ' +
  'disk, an old backup), then have an operator run: shoal cells release. If this machine is the ' +
  'copy: shoald leave --yes --force, then join with a token of its own'

/** A cell is refused as `forbidden` for this reason alone (docs/protocol.md, "Enrolment"). */
export const quarantineNotice = (
  cellId: string,
  logger: Pick<Logger, 'info' | 'error'>,
): QuarantineNotice => {
  let told = false
  return {
    onRefused: error => {
      if (told || !(error instanceof ShoalError) || error.code !== 'forbidden') return
      told = true
      logger.error({ cell_id: cellId, reason: error.message }, WHAT_TO_DO)
    },
    onAccepted: () => {
      if (told) logger.info({ cell_id: cellId }, 'this cell is no longer in quarantine')
      told = false
    },
  }
}
