import { hash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import { profilesFile, readProfiles, writeProfiles } from '../../../clients/cli/profiles.ts'
import { readSecret } from '../../../clients/cli/read-secret.ts'
import { type CliSettings, resolveSettings } from '../../../clients/cli/settings.ts'
import {
  issueAuthority,
  issueServerCertificate,
} from '../../../coordinator/kernel/tls/certificate.ts'
import { temporaryFolder } from '../../coordinator/kernel/store/temporary.ts'
import { error, fakeCoordinator, type ReceivedRequest } from '../../support/fake-coordinator.ts'
import { hasPython, runInTerminal, SHOAL, shoal } from '../../support/shoal-program.ts'

const KEY = `svc-dev-abcdefgh_${'k'.repeat(40)}`

t.test('settings come from a flag, the environment or a profile, in that order', async t => {
  const kept = {
    current: 'a',
    profiles: {
      a: { url: 'http://a:1', key: 'key-a', tenant: 'tenant-a' },
      b: { url: 'http://b:1', key: 'key-b' },
    },
  }
  const resolveWith = (options: object, env: Record<string, string>): CliSettings =>
    resolveSettings({ format: 'text', ...options }, env, kept)
  for (const [options, env, url, key, urlFrom] of [
    [{}, {}, 'http://a:1', 'key-a', 'the profile a'],
    [{}, { SHOAL_PROFILE: 'b' }, 'http://b:1', 'key-b', 'the profile b'],
    [{ profile: 'b' }, { SHOAL_PROFILE: 'a' }, 'http://b:1', 'key-b', 'the profile b'],
    [{}, { SHOAL_KEY: 'e' }, 'http://a:1', 'e', 'the profile a'],
    [{ key: 'f' }, { SHOAL_KEY: 'e' }, 'http://a:1', 'f', 'the profile a'],
    [{}, { SHOAL_URL: 'http://a:1/', SHOAL_KEY: '' }, 'http://a:1/', 'key-a', 'SHOAL_URL'],
    [{ url: 'http://c:1', key: 'f' }, { SHOAL_URL: 'http://e:1' }, 'http://c:1', 'f', '--url'],
    // a profile that is named at the command means what is in it
    [{ profile: 'b' }, { SHOAL_URL: 'http://e:1', SHOAL_KEY: 'e' }, 'http://b:1', 'key-b', /b$/],
    [{ profile: 'b', key: 'f' }, {}, 'http://b:1', 'f', 'the profile b'],
  ] as const)
    t.match(resolveWith(options, env), { url, key, urlFrom }, JSON.stringify([options, env]))
  t.equal(resolveWith({}, {}).tenant, 'tenant-a')
  t.equal(resolveWith({ profile: 'b' }, {}).tenant, undefined)
  t.match(resolveSettings({ format: 'text' }, {}, { profiles: {} }), { urlFrom: 'the default' })
  t.throws(() => resolveWith({ profile: 'c' }, {}), {
    code: 'config_invalid',
    message: /no profile c/,
  })
  t.throws(() => resolveWith({ profile: 'constructor' }, {}), { code: 'config_invalid' })
})

t.test('the key of a profile is sent only to its own address', async t => {
  const kept = { current: 'a', profiles: { a: { url: 'http://a:1', key: 'k', ca: 'pem' } } }
  for (const url of ['http://b:1', 'https://a:1', 'http://a:2', 'http://a:1@b:1', 'rubbish']) {
    const { key, ca, keyHeldBack } = resolveSettings({ format: 'text', url }, {}, kept)
    t.strictSame([key, ca], [undefined, undefined], url)
    t.match(keyHeldBack, /profile a is valid for http:\/\/a:1 only/)
  }
})

t.test('a profile file that other users can access is rejected', async t => {
  const folder = await temporaryFolder(t)
  const file = profilesFile({ XDG_CONFIG_HOME: folder })
  t.strictSame(readProfiles(file), { profiles: {} }, 'none is none')
  mkdirSync(join(folder, 'shoal'), { mode: 0o755 })
  await writeProfiles(file, { profiles: { a: { url: 'http://a', key: KEY } } })
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.equal(statSync(join(folder, 'shoal')).mode & 0o777, 0o700)
  for (const mode of [0o640, 0o604, 0o620, 0o601]) {
    chmodSync(file, mode)
    t.throws(() => readProfiles(file), { code: 'config_invalid', message: /chmod 600/ })
  }
  chmodSync(file, 0o600)
  writeFileSync(file, `{"profiles":{"a":{"key":"${KEY}"`)
  t.throws(() => readProfiles(file), { code: 'config_invalid', message: /^(?!.*svc-dev)/s })
  t.equal(profilesFile({ HOME: '/h' }), '/h/.config/shoal/profiles.json')
})

const model = (id: string) => ({
  id,
  kind: 'chat',
  state: 'ready',
  cells_ready: 1,
  context_length: 2048,
  weights: null,
})

const scene = async (t: Test) => {
  const home = await temporaryFolder(t)
  const { url, asked } = await fakeCoordinator(t, ({ path, key }: ReceivedRequest) => {
    if (key !== undefined && key !== KEY)
      return [401, error('auth_required', `${key} is not valid`)]
    if (path === '/v1/skills') return [200, { skills: [] }]
    return path === '/v1/catalogue' ? [200, { models: [model(key ?? 'none')] }] : undefined
  })
  const env = { HOME: home }
  return { env, url, asked, file: profilesFile(env) }
}

t.test('shoal login', async t => {
  t.test('stores a working key, makes it current and never shows it', async t => {
    const { env, url, file } = await scene(t)
    const login = await shoal(env, ['login', '--url', `${url}/`, '--key', '-'], `${KEY}\n`)
    t.match(login, { code: 0, out: `${url}/mcp/?toolsets=find`, err: '' })
    t.equal(statSync(file).mode & 0o777, 0o600)
    t.match(JSON.parse(readFileSync(file, 'utf8')), { profiles: { default: { url, key: KEY } } })
    t.match(await shoal(env, ['models', 'list']), {
      code: 0,
      out: RegExp(`^${KEY} +ready +chat`, 'm'),
    })

    await shoal(env, ['login', '--url', url, '--profile', 'two', '--no-check'], `${KEY}2\n`)
    const list = await shoal(env, ['profile', 'list', '--format', 'json'])
    t.match(JSON.parse(list.out).profiles, [{ name: 'default' }, { name: 'two', in_use: '*' }])
    t.match(await shoal(env, ['models', 'list', '--profile', 'default']), { code: 0 })
    const refused = await shoal(env, ['models', 'list'])
    t.match(refused, { code: 77, err: /the key is from the profile two/ })
    t.match(refused.err, /\[key\] is not valid/)
    const used = await shoal(env, ['profile', 'use', 'default'])
    const shown = await shoal(env, ['profile', 'show'])
    t.match(shown, { code: 0, out: /has_key +true/ })
    const removed = await shoal(env, ['profile', 'remove', 'default'])
    t.match(removed, { code: 0 })
    t.notOk(readFileSync(file, 'utf8').includes(`"${KEY}"`))
    t.match(await shoal(env, ['profile', 'show', 'default']), { code: 66, err: /profile list/ })
    for (const { out, err } of [login, list, refused, used, shown, removed])
      t.notMatch(out + err, 'k'.repeat(40))
  })

  t.test('stores nothing when the key, the address or the login is refused', async t => {
    const { env, url, file } = await scene(t)
    for (const [args, input, code] of [
      [['--url', url], 'other-key-of-somebody\n', 77],
      [['--url', url], '\n', 64],
      [['--url', url], 'two words\n', 64],
      [['--url', 'ftp://a'], `${KEY}\n`, 64],
      [['--url', 'http://me:secret@a'], `${KEY}\n`, 64],
      [['--url', url, '--profile', '../x'], `${KEY}\n`, 64],
      [['--url', url, '--pin', 'short'], `${KEY}\n`, 64],
      [['--url', url, '--pin', 'p'.repeat(43)], `${KEY}\n`, 64],
      [['--url', url, '--ca-file', SHOAL], `${KEY}\n`, 78],
      [['--url', 'http://127.0.0.1:9'], `${KEY}\n`, 69],
    ] as const) {
      const ended = await shoal(env, ['login', ...args], input)
      t.equal(ended.code, code, `${args.join(' ')}: ${ended.err}`)
      t.notMatch(ended.err, /secret|kkkk|other-key/)
      t.equal(/rejected this key; it was not stored.*\nit may be/.test(ended.err), code === 77)
    }
    t.notOk(existsSync(file))
  })

  t.test('asks for the key on a terminal without echo', { skip: !hasPython }, async t => {
    const { env, url, file } = await scene(t)
    const argv = [process.execPath, SHOAL, 'login', '--url', url]
    const type = `x\u007f${KEY}\r`
    const done = await runInTerminal(argv, { env, steps: [{ wait: 'key: ', type }] })
    t.equal(done.code, 0)
    t.notMatch(done.out, 'kkkk')
    t.match(readFileSync(file, 'utf8'), `"${KEY}"`)
    const steps = [{ wait: 'key: ', type: 'abc\u0003' }]
    const left = await runInTerminal(argv, { env, steps })
    t.match(left, { code: 75, out: /nothing was changed/ })
    t.notMatch(left.out, 'abc')
  })
})

t.test('a half-typed key is not taken when the terminal goes away', async t => {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} })
  const read = readSecret('key: ', input, () => {})
  input.end('half')
  await t.rejects(read, { code: 'client_closed' })
})

t.test('a profile can have its own certificate authority', async t => {
  const life = { from: Date.now() - 60_000, to: Date.now() + 86_400_000 }
  const authority = await issueAuthority('shoal', life)
  const other = await issueAuthority('other', life)
  const { certificate, key } = await issueServerCertificate(authority, ['127.0.0.1'], life)
  const server = createServer(
    {
      key: key.export({ type: 'pkcs8', format: 'pem' }),
      cert: certificate.toString() + authority.certificate.toString(),
    },
    (_request, response) => response.end(JSON.stringify({ models: [model('m')] })),
  ).listen(0, '127.0.0.1')
  server.on('tlsClientError', () => {})
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const home = await temporaryFolder(t)
  const env = { HOME: home }
  const fileOf = (name: string, text: string): string => {
    writeFileSync(join(home, name), text)
    return join(home, name)
  }
  const right = fileOf('right.crt', authority.certificate.toString())
  const wrong = fileOf('wrong.crt', other.certificate.toString())
  const list = ['models', 'list', '--url', url]

  t.match(await shoal(env, list), { code: 69, err: /unknown authority.*--ca-file/s })
  t.match(await shoal(env, [...list, '--ca-file', right]), { code: 0, out: /^m +ready +chat/m })
  t.match(await shoal({ ...env, SHOAL_CA_FILE: wrong }, list), { code: 69, err: /certificate/ })
  const login = ['login', '--url', url]
  t.match(await shoal(env, [...login, '--pin', 'A'.repeat(43)], KEY), {
    code: 77,
    err: /other certificates than the pinned one/,
  })
  const pin = hash('sha256', authority.certificate.raw, 'base64url')
  t.match(await shoal(env, [...login, '--pin', pin], KEY), { code: 0 })
  t.match(await shoal(env, ['models', 'list']), { code: 0, out: /^m +ready +chat/m }, 'it is kept')
  t.match(await shoal(env, [...login, '--ca-file', wrong], KEY), { code: 69 })
})
