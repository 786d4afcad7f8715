import type { Logger } from 'pino'
import { type DiscoveryModule, isScan, type LookupModule } from '../../../discovery/module.ts'
import { DISCOVERY_MODULES } from '../../../discovery/modules.ts'
import { type Runtime, timeoutSignal } from '../../../shared/runtime.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { Lookups } from './lookups.ts'

export interface AutoLookupParts {
  config: { upstreams: { egress: 'on' | 'off'; auto_run: 'on' | 'off' } }
  lookups: Pick<Lookups, 'run'>
  leaderWork: Pick<OpenLeader['leaderWork'], 'every'>
  logger: Pick<Logger, 'info'>
  runtime: Pick<Runtime, 'setTimeout'>
  modules?: readonly DiscoveryModule[]
}

type Lookup = LookupModule & DiscoveryModule

/**
 * Runs lookups by themselves where the operator has switched that on, each with the defaults of its
 * input, on the leader alone. A run that fails is one without findings.
 */
export const scheduleLookups = (parts: AutoLookupParts): void => {
  const { config, lookups, leaderWork, logger, runtime, modules = DISCOVERY_MODULES } = parts
  const { egress, auto_run } = config.upstreams
  if (egress === 'off' || auto_run === 'off') return
  for (const module of modules.filter(isLookup)) {
    const input = module.input.safeParse({})
    if (module.autoRun === undefined || !input.success) continue
    leaderWork.every(`lookups.${module.id}`, module.autoRun.everySeconds, async () => {
      try {
        const deadline = timeoutSignal(runtime, module.deadlineSeconds * 1000)
        await lookups.run(module, input.data, deadline)
      } catch (error) {
        logger.info({ module: module.id, reason: (error as Error).message }, 'a lookup has failed')
      }
    })
  }
}

const isLookup = (module: DiscoveryModule): module is Lookup => !isScan(module)
