import { rmSync } from 'node:fs'
import type { DemoKeys } from '../../coordinator/access/keys/bootstrap.ts'

export interface Addresses {
  /** `http://127.0.0.1:7070`, without a slash at the end. */
  baseUrl: string
  /** The same for processes on this machine, on loopback. */
  localUrl: string
  mqttUrl: string | undefined
  /** Certificate of the authority that vouches for the coordinator; undefined without TLS. */
  caFile?: string | undefined
}

interface Pids {
  /** The first of several. */
  coordinator: number
  cells: number[]
}

/** One of several coordinators behind the balancer. */
export interface ReplicaAddress {
  name: string
  url: string
}

interface ReadyReplica extends ReplicaAddress {
  pid: number
}

/** JSON with the addresses, keys and process ids that other programs need. */
export const readyText = (
  { baseUrl, mqttUrl, caFile }: Omit<Addresses, 'localUrl'>,
  keys: DemoKeys,
  pids: Pids,
  replicas: readonly ReadyReplica[] = [],
): string => {
  const urls = { base_url: baseUrl, a2a_url: baseUrl, mcp_url: `${baseUrl}/mcp/` }
  const several = replicas.length > 0 ? { replicas } : {}
  const ca = caFile === undefined ? {} : { ca_file: caFile }
  const all = { ...urls, mqtt_url: mqttUrl ?? null, ...ca, keys, pids, ...several }
  return `${JSON.stringify(all, null, 2)}\n`
}

/** Removes the ready file as soon as its contents are no longer true. */
export const removeReadyFile = (path: string): void => rmSync(path, { force: true })
