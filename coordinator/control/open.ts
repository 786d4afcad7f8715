import type { TopicName } from '../../shared/wire/topics.ts'
import type { Base } from '../base/base.ts'
import type { Cells } from '../enrolment/cells.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { SigningKey } from '../signing/signing.ts'
import type { Store } from '../store/store.ts'
import type { Commands } from './commands.ts'
import type { Configs } from './configs.ts'
import { type ControlEars, createControl } from './control.ts'

/** Operations on the commands and configuration of cells. */
interface ControlViews {
  commands: Pick<Commands, 'create' | 'createWithin' | 'get' | 'list' | 'needsApproval' | 'plan'>
  configs: Pick<Configs, 'set' | 'show'>
}

interface ControlDomainParts extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'now'> {
  store: Pick<Store, 'ledger' | 'revisions'>
  signing: SigningKey
  cells: Pick<Cells, 'get'>
  fleet: Pick<Fleet, 'cell' | 'cells'>
  bus: {
    publish(
      name: TopicName,
      cellId: string,
      type: string,
      body: unknown,
      id?: string,
    ): Promise<void>
  }
}

const SWEEP_SECONDS = 1

export const openControl = async (
  parts: ControlDomainParts,
): Promise<{ ears: ControlEars; views: ControlViews }> => {
  const { store, signing, cells, fleet, bus, stack, schedules, logger, now } = parts
  const { commands, configs, hears } = await createControl({
    store,
    signer: signing,
    cells,
    fleet,
    publish: (name, cellId, body, id) => bus.publish(name, cellId, name, body, id),
    now,
    logger,
  })
  stack.defer(() => commands.close())
  schedules.every('commands.sweep', SWEEP_SECONDS, () => commands.sweep())
  return { ears: hears, views: { commands, configs } }
}
