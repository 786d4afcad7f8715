import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { doctorCommand } from '../../daemon/cli/doctor.ts'
import { takeFlags } from '../../daemon/cli/flags.ts'
import { footprint } from '../../daemon/cli/footprint.ts'
import { joinCommand } from '../../daemon/cli/join.ts'
import { leaveCommand } from '../../daemon/cli/leave.ts'
import { signingKeyFile, writeIdentity } from '../../daemon/identity.ts'
import { logger, newIdentity } from './stand-in.ts'

const newFolder = (t: Test): string => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-cli-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

const contextOf = (argv: string[], write: (text: string) => void = () => {}) => ({
  argv,
  env: { PATH: '/none' },
  write,
  logger,
  signal: new AbortController().signal,
})

t.test('the flags of a command', async t => {
  const take = (...argv: string[]) => takeFlags(argv, ['token'], ['yes'])

  t.test('are extracted from any position', async t => {
    t.strictSame(take('https://c', '--name', 'n', '--token', 'T', '--yes'), {
      values: { token: 'T' },
      switches: { yes: true },
      words: ['https://c'],
      rest: ['--name', 'n'],
    })
    t.strictSame(take('--token=a=b', '--name=n', 'https://c'), {
      values: { token: 'a=b' },
      switches: { yes: false },
      words: ['https://c'],
      rest: ['--name', 'n'],
    })
  })

  t.test('require their value', async t => {
    t.throws(() => take('--token'), { code: 'wrong_usage', message: '--token needs a value' })
  })
})

t.test('join is refused before any request is sent', async t => {
  const state = newFolder(t)
  const [address, token] = ['https://a.example', ['--token', 'x']]
  for (const [what, argv, code, message] of [
    ['without an address', token, 'wrong_usage', /shoald join URL/],
    ['with two addresses', [address, address, ...token], 'wrong_usage', /shoald join URL/],
    ['without a token', [address], 'wrong_usage', /no token/],
    [
      'with a token file that is not there',
      [address, '--token-file', '/no'],
      'not_found',
      /ENOENT/,
    ],
    ['over plain http', ['http://a.example', ...token], 'wrong_usage', /use https/],
    ['with a key that is none', [address, ...token, '--colour', '1'], 'wrong_usage', /colour/],
  ] as [string, string[], string, RegExp][])
    t.test(what, async t => {
      const context = contextOf([
        ...argv,
        ...(argv.includes('--colour') ? [] : ['--state-dir', state]),
      ])
      await t.rejects(joinCommand(context), { code, message })
    })
})

t.test('files are removed before the state folder is unlocked', async t => {
  const state = join(newFolder(t), 'state')
  const left = footprint(state)
  mkdirSync(state)
  left.markLocked()
  writeFileSync(signingKeyFile(state), 'ours')
  await left.takeBack(() => {
    t.notOk(existsSync(signingKeyFile(state)))
    writeFileSync(signingKeyFile(state), 'of somebody else')
  })
  t.ok(existsSync(signingKeyFile(state)))
  const again = footprint(state)
  again.markLocked()
  await again.takeBack(() => {})
  t.ok(existsSync(signingKeyFile(state)), 'a key of before stays')
})

t.test('a refused join leaves nothing behind and keeps existing files', async t => {
  const server = createServer((_request, response) => {
    response.writeHead(401, { 'content-type': 'application/json' })
    response.end('{"error":{"message":"the token is not valid","code":"auth_required"}}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const runJoin = (at: string, stateDir: string) =>
    joinCommand(contextOf([at, '--token', 'used', '--state-dir', stateDir]))
  const folder = newFolder(t)
  const refused = { code: 'auth_required' }

  await t.rejects(runJoin(url, join(folder, 'a', 'b')), refused)
  t.strictSame(readdirSync(folder), [], 'the folders that it made are gone')

  const own = join(folder, 'own')
  mkdirSync(own)
  writeFileSync(join(own, 'shoald.yaml'), 'name: x')
  await t.rejects(runJoin(url, own), refused)
  t.strictSame(readdirSync(own), ['shoald.yaml'])

  await t.rejects(runJoin('http://127.0.0.1:9', own), { code: 'coordinator_unavailable' })
  const files = ['shoald.yaml', 'signing.key']
  t.strictSame(readdirSync(own).toSorted(), files, 'the key that may be known already is kept')
  await t.rejects(runJoin(url, own), refused)
  t.strictSame(readdirSync(own).toSorted(), files, 'a key of before stays')
})

interface Report {
  healthy: boolean
  checks: { name: string; state: string; says: string; remedy?: string }[]
}

t.test('leave takes no arguments', async t => {
  await t.rejects(leaveCommand(contextOf(['cell-1', '--yes'])), { code: 'wrong_usage' })
})

t.test('the program', async t => {
  const shoald = (...args: string[]) => {
    const script = resolve(import.meta.dirname, '..', '..', 'bin', 'shoald.mjs')
    return spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' })
  }
  const { stdout: help } = shoald('--help')
  for (const command of ['join', 'leave', 'doctor']) {
    const { status, stdout } = shoald(command, '--help')
    t.equal(status, 0, `${command} has a help of its own`)
    t.ok(stdout.startsWith(`Usage: shoald ${command} `))
    t.ok(help.includes(`shoald ${command} `))
  }
  const unknown = shoald('frobnicate')
  t.equal(unknown.status, 64)
  t.match(
    unknown.stderr,
    /^shoald: there is no command "frobnicate": there are join, leave, doctor/,
  )
})

t.test('join creates no folder for a configuration file that is named', async t => {
  const folder = newFolder(t)
  const missing = join(folder, 'missing')
  const state = join(folder, 'state')
  const argv = ['http://127.0.0.1:1', '--token', 'shl_join_x', '--state-dir', state]
  await t.rejects(
    joinCommand(contextOf([...argv, '--config', join(missing, 'deeper', 'shoald.yaml')])),
    { code: 'config_invalid', message: /missing\/deeper of the configuration file does not exist/ },
  )
  t.notOk(existsSync(missing))
  t.notOk(existsSync(state), 'and leaves nothing else behind')
})

t.test('doctor', async t => {
  const runDoctor = async (...argv: string[]) => {
    let text = ''
    const write = (more: string) => {
      text += more
    }
    const code = await doctorCommand(contextOf([...argv, '--format', 'json'], write))
    const report: Report = JSON.parse(text)
    const of = (name: string) => report.checks.find(check => check.name === name)
    return { code, report, of }
  }

  t.test('reports a machine that is not a cell, and how to enrol it', async t => {
    const { code, report, of } = await runDoctor('--state-dir', newFolder(t))
    t.equal(code, 69)
    t.equal(report.healthy, false)
    t.match(of('identity'), { state: 'fail', remedy: /shoald join/ })
    t.match(of('weights'), { state: 'ok' })
    t.match(of('disk'), { state: 'ok' })
    for (const name of ['bluetooth', 'wifi']) t.match(of(name), { state: /ok|warn/ }, name)
  })

  t.test('distinguishes an unreachable coordinator from its consequences', async t => {
    const state = newFolder(t)
    await writeIdentity(state, newIdentity('http://127.0.0.1:9'))
    const { of } = await runDoctor('--state-dir', state)
    t.match(of('identity'), { state: 'ok' })
    t.match(of('coordinator'), { state: 'fail', says: /cannot reach http:\/\/127\.0\.0\.1:9/ })
    for (const name of ['certificate', 'credential', 'clock', 'broker', 'link'])
      t.match(of(name), { state: 'skip' }, name)
  })

  t.test('says how many coordinators the daemon is connected to', async t => {
    const state = newFolder(t)
    await writeIdentity(state, newIdentity('http://127.0.0.1:9'))
    const check = async () => (await runDoctor('--state-dir', state)).of('coordinators')
    t.match(await check(), { state: 'ok', says: /^one/ })
    const planes = { 'uplink connection': { connected: 2, live: 3 } }
    writeFileSync(join(state, 'coordinators.json'), JSON.stringify({ at: 0, planes }))
    t.match(await check(), {
      state: 'warn',
      says: 'uplink connection: 2 of 3 coordinators connected, since 1970-01-01T00:00:00.000Z',
      remedy: /sticky sessions/,
    })
  })

  t.test('warns of an identity that others can read', async t => {
    const state = newFolder(t)
    await writeIdentity(state, newIdentity('http://127.0.0.1:9'))
    chmodSync(join(state, 'identity.json'), 0o644)
    t.match((await runDoctor('--state-dir', state)).of('identity'), {
      state: 'warn',
      remedy: /^chmod 600/,
    })
  })

  t.test('stops at a fault that prevents further checks', async t => {
    const state = newFolder(t)
    writeFileSync(join(state, 'identity.json'), '{')
    const damaged = await runDoctor('--state-dir', state)
    t.equal(damaged.code, 69)
    t.match(damaged.report.checks, [{ name: 'identity', state: 'fail', says: /is damaged/ }])
    const wrong = await runDoctor('--state-dir', state, '--local-port', 'red')
    t.match(wrong.report.checks, [{ name: 'configuration', state: 'fail', says: /"red"/ }])
    const missing = await runDoctor('--state-dir', state, '--config', join(state, 'none.yaml'))
    t.equal(missing.code, 69)
    t.match(missing.report.checks, [{ name: 'configuration', state: 'fail', says: /none\.yaml/ }])
  })

  t.test('refuses unknown arguments', async t => {
    for (const [argv, message] of [
      [['--colour', 'red'], /--colour/],
      [['--format', 'xml'], /must be text or json, not xml/],
      [['now'], /"now" is an unexpected argument; shoald doctor/],
    ] as const)
      await t.rejects(doctorCommand(contextOf([...argv])), { code: 'wrong_usage', message })
  })

  t.test('names a model whose weights cannot be loaded', async t => {
    const folder = newFolder(t)
    const weights = join(folder, 'w.gguf')
    writeFileSync(weights, 'rubbish')
    const file = join(folder, 'shoald.yaml')
    const model = { id: 'm:1b', kind: 'chat', minimum_tier: 'free', weights, context_length: 512 }
    writeFileSync(file, JSON.stringify({ state_dir: folder, catalogue: [model] }))
    t.match((await runDoctor('--config', file)).of('weights'), { state: 'fail', says: /^m:1b: / })
  })
})
