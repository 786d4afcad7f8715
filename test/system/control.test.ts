import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Logger, pino } from 'pino'
import t, { type Test } from 'tap'
import * as z from 'zod'
import { bootstrap } from '../../coordinator/access/keys/bootstrap.ts'
import { serve } from '../../coordinator/assembly/serve.ts'
import { CoordinatorConfig } from '../../coordinator/config.ts'
import { createToken } from '../../coordinator/fleet/enrolment/join-tokens.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import type { Verb } from '../../daemon/commands/verb.ts'
import { DaemonConfig } from '../../daemon/config.ts'
import { daemon } from '../../daemon/daemon.ts'
import type { InferenceBackend } from '../../daemon/daemon-parts.ts'
import { MAX_RESULT_BYTES } from '../../shared/wire/command.ts'
import { silent } from '../support/cell.ts'
import { placeEmptyStore } from '../support/empty-store.ts'
import { MEMORY_FOLDER } from '../support/memory-folder.ts'
import { Process } from '../support/stack.ts'
import { waitUntil } from '../support/wait-until.ts'

/* A real coordinator and a real daemon, all but the engines: commands and configuration. */

type Json = Record<string, unknown>

const place = async (t: Test) => {
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-control-'))
  const stateDir = join(folder, 'coordinator')
  placeEmptyStore(stateDir)
  const store = await openStore(stateDir)
  const { keys } = await bootstrap(store)
  const { secret } = await createToken(store.ledger, { uses: 1, ttlMinutes: 5 }, { actor: 'test' })
  await store.close()
  const config = CoordinatorConfig.parse({ state_dir: stateDir, http: { port: 0 } })
  const coordinator = await serve(config, silent)
  t.teardown(async () => {
    await coordinator.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  const ask = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${coordinator.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${keys.operator}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as Json }
  }
  const waitForBody = (path: string, isRight: (body: Json) => boolean): Promise<Json> =>
    waitUntil(`${path} is as the test needs it`, async () => {
      const { body } = await ask('GET', path)
      return isRight(body) && body
    })
  return { folder, url: coordinator.url, token: secret, ask, waitForBody }
}

type Place = Awaited<ReturnType<typeof place>>

const createVerb = (name: string, parts: Pick<Verb, 'run'> & Partial<Verb>): Verb => ({
  verb: name,
  hazard: 'safe',
  description: '',
  timeout_seconds: 60,
  params: z.strictObject({}),
  plan: () => ({ operations: [name], bounds: {} }),
  ...parts,
})

const verbs = [
  createVerb('dump', { run: async () => 'x'.repeat(MAX_RESULT_BYTES - 2) }),
  createVerb('hang', {
    run: async (_part, { report }) => {
      report({ percent: 50 })
      return new Promise(() => {})
    },
  }),
  createVerb('halt', { urgent: true, run: async () => null }),
]

/** A daemon in this process that notes when its engines are restarted. */
const startDaemon = (t: Test, { folder, url, token }: Place) => {
  const stop = new AbortController()
  const restarts: unknown[] = []
  const inference: InferenceBackend = {
    name: 'inference',
    start: async () => {},
    reports: () => [],
    onChange: () => () => {},
    restart: async limits => void restarts.push(limits),
    handle: () => {},
  }
  const config = DaemonConfig.parse({
    state_dir: join(folder, 'cell'),
    name: 'n',
    log: { level: 'silent' },
    tags: ['lab'],
    coordinator: { url, join_token: token },
  })
  const logger: Logger = pino({ level: 'silent' })
  const env = { PATH: '/none' }
  const ended = daemon({ config, env, inference, verbs, logger, signal: stop.signal })
  const end = async (): Promise<void> => {
    stop.abort()
    await ended
  }
  t.teardown(end)
  const identity = (): { cell_id: string } =>
    JSON.parse(readFileSync(join(folder, 'cell', 'identity.json'), 'utf8'))
  return { end, restarts, logger, identity }
}

t.test('a cell receives commands and settings', async t => {
  const at = await place(t)
  const cell = startDaemon(t, at)
  await at.waitForBody('/v1/cells', ({ cells }) => (cells as Json[])[0]?.presence === 'ready')
  const path = `/v1/cells/${cell.identity().cell_id}`

  const command = async (body: object) => {
    const made = await at.ask('POST', `${path}/commands`, body)
    if (made.status !== 200) return made.body
    const isOver = ({ state }: Json) =>
      !['queued', 'sent', 'accepted', 'executing'].includes(String(state))
    return at.waitForBody(`/v1/commands/${made.body.id}`, isOver)
  }

  t.test('a command returns its result', async t => {
    const done = await command({ verb: 'ping', mode: 'live' })
    t.match(done, { state: 'succeeded', hazard: 'safe', result: { pong: true } })
  })

  t.test('a command without an explicit live mode is a dry run that returns the plan', async t => {
    const done = await command({ verb: 'engine-restart' })
    const part = { verb: 'engine-restart', hazard: 'caution', operations: ['engine-restart'] }
    t.match(done, { state: 'succeeded', mode: 'dry', result: { part, checks: [] } })
    t.strictSame(cell.restarts, [])
  })

  t.test('the engines are restarted once', async t => {
    const done = await command({ verb: 'engine-restart', mode: 'live' })
    t.match(done, { state: 'succeeded', hazard: 'caution' })
    t.equal(cell.restarts.length, 1)
  })

  t.test('an unknown verb is refused before it is sent', async t => {
    const { error } = await command({ verb: 'fly', mode: 'live' })
    t.match(error, {
      code: 'invalid_request',
      param: 'verb',
      message: /it supports ping, announce/,
    })
  })

  t.test('a result of 256 KiB passes through the broker', async t => {
    const done = await command({ verb: 'dump', mode: 'live' })
    t.equal(done.state, 'succeeded')
    t.equal(String(done.result).length, MAX_RESULT_BYTES - 2)
  })

  t.test('a stop is executed while another verb hangs, and ends it', async t => {
    const hanging = await at.ask('POST', `${path}/commands`, { verb: 'hang', mode: 'live' })
    const isRunning = ({ progress }: Json) => progress !== null
    const running = await at.waitForBody(`/v1/commands/${hanging.body.id}`, isRunning)
    t.match(running, { state: 'executing', progress: { percent: 50 } })
    t.match(await command({ verb: 'halt', mode: 'live' }), { state: 'succeeded' })
    const ended = await at.waitForBody(`/v1/commands/${hanging.body.id}`, ({ state }) => {
      return state !== 'executing'
    })
    t.match(ended, { state: 'failed', reason: 'overtaken' })
  })

  t.test('wrong parameters are refused by the cell', async t => {
    const done = await command({ verb: 'ping', mode: 'live', params: { high: 1 } })
    t.match(done, { state: 'rejected', reason: 'invalid_params' })
  })

  t.test('the list shows all commands, newest first, a page at a time', async t => {
    const { body } = await at.ask('GET', '/v1/commands?limit=4')
    t.equal((body.commands as Json[]).length, 4)
    const rest = await at.ask('GET', `/v1/commands?limit=4&before=${body.next}`)
    t.equal((rest.body.commands as Json[]).length, 3)
    t.equal(rest.body.next, null)
  })

  t.test('settings of a tag and of the cell override its file', async t => {
    const document = { telemetry: { interval_seconds: 30 }, log: { level: 'fatal' } }
    t.match((await at.ask('PUT', '/v1/tags/lab/config', { document })).body, { cells: 1 })
    const set = await at.ask('PUT', `${path}/config`, {
      document: { telemetry: { interval_seconds: 2 }, inference: { slots: 3 } },
    })
    t.equal(set.status, 200)
    const { reported, desired, sources } = await at.waitForBody(
      `${path}/config`,
      ({ reported }) => (reported as Json)?.applied_version === 2,
    )
    t.match(reported, { state: 'probation', errors: [] })
    t.match((reported as Json).settings, {
      telemetry: { interval_seconds: 2 },
      log: { level: 'fatal' },
      inference: { slots: 3 },
    })
    t.match(desired, { version: 2, document: { log: { level: 'fatal' } } })
    t.match(sources, [{ scope: 'tag', name: 'lab' }, { scope: 'cell' }])
    t.equal(cell.logger.level, 'fatal')
    t.match(cell.restarts.at(-1), { slots: 3 })
  })

  t.test('settings are not overwritten from an outdated version', async t => {
    const stale = await at.ask('PUT', `${path}/config`, { document: {}, if_version: 1 })
    t.equal(stale.status, 409)
  })

  t.test('settings that could cut the cell off are refused', async t => {
    for (const document of [
      { coordinator: { url: 'https://elsewhere.example' } },
      { catalogue: [] },
      { local: { port: 1 } },
      { telemetry: { interval_seconds: 0 } },
    ]) {
      const { status } = await at.ask('PUT', `${path}/config`, { document })
      t.equal(status, 422, JSON.stringify(document))
    }
  })

  t.test('a daemon stopped on probation receives the same settings again', async t => {
    await cell.end()
    const file = join(at.folder, 'cell', 'desired.json')
    await waitUntil(
      'nothing is being tried',
      () => !readFileSync(file, 'utf8').includes('"trying"'),
    )
    const again = startDaemon(t, at)
    t.equal(again.logger.level, 'silent')
    const { reported } = await at.waitForBody(`${path}/config`, () => again.restarts.length > 0)
    t.match(reported, { desired_version: 2, applied_version: 2, state: 'probation' })
    t.match(again.restarts, [{ slots: 3 }])
  })

  t.test('settings for a tag without cells are stored, with a notice', async t => {
    const { status, body } = await at.ask('PUT', '/v1/tags/lba/config', { document: {} })
    t.equal(status, 200)
    t.match(body, { name: 'lba', cells: 0 })
  })
})

t.test('SIGHUP makes a daemon reread its file', async t => {
  const at = await place(t)
  const file = join(at.folder, 'shoald.yaml')
  const write = (seconds: number) =>
    writeFileSync(
      file,
      `telemetry: { interval_seconds: ${seconds} }\ninference: { preload: false }\n`,
    )
  write(7)
  const flags = ['--config', file, '--state-dir', join(at.folder, 'cell')]
  const shoald = new Process('shoald', () => [...flags, '--coordinator-url', at.url], {
    SHOAL_COORDINATOR_JOIN_TOKEN: at.token,
  })
  shoald.start()
  t.teardown(() => shoald.end('SIGTERM'))
  const { cells } = await at.waitForBody('/v1/cells', ({ cells }) => {
    return (cells as Json[])[0]?.presence === 'ready'
  })
  const path = `/v1/cells/${(cells as Json[])[0]?.id}/config`
  const interval = ({ reported }: Json): unknown =>
    (reported as { settings: { telemetry: Json } } | null)?.settings.telemetry.interval_seconds
  await at.waitForBody(path, config => interval(config) === 7)

  write(9)
  process.kill(shoald.pid, 'SIGHUP')
  const { reported } = await at.waitForBody(path, config => interval(config) === 9)
  t.match(reported, { state: 'probation', errors: [] })

  writeFileSync(file, 'telemetry: { interval_seconds: 0 }')
  process.kill(shoald.pid, 'SIGHUP')
  await shoald.line(/configuration not read again.*|"reason":"telemetry/)

  const discover = (modules: string) =>
    writeFileSync(file, `telemetry: { interval_seconds: 9 }\ndiscovery: { modules: ${modules} }\n`)
  discover('{ snmp-discover: { communities: 7 } }')
  process.kill(shoald.pid, 'SIGHUP')
  await shoald.line(/discovery\.modules\.snmp-discover: communities.*settings not reloaded/)
  discover('{}')
  process.kill(shoald.pid, 'SIGHUP')
  await shoald.line(/discovery settings reloaded/)
  t.equal(interval((await at.ask('GET', path)).body), 9)
})
