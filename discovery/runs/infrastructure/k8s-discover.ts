import type * as z from 'zod'
import { resolveTarget } from '../../resolve-target.ts'
import { NotPossibleHere, type ScanContext, type ScanRun } from '../../scan-run.ts'
import {
  type ClusterRow,
  clusterRow,
  countPods,
  daemonSetRow,
  isOwnWorkload,
  namespaceRow,
  nodeRow,
  podRow,
  replicaRow,
  serviceRow,
} from './k8s/cluster-rows.ts'
import { accessFor, findAccess, KubeConfig } from './k8s/find-access.ts'
import type { KubeAccess } from './k8s/kube-access.ts'
import { KubeClient } from './k8s/kube-client.ts'
import {
  DaemonSet,
  Namespace,
  Node,
  Pod,
  ReplicaWorkload,
  Service,
  Version,
} from './k8s/kube-objects.ts'
import { ListRefused, listObjects } from './k8s/list-objects.ts'

export const config = KubeConfig

const run: ScanRun<{ api_server?: string }, ClusterRow> = async function* (input, context) {
  const access = chooseAccess(input.api_server, context)
  if (access.credentials === undefined && access.lack !== undefined)
    context.warn('auth_missing', access.lack)
  const { hostname } = new URL(access.server)
  const target = await resolveTarget(context.scope, hostname.replace(/^\[(.*)\]$/, '$1'))
  const client = new KubeClient(access, target, context.signal)
  yield* readCluster(access, client, context)
}

export default run

const chooseAccess = (server: string | undefined, context: ScanContext): KubeAccess => {
  const configured = readAccess(context)
  if (server !== undefined) return accessFor(server, configured)
  if (configured !== undefined) return configured
  throw new NotPossibleHere(
    'no cluster is configured: there is no kubeconfig, no service account of a pod, and no discovery.modules.k8s-discover.api_server',
  )
}

const readAccess = (context: ScanContext): KubeAccess | undefined => {
  try {
    return findAccess(KubeConfig.parse(context.config ?? {}), process.env)
  } catch (error) {
    throw new NotPossibleHere(
      `credentials of the cluster: ${(error as Error).message}`.slice(0, 400),
    )
  }
}

async function* readCluster(
  { server, credentials }: KubeAccess,
  client: KubeClient,
  context: ScanContext,
): AsyncGenerator<ClusterRow> {
  const facts = await readFacts(client, context)
  const list = createLister(client, context)
  const nodes = facts.is_reachable ? await list('/api/v1/nodes', Node) : undefined
  const isKnown = credentials !== undefined && nodes !== 'unauthorized' && facts.is_reachable
  const unknown = { is_authenticated: isKnown, pods: null }
  if (!facts.is_reachable || nodes === 'unauthorized') {
    yield clusterRow(server, null, { ...facts, ...unknown })
    return
  }
  const namespaces = toList(await list('/api/v1/namespaces', Namespace))
  const found = await list('/api/v1/pods', Pod)
  const pods = Array.isArray(found) ? found : null
  const uid = namespaces.find(({ metadata }) => metadata.name === 'kube-system')?.metadata.uid
  yield clusterRow(server, uid ?? null, { ...facts, ...unknown, pods: pods && countPods(pods) })
  yield* toList(nodes).map(node => nodeRow(server, node))
  const byNamespace = pods && Map.groupBy(pods, ({ metadata }) => metadata.namespace)
  for (const namespace of namespaces)
    yield namespaceRow(
      server,
      namespace,
      byNamespace && (byNamespace.get(namespace.metadata.name) ?? []),
    )
  for (const [path, kind] of [
    ['deployments', 'deployment'],
    ['statefulsets', 'stateful_set'],
  ] as const)
    for (const each of toList(await list(`/apis/apps/v1/${path}`, ReplicaWorkload)))
      yield replicaRow(server, kind, each)
  for (const each of toList(await list('/apis/apps/v1/daemonsets', DaemonSet)))
    yield daemonSetRow(server, each)
  for (const pod of (pods ?? []).filter(isOwnWorkload)) yield podRow(server, pod)
  for (const each of toList(await list('/api/v1/services', Service))) yield serviceRow(server, each)
}

type Listed<T> = T[] | 'unauthorized' | undefined

const toList = <T>(listed: Listed<T>): T[] => (Array.isArray(listed) ? listed : [])

/** Lists objects; a kind that may not be listed costs that kind only. */
const createLister =
  (client: KubeClient, { warn, signal }: ScanContext) =>
  async <T extends z.ZodType>(path: string, schema: T): Promise<Listed<z.output<T>>> => {
    try {
      const { items, unread, isCut } = await listObjects(each => client.get(each), path, schema)
      if (unread > 0) warn('unparsed_record', `${unread} objects of ${path} have an unknown format`)
      if (isCut) warn('partial_result', `${path} has more objects than are shown`)
      return items
    } catch (error) {
      signal.throwIfAborted()
      const isUnauthorized = error instanceof ListRefused && error.status === 401
      if (isUnauthorized) warn('auth_missing', error.message)
      else warn('partial_result', (error as Error).message.slice(0, 500))
      return isUnauthorized ? 'unauthorized' : undefined
    }
  }

type Facts = Pick<
  NonNullable<ClusterRow['cluster']>,
  'is_reachable' | 'is_ready' | 'version' | 'platform'
>

/** Most clusters give version and readiness to everybody. */
const readFacts = async (client: KubeClient, { warn, signal }: ScanContext): Promise<Facts> => {
  try {
    const { status, text } = await client.get('/version')
    const version = status === 200 ? Version.parse(JSON.parse(text)) : undefined
    const ready = await client.get('/readyz')
    return {
      is_reachable: true,
      is_ready: ready.status === 401 || ready.status === 403 ? null : ready.status === 200,
      version: version?.gitVersion.slice(0, 64) ?? null,
      platform: version?.platform.slice(0, 64) ?? null,
    }
  } catch (error) {
    signal.throwIfAborted()
    warn('partial_result', `the server does not answer: ${(error as Error).message}`.slice(0, 500))
    return { is_reachable: false, is_ready: null, version: null, platform: null }
  }
}
