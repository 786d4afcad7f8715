import type { Logger } from 'pino'
import { AuditHead } from '../../shared/wire/audit-head.ts'
import type { Service } from '../service.ts'
import type { Uplink } from '../uplink/uplink.ts'
import type { Witness } from '../witness.ts'

interface WitnessServiceOptions {
  witness: Witness
  uplink: Pick<Uplink, 'on' | 'countSessions'>
  logger: Pick<Logger, 'warn'>
}

/** Keeps the heads of the coordinator's audit that it sends. */
export const witnessService = ({ witness, uplink, logger }: WitnessServiceOptions): Service => ({
  name: 'witness',
  start: async ({ signal }) => {
    const off = uplink.on('witness', ({ body }) => {
      const { data } = AuditHead.safeParse(body)
      if (data === undefined) return
      witness
        .keep(data, { mayLag: uplink.countSessions() > 1 })
        .catch(error => logger.warn({ reason: error.message }, 'the audit head was not stored'))
    })
    signal.addEventListener('abort', off)
  },
})
