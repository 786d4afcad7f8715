import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import Sqlite from 'better-sqlite3'
import fc from 'fast-check'
import t from 'tap'
import { listBackups } from '../../../../coordinator/insight/backup/backup-catalogue.ts'
import { openBackupFiles } from '../../../../coordinator/insight/backup/open-backup.ts'
import { placeFiles, restoreBackup } from '../../../../coordinator/insight/backup/restore-backup.ts'
import { openSealed, sealText } from '../../../../coordinator/insight/backup/seal.ts'
import { verifyBackup } from '../../../../coordinator/insight/backup/verify-backup.ts'
import { copyDatabase } from '../../../../coordinator/kernel/store/store.ts'
import {
  backupRig,
  NOW,
  openWith,
  PASSPHRASE,
  queryStore,
  sealLightly,
  usageRow,
} from '../../../support/backup-rig.ts'
import { notInFiles, temporaryFolder } from '../../kernel/store/temporary.ts'

const withPassphrase = { passphrase: PASSPHRASE }

t.test('a restored backup answers as the store did', { skip: notInFiles }, async t => {
  const { stateDir, folder, keys, addUsage, make } = await backupRig(t)
  const waiting = join(stateDir, 'usage-journal')
  const row = (id: string) => JSON.stringify({ id, ...usageRow() })
  await mkdir(waiting)
  // the last line of the first file was cut off when its process died
  await writeFile(join(waiting, 'seg_1.jsonl'), `${row('use_1')}\n{"id":"use_`)
  await writeFile(join(waiting, 'seg_2.jsonl'), `${row('use_2')}\n`)
  const { name } = await make({ sealWith: sealLightly })
  const before = await queryStore(stateDir, stateDir, keys.operator)
  await addUsage()
  const path = join(folder, name)
  const verified = await verifyBackup(path, {
    place: stateDir,
    openWith: withPassphrase,
    now: NOW + 1,
  })
  t.match(verified, { audit_rows: before.audit.length })
  t.match(await listBackups(folder), [{ name, verified: { ok: true, at: NOW + 1 } }])
  const target = join(await temporaryFolder(t), 'state')
  const { next } = await restoreBackup(path, { stateDir: target, place: target }, withPassphrase)
  t.match(
    next,
    `shoal-coordinator --state-dir ${target} audit accept --reason "restored the backup`,
  )
  t.strictSame(await queryStore(target, target, keys.operator), before)
  t.not(before.key, undefined)
  t.match(before, { usage: [{ ok: 3 }], losses: [], secret: /private_key/ })
  t.equal((await stat(join(target, 'sealing.key'))).mode & 0o777, 0o600)
  const again = restoreBackup(path, { stateDir: target, place: target }, withPassphrase)
  await t.rejects(again, { code: 'conflict' })
})

t.test('a backup with one changed bit anywhere is refused', { skip: notInFiles }, async t => {
  const { stateDir, folder, make } = await backupRig(t)
  const identity = await generateIdentity()
  const { name } = await make({ sealWith: { recipients: [await identityToRecipient(identity)] } })
  const path = join(folder, name)
  const files = await readdir(path)
  t.equal(files.length, 5)
  const open = () => openBackupFiles(path, { identities: [identity] })
  t.match((await open()).sealingKey, await readFile(join(stateDir, 'sealing.key'), 'utf8'))
  const flip = fc.record({
    file: fc.constantFrom(...files),
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    bit: fc.nat({ max: 7 }),
  })
  await fc.assert(
    fc.asyncProperty(flip, async ({ file, at, bit }) => {
      const before = await readFile(join(path, file))
      const position = Math.floor(at * before.length)
      const after = Buffer.from(before)
      if (after.length === 0) return
      after[position] = (after[position] ?? 0) ^ (1 << bit)
      await writeFile(join(path, file), after)
      await t.rejects(open(), { code: 'invalid_request' }, `${file}, byte ${position}, bit ${bit}`)
      await writeFile(join(path, file), before)
    }),
    { numRuns: 100 },
  )
  await open()
})

t.test(
  'a damaged backup is noted, and nothing of it is restored',
  { skip: notInFiles },
  async t => {
    const { folder, stateDir, make } = await backupRig(t)
    const { name } = await make()
    const path = join(folder, name)
    await rm(join(path, 'records.db'))
    const refused = { code: 'invalid_request', message: /damaged: records.db is missing/ }
    await t.rejects(verifyBackup(path, { place: stateDir, openWith, now: NOW }), refused)
    const target = join(await temporaryFolder(t), 'state')
    await t.rejects(restoreBackup(path, { stateDir: target, place: target }, openWith), refused)
    await t.rejects(stat(target))
    t.match(await listBackups(folder), [{ verified: { ok: false, reason: /records.db/ } }])
  },
)

t.test(
  'a test that cannot be done says nothing about the backup',
  { skip: notInFiles },
  async t => {
    const { folder, stateDir, make } = await backupRig(t)
    const { name, manifest } = await make({ sealWith: sealLightly })
    const path = join(folder, name)
    const verify = (passphrase = PASSPHRASE) =>
      verifyBackup(path, { place: stateDir, openWith: { passphrase }, now: NOW })
    const manifestFile = join(path, 'manifest.json')
    const text = await readFile(manifestFile)
    const files = manifest.files.map(file => ({ ...file, bytes: 2 ** 50 }))
    await writeFile(manifestFile, JSON.stringify({ ...manifest, files }))
    const full = { code: 'store_unavailable', message: /no room for a test restore/ }
    await t.rejects(verify(), full)
    await writeFile(manifestFile, text)
    await t.rejects(verify('another passphrase'), { code: 'invalid_request' })
    t.match(await listBackups(folder), [{ name, verified: undefined }])
    t.strictSame(await readdir(folder), [name], 'the folder of the test is gone')
  },
)

t.test('a restore that failed can be repeated', { skip: notInFiles }, async t => {
  const { folder, make } = await backupRig(t)
  const path = join(folder, (await make()).name)
  const target = join(await temporaryFolder(t), 'state')
  const failing = placeFiles(path, target, await openBackupFiles(path, openWith), async () => {
    throw new Error('the database is away')
  })
  await t.rejects(failing, { message: 'the database is away' })
  t.strictSame(await readdir(target), ['usage-journal'])
  await restoreBackup(path, { stateDir: target, place: target }, openWith)
  t.strictSame((await readdir(target)).toSorted(), [
    ...['ledger.db', 'records.db', 'sealing.key', 'usage-journal'],
  ])
})

t.test('a copy of a busy database is one moment of it', async t => {
  const folder = await temporaryFolder(t)
  const [from, to] = [join(folder, 'from.db'), join(folder, 'to.db')]
  const writer = new Sqlite(from)
  t.teardown(() => writer.close())
  writer.pragma('journal_mode = wal')
  writer.exec('create table rows (filler blob)')
  const insert = writer.prepare('insert into rows values (zeroblob(4000))')
  const rows = 1000
  for (let n = 0; n < rows; n++) insert.run()
  let isCopied = false
  const copied = copyDatabase(from, to).finally(() => {
    isCopied = true
  })
  // a commit between all steps of the copy
  for (let n = 0; n < rows && !isCopied; n++) {
    insert.run()
    await setImmediate()
  }
  await copied
  const copy = new Sqlite(to, { readonly: true })
  t.teardown(() => copy.close())
  t.strictSame(copy.prepare('select count(*) as count from rows').get(), { count: rows })
})

t.test('secrets open with the passphrase alone', { skip: notInFiles }, async t => {
  const { folder, stateDir, make } = await backupRig(t)
  const { name } = await make({ sealWith: withPassphrase })
  const path = join(folder, name)
  const sealed = await readFile(join(path, 'secrets.age'))
  t.match(sealed.toString('latin1'), /^age-encryption.org\/v1\n-> scrypt \S+ 17\n/)
  t.notOk(sealed.includes(await readFile(join(stateDir, 'sealing.key'))))
  const to = { stateDir: join(await temporaryFolder(t), 'state'), place: stateDir }
  const wrong = restoreBackup(path, to, { passphrase: 'another passphrase' })
  await t.rejects(wrong, { code: 'invalid_request', message: /passphrase does not open/ })
  for (const missing of [undefined, '', 'too short'])
    await t.rejects(make({ sealWith: { passphrase: missing } }), {
      code: 'wrong_usage',
      message: /passphrase/,
    })
  for (const missing of [{}, { passphrase: '' }])
    await t.rejects(restoreBackup(path, to, missing), { code: 'wrong_usage' })
})

t.test('an age key takes the place of the passphrase', { skip: notInFiles }, async t => {
  const { folder, stateDir, make } = await backupRig(t)
  const [identity, other] = [await generateIdentity(), await generateIdentity()]
  const { name } = await make({ sealWith: { recipients: [await identityToRecipient(identity)] } })
  const path = join(folder, name)
  const verify = (given: Parameters<typeof verifyBackup>[1]['openWith']) =>
    verifyBackup(path, { place: stateDir, openWith: given, now: NOW })
  t.match(await verify({ identities: [other, identity] }), { audit_rows: Number })
  t.match(await verify({ stateDir }), { audit_rows: Number }, 'its coordinator needs no key')
  await t.rejects(verify({ identities: [other] }), { message: /age key does not open/ })
  const missing = { code: 'wrong_usage', message: /--identity-file/ }
  await t.rejects(verify({ passphrase: PASSPHRASE }), missing)
  const invalid = sealText('x', { recipients: ['age1qqqqqqqqqqqqqq'] })
  await t.rejects(invalid, { code: 'wrong_usage' })
})

t.test('a text opens with the same passphrase in another Unicode form', async t => {
  const sealed = await sealText('secret', { passphrase: 'Größe ist kein Maß', workFactor: 8 })
  const passphrase = 'Größe ist kein Maß'.normalize('NFD')
  t.equal(await openSealed(sealed, { passphrase }), 'secret')
})

t.test('a process that died while it made a backup leaves none', { skip: notInFiles }, async t => {
  const { folder, make } = await backupRig(t)
  const abandoned = join(folder, '.backup-Zx3dQ1')
  await mkdir(abandoned)
  await utimes(abandoned, NOW / 1000 - 100_000, NOW / 1000 - 100_000)
  t.strictSame(await listBackups(folder), [])
  await mkdir(join(folder, '.backup-aB1cD2'))
  await make()
  t.strictSame((await readdir(folder)).toSorted(), ['.backup-aB1cD2', 'backup-20261120T120000Z'])
})
