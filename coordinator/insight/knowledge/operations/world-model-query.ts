import * as z from 'zod'
import { iso } from '../../../../shared/time.ts'
import type { GateViews } from '../../../access/gates/open.ts'
import type { PeopleViews } from '../../../access/people/open.ts'
import type { CallViews } from '../../../calls/invoke/call-views.ts'
import type { DeviceViews } from '../../../devices/inventory/open.ts'
import type { EntityViews } from '../../../discovery/entities/open-entities.ts'
import type { MonitorViews } from '../../../fleet/alerts/open-monitor.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { ReplicaViews } from '../../../fleet/cells/replica-states.ts'
import type { ModelViews } from '../../../fleet/models/open.ts'
import type { AuditViews } from '../../../kernel/audit/open.ts'
import type { VitalViews } from '../../../kernel/base/vitals.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { QueueViews } from '../../../kernel/queue/open.ts'
import {
  ASPECTS,
  Current,
  GateAspect,
  Identity,
  Narrative,
  QueueAspect,
  TenantAspect,
} from './world-model/aspects.ts'
import { buildNarrative } from './world-model/build-narrative.ts'
import {
  describeCurrent,
  describeGates,
  describeIdentity,
  describeQueue,
  describeTenants,
} from './world-model/describe-world.ts'

const NOTHING = {
  current: null,
  identity: null,
  narrative: null,
  queue: null,
  gates: null,
  tenants: null,
}

export default defineSkill({
  id: 'world-model-query',
  group: 'governance',
  name: 'World model query',
  description:
    'Describe one aspect of the service: its current state, identity, recent events, queue, gates or tenants.',
  tags: ['knowledge', 'operations'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({ aspect: z.enum(ASPECTS) }),
  output: z.object({
    aspect: z.enum(ASPECTS),
    generated_at: z.iso.datetime(),
    data_state: DataState,
    to_load: z.string().nullable().describe('What to load when there is no data; else null.'),
    current: Current.nullable(),
    identity: Identity.nullable(),
    narrative: Narrative.nullable(),
    queue: QueueAspect.nullable(),
    gates: GateAspect.nullable(),
    tenants: TenantAspect.nullable(),
  }),
  examples: ASPECTS.map(aspect => ({ aspect })),
  run: async (
    { aspect },
    context: Context &
      AuditViews &
      CallViews &
      DeviceViews &
      FleetViews &
      GateViews &
      ModelViews &
      MonitorViews &
      PeopleViews &
      QueueViews &
      EntityViews &
      ReplicaViews &
      VitalViews,
  ) => {
    const answer = (things: number, part: object, to_load: string) => ({
      aspect,
      generated_at: iso(context.now()),
      data_state: dataState(things),
      to_load: things === 0 ? to_load : null,
      ...NOTHING,
      ...part,
    })
    switch (aspect) {
      case 'current': {
        const current = await describeCurrent(context)
        const things = Object.keys(current.cells).length + current.devices.total
        return answer(things, { current }, 'no cell is enrolled; see shoal tokens create')
      }
      case 'identity':
        return answer(1, { identity: describeIdentity(context) }, '')
      case 'narrative': {
        const narrative = await buildNarrative(context)
        return answer(narrative.events.length, { narrative }, 'nothing happened in this period')
      }
      case 'queue': {
        const queue = await describeQueue(context)
        return answer(queue.newest.length, { queue }, 'no job was added to the queue yet')
      }
      case 'gates':
        return answer(1, { gates: await describeGates(context) }, '')
      case 'tenants': {
        const tenants = await describeTenants(context)
        return answer(tenants.tenants.length, { tenants }, 'no tenant exists')
      }
    }
  },
})
