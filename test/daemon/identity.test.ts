import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
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
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { issueAuthority, issueServerCertificate } from '../../coordinator/kernel/tls/certificate.ts'
import { addressFault, coordinatorPath } from '../../daemon/coordinator-url.ts'
import { enrol } from '../../daemon/enrol.ts'
import { beginEpoch, readIdentity, writeIdentity } from '../../daemon/identity.ts'
import { ShoalError } from '../../shared/errors.ts'
import { createSigner, generatePrivateKey, isSignedBy } from '../../shared/signing.ts'
import { lockState } from '../../shared/state-lock.ts'
import { waitUntil } from '../support/wait-until.ts'
import { logger, newIdentity, noWait } from './stand-in.ts'

const newFolder = (t: { teardown: (done: () => void) => unknown }): string => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-identity-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

t.test('identity', async t => {
  t.test('is absent at first', async t => {
    t.equal(await readIdentity(join(newFolder(t), 'missing')), undefined)
  })

  t.test('is kept in a file that only its owner can read', async t => {
    const folder = join(newFolder(t), 'state')
    const identity = newIdentity('https://c.example')
    await writeIdentity(folder, identity)
    t.strictSame(await readIdentity(folder), identity)
    t.equal(statSync(folder).mode & 0o777, 0o700)
    t.equal(statSync(join(folder, 'identity.json')).mode & 0o777, 0o600)
    t.strictSame(readdirSync(folder), ['identity.json'])
  })

  t.test('has a higher epoch at every start, and makes its file private', async t => {
    const folder = newFolder(t)
    await writeIdentity(folder, newIdentity('https://c.example'))
    chmodSync(join(folder, 'identity.json'), 0o644)
    const first = await readIdentity(folder)
    const second = first && (await beginEpoch(folder, first))
    t.equal(second?.epoch, 8)
    t.strictSame(await readIdentity(folder), second)
    t.equal(statSync(join(folder, 'identity.json')).mode & 0o777, 0o600)
  })

  for (const text of [
    '',
    '{',
    '[]',
    '{"cell_id":"x"}',
    '{"cell_id":"cell_1","credential":"","epoch":-1}',
  ])
    t.test(`causes an error when damaged (${text}), and the file is left unchanged`, async t => {
      const folder = newFolder(t)
      writeFileSync(join(folder, 'identity.json'), text)
      await t.rejects(readIdentity(folder), { code: 'store_unavailable', message: /is damaged/ })
      t.equal(readFileSync(join(folder, 'identity.json'), 'utf8'), text)
    })

  t.test('causes a clear error when its folder is not writable', async t => {
    const folder = newFolder(t)
    writeFileSync(join(folder, 'file'), '')
    await t.rejects(writeIdentity(join(folder, 'file'), newIdentity('x')), {
      code: 'store_unavailable',
    })
  })

  t.test('one daemon at a time uses a state folder', async t => {
    const folder = join(newFolder(t), 'state')
    const first = new AbortController()
    const second = new AbortController()
    t.teardown(() => second.abort())
    await lockState(folder, first.signal)
    await t.rejects(lockState(folder, second.signal), {
      code: 'conflict',
      message: `another process already uses ${folder} (pid ${process.pid}): stop it, or use another folder with --state-dir`,
    })
    first.abort()
    t.strictSame(readdirSync(folder), [])
    await lockState(folder, second.signal)
  })

  t.test('the lock of a killed daemon is free', async t => {
    const folder = join(newFolder(t), 'a'.repeat(120))
    const stop = new AbortController()
    const rival = new AbortController()
    t.teardown(() => stop.abort())
    mkdirSync(folder)
    const listenAndDie = `require('net').createServer().listen('lock', () =>
      process.kill(process.pid, 'SIGKILL'))`
    const { signal } = spawnSync(process.execPath, ['-e', listenAndDie], { cwd: folder })
    t.strictSame([signal, readdirSync(folder)], ['SIGKILL', ['lock']])
    await lockState(folder, stop.signal)
    await t.rejects(lockState(folder, rival.signal), { code: 'conflict' })
    t.strictSame(readdirSync(folder), ['lock'])
  })

  t.test('a second process is refused although the lock file was deleted', async t => {
    const folder = newFolder(t)
    const stop = new AbortController()
    const rival = new AbortController()
    t.teardown(() => [stop, rival].forEach(each => void each.abort()))
    const told: string[] = []
    const onLost = (message: string): void => void told.push(message)
    await lockState(folder, stop.signal, { onLost, everyMs: 20 })
    rmSync(join(folder, 'lock'))
    await t.rejects(lockState(folder, rival.signal), { code: 'conflict' })
    await waitUntil('the loss is reported', () => told.length > 0)
    t.strictSame(told, [`the lock file of ${folder} was deleted; it was created again`])
    t.strictSame(readdirSync(folder), ['lock'])
    stop.abort()
    t.strictSame(readdirSync(folder), [])
    await lockState(folder, rival.signal)
  })

  t.test('no process outside the folder can hold the lock', async t => {
    const folder = newFolder(t)
    const { dev, ino } = statSync(folder)
    const squatter = net.createServer().listen(`\0shoald-${dev}-${ino}`)
    await once(squatter, 'listening')
    t.teardown(() => squatter.close())
    const stop = new AbortController()
    t.teardown(() => stop.abort())
    await lockState(folder, stop.signal)
  })
})

t.test('plain http is allowed only for a coordinator on loopback', async t => {
  for (const [url, usable] of [
    ['https://c.example', true],
    ['https://c.example:8443/shoal/', true],
    ['http://127.0.0.1:7070', true],
    ['http://127.9.9.9', true],
    ['http://localhost:7070', true],
    ['http://[::1]:7070', true],
    ['http://2130706433', true],
    ['http://c.example', false],
    ['http://10.0.0.1', false],
    ['http://127.0.0.1.evil.example', false],
    ['http://localhost.evil.example', false],
    ['http://0.0.0.0', false],
    ['ftp://127.0.0.1', false],
    ['https://name:word@c.example', false],
    ['https://c.example/?x=1', false],
    ['c.example', false],
    ['', false],
  ] as const)
    t.equal(addressFault(url) === undefined, usable, `${url} can${usable ? '' : 'not'} be used`)

  t.equal(coordinatorPath('https://c.example/shoal/', '/v1/x').href, 'https://c.example/shoal/v1/x')
  t.equal(coordinatorPath('https://c.example', '/v1/x').href, 'https://c.example/v1/x')
})

interface Answer {
  status: number
  body: string
}

t.test('enrolment', async t => {
  const signer = createSigner(generatePrivateKey())
  const answers: Answer[] = []
  const asked: string[] = []
  const server = http.createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    asked.push(`${request.method} ${request.url} ${body}`)
    const answer = answers.shift()
    if (answer === undefined) return void request.socket.destroy()
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const run = (pauses: number[] = [], given: { url?: string; token?: string } = {}) =>
    enrol({
      url,
      token: 'tok',
      name: 'n',
      signer,
      timeoutSeconds: 10,
      now: () => 5,
      signal: new AbortController().signal,
      logger,
      wait: noWait(pauses),
      random: () => 1,
      ...given,
    })
  const good = { status: 201, body: '{"cell_id":"cell_1","credential":"c"}' }

  t.test('exchanges the token for an identity', async t => {
    answers.push(good)
    t.strictSame(await run(), {
      cell_id: 'cell_1',
      credential: 'c',
      credential_at: 5,
      coordinator_url: url,
      epoch: 0,
    })
    const { proof, ...claim } = JSON.parse(asked.at(-1)?.replace(/^[^{]*/, '') ?? '')
    t.strictSame(claim, { token: 'tok', name: 'n', public_key: signer.publicKey })
    t.ok(isSignedBy(signer.publicKey, 'enrol', claim, proof))
    t.match(asked.at(-1), /^POST \/v1\/cells\/enrol /)
  })

  t.test('retries while the coordinator is unreachable or not ready', async t => {
    const pauses: number[] = []
    answers.push({ status: 503, body: '' }, { status: 500, body: 'x' }, good)
    t.match(await run(pauses), { cell_id: 'cell_1' })
    t.strictSame(pauses, [250, 500])
  })

  t.test('ends at a refused token, with the message of the coordinator', async t => {
    const body = JSON.stringify({
      error: { message: 'the token has expired', code: 'auth_required' },
    })
    answers.push({ status: 401, body })
    await t.rejects(run(), new ShoalError('auth_required', 'the token has expired'))
  })

  t.test('retries after a 401 that does not come from a coordinator', async t => {
    answers.push({ status: 401, body: '<h1>log in</h1>' }, good)
    t.match(await run(), { cell_id: 'cell_1' })
  })

  t.test('ends at an invalid answer', async t => {
    for (const body of ['', '{}', 'x'.repeat(100_000)]) {
      answers.push({ status: 201, body })
      await t.rejects(run(), { code: 'upgrade_required' })
    }
  })

  t.test(
    'sends a token with a fingerprint to no other server, however the address is written',
    async t => {
      const life = { from: Date.now() - 1000, to: Date.now() + 60_000 }
      const authority = await issueAuthority('shoal', life)
      const { certificate, key } = await issueServerCertificate(authority, ['127.0.0.1'], life)
      const other = https.createServer({
        key: key.export({ type: 'pkcs8', format: 'pem' }),
        cert: certificate.toString() + authority.certificate.toString(),
      })
      other.listen(0, '127.0.0.1')
      await once(other, 'listening')
      t.teardown(() => other.close())
      const { port } = other.address() as AddressInfo
      const { length } = asked
      for (const address of [`https://127.0.0.1:${port}`, `HTTPS://127.0.0.1:${port}`, url])
        await t.rejects(run([], { url: address, token: `tok.${'A'.repeat(43)}` }), {
          code: 'forbidden',
        })
      t.equal(asked.length, length)
    },
  )

  t.test('ends at a signal', async t => {
    const stop = new AbortController()
    const wait = async () => stop.abort()
    const options = {
      url: 'http://127.0.0.1:9',
      token: 't',
      name: 'n',
      signer,
      timeoutSeconds: 10,
    }
    await t.rejects(enrol({ ...options, signal: stop.signal, logger, wait }), {
      name: 'AbortError',
    })
  })
})
