import { DISCOVERY_MODULES } from '../../../../discovery/modules.ts'
import type { Catalogue } from '../../../../shared/catalogue.ts'
import { lazy } from '../../../../shared/lazy.ts'
import type { GateKeeper } from '../../../access/gates/gates.ts'
import type { Policies } from '../../../access/gates/policies.ts'
import type { Tenant } from '../../../access/people/tenants.ts'
import type { Flows } from '../../../agents/flows/flows.ts'
import { listAgentRoles } from '../../../agents/sessions/roles.ts'
import type { Devices } from '../../../devices/inventory/devices.ts'
import type { EntityQuery, EntityView } from '../../../discovery/entities/entity-query.ts'
import type { Alert } from '../../../fleet/alerts/alert.ts'
import type { Fleet } from '../../../fleet/cells/fleet.ts'
import type { Router } from '../../../fleet/routing/router.ts'
import { splitList } from '../../../kernel/base/split-list.ts'
import { flows as flowRegister } from '../../registers/definitions/flows.ts'
import { services as serviceRegister } from '../../registers/definitions/services.ts'
import type { RecordOf, Register } from '../../registers/register.ts'
import type { Registers } from '../../registers/registers.ts'
import type { ChatServers } from '../../services/chat-servers.ts'
import type { Services } from '../../services/services.ts'
import type { GraphFacts } from '../graph-model.ts'
import { alertFacts, fleetFacts, modelFacts } from './fleet-facts.ts'
import { collectRecordedFlowFacts, flowFacts, runFacts } from './flow-facts.ts'
import { complianceFacts, governanceFacts } from './governance-facts.ts'
import { serviceFacts } from './service-facts.ts'
import { type CallableFacts, moduleFacts, skillFacts } from './skill-facts.ts'
import { deviceFacts, discoveryFacts, tenantFacts } from './thing-facts.ts'

/** Views of the running system that the live layers are derived from. */
export interface LiveViews {
  fleet: Pick<Fleet, 'cells'>
  routing: { router: Pick<Router, 'tenantOf'> }
  catalogue: Catalogue
  devices: Pick<Devices, 'list'>
  entityQuery: Pick<EntityQuery, 'page'>
  gates: Pick<GateKeeper, 'definitions' | 'list'>
  policies: Pick<Policies, 'current'>
  monitor: { alerts: () => Alert[] }
  people: { tenant(id: string): Promise<Tenant | undefined> }
  flows: Pick<Flows, 'flows' | 'synergies' | 'openRuns'>
  services: Pick<Services, 'list'>
  chatServers: Pick<ChatServers, 'urlOf'>
  registers: Pick<Registers, 'readAll'>
}

interface LiveSources {
  views: LiveViews
  tiers: object
  callable: readonly CallableFacts[]
}

/** Entities and requests that a graph takes in at most, the newest ones. */
const MOST_ENTITIES = 5000
const MOST_REQUESTS = 200
/** Records of one register that a graph takes in at most. */
const MOST_RECORDS = 2000
const ENTITY_PAGE = 200
/** Cells or devices that are described in one step. */
const AT_ONCE = 250

type Pause = () => Promise<void>

/** Derives the live layers as the tenant may see them: shared parts, and its own. */
export const createLiveFacts = ({ views, tiers, callable }: LiveSources) => {
  // what a running program cannot change is derived once
  const listFixed = lazy(() => [
    skillFacts(callable, DISCOVERY_MODULES),
    moduleFacts(DISCOVERY_MODULES),
    complianceFacts(),
    flowFacts(views.flows.flows, views.flows.synergies),
  ])
  return async (tenantId: string, pause: Pause): Promise<GraphFacts> => {
    const { fleet, routing, devices, gates, policies, monitor, people, registers } = views
    const tenant = (await people.tenant(tenantId)) ?? { id: tenantId, name: tenantId }
    const requests = await gates.list(
      { states: ['pending', 'approved'], limit: MOST_REQUESTS },
      { tenantId },
    )
    const entities = await readEntities(views.entityQuery, pause)
    const runs = await views.flows.openRuns(tenantId)
    const flowRecords = await readOwnRecords(registers, flowRegister, tenantId)
    const serviceRecords = await readOwnRecords(registers, serviceRegister, tenantId)
    const tenantOf = (cellId: string) => routing.router.tenantOf(cellId)
    const parts: (() => GraphFacts)[] = [
      ...listFixed().map(facts => () => facts),
      () => modelFacts(views.catalogue, tiers),
      ...inParts([...fleet.cells()], cells => fleetFacts({ cells, tenantOf, tenantId })),
      ...inParts(devices.list(), deviceFacts),
      () =>
        governanceFacts({
          definitions: gates.definitions,
          policy: policies.current(),
          roles: listAgentRoles(),
          requests,
        }),
      () => tenantFacts(tenant),
      ...inParts(entities, discoveryFacts),
      () => alertFacts(monitor.alerts()),
      () =>
        serviceFacts({
          configured: views.services.list(),
          chatUrl: views.chatServers.urlOf(tenantId),
          records: serviceRecords,
          cells: fleet.cells(),
          tenantId,
        }),
      ...inParts(runs, runFacts),
      ...inParts(
        flowRecords.filter(({ id }) => !Object.hasOwn(views.flows.flows, id)),
        collectRecordedFlowFacts,
      ),
    ]
    const facts: GraphFacts = { nodes: [], edges: [] }
    for (const derive of parts) {
      await pause()
      const { nodes, edges } = derive()
      facts.nodes = facts.nodes.concat(nodes)
      facts.edges = facts.edges.concat(edges)
    }
    return facts
  }
}

const inParts = <T>(all: readonly T[], derive: (part: T[]) => GraphFacts): (() => GraphFacts)[] =>
  splitList(all, AT_ONCE).map(part => () => derive(part))

/** Records that the tenant keeps itself; those of the example organisation are left out. */
const readOwnRecords = async <R extends Register>(
  registers: LiveViews['registers'],
  register: R,
  tenantId: string,
): Promise<RecordOf<R>[]> => {
  const found = await registers.readAll(register, { tenantId }, { most: MOST_RECORDS })
  return found.isExample ? [] : found.records
}

const readEntities = async (
  entityQuery: LiveViews['entityQuery'],
  pause: Pause,
): Promise<EntityView[]> => {
  const all: EntityView[] = []
  let after: string | undefined
  do {
    await pause()
    const { entities, next } = await entityQuery.page({ limit: ENTITY_PAGE, after })
    all.push(...entities)
    after = next ?? undefined
  } while (after !== undefined && all.length < MOST_ENTITIES)
  return all
}
