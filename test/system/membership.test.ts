import { execFile, spawn } from 'node:child_process'
import { hash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import {
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { join, resolve } from 'node:path'
import { json } from 'node:stream/consumers'
import { promisify } from 'node:util'
import type { Logger } from 'pino'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { bootstrap } from '../../coordinator/access/keys/bootstrap.ts'
import { type Coordinator, serve } from '../../coordinator/assembly/serve.ts'
import { CoordinatorConfig } from '../../coordinator/config.ts'
import { createToken } from '../../coordinator/fleet/enrolment/join-tokens.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { loadOwnCertificate } from '../../coordinator/kernel/tls/own-certificate.ts'
import type { DaemonCommand } from '../../daemon/cli/command.ts'
import { doctorCommand } from '../../daemon/cli/doctor.ts'
import { joinCommand } from '../../daemon/cli/join.ts'
import { leaveCommand } from '../../daemon/cli/leave.ts'
import { DaemonConfig } from '../../daemon/config.ts'
import { daemon } from '../../daemon/daemon.ts'
import type { InferenceBackend } from '../../daemon/daemon-parts.ts'
import { joinTokenText } from '../../shared/join-token.ts'
import { createLogger } from '../../shared/logger.ts'
import { silent } from '../support/cell.ts'
import { placeEmptyStore } from '../support/empty-store.ts'
import { MEMORY_FOLDER } from '../support/memory-folder.ts'
import { certificatePlace } from '../support/secrets.ts'
import { waitUntil } from '../support/wait-until.ts'

/* A real coordinator and real daemons, all but the engines, with and without TLS. */

const root = resolve(import.meta.dirname, '..', '..')

interface Place {
  folder: string
  stateDir: string
  url: string
  operatorKey: string
  coordinator: Coordinator
}

const place = async (t: Test, host: string): Promise<Place> => {
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-membership-'))
  const stateDir = join(folder, 'coordinator')
  placeEmptyStore(stateDir)
  const store = await openStore(stateDir)
  const { keys } = await bootstrap(store)
  await store.close()
  const config = CoordinatorConfig.parse({ state_dir: stateDir, http: { host, port: 0 } })
  const coordinator = await serve(config, silent)
  t.teardown(async () => {
    await coordinator.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  const { port, protocol } = new URL(coordinator.url)
  const url = `${protocol}//127.0.0.1:${port}`
  return { folder, stateDir, url, operatorKey: keys.operator, coordinator }
}

const newToken = async ({ stateDir }: Place, fingerprint?: string): Promise<string> => {
  const store = await openStore(stateDir, { pollMilliseconds: 0 })
  const wanted = { uses: 1, ttlMinutes: 5, tags: ['rack-1'] }
  const { secret } = await createToken(store.ledger, wanted, { actor: 'test' })
  await store.close()
  return joinTokenText({ secret, fingerprint })
}

/** Runs a command of the daemon and answers what it wrote. */
const run = async (command: DaemonCommand, ...argv: string[]) => {
  let text = ''
  const stop = new AbortController()
  const write = (more: string) => {
    text += more
  }
  const context = { argv, env: { PATH: '/none' }, write, logger: silent, signal: stop.signal }
  try {
    const code = await command(context)
    return { code, text }
  } finally {
    stop.abort()
  }
}

const stateOf = ({ folder }: Place, name: string): string => join(folder, name)
const identityIn = (state: string) => JSON.parse(readFileSync(join(state, 'identity.json'), 'utf8'))

const join_ = async (at: Place, name: string, token: string) =>
  run(joinCommand, at.url, '--token', token, '--state-dir', stateOf(at, name), '--name', name)

const noEngines = (): InferenceBackend => ({
  name: 'inference',
  start: async () => {},
  reports: () => [],
  onChange: () => () => {},
  handle: () => {},
})

/** A log of which the lines are kept. */
const logTo = (lines: string[]): Logger =>
  createLogger({ level: 'info' }, { write: line => void lines.push(line) })

/** The daemon itself, in this process. */
const startDaemon = (t: Test, state: string, settings: object = {}, logger = silent) => {
  const stop = new AbortController()
  const config = DaemonConfig.parse({ state_dir: state, name: 'n', ...settings })
  const ended = daemon({
    config,
    env: { PATH: '/none' },
    inference: noEngines(),
    logger,
    signal: stop.signal,
  })
  const end = async (): Promise<void> => {
    stop.abort()
    await ended
  }
  t.teardown(end)
  return { end }
}

const ask = async (at: Place, method: string, path: string) => {
  const isTls = at.url.startsWith('https:')
  const asked = (isTls ? https : http).request(`${at.url}${path}`, {
    method,
    agent: false,
    ...(isTls && { ca: readFileSync(join(at.stateDir, 'tls', 'ca.crt')) }),
    headers: { authorization: `Bearer ${at.operatorKey}`, 'content-type': 'application/json' },
  })
  asked.end(method === 'POST' ? '{}' : undefined)
  const [response] = (await once(asked, 'response')) as [http.IncomingMessage]
  return { status: response.statusCode, body: (await json(response)) as Record<string, unknown> }
}

/** Polls the cell until it is right. */
const waitForCell = (at: Place, id: string, isRight: (cell: Record<string, unknown>) => boolean) =>
  waitUntil(`${id} is as the test needs it`, async () => {
    const { body } = await ask(at, 'GET', `/v1/cells/${id}`)
    return isRight(body) && body
  })

/** Waits until the cell has replaced its credential. */
const waitForRenewal = (state: string, credential: string) =>
  waitUntil('the cell renews', () => identityIn(state).credential !== credential)

const isUp = (cell: Record<string, unknown>): boolean =>
  cell.presence === 'ready' && cell.linked === true

t.test('a coordinator with TLS and its own certificate', async t => {
  const at = await place(t, '0.0.0.0')
  t.match(at.url, /^https:/)
  const ca = new X509Certificate(readFileSync(join(at.stateDir, 'tls', 'ca.crt')))
  const fingerprint = hash('sha256', ca.raw, 'base64url')

  t.test('keeps what join was told in a file that exists, with its comments', async t => {
    const state = stateOf(at, 'told')
    const file = join(at.folder, 'told.yaml')
    writeFileSync(file, '# mine\nname: old # a name\ndrain_seconds: 7\n')
    const flags = ['--config', file, '--state-dir', state, '--name', 'new', '--local-port', '7171']
    const token = await newToken(at, fingerprint)
    const { text } = await run(joinCommand, at.url, '--token', token, ...flags)
    t.match(text, `Settings: ${file} (changed: name, state_dir, local.port, coordinator.url)`)
    const kept = readFileSync(file, 'utf8')
    t.match(kept, /^# mine\nname: new # a name\ndrain_seconds: 7\n/)
    t.match(parse(kept), {
      state_dir: state,
      coordinator: { url: at.url },
      local: { port: 7171 },
    })
    t.notMatch(kept, 'join_token')
  })

  const notRoot = process.getuid?.() === 0 ? false : 'only root joins for another user'
  t.test('lets the daemon of another user read new settings', { skip: notRoot }, async t => {
    const daemonUser = 61_234
    const credentials = ['--discovery-modules', '{"x":{"key":"v"}}']
    for (const [name, file, flags, mode, uid, gid] of [
      ['inside', undefined, credentials, 0o600, daemonUser, daemonUser],
      ['outside', 'outside.yaml', [], 0o644, 0, 0],
      ['hidden', 'hidden.yaml', credentials, 0o640, 0, daemonUser],
    ] as const) {
      const state = stateOf(at, name)
      mkdirSync(state)
      chownSync(state, daemonUser, daemonUser)
      const path = join(at.folder, file ?? join(name, 'shoald.yaml'))
      const named = file === undefined ? [] : ['--config', path]
      const token = ['--token', await newToken(at, fingerprint)]
      await run(joinCommand, at.url, ...token, ...named, '--state-dir', state, ...flags)
      const made = statSync(path)
      t.strictSame([made.mode & 0o777, made.uid, made.gid], [mode, uid, gid], name)
    }
  })

  t.test('enrols a machine, and the pin holds', async t => {
    const { code, text } = await join_(at, 'first', await newToken(at, fingerprint))
    t.equal(code, 0)
    t.match(text, /This machine is cell_/)
    const state = stateOf(at, 'first')
    const { cell_id, coordinator_ca, coordinator_key } = identityIn(state)
    t.match(coordinator_ca, /BEGIN CERTIFICATE/)
    t.match(coordinator_key, /^[\w-]{43}$/)
    t.match(readFileSync(join(state, 'shoald.yaml'), 'utf8'), /url: https:/)

    const checked = await run(doctorCommand, '--state-dir', state)
    t.equal(checked.code, 0, checked.text)
    const [, next = ''] = /^If it does not show up: (.*)$/m.exec(text) ?? []
    const { stdout } = await promisify(execFile)('sh', ['-c', next])
    t.match(stdout, 'identity', 'the printed line works')
    for (const name of [
      'coordinator',
      'certificate',
      'credential',
      'signing key',
      'clock',
      'broker',
      'link',
    ])
      t.match(checked.text, new RegExp(`^ok +${name} `, 'm'), name)
    t.match(cell_id, /^cell_/)
  })

  t.test('carries control plane and link over TLS', async t => {
    const state = stateOf(at, 'first')
    const { end } = startDaemon(t, state)
    const cell = await waitForCell(at, identityIn(state).cell_id, isUp)
    t.equal(cell.presence, 'ready')
    await end()
  })

  t.test('learns nothing from a token of another coordinator', async t => {
    const token = await newToken(at, 'A'.repeat(43))
    await t.rejects(join_(at, 'second', token), {
      code: 'forbidden',
      message: /is not the coordinator/,
    })
    const { code } = await join_(at, 'second', `${token.split('.')[0]}.${fingerprint}`)
    t.equal(code, 0, 'the token was not sent, so it is not used up')
  })

  t.test('is not trusted without a fingerprint for its authority', async t => {
    await t.rejects(join_(at, 'third', await newToken(at)), {
      code: 'coordinator_unavailable',
      message: /not from an authority that this cell trusts/,
    })
  })

  t.test('is refused with a clear message when its authority differs', async t => {
    const state = stateOf(at, 'first')
    const identity = identityIn(state)
    const other = await loadOwnCertificate(await certificatePlace(t), ['localhost'])
    const moved = stateOf(at, 'moved')
    mkdirSync(moved, { mode: 0o700 })
    const coordinator_ca = readFileSync(other.caFile ?? '', 'utf8')
    writeFileSync(join(moved, 'identity.json'), JSON.stringify({ ...identity, coordinator_ca }), {
      mode: 0o600,
    })
    const { code, text } = await run(doctorCommand, '--state-dir', moved)
    t.equal(code, 69)
    t.match(text, /^fail +coordinator .*certificate is not from/m)
    t.match(text, /^skip +credential/m)
  })
})

t.test('a coordinator on loopback', async t => {
  const at = await place(t, '127.0.0.1')

  t.test('refuses invalid enrolments', async t => {
    const used = await newToken(at)
    t.equal((await join_(at, 'used', used)).code, 0)
    for (const [what, token] of [
      ['for a token that was used', used],
      ['for a token that nobody made', `shl_join_${'x'.repeat(8)}_${'y'.repeat(49)}`],
      ['for a text that is no token', 'hello'],
      ['for a token with half a fingerprint', `${used}.short`],
    ] as const)
      await t.rejects(join_(at, `refused ${what}`, token), { code: 'auth_required' }, what)
    await t.rejects(join_(at, 'used', await newToken(at)), { code: 'conflict' }, 'for a cell')
    await t.rejects(run(joinCommand, 'http://10.1.2.3:7070', '--token', used), {
      code: 'wrong_usage',
      message: /use https/,
    })
  })

  t.test('shows a cell with the tags of its token, and has it renew on request', async t => {
    await join_(at, 'renewed', await newToken(at))
    const state = stateOf(at, 'renewed')
    const { cell_id, credential } = identityIn(state)
    startDaemon(t, state)
    t.match(await waitForCell(at, cell_id, isUp), { tags: ['rack-1'] })
    t.equal((await ask(at, 'POST', `/v1/cells/${cell_id}/renew`)).status, 200)
    await waitForRenewal(state, credential)
    const headers = (secret: string) => ({
      authorization: `Basic ${Buffer.from(`${cell_id}:${secret}`).toString('base64')}`,
      'x-shoal-probe': '1',
    })
    const self = (secret: string) =>
      fetch(`${at.url}/v1/cells/${cell_id}/self`, { headers: headers(secret) })
    t.equal((await self(credential)).status, 401, 'the credential from before is refused')
    t.equal((await self(identityIn(state).credential)).status, 200)
    const foreign = identityIn(stateOf(at, 'used')).cell_id
    const response = await fetch(`${at.url}/v1/cells/${foreign}/self`, {
      headers: headers(identityIn(state).credential),
    })
    t.equal(response.status, 403, 'one cell is not told about another')
  })

  t.test('accepts a daemon that died during a renewal with its remaining credential', async t => {
    await join_(at, 'died', await newToken(at))
    const state = stateOf(at, 'died')
    const identity = identityIn(state)
    const asCell = async (method: string, path: string, secret: string) => {
      const authorization = `Basic ${Buffer.from(`${identity.cell_id}:${secret}`).toString('base64')}`
      const url = `${at.url}/v1/cells/${identity.cell_id}/${path}`
      const headers = { authorization, 'x-shoal-boot-id': 'a'.repeat(32) }
      const response = await fetch(url, { method, headers })
      return (await response.json()) as { credential: string }
    }
    const next_credential = (await asCell('POST', 'credential', identity.credential)).credential
    await asCell('GET', 'self', next_credential)
    writeFileSync(join(state, 'identity.json'), JSON.stringify({ ...identity, next_credential }))
    startDaemon(t, state)
    await waitForCell(at, identity.cell_id, isUp)
    t.match(identityIn(state), { credential: next_credential, epoch: 1 })
  })

  t.test('sends a new signing key, endorsed by the old one, to every cell', async t => {
    await join_(at, 'trusting', await newToken(at))
    const state = stateOf(at, 'trusting')
    const { cell_id, coordinator_key } = identityIn(state)
    startDaemon(t, state)
    await waitForCell(at, cell_id, isUp)
    const { body } = await ask(at, 'POST', '/v1/signing-key/rotate')
    t.not(body.signing_key, coordinator_key)
    await waitUntil('the cell pins the new key', () => {
      return identityIn(state).coordinator_key === body.signing_key
    })
  })

  t.test('disconnects a cell that another process revokes', async t => {
    await join_(at, 'revoked', await newToken(at))
    const state = stateOf(at, 'revoked')
    const { cell_id } = identityIn(state)
    startDaemon(t, state)
    await waitForCell(at, cell_id, isUp)
    const admin = spawn(
      process.execPath,
      [
        join(root, 'bin', 'shoal-coordinator.mjs'),
        '--state-dir',
        at.stateDir,
        'cell',
        'revoke',
        cell_id,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    await once(admin.stdout, 'data')
    await waitForCell(at, cell_id, cell => cell.presence === 'revoked' && cell.linked === false)
    const { code, text } = await run(doctorCommand, '--state-dir', state)
    t.equal(code, 69)
    t.match(text, /^fail +credential .*was revoked/m)
    t.match(text, /^fail +link .*was revoked/m, 'and it is not blamed on a proxy')
  })

  t.test('puts a cell and its copy in quarantine until an operator releases it', async t => {
    await join_(at, 'original', await newToken(at))
    const state = stateOf(at, 'original')
    const { cell_id } = identityIn(state)
    const original = startDaemon(t, state)
    await waitForCell(at, cell_id, isUp)
    const copied = stateOf(at, 'copy')
    cpSync(state, copied, { recursive: true })
    const copy = startDaemon(t, copied)
    await waitForCell(at, cell_id, cell => cell.presence === 'quarantined' && cell.linked === false)
    await original.end()
    await copy.end()
    const doctor = await run(doctorCommand, '--state-dir', state)
    t.equal(doctor.code, 69)
    t.match(doctor.text, /^fail +credential .*in quarantine: two machines/m)
    t.equal((await ask(at, 'POST', `/v1/cells/${cell_id}/release`)).status, 200)
    t.equal((await ask(at, 'POST', `/v1/cells/${cell_id}/release`)).status, 409)
    startDaemon(t, state)
    t.ok(isUp(await waitForCell(at, cell_id, isUp)), 'the original is back')
  })

  t.test('detects a copy from before a renewal when it connects', async t => {
    await join_(at, 'young', await newToken(at))
    const state = stateOf(at, 'young')
    const { cell_id, credential } = identityIn(state)
    const copied = stateOf(at, 'old copy')
    cpSync(state, copied, { recursive: true })
    const original = startDaemon(t, state)
    await waitForCell(at, cell_id, isUp)
    await ask(at, 'POST', `/v1/cells/${cell_id}/renew`)
    await waitForRenewal(state, credential)
    const lines: string[] = []
    const copy = startDaemon(t, copied, {}, logTo(lines))
    await waitForCell(at, cell_id, cell => cell.presence === 'quarantined' && cell.linked === false)
    const listReleaseHints = () => lines.filter(line => line.includes('shoal cells release'))
    await waitUntil('the copy says what to do', () => listReleaseHints().length > 0)
    await copy.end()
    t.equal(listReleaseHints().length, 1, 'the copy says once what to do')
    const alerts = async () =>
      ((await ask(at, 'GET', '/v1/alerts')).body.alerts as Record<string, unknown>[]).filter(
        ({ rule, cell_id: about, cleared_at }) =>
          rule === 'cell_quarantined' && about === cell_id && cleared_at === null,
      )
    await waitUntil('an alert is raised', async () => (await alerts()).length > 0)
    const { body } = await ask(at, 'POST', '/v1/skills/self-diagnose')
    t.match(JSON.stringify(body), new RegExp(`in quarantine: [^"]*${cell_id}`))
    await original.end()
    t.equal((await ask(at, 'POST', `/v1/cells/${cell_id}/release`)).status, 200)
    startDaemon(t, state)
    t.ok(isUp(await waitForCell(at, cell_id, isUp)), 'the original is back with the new one')
    await waitUntil('the alert is cleared', async () => (await alerts()).length === 0)
  })

  t.test('keeps a daemon that starts ten times in a row', async t => {
    await join_(at, 'restless', await newToken(at))
    const state = stateOf(at, 'restless')
    const { cell_id } = identityIn(state)
    for (let i = 0; i < 10; i++) {
      const { end } = startDaemon(t, state)
      await waitForCell(at, cell_id, cell => cell.epoch === i + 1 && isUp(cell))
      await end()
    }
    t.match((await ask(at, 'GET', `/v1/cells/${cell_id}`)).body, { epoch: 10 })
  })

  t.test('removes a machine that leaves', async t => {
    await join_(at, 'leaving', await newToken(at))
    const state = stateOf(at, 'leaving')
    const { cell_id } = identityIn(state)
    const leave = (...argv: string[]) => run(leaveCommand, '--state-dir', state, ...argv)
    await t.rejects(leave(), { code: 'invalid_request', message: /add --yes/ })
    const { end } = startDaemon(t, state)
    await waitForCell(at, cell_id, isUp)
    await t.rejects(leave('--yes'), { code: 'conflict' })
    await end()
    t.equal((await leave('--yes')).code, 0)
    t.strictSame(readdirSync(state), ['shoald.yaml'], 'only what the operator may have written')
    t.match((await ask(at, 'GET', `/v1/cells/${cell_id}`)).body, { presence: 'revoked' })
    await t.rejects(leave('--yes'), { code: 'not_found' })
  })
})
