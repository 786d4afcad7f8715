import { type CoordinatorConfig, isLoopback } from '../config.ts'
import { createCallStats } from '../operations/call-stats.ts'
import type { Views } from '../operations/context.ts'
import { skills } from '../skills/index.ts'
import type { ControlPlane } from './control-plane.ts'

type Parts = { plane: ControlPlane; config: CoordinatorConfig; encrypted: boolean } & Pick<
  Views,
  | 'store'
  | 'settleUsage'
  | 'keys'
  | 'visitors'
  | 'gates'
  | 'policies'
  | 'now'
  | 'vitals'
  | 'queue'
  | 'webhooks'
  | 'conversations'
  | 'tasks'
  | 'agents'
  | 'auditHead'
>

/** What operations may look at and act on. */
export const viewsOf = ({ plane, config, encrypted, ...parts }: Parts): Views => ({
  ...parts,
  fleet: plane.fleet,
  routing: plane.routing,
  cells: plane.cells,
  identity: plane.identity,
  settings: plane.settings,
  commands: plane.control.commands,
  configs: plane.control.configs,
  monitor: plane.monitor,
  declarations: config.compliance,
  listens: { loopbackOnly: isLoopback(config.http.host), encrypted },
  auditDays: config.audit.retention_days,
  catalogue: config.catalogue,
  tiers: config.tiers,
  skills,
  skillIds: skills.map(skill => skill.id),
  calls: createCallStats(),
})
