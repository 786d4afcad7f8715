import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { bootstrap, type DemoKeys, type DemoName } from '../../coordinator/access/keys/bootstrap.ts'
import { serve } from '../../coordinator/assembly/serve.ts'
import { CoordinatorConfig } from '../../coordinator/config.ts'
import { createToken } from '../../coordinator/fleet/enrolment/join-tokens.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { DaemonConfig } from '../../daemon/config.ts'
import { daemon } from '../../daemon/daemon.ts'
import type { DaemonParts, InferenceBackend } from '../../daemon/daemon-parts.ts'
import { silent } from './cell.ts'
import { placeEmptyStore } from './empty-store.ts'
import { MEMORY_FOLDER } from './memory-folder.ts'

const noInference: InferenceBackend = {
  name: 'inference',
  start: async () => {},
  reports: () => [],
  onChange: () => () => {},
  handle: () => {},
}

/** A cell with devices. */
interface DeviceCell {
  /** Section of the cell's configuration. */
  devices?: object
  /** Section of the cell's configuration for modules. */
  discovery?: object
  /** Links beside those of the configuration. */
  links?: NonNullable<DaemonParts['links']>
}

interface ApiAnswer {
  status: number
  body: Record<string, unknown>
}

/** Calls a coordinator as one of the people of `bootstrap`. */
export interface ApiCaller {
  request(
    name: DemoName,
    method: string,
    path: string,
    body?: object,
    headers?: Record<string, string>,
  ): Promise<Response>
  /** Resolves with the JSON of the answer; `key` is the idempotency key of the call. */
  call(
    name: DemoName,
    method: string,
    path: string,
    body?: object,
    key?: string,
  ): Promise<ApiAnswer>
}

export const createApiCaller = (url: string, keys: DemoKeys): ApiCaller => {
  const request: ApiCaller['request'] = (name, method, path, body, headers = {}) =>
    fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${keys[name]}`,
        ...(body && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    })
  const call: ApiCaller['call'] = async (name, method, path, body, key) => {
    const headers = key ? { 'idempotency-key': key } : {}
    const response = await request(name, method, path, body, headers)
    return { status: response.status, body: (await response.json()) as ApiAnswer['body'] }
  }
  return { request, call }
}

/** Starts a real cell in this process; returns how to stop it. */
export const startDeviceCell = (
  { devices, discovery, links = [] }: DeviceCell,
  own: { stateDir: string; url: string; joinToken: string },
): (() => Promise<void>) => {
  const stop = new AbortController()
  const ended = daemon({
    config: DaemonConfig.parse({
      state_dir: own.stateDir,
      log: { level: 'silent' },
      coordinator: { url: own.url, join_token: own.joinToken },
      ...(devices && { devices }),
      ...(discovery && { discovery }),
    }),
    env: { PATH: process.env.PATH },
    inference: noInference,
    links,
    logger: silent,
    signal: stop.signal,
  })
  return async () => {
    stop.abort()
    await ended
  }
}

/** A coordinator that cells can join. */
interface OpenCoordinator extends ApiCaller {
  url: string
  joinToken: string
  /** Folder for the states of the cells; it is removed at the end. */
  folder: string
  close(): Promise<void>
}

/** Opens a real coordinator in this process. */
export const openCoordinatorFor = async (
  cells: number,
  settings: object = {},
): Promise<OpenCoordinator> => {
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-devices-'))
  const state_dir = join(folder, 'coordinator')
  placeEmptyStore(state_dir)
  const store = await openStore(state_dir)
  const { keys } = await bootstrap(store)
  const uses = { uses: cells, ttlMinutes: 5 }
  const { secret: joinToken } = await createToken(store.ledger, uses, { actor: 'test' })
  await store.close()
  const config = CoordinatorConfig.parse({ state_dir, http: { port: 0 }, ...settings })
  const { url, close } = await serve(config, silent)
  return {
    ...{ url, joinToken, folder },
    close: async () => {
      await close()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
    ...createApiCaller(url, keys),
  }
}

/** Opens a real coordinator and real cells in this process. */
export const openDeviceFleet = async (
  t: Pick<Test, 'teardown'>,
  cells: readonly DeviceCell[],
  settings: object = {},
): Promise<ApiCaller> => {
  const coordinator = await openCoordinatorFor(cells.length, settings)
  const { url, joinToken, folder } = coordinator
  const stops = cells.map((cell, index) =>
    startDeviceCell(cell, { stateDir: join(folder, `cell-${index}`), url, joinToken }),
  )
  t.teardown(async () => {
    await Promise.all(stops.map(stop => stop()))
    await coordinator.close()
  })
  return coordinator
}
