import { rmSync } from 'node:fs'
import type { DemoKeys } from '../../coordinator/keys/bootstrap.ts'

export interface Addresses {
  /** `http://127.0.0.1:7070`, without a slash at the end. */
  baseUrl: string
  mqttUrl: string | undefined
}

export interface Pids {
  coordinator: number
  cells: number[]
}

/** What other programs read to use what was started. */
export const readyText = ({ baseUrl, mqttUrl }: Addresses, keys: DemoKeys, pids: Pids): string => {
  const urls = { base_url: baseUrl, a2a_url: baseUrl, mcp_url: `${baseUrl}/mcp/` }
  return `${JSON.stringify({ ...urls, mqtt_url: mqttUrl ?? null, keys, pids }, null, 2)}\n`
}

/** It is there only while it is true. */
export const removeReadyFile = (path: string): void => rmSync(path, { force: true })
