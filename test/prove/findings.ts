import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { bootstrap } from '../../coordinator/access/keys/bootstrap.ts'
import { createToken } from '../../coordinator/fleet/enrolment/join-tokens.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { KnownCoordinators } from '../../daemon/coordinators/known-coordinators.ts'
import { FindingsParts } from '../../daemon/discovery/findings-parts.ts'
import { enrol } from '../../daemon/enrol.ts'
import { createHealth } from '../../daemon/health.ts'
import type { Identity } from '../../daemon/identity.ts'
import { Nudge } from '../../daemon/uplink/nudge.ts'
import { Uplink } from '../../daemon/uplink/uplink.ts'
import { openSigner } from '../../shared/signing.ts'
import type { Envelope } from '../../shared/wire/envelope.ts'
import type { ModuleRow } from '../../shared/wire/findings.ts'
import { BY } from '../coordinator/kernel/store/temporary.ts'
import { silent } from '../support/cell.ts'
import { findFreePort } from '../support/mosquitto.ts'
import { Process } from '../support/stack.ts'
import { waitUntil } from '../support/wait-until.ts'

const RUN_ROWS = 1000

/**
 * A cell sends findings while its coordinator is killed with kill -9 again and again, right after a
 * message was sent. Each host must be in the registry afterwards, and have appeared once.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = {
    findings: { type: 'string', default: '10000' },
    minutes: { type: 'string', default: '1' },
    kills: { type: 'string', default: '20' },
  } as const
  const { values } = parseArgs({ args: argv, options })
  const [findings, minutes] = [Number(values.findings), Number(values.minutes)]
  const folder = mkdtempSync(join(tmpdir(), 'shoal-findings-'))
  const stateDir = join(folder, 'coordinator')
  const store = await openStore(stateDir)
  await bootstrap(store)
  const { secret } = await createToken(store.ledger, { uses: 1, ttlMinutes: 5 }, BY)
  await store.close()
  const port = await findFreePort()
  const coordinator = new Process('shoal-coordinator', () => [
    ...['--state-dir', stateDir, '--http-port', String(port)],
  ])
  try {
    await start(coordinator)
    const url = `http://127.0.0.1:${port}`
    const identity = await enrol({
      ...{ url, token: secret, name: 'prover', timeoutSeconds: 10, logger: silent },
      signer: await openSigner(join(folder, 'cell.key')),
      signal: new AbortController().signal,
    })
    const killer = new Killer(coordinator, Number(values.kills))
    const cell = await openCell(identity, join(folder, 'cell'), killer.onSend)
    const startedMs = performance.now()
    await produce(cell.uplink, findings, (minutes * 60_000 * RUN_ROWS) / findings)
    await killer.whenUp
    killer.stop()
    await waitUntil('every host is stored', async () => (await countEntities(url)) >= findings, 500)
    const seconds = (performance.now() - startedMs) / 1000
    await cell.close()
    await coordinator.end('SIGTERM')
    return await judge(stateDir, { findings, seconds, killer })
  } finally {
    await coordinator.end('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

const start = async (coordinator: Process): Promise<void> => {
  coordinator.start()
  await coordinator.line(/"url":"http:/)
}

/** Kills the coordinator up to 40 ms after a message with findings was sent, and starts it again. */
class Killer {
  readonly sends = new Map<string, number>()
  kills = 0
  whenUp: Promise<void> = Promise.resolve()
  #isUp = true
  #left: number
  readonly #coordinator: Process

  constructor(coordinator: Process, kills: number) {
    this.#coordinator = coordinator
    this.#left = kills
  }

  onSend = ({ type, body }: Envelope): void => {
    if (type !== 'findings') return
    const { run_id, part } = body as { run_id: string; part: number }
    const name = `${run_id} ${part}`
    this.sends.set(name, (this.sends.get(name) ?? 0) + 1)
    if (!this.#isUp || this.#left === 0 || Math.random() < 0.3) return
    this.#isUp = false
    this.#left--
    this.whenUp = this.#kill()
  }

  stop(): void {
    this.#left = 0
  }

  async #kill(): Promise<void> {
    await sleep(Math.random() * 40)
    await this.#coordinator.end('SIGKILL')
    this.kills++
    await start(this.#coordinator)
    this.#isUp = true
  }
}

const openCell = async (identity: Identity, folder: string, onSend: Killer['onSend']) => {
  const stop = new AbortController()
  const health = createHealth(silent)
  const url = identity.coordinator_url
  const uplink = new Uplink({
    identity,
    coordinators: new KnownCoordinators({ url, hasPinnedAuthority: false }),
    connectTimeoutSeconds: 10,
    spool: { folder: join(folder, 'samples'), maxBytes: 2 ** 20, drainBytesPerSecond: 2 ** 20 },
    findings: { folder: join(folder, 'findings'), maxBytes: 64 * 2 ** 20, confirmMs: 5000 },
    health,
    nudge: new Nudge(),
    logger: silent,
    onSend,
  })
  await uplink.start({ signal: stop.signal, fail: console.log })
  const close = async (): Promise<void> => {
    stop.abort()
    const state = () => health.view()['uplink connection']?.state
    await waitUntil('the cell has stopped', () => state() === 'stopped')
  }
  return { uplink, close }
}

/** Hands runs over to the cell at an even pace; each is a scanner of its own and sees other hosts. */
const produce = async (uplink: Uplink, findings: number, runMs: number): Promise<void> => {
  for (let from = 0; from < findings; from += RUN_ROWS) {
    const facts = { module: 'network-map', inputHash: `run${from}`, startedAt: Date.now() }
    const parts = new FindingsParts(facts, body => uplink.keepFindings(body))
    const count = Math.min(RUN_ROWS, findings - from)
    for (let n = from; n < from + count; n++) {
      await parts.add(hostRow(n))
      if (n % 50 === 0) await sleep((runMs * 50) / count)
    }
    await parts.end({ outcome: 'complete', reason: null })
  }
}

const hostRow = (n: number): ModuleRow => ({
  ...{ kind: 'neighbour', address: `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}` },
  ...{ prefix_length: null, mac_kind: 'global', state: 'reachable', interface: 'eth0' },
  mac: `b8:27:eb:${n
    .toString(16)
    .padStart(6, '0')
    .replace(/(..)(?=.)/g, '$1:')}`,
  ...{ interface_kind: 'ethernet', is_gateway: false, is_router: false },
})

const countEntities = async (url: string): Promise<number> => {
  const response = await fetch(`${url}/v1/skills/discovery-status`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  }).catch(() => undefined)
  return ((await response?.json()) as { entities?: number })?.entities ?? 0
}

const judge = async (
  stateDir: string,
  { findings, seconds, killer }: { findings: number; seconds: number; killer: Killer },
): Promise<boolean> => {
  const store = await openStore(stateDir)
  const { read } = store.ledger
  const entities = await read.selectFrom('discovery_entities').select('id').execute()
  const deltas = await read.selectFrom('discovery_deltas').select(['kind', 'entity_id']).execute()
  const scanners = await read.selectFrom('discovery_scanners').select('runs').execute()
  await store.close()
  const appeared = deltas.filter(({ kind }) => kind === 'appeared')
  const twice = appeared.length - new Set(appeared.map(each => each.entity_id)).size
  const miscounted = scanners.filter(({ runs }) => runs !== 1).length
  const repeated = [...killer.sends.values()].filter(sends => sends > 1).length
  console.log(
    `${findings} findings in ${seconds.toFixed(0)} s, ${killer.kills} kills, ` +
      `${repeated} of ${killer.sends.size} messages sent more than once: ` +
      `${entities.length} entities, ${twice} appeared twice, ${deltas.length - appeared.length} other changes, ` +
      `${miscounted} of ${scanners.length} runs miscounted`,
  )
  return (
    entities.length === findings && twice === 0 && miscounted === 0 && deltas.length === findings
  )
}
