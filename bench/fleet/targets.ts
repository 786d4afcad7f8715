import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { connect, type MqttClient } from 'mqtt'
import { digestOf, randomSecret } from '../../coordinator/access/keys/secret.ts'
import { brokerLogins, loadBrokerKey } from '../../coordinator/fleet/broker/logins.ts'
import { mosquittoFiles } from '../../coordinator/fleet/broker/mosquitto-files.ts'
import { cellTable } from '../../coordinator/fleet/enrolment/cell.table.ts'
import { newCell } from '../../coordinator/fleet/enrolment/enrolment.ts'
import { createToken } from '../../coordinator/fleet/enrolment/join-tokens.ts'
import { openSecrets } from '../../coordinator/kernel/secrets/open-secrets.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { silentLogger } from '../../coordinator/surfaces/admin/on-store.ts'
import { newId } from '../../shared/ids.ts'
import { createSigner, generatePrivateKey } from '../../shared/signing.ts'
import { parseTopic, wildcardFor } from '../../shared/wire/topics.ts'
import { findFreePort, startMosquitto } from '../../test/support/mosquitto.ts'
import { readServiceEnv, readServiceFlags } from '../measure.ts'
import type { BrokerTarget, CellLogin } from './simulated-cell.ts'

/** Something that the same simulated cells can be pointed at. */
export interface Side {
  name: string
  pid(): number
  target: BrokerTarget
  /** Changes of state that arrived behind it, by cell. */
  arrived: Map<string, number>
  /** Milliseconds from sending to arrival, where the side measures them. */
  arrivedAfterMs: number[]
  /** Longest event loop delay of each second in milliseconds, where the side measures it. */
  loopDelayMs: number[]
  /** Milliseconds from each e-stop to its last byte at the sockets, where the side reports them. */
  estopSentMs: number[]
  /** Number of cells that the side considered lost. */
  countLost(): number
  /** kill -9, then the same again; resolves when it serves. */
  restart?(): Promise<void>
  stop(): Promise<void>
}

const HOST = '127.0.0.1'
const ROWS_PER_INSERT = 500
const LOOP_DELAY = join(import.meta.dirname, 'loop-delay.ts')

/** Enrols cells by writing the rows of an enrolment. */
export const enrolCells = async (stateDir: string, count: number): Promise<CellLogin[]> => {
  const store = await openStore(stateDir)
  const { token } = await createToken(store.ledger, { uses: 1, ttlMinutes: 60 }, { actor: 'bench' })
  const logins: CellLogin[] = []
  while (logins.length < count) {
    const rows = Array.from({ length: Math.min(ROWS_PER_INSERT, count - logins.length) }, () => {
      const credential = randomSecret()
      const digest = digestOf(credential).toString('hex')
      const privateKey = generatePrivateKey()
      const request = {
        token: '',
        name: 'simulated',
        public_key: createSigner(privateKey).publicKey,
      }
      const cell = newCell(request, {
        id: newId('cell'),
        tokenId: token.id,
        digest,
        now: Date.now(),
      })
      logins.push({ id: cell.id, credential, privateKey })
      return cellTable.write(cell)
    })
    await store.ledger.sealed.write(trx => trx.insertInto('cells').values(rows).execute())
  }
  await store.close()
  return logins
}

const countUp = (counts: Map<string, number>, key: string): void => {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

/** The real coordinator, whose log contains every change of presence. */
export const coordinatorSide = async (
  stateDir: string,
  flags: string[] = [],
  profileFolder?: string,
): Promise<Side> => {
  const port = await findFreePort()
  const arrived = new Map<string, number>()
  let lost = 0
  const loopDelayMs: number[] = []
  const estopSentMs: number[] = []
  const words = new Set(['ready', 'draining'])
  let child: ChildProcess

  const read = (line: string): void => {
    const { msg, cell, from, to, max, tookMs } = JSON.parse(line)
    if (msg === 'e-stop sent to the connected cells') estopSentMs.push(tookMs)
    if (msg === 'loop delay') loopDelayMs.push(max)
    if (msg !== 'cell changed') return
    if (words.has(from) && words.has(to)) countUp(arrived, cell)
    if (to === 'suspect' || to === 'dead') lost++
  }
  const start = async (): Promise<void> => {
    const profile =
      profileFolder === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profileFolder]
    const script = join(import.meta.dirname, '..', '..', 'bin', 'shoal-coordinator.mjs')
    child = spawn(
      process.execPath,
      [
        ...readServiceFlags(),
        ...profile,
        '--import',
        LOOP_DELAY,
        script,
        '--state-dir',
        stateDir,
        '--http-port',
        String(port),
        ...flags,
      ],
      {
        env: { ...process.env, ...readServiceEnv() },
        stdio: ['ignore', 'pipe', 'inherit'],
      } as const,
    )
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
    await new Promise<void>((resolve, reject) => {
      child.once('exit', code => reject(new Error(`the coordinator ended with ${code}`)))
      lines.on('line', line => {
        if (line.includes('coordinator is up')) resolve()
        read(line)
      })
    })
  }
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal)
    await once(child, 'exit')
  }
  await start()
  return {
    name: 'coordinator',
    pid: () => child.pid as number,
    target: { host: HOST, port, kind: 'coordinator' },
    arrived,
    arrivedAfterMs: [],
    loopDelayMs,
    estopSentMs,
    countLost: () => lost,
    restart: async () => {
      await end('SIGKILL')
      await start()
    },
    stop: () => end('SIGTERM'),
  }
}

/** The coordinator with a mosquitto behind it. */
export const externalSide = async (stateDir: string): Promise<Side> => {
  const port = await findFreePort()
  const store = await openStore(stateDir)
  const { secrets } = await openSecrets({ store, stateDir, logger: silentLogger })
  const logins = brokerLogins({ key: await loadBrokerKey(secrets), username: 'coordinator' })
  await store.close()
  const mosquitto = await startMosquitto(folder =>
    mosquittoFiles({ folder, host: HOST, port, ...logins }),
  )
  const url = `mqtt://${HOST}:${port}`
  const side = await coordinatorSide(stateDir, ['--broker-mode', 'external', '--broker-url', url])
  return {
    ...side,
    name: 'coordinator with mosquitto',
    stop: async () => {
      await side.stop()
      await mosquitto.stop()
    },
  }
}

const coordinator = { username: 'coordinator', password: 'bench' }
const cells = { username: 'cells', password: 'bench' }

/** Mosquitto with the files that shoal writes for it, and one subscriber, this process. */
export const mosquittoSide = async (): Promise<Side> => {
  const port = await findFreePort()
  const mosquitto = await startMosquitto(folder =>
    mosquittoFiles({ folder, host: HOST, port, coordinator, cells }),
  )
  const arrived = new Map<string, number>()
  const arrivedAfterMs: number[] = []
  const subscriber = await connectSubscriber(port, (topic, payload) => {
    const parsed = parseTopic(topic)
    if (parsed?.cellId === undefined) return
    const { at, body } = JSON.parse(String(payload))
    arrivedAfterMs.push(Date.now() - at)
    if (parsed.name === 'state' && body.state !== 'lost') countUp(arrived, parsed.cellId)
  })
  return {
    name: 'mosquitto alone',
    pid: () => mosquitto.pid,
    target: { host: HOST, port, kind: 'broker', login: cells },
    arrived,
    arrivedAfterMs,
    loopDelayMs: [],
    estopSentMs: [],
    countLost: () => 0,
    stop: async () => {
      await subscriber.endAsync(true)
      await mosquitto.stop()
    },
  }
}

const connectSubscriber = async (
  port: number,
  receive: (topic: string, payload: Buffer) => void,
): Promise<MqttClient> => {
  const client = connect(`mqtt://${HOST}:${port}`, { ...coordinator, clientId: 'subscriber' })
  client.on('message', (topic, payload) => receive(topic, payload))
  await new Promise(resolve => client.once('connect', resolve))
  await client.subscribeAsync([wildcardFor('state'), wildcardFor('telemetry')], { qos: 1 })
  return client
}
