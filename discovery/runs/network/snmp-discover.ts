import { findEnterpriseName } from '../../entities/vendors/enterprise-name.ts'
import { listTargets } from '../../net/list-targets.ts'
import { findPresentHosts } from '../../net/present-hosts.ts'
import { runTogether } from '../../net/run-together.ts'
import type { ScanRun } from '../../scan-run.ts'
import { isInScope } from '../../scope.ts'
import { enterpriseOf, readEngineId } from './snmp/engine-id.ts'
import { findAgent } from './snmp/find-agent.ts'
import { readHostResources, readPrinter } from './snmp/read-host.ts'
import { readComponents, readInterfaces, readNeighbours, readStations } from './snmp/read-tables.ts'
import type { SnmpSession } from './snmp/session.ts'
import { readCredentials, SnmpConfig, type SnmpCredentials } from './snmp/snmp-config.ts'

export const config = SnmpConfig

/** Hosts that are asked at once; each has one request in flight per set of credentials. */
const WINDOW = 16

/** Time for the tables of one host, milliseconds. */
const TABLES_MS = 20_000

const runSnmpDiscover: ScanRun<{ subnet: string }> = async function* ({ subnet }, context) {
  const credentials = await readCredentials(context.config)
  const { addresses, scope, isCut } = await listTargets(subnet, context.scope)
  if (isCut) context.warn('partial_result', `${subnet} has more addresses than one run asks`)
  if (credentials.communities.length === 0 && credentials.users.length === 0)
    context.warn(
      'auth_missing',
      'no community and no user is configured in discovery.modules.snmp-discover: only engine ids are read',
    )
  const { signal } = context
  const ask = (address: string) =>
    isInScope(scope, address) ? readHost(address, credentials, signal) : undefined
  const askAll = (some: readonly string[]) =>
    runTogether(some, WINDOW, signal, async each => ({ found: await ask(each) }))
  const { first, listLate } = await findPresentHosts(addresses, { scope, signal })
  for await (const { found } of askAll(first)) if (found !== undefined) yield found
  for await (const { found } of askAll(await listLate())) if (found !== undefined) yield found
}
export default runSnmpDiscover

const readHost = async (address: string, credentials: SnmpCredentials, signal: AbortSignal) => {
  const agent = await findAgent({ address, signal }, credentials)
  if (agent === undefined) return undefined
  const { access, engineId, hasDefaultCommunity } = agent
  using session = access?.session
  const engine = readEngineId(engineId)
  const tables = fitTables(await readTables(session))
  const system = access?.system ?? UNKNOWN_SYSTEM
  const enterprise = enterpriseOf(system.object_id)
  const main = findMain(tables.components)
  return {
    ip: address,
    version: access?.version ?? null,
    engine_id: engineId,
    engine_vendor: engine.vendor,
    engine_mac: engine.mac,
    ...system,
    enterprise,
    vendor: main?.manufacturer ?? findEnterpriseName(enterprise),
    model: main?.model ?? tables.printer?.model ?? null,
    serial: main?.serial ?? tables.printer?.serial ?? null,
    firmware: main?.software ?? main?.firmware ?? null,
    ...tables,
    default_credentials: hasDefaultCommunity,
  }
}

const UNKNOWN_SYSTEM = {
  description: null,
  object_id: null,
  uptime_s: null,
  contact: null,
  name: null,
  location: null,
  is_bridge: null,
  is_router: null,
}

/** Tables of an agent, as many as the time allows; what is missing then is marked. */
const readTables = async (session: SnmpSession | undefined) => {
  const tables = {
    resources: null as Awaited<ReturnType<typeof readHostResources>>['resources'],
    printer: null as Awaited<ReturnType<typeof readPrinter>>['printer'],
    interfaces: [] as Awaited<ReturnType<typeof readInterfaces>>['interfaces'],
    components: [] as Awaited<ReturnType<typeof readComponents>>['components'],
    neighbours: [] as Awaited<ReturnType<typeof readNeighbours>>['neighbours'],
    stations: [] as Awaited<ReturnType<typeof readStations>>['stations'],
    is_truncated: false,
  }
  if (session === undefined) return tables
  const end = performance.now() + TABLES_MS
  const steps = [
    () => readHostResources(session),
    () => readPrinter(session),
    () => readInterfaces(session),
    () => readComponents(session),
    () => readNeighbours(session),
    () => readStations(session, tables.interfaces),
  ]
  for (const step of steps) {
    if (performance.now() > end) return { ...tables, is_truncated: true }
    const { isTruncated, ...found } = await step()
    Object.assign(tables, found)
    tables.is_truncated ||= isTruncated
  }
  return tables
}

/** Bytes of JSON for the tables of a row; the largest row is 64 KiB. */
const MAX_TABLE_BYTES = 56 * 1024

type Tables = Awaited<ReturnType<typeof readTables>>

/** Halves the longest table until the row is small enough. */
const fitTables = (tables: Tables): Tables => {
  if (Buffer.byteLength(JSON.stringify(tables)) <= MAX_TABLE_BYTES) return tables
  const names = ['interfaces', 'components', 'neighbours', 'stations'] as const
  const sizeOf = (name: (typeof names)[number]) => JSON.stringify(tables[name]).length
  const [largest = 'stations'] = names.toSorted((a, b) => sizeOf(b) - sizeOf(a))
  const half = tables[largest].slice(0, tables[largest].length >> 1)
  return fitTables({ ...tables, [largest]: half, is_truncated: true })
}

/** The chassis, or the first component with a serial number. */
const findMain = <C extends { class: string | null; serial: string | null }>(
  components: readonly C[],
): C | undefined =>
  components.find(each => each.class === 'chassis') ??
  components.find(({ serial }) => serial !== null)
