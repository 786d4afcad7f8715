import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { serve } from '../../coordinator/assembly/serve.ts'
import { CoordinatorConfig } from '../../coordinator/config.ts'
import { createToken } from '../../coordinator/enrolment/join-tokens.ts'
import { bootstrap, type DemoName } from '../../coordinator/keys/bootstrap.ts'
import { openStore } from '../../coordinator/store/store.ts'
import { DaemonConfig } from '../../daemon/config.ts'
import { daemon } from '../../daemon/daemon.ts'
import type { DaemonParts, InferenceBackend } from '../../daemon/daemon-parts.ts'
import { silent } from './cell.ts'
import { MEMORY_FOLDER } from './memory-folder.ts'

const noInference: InferenceBackend = {
  name: 'inference',
  start: async () => {},
  reports: () => [],
  onChange: () => () => {},
  handle: () => {},
}

interface Answer {
  status: number
  body: Record<string, unknown>
}

export interface DeviceFleet {
  call(name: DemoName, method: string, path: string, body?: object, key?: string): Promise<Answer>
}

/**
 * Opens a real coordinator and a real cell in this process. `devices` is the section of the cell's
 * configuration, `links` are further ones.
 */
export const openDeviceFleet = async (
  t: Test,
  devices: object,
  links: NonNullable<DaemonParts['links']> = [],
): Promise<DeviceFleet> => {
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-devices-'))
  const stateDir = join(folder, 'coordinator')
  const store = await openStore(stateDir)
  const { keys } = await bootstrap(store)
  const token = await createToken(store.ledger, { uses: 1, ttlMinutes: 5 }, { actor: 'test' })
  await store.close()
  const settings = { state_dir: stateDir, http: { port: 0 } }
  const { url, close } = await serve(CoordinatorConfig.parse(settings), silent)
  const stop = new AbortController()
  const ended = daemon({
    config: DaemonConfig.parse({
      state_dir: join(folder, 'cell'),
      log: { level: 'silent' },
      coordinator: { url, join_token: token.secret },
      devices,
    }),
    env: { PATH: process.env.PATH },
    inference: noInference,
    links,
    logger: silent,
    signal: stop.signal,
  })
  t.teardown(async () => {
    stop.abort()
    await ended
    await close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  const call: DeviceFleet['call'] = async (name, method, path, body, key) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${keys[name]}`,
        'content-type': 'application/json',
        ...(key && { 'idempotency-key': key }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as Answer['body'] }
  }
  return { call }
}
