import { once } from 'node:events'
import { get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import type { Views } from '../../../../coordinator/assembly/coordinator.ts'
import type { ExportRequest } from '../../../../coordinator/discovery/entities/export-entities.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { appWith, views } from '../../../support/app.ts'
import { shoal } from '../../../support/shoal-program.ts'

/** Exports of a test: what each was asked for, and the parts that were read of it. */
const asked: ExportRequest[] = []
let source: () => AsyncGenerator<string> = async function* () {}
const exportEntities: Views['exportEntities'] = request => {
  asked.push(request)
  return source()
}

const app = await appWith({ views: views({ exportEntities }) })
await app.listen({ port: 0, host: '127.0.0.1' })
t.teardown(() => app.close())
const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
const headers = { authorization: 'Bearer admin-key' }
const PATH = `${url}/a2a/discovery/export?format=jsonl`

t.test('an export is sent while it is read, with the media type of its format', async t => {
  const second = Promise.withResolvers<string>()
  source = async function* () {
    yield 'first\n'
    yield await second.promise
  }
  const response = await fetch(`${url}/a2a/discovery/export?format=csv&risk_level=high`, {
    headers,
  })
  t.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8')
  t.match(asked.at(-1), { format: 'csv', filter: { risk_level: 'high' }, keyId: 'key-admin' })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  t.equal(Buffer.from((await reader.read()).value ?? []).toString(), 'first\n')
  second.resolve('second\n')
  t.equal(Buffer.from((await reader.read()).value ?? []).toString(), 'second\n')
  t.equal((await reader.read()).done, true)
})

t.test('an export that is refused has an ordinary error', async t => {
  source = async function* () {
    if (asked.length > 0) throw new ShoalError('rate_limited', 'too much is unread')
    yield ''
  }
  const response = await fetch(PATH, { headers })
  t.equal(response.status, 429)
  t.match(await response.json(), { error: { code: 'rate_limited' } })
  t.equal((await fetch(PATH)).status, 401)
})

t.test('an export that fails in the middle does not look complete', async t => {
  source = async function* () {
    yield 'first\n'
    throw new ShoalError('store_unavailable', 'the store is unavailable')
  }
  await t.rejects(fetch(PATH, { headers }).then(response => response.text()))
  const { code, err } = await shoal({ SHOAL_URL: url, SHOAL_KEY: 'admin-key' }, [
    ...['discover', 'export', '--format', 'jsonl'],
  ])
  t.match({ code, err }, { code: 69, err: /cut|unreachable|cannot/i })
})

t.test('an export waits for a reader that is slow, and ends when it leaves', async t => {
  const ended = Promise.withResolvers<void>()
  let parts = 0
  source = async function* () {
    try {
      for (; parts < 4096; parts++) {
        yield 'x'.repeat(64 * 1024)
        await turn()
      }
    } finally {
      ended.resolve()
    }
  }
  const sent = get(PATH, { headers })
  const [response] = await once(sent, 'response')
  response.pause()
  // kernel buffers fill up first; then no turn of the loop reads a further part
  for (let still = 0, before = -1; still < 200; await turn()) {
    still = parts === before ? still + 1 : 0
    before = parts
  }
  t.ok(parts < 1024, `${parts} parts of 64 KiB`)
  sent.destroy()
  await ended.promise
  t.ok(parts < 1024)
})

t.test('the command line writes an export in its format', async t => {
  source = async function* () {
    yield '{"entities":['
    yield ']}\n'
  }
  const env = { SHOAL_URL: url, SHOAL_KEY: 'admin-key' }
  const whole = await shoal(env, ['discover', 'export', '--format', 'json'])
  t.match(whole, { code: 0, out: '{"entities":[]}\n' }, whole.err)
  t.match(asked.at(-1), { format: 'json' })
  await shoal(env, ['discover', 'export', '--format', 'cyclonedx', '--device-type', 'printer'])
  t.match(asked.at(-1), { format: 'cyclonedx', filter: { device_type: 'printer' } })
  for (const args of [
    ['discover', 'export', '--format', 'xml'],
    ['discover', 'list', '--format', 'csv'],
    ['health', '--format', 'csv'],
  ])
    t.match(
      await shoal(env, args),
      { code: 64, err: /--format <format> cannot be/ },
      args.join(' '),
    )
})
