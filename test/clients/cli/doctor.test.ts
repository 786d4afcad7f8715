import type { AddressInfo } from 'node:net'
import t from 'tap'
import { doctor } from '../../../clients/cli/doctor.ts'
import { type DoctorSubject, examineConnection } from '../../../clients/cli/doctor-checks.ts'
import type { CoordinatorReply, DoctorResult } from '../../../clients/cli/doctor-result.ts'
import { resolveSettings } from '../../../clients/cli/settings.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { VERSION } from '../../../shared/version.ts'
import { temporaryFolder } from '../../coordinator/kernel/store/temporary.ts'
import { appWith } from '../../support/app.ts'
import { shoal } from '../../support/shoal-program.ts'

const NOW = Date.parse('2026-11-20T12:00:00.500Z')
const KEY = `svc-dev-abcdefgh_${'k'.repeat(40)}`

const headers = { 'x-shoal-version': VERSION, date: 'Fri, 20 Nov 2026 12:00:00 GMT' }

type Bodies = Record<string, [status: number, body: unknown, headers?: Record<string, string>]>

const fine: Bodies = {
  '/v1/health': [200, { status: 'ok', cells: 1, models: 2, latency_ms: 1 }],
  '/health': [200, { status: 'ok', broker: 'ok', store: 'ok' }],
  '/v1/keys?limit=1000': [
    200,
    {
      keys: [
        { id: 'abcdefgh', tenant_id: 'home', tier: 'pro', roles: ['client'], expires_at: null },
      ],
    },
    { 'x-ratelimit-limit': '1000', 'x-ratelimit-remaining': '3' },
  ],
}

const patient = (
  {
    bodies = {},
    url = 'http://127.0.0.1:7070',
    key = KEY as string | undefined,
    days = 90,
  } = {} as {
    bodies?: Bodies
    url?: string
    key?: string | undefined
    days?: number
  },
): DoctorSubject => ({
  settings: resolveSettings(
    { format: 'text', url, ...(key === undefined ? {} : { key }) },
    {},
    { profiles: {} },
  ),
  look: async (path): Promise<CoordinatorReply> => {
    const [status, body, more = {}] = { ...fine, ...bodies }[path] ?? [404, {}]
    return { status, body, headers: new Headers({ ...headers, ...more }), at: NOW }
  },
  daysLeft: async () => days,
  countCommands: async () => 60,
})

const findings = async (of: DoctorSubject): Promise<DoctorResult[]> => {
  const all: DoctorResult[] = []
  for await (const finding of examineConnection(of)) all.push(finding)
  return all
}
const findNamed = async (name: string, of: DoctorSubject): Promise<DoctorResult | undefined> =>
  (await findings(of)).find(each => each.name === name)

t.test('every check passes on a healthy setup', async t => {
  const found = await findings(patient())
  t.strictSame([...new Set(found.map(({ state }) => state))], ['ok'])
  t.strictSame(
    found.map(({ name }) => name),
    [
      'settings',
      'reach',
      'tls',
      'version',
      'clock',
      'key',
      'quota',
      'service',
      'broker',
      'store',
      'commands',
    ],
  )
  t.match(
    found.find(({ name }) => name === 'key')?.says,
    /abcdefgh is valid: tier pro, roles client/,
  )
  t.notMatch(JSON.stringify(found), 'kkkk')
})

t.test('each fault is reported with a remedy', async t => {
  const createLateHealth = (seconds: number) => ({
    '/v1/health': [
      200,
      { status: 'ok', cells: 1, models: 2 },
      { date: new Date(NOW - seconds * 1000).toUTCString() },
    ] as Bodies[string],
  })
  const version = (text: string): Bodies => ({
    '/v1/health': [200, { status: 'ok' }, { 'x-shoal-version': text }],
  })
  for (const [name, of, state, says] of [
    ['tls', patient({ url: 'http://shoal.example' }), 'warn', /not encrypted/],
    ['tls', patient({ url: 'https://shoal.example' }), 'ok', /90 days/],
    ['tls', patient({ url: 'https://shoal.example', days: 13.5 }), 'warn', /13 days/],
    ['version', patient({ bodies: version('99.0.0') }), 'fail', /99\.0\.0/],
    ['version', patient({ bodies: version(VERSION.replace(/\d+$/, '99')) }), 'warn', /99/],
    ['clock', patient({ bodies: createLateHealth(4) }), 'ok', /agree/],
    ['clock', patient({ bodies: createLateHealth(6) }), 'warn', /6 s behind/],
    ['clock', patient({ bodies: createLateHealth(-200) }), 'fail', /200 s ahead/],
    [
      'key',
      patient({ bodies: { '/v1/keys?limit=1000': [401, {}] } }),
      'fail',
      /from --key is refused/,
    ],
    [
      'quota',
      patient({
        bodies: {
          '/v1/keys?limit=1000': [
            200,
            {},
            { 'x-ratelimit-limit': '10', 'x-ratelimit-remaining': '0' },
          ],
        },
      }),
      'warn',
      /0 of 10/,
    ],
    [
      'quota',
      patient({
        bodies: { '/v1/keys?limit=1000': [200, {}, { 'x-ratelimit-limit': 'unlimited' }] },
      }),
      'ok',
      /are not limited/,
    ],
    ['quota', patient({ bodies: { '/v1/keys?limit=1000': [200, {}] } }), 'warn', /does not state/],
    [
      'service',
      patient({ bodies: { '/v1/health': [200, { status: 'degraded', cells: 0, models: 0 }] } }),
      'warn',
      /degraded/,
    ],
    [
      'service',
      patient({ bodies: { '/v1/health': [200, { status: 'unavailable', cells: 0, models: 0 }] } }),
      'fail',
      /unavailable: 0 cells, 0 models/,
    ],
    [
      'broker',
      patient({ bodies: { '/health': [200, { broker: 'unavailable', store: 'ok' }] } }),
      'fail',
      /unavailable/,
    ],
    [
      'store',
      patient({ bodies: { '/health': [200, { broker: 'ok', store: 'unavailable' }] } }),
      'fail',
      /unavailable/,
    ],
    ['rows', patient({ bodies: { '/health': [200, { damaged_rows: 0 }] } }), 'ok', /readable/],
    [
      'rows',
      patient({ bodies: { '/health': [200, { damaged_rows: 2 }] } }),
      'warn',
      /2 stored rows/,
    ],
  ] as const) {
    const found = await findNamed(name, of)
    t.match(found, { state, says }, `${name}: ${found?.says}`)
    t.equal(found?.next !== undefined, state !== 'ok', `${name} has a next step`)
  }
  t.match(await findNamed('service', patient()), { says: 'ok: 1 cell, 2 models' })
  const none = resolveSettings({ format: 'text' }, {}, { profiles: {} })
  t.match(await findNamed('key', { ...patient(), settings: none }), { state: 'fail', says: /none/ })
  const mute = {
    ...patient(),
    countCommands: () => Promise.reject(new ShoalError('internal', 'damaged')),
  }
  t.match(await findNamed('commands', mute), { state: 'warn', says: 'damaged' })
})

t.test('the settings name the source of each value once', async t => {
  const kept = { current: 'work', profiles: { work: { url: 'http://a', key: KEY } } }
  const describeSettings = async (flags: object, env: Record<string, string>) => {
    const settings = resolveSettings({ format: 'text', ...flags }, env, kept)
    return (await findNamed('settings', { ...patient(), settings }))?.says
  }
  t.equal(await describeSettings({}, {}), 'http://a and the key from the profile work')
  t.equal(
    await describeSettings({ key: 'k' }, {}),
    'http://a from the profile work, key from --key',
  )
  t.equal(
    await describeSettings({ url: 'http://b', key: 'k' }, {}),
    'http://b from --url, key from --key, profile work',
  )
  t.equal(
    await describeSettings({ url: 'http://b' }, {}),
    'http://b from --url, no key, profile work',
  )
})

t.test('the checks end when no coordinator answers', async t => {
  const refused = Object.assign(new Error(), { code: 'ECONNREFUSED' })
  const away = { ...patient(), look: () => Promise.reject(refused) }
  t.match(await findings(away), [
    { name: 'settings' },
    { name: 'reach', state: 'fail', next: /npm start/ },
  ])
  const silent = Object.assign(new Error(), { code: 'UND_ERR_HEADERS_TIMEOUT' })
  t.match(await findings({ ...patient(), look: () => Promise.reject(silent) }), [
    {},
    { name: 'reach', state: 'fail', next: /accepts connections but does not answer: read its log/ },
  ])
  const proxy: DoctorSubject = {
    ...patient(),
    look: async () => ({ status: 200, body: undefined, headers: new Headers(), at: NOW }),
  }
  const found = await findings(proxy)
  t.match(found, [{}, { state: 'fail', says: /not a coordinator/ }])
  t.equal(found.length, 2)
})

t.test('the checks end at an answer that says that too many requests were sent', async t => {
  const error = { message: 'too many requests without a valid key' }
  for (const path of ['/v1/health', '/v1/keys?limit=1000', '/health']) {
    const bodies: Bodies = { [path]: [429, { error }, { 'retry-after': '7' }] }
    const found = await findings(patient({ bodies }))
    t.match(found.at(-1), { name: 'limit', says: error.message, next: 'try again in 7 s' })
    const failed = found.filter(({ state }) => state !== 'ok')
    t.equal(failed.length, 1, path)
  }
})

t.test('the exit code is that of the first failure', async t => {
  const run = async (all: DoctorResult[], json = false) => {
    let out = ''
    const say = (text: string) => {
      out += text
    }
    async function* yieldResults() {
      yield* all
    }
    return { code: await doctor(yieldResults(), json, say, 60), out }
  }
  const ok: DoctorResult = { name: 'a', state: 'ok', says: 'x' }
  const warn: DoctorResult = { name: 'b', state: 'warn', says: 'x', next: 'y' }
  const key: DoctorResult = {
    name: 'key',
    state: 'fail',
    says: 'z',
    next: 'y',
    code: 'auth_required',
  }
  t.match(await run([ok]), { code: 0, out: /No problems found/ })
  t.match(await run([ok, warn]), { code: 0, out: /Nothing is broken, but there is 1 warning/ })
  t.match(await run([warn, key, { ...key, code: 'store_unavailable' }]), { code: 77 })
  const { out } = await run([key], true)
  t.strictSame(JSON.parse(out), {
    healthy: false,
    checks: [{ name: 'key', state: 'fail', says: 'z', next: 'y' }],
  })
  const long = await run([{ ...ok, says: 'word '.repeat(40).trim() }])
  t.ok(long.out.split('\n').every(line => line.length <= 60))
})

t.test('the program examines a real coordinator', async t => {
  const app = await appWith()
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const env = { HOME: await temporaryFolder(t), SHOAL_URL: `http://127.0.0.1:${port}` }
  const bare = await shoal(env, ['doctor'])
  t.match(bare, { code: 77, err: '', out: /fail {2}key +there is none\n +-> set SHOAL_KEY/ })
  for (const check of ['reach', 'version', 'clock', 'broker', 'store', 'commands'])
    t.match(bare.out, new RegExp(`^ok +${check} `, 'm'))
  const json = await shoal({ ...env, SHOAL_KEY: 'wrong' }, ['doctor', '--format', 'json'])
  t.equal(json.code, 77)
  t.match(JSON.parse(json.out), { healthy: false })
  const away = await shoal(env, ['doctor', '--url', 'http://127.0.0.1:9'])
  t.match(away, { code: 69, out: /^fail {2}reach/m })
  t.match(await shoal(env, ['doctor', '--url', 'nonsense']), { code: 78 })
  t.match(await shoal(env, ['doctor', '--profile', 'none']), { code: 78, out: /no profile none/ })
})
