import { rmSync } from 'node:fs'
import type { DemoKeys } from '../../coordinator/keys/bootstrap.ts'

export interface Addresses {
  /** `http://127.0.0.1:7070`, without a slash at the end. */
  baseUrl: string
  mqttUrl: string | undefined
}

interface Pids {
  coordinator: number
  cells: number[]
}

/** JSON with the addresses, keys and process ids that other programs need. */
export const readyText = ({ baseUrl, mqttUrl }: Addresses, keys: DemoKeys, pids: Pids): string => {
  const urls = { base_url: baseUrl, a2a_url: baseUrl, mcp_url: `${baseUrl}/mcp/` }
  return `${JSON.stringify({ ...urls, mqtt_url: mqttUrl ?? null, keys, pids }, null, 2)}\n`
}

/** Removes the ready file as soon as its contents are no longer true. */
export const removeReadyFile = (path: string): void => rmSync(path, { force: true })
