import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { bootstrap } from '../../coordinator/access/keys/bootstrap.ts'
import { type Coordinator, serve } from '../../coordinator/assembly/serve.ts'
import { CoordinatorConfig } from '../../coordinator/config.ts'
import { createToken } from '../../coordinator/fleet/enrolment/join-tokens.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { CAPABILITY } from '../../shared/wire/capability.ts'
import { envelope } from '../../shared/wire/envelope.ts'
import {
  ENROL_PATH,
  HEADER_BOOT_ID,
  HEADER_LINKED,
  HEADER_REPLICA,
  MQTT_PATH,
} from '../../shared/wire/link.ts'
import { TOPICS, type TopicName, topicFor } from '../../shared/wire/topics.ts'
import { temporaryFolder } from '../coordinator/kernel/store/temporary.ts'
import { silent } from './cell.ts'
import { createStoreDatabase } from './postgres.ts'
import { RawMqtt } from './raw-mqtt.ts'

/** Whole coordinators in this process, on one PostgreSQL database. */
export const startCoordinators = async (
  t: Test,
  count: number,
  stop = { drain_seconds: 0, leave_seconds: 0 },
) => {
  const database = await createStoreDatabase(t)
  const store = await openStore(database)
  const { keys } = await bootstrap(store)
  const uses = { uses: 100, ttlMinutes: 10 }
  const { secret } = await createToken(store.ledger, uses, { actor: 'test' })
  t.teardown(() => store.close())
  const sealingKey = randomBytes(32).toString('base64')
  /** State folder of the coordinator that was started last. */
  let latest = ''
  const start = async (ownKey = sealingKey, settings: object = {}): Promise<Coordinator> => {
    const state_dir = await temporaryFolder(t)
    writeFileSync(join(state_dir, 'sealing.key'), ownKey, { mode: 0o600 })
    const url = `postgres://postgres@localhost/${database.database}?host=${database.host}`
    const http = { port: 0, ...stop }
    const coordinator = await serve(
      CoordinatorConfig.parse({ state_dir, http, store: { url }, ...settings }),
      silent,
    )
    latest = state_dir
    let closing: Promise<void> | undefined
    const close = () => {
      closing ??= coordinator.close()
      return closing
    }
    t.teardown(close)
    return { ...coordinator, close }
  }
  const coordinators: Coordinator[] = []
  for (let n = 0; n < count; n++) coordinators.push(await start())
  const ask = async (url: string, method: string, path: string, body?: object) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${keys.operator}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, json: JSON.parse(await response.text()) }
  }
  const enrol = async (url: string): Promise<RawCell> => {
    const answer = await fetch(`${url}${ENROL_PATH}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token: secret, name: 'raw' }),
    })
    const { cell_id, credential } = (await answer.json()) as Record<string, string>
    return new RawCell(t, cell_id as string, credential as string)
  }
  /** Starts a coordinator with further settings. */
  const startWith = (settings: object) => start(sealingKey, settings)
  const parts = { store, keys, joinToken: secret, coordinators }
  return { ...parts, start, startWith, ask, enrol, stateDir: () => latest }
}

/** A cell that does what a test tells it, over upgrades as a daemon makes them. */
class RawCell {
  readonly id: string
  readonly #credential: string
  readonly #t: Pick<Test, 'teardown'>
  bootId = randomBytes(16).toString('hex')
  epoch = 1

  constructor(t: Pick<Test, 'teardown'>, id: string, credential: string) {
    this.#t = t
    this.id = id
    this.#credential = credential
  }

  /** Asks for the upgrade; `mqtt` is there after a 101, before CONNECT. */
  async dial(url: string, linked: string[] = [], path = MQTT_PATH) {
    const authorization = `Basic ${Buffer.from(`${this.id}:${this.#credential}`).toString('base64')}`
    const headers = {
      connection: 'Upgrade',
      upgrade: path === MQTT_PATH ? 'mqtt' : 'shoal-link/1',
      authorization,
      [HEADER_BOOT_ID]: this.bootId,
      [HEADER_LINKED]: linked.join(),
    }
    const asked = request(`${url}${path}`, { headers, agent: false }).end()
    const [response, socket] = (await Promise.race([
      once(asked, 'upgrade'),
      once(asked, 'response'),
    ])) as [IncomingMessage, Socket | undefined]
    if (socket === undefined) response.resume()
    else this.#t.teardown(() => socket.destroy())
    return {
      status: response.statusCode,
      replica: String(response.headers[HEADER_REPLICA]),
      socket,
      mqtt: socket && path === MQTT_PATH ? new RawMqtt(socket) : undefined,
    }
  }

  /** A session that has announced the cell and hears everything that is for it. */
  async connect(url: string, capability: number = CAPABILITY): Promise<RawMqtt> {
    const { mqtt, status } = await this.dial(url)
    if (mqtt === undefined) throw new Error(`the upgrade was refused with ${status}`)
    const payload = this.#message('state', { state: 'lost' })
    await mqtt.connect({
      clientId: this.id,
      username: this.id,
      password: Buffer.from(this.#credential),
      will: {
        topic: topicFor('state', this.id),
        payload: Buffer.from(payload),
        qos: 1,
        retain: false,
      },
    })
    const names = Object.keys(TOPICS) as TopicName[]
    for (const name of names)
      if (TOPICS[name].direction === 'down' && name !== 'coordinator')
        await mqtt.subscribe(topicFor(name, this.id), 1)
    this.publish(mqtt, 'birth', { ...ANNOUNCE, capability })
    this.publish(mqtt, 'state', { state: 'ready' })
    await mqtt.ping()
    return mqtt
  }

  publish(mqtt: RawMqtt, name: TopicName, body: object): void {
    mqtt.publish(topicFor(name, this.id), this.#message(name, body))
  }

  /** Body of the next message on a topic; undefined when the session ended. */
  async next(mqtt: RawMqtt, name: TopicName): Promise<unknown> {
    for (;;) {
      const packet = await mqtt.next('publish')
      if (packet === undefined) return undefined
      if (packet.topic === topicFor(name, this.id)) return JSON.parse(String(packet.payload)).body
    }
  }

  #message(type: string, body: object): string {
    return JSON.stringify({ ...envelope(this.id, this.epoch, type, body) })
  }
}

const ANNOUNCE = {
  name: 'raw',
  version: '1',
  protocol: 1,
  host: {
    hostname: 'raw',
    os: 'linux',
    kernel: '6',
    arch: 'x64',
    cpu_model: 'none',
    cpu_count: 1,
    memory_total_bytes: 1,
  },
  gpus: [],
  engines: [],
  tags: [],
}
