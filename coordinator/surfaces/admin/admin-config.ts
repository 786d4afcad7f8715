import type * as z from 'zod'
import type { Gates } from '../../access/gates/definition.ts'
import type { BrokerConfig } from '../../fleet/broker/broker-config.ts'
import type { BackupConfig } from '../../insight/backup/open.ts'
import type { ListenerSettings } from '../http/public-config.ts'

/** Configuration that the commands on the store of a coordinator need. */
export interface AdminConfig extends BackupConfig, ListenerSettings {
  name: string
  broker: BrokerConfig
  gates: z.output<typeof Gates>
  policy_file?: string | undefined
}
