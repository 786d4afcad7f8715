import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { DaemonConfig } from '../../daemon/config.ts'
import { daemon } from '../../daemon/daemon.ts'
import type { InferenceBackend } from '../../daemon/daemon-parts.ts'
import { loadConfig } from '../../shared/config.ts'
import { exitCode } from '../../shared/errors.ts'
import { newId } from '../../shared/ids.ts'
import { Announce } from '../../shared/wire/announce.ts'
import { Sample } from '../../shared/wire/telemetry.ts'
import { logger, type StandIn, standIn, waitUntilTrue } from './stand-in.ts'

const inference = (): InferenceBackend & { stopped: boolean } => {
  const fake = {
    name: 'inference',
    stopped: false,
    start: async ({ signal }: { signal: AbortSignal }) => {
      signal.addEventListener('abort', () => {
        fake.stopped = true
      })
    },
    reports: () => [],
    onChange: () => () => {},
    handle: (_request: unknown, response: { end: (text: string) => void }) =>
      response.end('served'),
  }
  return fake as InferenceBackend & { stopped: boolean }
}

interface Setting {
  folder: string
  coordinator: StandIn
  cellId: string
}

/** A coordinator that takes the token `good` once, and a state folder. */
const setting = async (t: { teardown: (done: () => void | Promise<void>) => unknown }) => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-daemon-'))
  const coordinator = await standIn()
  const cellId = newId('cell')
  let used = false
  coordinator.server.on('request', async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const wrong = JSON.parse(body).token !== 'good' || used
    used = true
    response.writeHead(wrong ? 401 : 201, { 'content-type': 'application/json' })
    const error = { message: 'the token is wrong or used', code: 'auth_required' }
    response.end(JSON.stringify(wrong ? { error } : { cell_id: cellId, credential: 'secret' }))
  })
  t.teardown(async () => {
    await coordinator.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  return { folder, coordinator, cellId }
}

const start = ({ folder, coordinator }: Setting, config: Record<string, unknown> = {}) => {
  const stop = new AbortController()
  const fake = inference()
  const ended = daemon({
    config: DaemonConfig.parse({
      name: 'n',
      state_dir: join(folder, 'state'),
      ...config,
      coordinator: { url: coordinator.url, ...(config.coordinator ?? {}) },
    }),
    env: { PATH: folder },
    inference: fake,
    logger,
    signal: stop.signal,
  })
  return { stop, fake, ended }
}

t.test('daemon', async t => {
  t.test('enrols once, announces itself and sends samples', async t => {
    const at = await setting(t)
    writeFileSync(join(at.folder, 'token'), 'good\n')
    const first = start(at, { coordinator: { join_token_file: join(at.folder, 'token') } })
    await waitUntilTrue(() => at.coordinator.heard.some(({ topic }) => topic === 'telemetry'))
    await waitUntilTrue(() => at.coordinator.links.length === 1)
    const birth = at.coordinator.heard.find(({ topic }) => topic === 'birth')?.message
    const telemetry = at.coordinator.heard.find(({ topic }) => topic === 'telemetry')?.message
    t.match(Announce.parse(birth?.body), { name: 'n', protocol: 1, gpus: [] })
    t.match(Sample.parse(telemetry?.body), { gpus: [], spool_dropped: 0 })
    t.equal(birth?.sender, at.cellId)
    t.equal(birth?.epoch, 1)
    first.stop.abort()
    await first.ended
    t.ok(first.fake.stopped)

    const second = start(at)
    await waitUntilTrue(() => at.coordinator.heard.some(({ message }) => message.epoch === 2))
    second.stop.abort()
    await second.ended
    const stored = JSON.parse(readFileSync(join(at.folder, 'state', 'identity.json'), 'utf8'))
    t.match(stored, { cell_id: at.cellId, epoch: 2, coordinator_url: at.coordinator.url })
  })

  t.test('a wrong token ends the daemon', async t => {
    const at = await setting(t)
    const { ended, stop } = start(at, { coordinator: { join_token: 'bad' } })
    await t.rejects(ended, { code: 'auth_required', message: 'the token is wrong or used' })
    stop.abort()
  })

  t.test('the daemon cannot start without identity and token', async t => {
    const at = await setting(t)
    const { ended, stop } = start(at)
    await t.rejects(ended, { code: 'config_invalid', message: /join token/ })
    stop.abort()
  })

  t.test('a damaged identity is not replaced, whatever the token', async t => {
    const at = await setting(t)
    const first = start(at, { coordinator: { join_token: 'good' } })
    await waitUntilTrue(() => at.coordinator.links.length === 1)
    first.stop.abort()
    await first.ended
    writeFileSync(join(at.folder, 'state', 'identity.json'), '{"cell_id"')
    const { ended, stop } = start(at, { coordinator: { join_token: 'good' } })
    await t.rejects(ended, { code: 'store_unavailable' })
    stop.abort()
  })
})

t.test('configuration', async t => {
  t.test('every key but the token has a default', async t => {
    const config = DaemonConfig.parse({})
    t.match(config, {
      state_dir: '.shoal/cell',
      coordinator: { connect_timeout_seconds: 10 },
      telemetry: { interval_seconds: 5 },
      spool: { max_bytes: 64 * 1024 * 1024 },
      local: { port: 0 },
    })
    t.ok(config.name.length > 0)
    t.ok(config.catalogue.length > 0)
  })

  t.test('plain http to another machine is refused with the reason', async t => {
    const load = () =>
      loadConfig({
        program: 'shoald',
        schema: DaemonConfig,
        argv: ['--coordinator-url', 'http://c.example'],
        env: {},
      })
    t.throws(load, { code: 'config_invalid', message: /coordinator\.url is .*use https/ })
  })

  t.test('settings that may not be set remotely are refused in the file too', async t => {
    for (const [flag, value, key] of [
      ['--spool-max-bytes', 65 * 1024 ** 3, 'spool.max_bytes'],
      ['--spool-drain-bytes-per-second', 2 * 1024 ** 3, 'spool.drain_bytes_per_second'],
    ] as const) {
      const argv = [flag, String(value)]
      const load = () => loadConfig({ program: 'shoald', schema: DaemonConfig, argv, env: {} })
      t.throws(load, { code: 'config_invalid', message: new RegExp(key) })
    }
    t.equal(exitCode('config_invalid'), 78)
  })

  t.test('the token is not printed', async t => {
    const loaded = loadConfig({
      program: 'shoald',
      schema: DaemonConfig,
      argv: ['--print-config'],
      env: { SHOAL_COORDINATOR_JOIN_TOKEN: 'hush-hush' },
    })
    t.notMatch(loaded.action === 'print' && loaded.text, /hush/)
  })
})
