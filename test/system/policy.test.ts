import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { bootstrap } from '../../coordinator/access/keys/bootstrap.ts'
import { openStore } from '../../coordinator/kernel/store/store.ts'
import { placeEmptyStore } from '../support/empty-store.ts'
import { MEMORY_FOLDER } from '../support/memory-folder.ts'
import { shoal as runShoal } from '../support/shoal-program.ts'
import { Process } from '../support/stack.ts'

const root = resolve(import.meta.dirname, '..', '..')
const folder = mkdtempSync(join(MEMORY_FOLDER, 'shoal-policy-'))
const stateDir = join(folder, 'coordinator')
const file = join(folder, 'policy.yaml')

interface Ran {
  code: number | null
  out: string
  error: string
}

/** One of our programs to its end. */
const run = (program: string, args: string[], env: object = {}): Promise<Ran> =>
  new Promise(done => {
    const command = [join(root, 'bin', program), ...args]
    const child = spawn(process.execPath, command, {
      env: { PATH: process.env.PATH, HOME: folder, ...env },
    })
    let out = ''
    let error = ''
    child.stdout.on('data', piece => {
      out += piece
    })
    child.stderr.on('data', piece => {
      error += piece
    })
    child.on('close', code => done({ code, out, error }))
  })

/** A coordinator over the store, with more flags; resolves when it is up. */
const start = async (...flags: string[]) => {
  const coordinator = new Process('shoal-coordinator', () => [
    ...['--state-dir', stateDir, '--http-port', '0', ...flags],
  ])
  coordinator.start()
  const [, url = ''] = await coordinator.line(/"url":"(http:\/\/127\.0\.0\.1:\d+)"/)
  return { coordinator, url }
}

t.test('an approved policy applies without a restart, and survives one', async t => {
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  placeEmptyStore(stateDir)
  const store = await openStore(stateDir)
  const { keys } = await bootstrap(store)
  await store.close()

  const first = await start()
  t.teardown(() => first.coordinator.end('SIGTERM'))
  const shoal = async (url: string, key: string, ...args: string[]): Promise<Ran> => {
    const env = { HOME: folder, SHOAL_URL: url, SHOAL_KEY: key }
    const { code, out, err } = await runShoal(env, args)
    return { code, out, error: err }
  }
  const runAsOperator = (...args: string[]) => shoal(first.url, keys.operator, ...args)
  const asks = async (url: string) =>
    (await shoal(url, keys.operator, 'policy', 'check', '--action-type', 'tea.make')).code

  t.equal(await asks(first.url), 77, 'what no rule knows is denied')
  const shown = await runAsOperator('policy', 'show', '--as', 'yaml')
  t.equal(shown.code, 0, shown.error)
  const rule = '  - { id: tea, actions: [tea.make], decision: allowed, reason: Tea is harmless. }\n'
  const row = '  - { action_type: tea.make, expect: allowed }\n'
  const text = shown.out
    .replace(/^version: .*$/m, 'version: tea')
    .replace(/^rules:\n/m, `rules:\n${rule}`)
    .replace(/^tests:\n/m, `tests:\n${row}`)
  writeFileSync(file, text.replace('expect: allowed }', 'expect: denied }'))
  const refused = await runAsOperator('policy', 'change', file)
  t.equal(refused.code, 65)
  t.match(refused.error, /test 1: tea\.make by person \(client\) is allowed, not denied/)
  t.equal((await runAsOperator('policy', 'change', join(folder, 'none.yaml'))).code, 65)

  writeFileSync(file, text)
  const dry = await runAsOperator('policy', 'change', file, '--dry-run')
  t.equal(dry.code, 0, dry.error)
  t.match(dry.out, /tea +rule +added/)
  const asked = await runAsOperator('policy', 'change', file)
  t.equal(asked.code, 75, asked.error)
  t.match(asked.out, /1 rule added/)
  const [id = ''] = /gate_\w{26}/.exec(asked.out) ?? []
  const watched = await shoal(first.url, keys.approver_a, 'gate', 'watch', '--once')
  t.match(watched.out, /plan +action +policy\.change[\s\S]*Tea is harmless/)
  for (const key of [keys.approver_a, keys.approver_b])
    t.equal((await shoal(first.url, key, 'gate', 'approve', id)).code, 0)
  t.equal(await asks(first.url), 77, 'approved is not yet carried out')
  const done = await runAsOperator('policy', 'change', file)
  t.equal(done.code, 0, done.error)
  t.match(done.out, /status +changed/)
  t.equal(await asks(first.url), 0, 'at once')
  t.match((await runAsOperator('policy', 'history')).out, new RegExp(id))
  await first.coordinator.end('SIGTERM')

  await t.test('the approved policy outranks a different file, with a warning', async t => {
    const old = join(folder, 'old.yaml')
    writeFileSync(old, readFileSync(join(root, 'coordinator/access/gates/policy.yaml'), 'utf8'))
    const { coordinator, url } = await start('--policy-file', old)
    t.equal(await asks(url), 0)
    t.ok(coordinator.lines.some(line => /"level":"warn".*old\.yaml is not policy 1/.test(line)))
    const checks = await shoal(url, keys.operator, '--format', 'json', 'policy', 'check')
    const all: { id: string }[] = JSON.parse(checks.out).checks
    t.match(
      all.find(({ id }) => id === 'rules-in-force'),
      { passed: false, reason: /old\.yaml is not policy 1, which is in force/ },
    )
    await coordinator.end('SIGTERM')
  })

  await t.test('an operator of the machine can restore the configured policy', async t => {
    const accept = ['--state-dir', stateDir, 'policy', 'accept', '--reason', 'no tea']
    const accepted = await run('shoal-coordinator.mjs', accept)
    t.equal(accepted.code, 0, accepted.error)
    t.match(accepted.out, /number +2/)
    t.equal((await run('shoal-coordinator.mjs', accept)).code, 65, 'it holds already')
    const { coordinator, url } = await start()
    t.equal(await asks(url), 77)
    await coordinator.end('SIGTERM')
  })
})
