import { appendFile, mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Cron } from 'croner'
import t, { type Test } from 'tap'
import { listBackups } from '../../../coordinator/backup/backup-catalogue.ts'
import { BackupSettings } from '../../../coordinator/backup/backup-settings.ts'
import { type BackupRequest, createBackup } from '../../../coordinator/backup/create-backup.ts'
import { isDue, openBackup } from '../../../coordinator/backup/open.ts'
import { restoreBackup, verifyBackup } from '../../../coordinator/backup/restore-backup.ts'
import { openSealed, SealedFile, sealBytes } from '../../../coordinator/backup/seal.ts'
import { bootstrap } from '../../../coordinator/keys/bootstrap.ts'
import { Keys } from '../../../coordinator/keys/keys.ts'
import { verifyUsage } from '../../../coordinator/quota/accept-usage.ts'
import { createUsage } from '../../../coordinator/quota/usage.ts'
import { queryUsage } from '../../../coordinator/quota/usage-query.ts'
import { openStore } from '../../../coordinator/store/store.ts'
import { silent } from '../../support/cell.ts'
import { secretsOf, signingOf } from '../../support/secrets.ts'
import { coordinator } from '../../support/shoal-program.ts'
import { notInFiles, temporaryFolder } from '../store/temporary.ts'

const PASSPHRASE = 'correct horse battery staple'
const NOW = Date.UTC(2026, 10, 20, 12)
const EVER = { from: 0, to: 1e14, groupBy: ['tenant', 'model'] as const, limit: 10 }

/** A store with keys, secrets, audit and usage in a state folder, and a folder for backups. */
const rig = async (t: Pick<Test, 'teardown'>) => {
  const [stateDir, folder] = [await temporaryFolder(t), await temporaryFolder(t)]
  const store = await openStore(stateDir, { pollMilliseconds: 0 })
  t.teardown(() => store.close())
  const { keys } = await bootstrap(store)
  await signingOf(store, stateDir)
  const usage = createUsage(store)
  const addUsage = async () => {
    await usage.record({
      at: NOW,
      key_id: 'k',
      tenant_id: 'one',
      model: 'm',
      cell_id: 'c',
      route: '/v1/chat/completions',
      status: 'ok',
      prompt_tokens: 3,
      completion_tokens: 5,
      cached_tokens: 0,
      duration_ms: 20,
      request_id: 'r',
    })
    await usage.anchor()
  }
  await addUsage()
  const request = {
    ...{ folder, stateDir, passphrase: PASSPHRASE, now: NOW, isScheduled: false },
    store: 'sqlite' as const,
  }
  const make = (more: Partial<BackupRequest> = {}) => createBackup({ ...request, ...more })
  return { store, stateDir, folder, keys, addUsage, make }
}

/** What queries answer on the store of a state folder. */
const query = async (stateDir: string, presented: string) => {
  const store = await openStore(stateDir, { pollMilliseconds: 0, mustExist: true })
  const keys = new Keys({ store, logger: silent })
  try {
    return {
      key: (await keys.authenticate(presented))?.id,
      usage: await queryUsage(store.records, EVER),
      losses: (await verifyUsage(store)).losses,
      secret: (await secretsOf(store, stateDir)).get('signing'),
      audit: (await store.ledger.read.selectFrom('audit').selectAll().execute()).length,
    }
  } finally {
    keys.close()
    await store.close()
  }
}

t.test('a restored backup answers as the store did', { skip: notInFiles }, async t => {
  const { stateDir, folder, keys, addUsage, make } = await rig(t)
  const before = await query(stateDir, keys.operator)
  const { name } = await make()
  await addUsage()
  const path = join(folder, name)
  t.match(await verifyBackup(path, PASSPHRASE, NOW + 1), { audit_rows: before.audit })
  t.match(await listBackups(folder), [{ name, verified: { ok: true, at: NOW + 1 } }])
  const target = join(await temporaryFolder(t), 'state')
  const { next } = await restoreBackup(path, target, PASSPHRASE)
  t.match(next, `shoal-coordinator --state-dir ${target} audit accept`)
  t.strictSame(await query(target, keys.operator), before)
  t.not(before.key, undefined)
  t.match(before, { usage: [{ ok: 1 }], losses: [], secret: /private_key/ })
  t.equal((await stat(join(target, 'sealing.key'))).mode & 0o777, 0o600)
  await t.rejects(restoreBackup(path, target, PASSPHRASE), { code: 'conflict' })
})

t.test('a damaged backup is refused, and noted', { skip: notInFiles }, async t => {
  const damages: [string, RegExp, (path: string) => Promise<void>][] = [
    [
      'a changed database',
      /ledger.db is changed/,
      path => appendFile(join(path, 'ledger.db'), 'x'),
    ],
    ['a missing file', /records.db is missing/, path => rm(join(path, 'records.db'))],
    [
      'no manifest',
      /manifest.json is not readable/,
      path => writeFile(join(path, 'manifest.json'), '{'),
    ],
  ]
  const { folder, make } = await rig(t)
  for (const [at, [title, message, damage]] of damages.entries()) {
    const { name } = await make({ now: NOW + at * 1000 })
    const path = join(folder, name)
    await damage(path)
    const refused = { code: 'invalid_request', message }
    await t.rejects(verifyBackup(path, PASSPHRASE, NOW), refused, title)
    const target = join(await temporaryFolder(t), 'state')
    await t.rejects(restoreBackup(path, target, PASSPHRASE), refused, title)
  }
  const verified = (await listBackups(folder)).map(each => each.verified?.ok)
  t.strictSame(verified, [undefined, false, false])
})

t.test('secrets are sealed with the passphrase alone', { skip: notInFiles }, async t => {
  const { folder, stateDir, make } = await rig(t)
  const { name } = await make()
  const path = join(folder, name)
  const sealed = await readFile(join(path, 'secrets.json'), 'utf8')
  const key = await readFile(join(stateDir, 'sealing.key'))
  t.notOk(sealed.includes(key.toString('base64')))
  t.match(SealedFile.parse(JSON.parse(sealed)).kdf, { name: 'scrypt', n: 131_072, r: 8, p: 1 })
  const target = join(await temporaryFolder(t), 'state')
  const wrong = restoreBackup(path, target, 'another passphrase')
  await t.rejects(wrong, { code: 'invalid_request', message: /passphrase does not open/ })
  for (const missing of [undefined, '', 'too short'])
    await t.rejects(make({ passphrase: missing }), { code: 'wrong_usage', message: /passphrase/ })
})

t.test('sealed bytes that were changed do not open', async t => {
  const sealed = await sealBytes(Buffer.from('secret'), PASSPHRASE)
  t.equal((await openSealed(sealed, PASSPHRASE)).toString(), 'secret')
  const data = Buffer.from(sealed.data, 'base64')
  data[0] = (data[0] ?? 0) ^ 1
  const changed = { ...sealed, data: data.toString('base64') }
  await t.rejects(openSealed(changed, PASSPHRASE), { code: 'invalid_request' })
})

t.test('a backup is due at the first instant of the schedule after the newest', async t => {
  const cron = new Cron('0 3 * * *', { paused: true, timezone: 'UTC' })
  const newest = Date.UTC(2026, 10, 20, 3)
  t.notOk(isDue(cron, newest, Date.UTC(2026, 10, 21, 2, 59)))
  t.ok(isDue(cron, newest, Date.UTC(2026, 10, 21, 3)))
  t.ok(isDue(cron, newest, Date.UTC(2026, 10, 25)))
})

t.test(
  'a scheduled backup is made once, tested, and replaces the oldest',
  { skip: notInFiles },
  async t => {
    const { stateDir, folder, store, make } = await rig(t)
    const { name: byHand } = await make({ now: NOW - 10_000 })
    await make({ now: NOW - 5000, isScheduled: true })
    await make({ now: NOW, isScheduled: true })
    const passphrase_file = join(await temporaryFolder(t), 'passphrase')
    await writeFile(passphrase_file, `${PASSPHRASE}\n`)
    const backup = { folder, schedule: '0 3 * * *', keep: 2, passphrase_file }
    let look: () => unknown = () => {}
    let now = NOW + 60_000
    openBackup({
      config: { state_dir: stateDir, backup },
      store,
      leaderWork: {
        every: (_name, _seconds, run) => {
          look = () => run(store.ledger)
        },
        runOnce: async () => {},
      },
      logger: silent,
      now: () => now,
    })
    const names = async () => (await listBackups(folder)).map(({ name }) => name)
    const before = await names()
    await look()
    t.strictSame(await names(), before, 'it is not due yet')
    now = Date.UTC(2026, 10, 21, 3)
    await look()
    await look()
    const after = await listBackups(folder)
    t.strictSame(await names(), ['backup-20261121T030000Z', before[0], byHand])
    t.match(after[0]?.verified, { ok: true })
  },
)

t.test(
  'what a killed process left behind is removed after a day',
  { skip: notInFiles },
  async t => {
    const { folder, make } = await rig(t)
    const [old, young] = ['.backup-20261118T030000Z.part', '.backup-20261120T030000Z.part']
    for (const [name, days] of [
      [old, 2],
      [young, 0.5],
    ] as const) {
      await mkdir(join(folder, name))
      const at = new Date(NOW - days * 86_400_000)
      await utimes(join(folder, name), at, at)
    }
    const { name } = await make()
    t.strictSame((await readdir(folder)).toSorted(), [young, name])
  },
)

t.test('a schedule needs a cron expression and a passphrase', async t => {
  const issues = (input: object) =>
    BackupSettings.safeParse(input).error?.issues.map(({ path }) => path.join('.'))
  t.strictSame(issues({ schedule: '0 3 * * *', passphrase_file: '/x' }), undefined)
  t.strictSame(issues({ schedule: '0 3 * * *' }), ['passphrase_file'])
  t.strictSame(issues({ schedule: 'daily', passphrase_file: '/x' }), ['schedule'])
})

t.test('the commands make, test and restore a backup', { skip: notInFiles }, async t => {
  const { stateDir, folder, store } = await rig(t)
  await store.close()
  const env = { SHOAL_COORDINATOR_STATE_DIR: stateDir, SHOAL_BACKUP_PASSPHRASE: PASSPHRASE }
  const { SHOAL_BACKUP_PASSPHRASE: _, ...without } = env
  const missing = await coordinator(without, ['backup', 'create', '--folder', folder])
  t.equal(missing.code, 64)
  t.match(missing.err, /^shoal-coordinator: the passphrase of the backup is missing: .*\n$/)
  const made = await coordinator(env, ['backup', 'create', '--folder', folder, '--format', 'json'])
  t.equal(made.code, 0, made.err)
  const path = JSON.parse(made.out).backup
  const verified = await coordinator(env, ['backup', 'verify', path])
  t.equal(verified.code, 0, verified.err)
  const target = join(await temporaryFolder(t), 'state')
  const elsewhere = { ...env, SHOAL_COORDINATOR_STATE_DIR: target }
  const restored = await coordinator(elsewhere, ['backup', 'restore', path])
  t.equal(restored.code, 0, restored.err)
  t.match(restored.out, /audit accept/)
  await appendFile(join(path, 'records.db'), 'x')
  const damaged = await coordinator(env, ['backup', 'verify', path])
  t.equal(damaged.code, 65)
  t.match(damaged.err, /damaged: records.db is changed/)
})
