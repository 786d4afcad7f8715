/**
 * Measures how soon the coordinator knows that a real daemon died, fell silent or came back. The
 * daemon lives in a network namespace of its own, behind a virtual cable that is unplugged.
 *
 *   npm run bench -- presence [--rounds 3]      needs root, for `ip netns`
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { stringify } from 'yaml'
import { findFreePort } from '../test/support/mosquitto.ts'
import { type ReportRow, readServiceEnv, readServiceFlags, report } from './measure.ts'

const bin = join(import.meta.dirname, '..', 'bin')
const SETTLE_MS = 3000
/** Long enough that the daemon has given its connections up. */
const LONG_OUTAGE_MS = 25_000

const ip = (...args: string[]): boolean => spawnSync('ip', args, { stdio: 'ignore' }).status === 0

const pause = (milliseconds: number): Promise<void> =>
  new Promise(resolve => setTimeout(resolve, milliseconds))

/** A namespace, and a cable between it and this machine. */
const plugIn = () => {
  const name = `shoal${process.pid}`
  const [ours, theirs] = [`sh${process.pid}a`, `sh${process.pid}b`]
  const subnet = `10.203.${process.pid % 250}`
  if (!ip('netns', 'add', name)) return undefined
  ip('link', 'add', ours, 'type', 'veth', 'peer', 'name', theirs, 'netns', name)
  ip('addr', 'add', `${subnet}.1/30`, 'dev', ours)
  ip('link', 'set', ours, 'up')
  ip('-n', name, 'addr', 'add', `${subnet}.2/30`, 'dev', theirs)
  ip('-n', name, 'link', 'set', theirs, 'up')
  ip('-n', name, 'link', 'set', 'lo', 'up')
  return {
    name,
    address: `${subnet}.1`,
    // the cable is cut on the far side, so that this side notices nothing
    cut: () => ip('-n', name, 'link', 'set', theirs, 'down'),
    heal: () => ip('-n', name, 'link', 'set', theirs, 'up'),
    remove: () => {
      ip('link', 'del', ours)
      ip('netns', 'del', name)
    },
  }
}

interface Change {
  at: number
  to: string
}

/** The coordinator's log, as changes of presence that can be waited for. */
const watch = (coordinator: ChildProcess) => {
  const changes: Change[] = []
  let wake: () => void = () => {}
  const lines = createInterface({ input: coordinator.stdout as NodeJS.ReadableStream })
  lines.on('line', line => {
    const { msg, time, to } = JSON.parse(line)
    if (msg === 'cell changed') changes.push({ at: time, to })
    if (msg === 'coordinator is up') changes.push({ at: time, to: 'up' })
    wake()
  })
  const waitForState = async (since: number, ...wanted: string[]): Promise<number> => {
    for (;;) {
      const found = changes.find(({ at, to }) => at >= since && wanted.includes(to))
      if (found) return found.at
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  }
  return waitForState
}

const endChild = async (child: ChildProcess, signal: NodeJS.Signals): Promise<void> => {
  const exit = once(child, 'exit')
  child.kill(signal)
  await exit
}

type Cable = NonNullable<ReturnType<typeof plugIn>>
type WaitForState = ReturnType<typeof watch>

export const main = async (argv: string[]): Promise<void> => {
  const { values } = parseArgs({
    args: argv,
    options: { rounds: { type: 'string', default: '3' } },
  })
  const cable = process.getuid?.() === 0 ? plugIn() : undefined
  if (cable === undefined) {
    console.log('skipped: network namespaces cannot be made here')
    return
  }
  const folder = mkdtempSync(join(tmpdir(), 'shoal-bench-presence-'))
  const { coordinator, waitForState, startDaemon } = await startFleet(cable, folder)
  const rounds = Number(values.rounds)
  const measured = await measureRounds(rounds, cable, waitForState, startDaemon)
  await endChild(coordinator, 'SIGTERM')
  cable.remove()
  rmSync(folder, { recursive: true })
  report('presence', { rounds }, [
    row('kill -9, known to be dead', measured.killed, 250),
    row('cable cut, out of routing', measured.silent, 8000),
    row('cable healed at once, ready again', measured.healed, 5000),
    row('cable healed after 25 s, ready again', measured.returned, 5000),
  ])
}

/** Starts a coordinator on this end of the cable; daemons run on the other end. */
const startFleet = async (cable: Cable, folder: string) => {
  const port = await findFreePort()
  const config = join(folder, 'coordinator.yaml')
  writeFileSync(
    config,
    stringify({
      state_dir: join(folder, 'coordinator'),
      http: { host: cable.address, port, allowed_hosts: [cable.address] },
    }),
  )
  const program = [join(bin, 'shoal-coordinator.mjs'), '--config', config]
  const coordinator = spawn(process.execPath, [...readServiceFlags(), ...program], {
    env: { ...process.env, ...readServiceEnv() },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const waitForState = watch(coordinator)
  await waitForState(0, 'up')
  const made = spawnSync(process.execPath, [...program, 'token', 'create', '--format', 'json'], {
    encoding: 'utf8',
  })
  const { secret } = JSON.parse(made.stdout) as { secret: string }
  const url = `https://${cable.address}:${port}`
  const startDaemon = (): ChildProcess => spawnDaemon(cable, url, secret, join(folder, 'cell'))
  return { coordinator, waitForState, startDaemon }
}

const spawnDaemon = (cable: Cable, url: string, secret: string, stateDir: string): ChildProcess => {
  const program = [process.execPath, join(bin, 'shoald.mjs')]
  const flags = ['--coordinator-url', url, '--state-dir', stateDir]
  return spawn('ip', ['netns', 'exec', cable.name, ...program, ...flags], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, SHOAL_COORDINATOR_JOIN_TOKEN: secret },
  })
}

/** Durations in milliseconds, one per round. */
interface Measurements {
  killed: number[]
  silent: number[]
  healed: number[]
  returned: number[]
}

const measureRounds = async (
  rounds: number,
  cable: Cable,
  waitForState: WaitForState,
  startDaemon: () => ChildProcess,
): Promise<Measurements> => {
  const measured: Measurements = { killed: [], silent: [], healed: [], returned: [] }
  const timeUntil = async (act: () => void, ...states: string[]): Promise<number> => {
    const startedAt = Date.now()
    act()
    return (await waitForState(startedAt, ...states)) - startedAt
  }
  let daemon = startDaemon()
  await waitForState(0, 'ready')
  for (let round = 0; round < rounds; round++) {
    await pause(SETTLE_MS)
    measured.silent.push(await timeUntil(cable.cut, 'suspect', 'dead'))
    measured.healed.push(await timeUntil(cable.heal, 'ready'))
    await pause(SETTLE_MS)
    cable.cut()
    await pause(LONG_OUTAGE_MS)
    measured.returned.push(await timeUntil(cable.heal, 'ready'))
    await pause(SETTLE_MS)
    measured.killed.push(await timeUntil(() => daemon.kill('SIGKILL'), 'dead'))
    await timeUntil(() => {
      daemon = startDaemon()
    }, 'ready')
  }
  await endChild(daemon, 'SIGTERM')
  return measured
}

const row = (what: string, tookMs: number[], promisedMs: number): ReportRow => ({
  what,
  'least ms': Math.min(...tookMs),
  'most ms': Math.max(...tookMs),
  'promised ms': promisedMs,
})
